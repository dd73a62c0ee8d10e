//! Many ranges of a file, read one after the other into one buffer.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use rustix::fd::BorrowedFd;
use std::ops::ControlFlow;

/// Offset in the file, and length.
type Range = (i64, usize);

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(gather, module)?)
}

/// The offset as the system takes it. preadv2 reads at the place of the last read if it is -1.
fn place_of(offset: i64) -> Option<u64> {
    u64::try_from(offset).ok()
}

/// Fills the view with these ranges; returns how many. It stops at the first one that is cut short, cannot be read or does not fit.
fn fill(ranges: &[Range], mut view: &mut [u8], mut read: impl FnMut(&mut [u8], u64) -> rustix::io::Result<usize>) -> usize {
    let filled = ranges.iter().try_fold(0_usize, |count, &(offset, length)| {
        let got = place_of(offset).zip(view.split_off_mut(..length)).map(|(offset, room)| read(room, offset));
        if got == Some(Ok(length)) { ControlFlow::Continue(count.saturating_add(1)) } else { ControlFlow::Break(count) }
    });
    match filled {
        ControlFlow::Continue(count) | ControlFlow::Break(count) => count,
    }
}

/// As `fill`, but only from memory: it also stops at a range that a disk would have to fetch. It asks for that one and the rest.
#[cfg(target_os = "linux")]
fn fill_from_memory(file: BorrowedFd<'_>, ranges: &[Range], view: &mut [u8]) -> usize {
    use rustix::fs::{Advice, fadvise};
    use rustix::io::{IoSliceMut, ReadWriteFlags, preadv2};
    use std::num::NonZeroU64;

    let done = fill(ranges, view, |room, offset| preadv2(file, &mut [IoSliceMut::new(room)], offset, ReadWriteFlags::NOWAIT));
    // A disk then fetches them side by side, while a read waits for each alone.
    for &(offset, length) in ranges.get(done..).unwrap_or_default() {
        if let Some((offset, length)) = place_of(offset).zip(NonZeroU64::new(length as u64)) {
            let _ = fadvise(file, offset, Some(length), Advice::WillNeed); // a hint: the read itself reports what is wrong
        }
    }
    done
}

#[cfg(not(target_os = "linux"))]
fn fill_from_memory(_: BorrowedFd<'_>, _: &[Range], _: &mut [u8]) -> usize {
    0
}

/// Fills `view` with these ranges of an open file, one after the other; returns how many. It stops at the first one that is cut
/// short or cannot be read.
#[pyfunction]
fn gather(py: Python<'_>, descriptor: i32, offsets: Vec<i64>, lengths: Vec<usize>, view: PyBuffer<u8>) -> PyResult<usize> {
    if descriptor < 0 || view.readonly() || !view.is_c_contiguous() {
        return Err(PyBufferError::new_err("an open file and writable, contiguous memory are needed"));
    }
    let ranges: Vec<Range> = offsets.into_iter().zip(lengths).collect();
    // SAFETY: the descriptor is not -1. The caller in Python keeps its file open during the call.
    #[allow(unsafe_code)]
    let file = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let view = if view.len_bytes() == 0 {
        &mut []
    } else {
        // SAFETY: the memory is contiguous, writable, has that many bytes, and is kept alive by `view`. The caller in Python promises
        // that nothing else uses it during the call: a window belongs to one reader.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts_mut(view.buf_ptr().cast::<u8>(), view.len_bytes())
        }
    };
    Ok(py.detach(|| {
        let done = fill_from_memory(file, &ranges, view);
        let rest = ranges.get(done..).unwrap_or_default();
        let filled = ranges.iter().take(done).map(|&(_, length)| length).sum::<usize>();
        let view = view.get_mut(filled..).unwrap_or_default();
        done.saturating_add(fill(rest, view, |room, offset| rustix::io::pread(file, room, offset)))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;

    fn read(ranges: &[Range], size: usize) -> (usize, Vec<u8>) {
        let path = std::env::temp_dir().join(format!("gather-{}-{:?}", std::process::id(), std::thread::current().id()));
        std::fs::File::create(&path).unwrap().write_all(&(0..=255).collect::<Vec<u8>>()).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut view = vec![7; size];
        let done = fill(ranges, &mut view, |room, offset| rustix::io::pread(file.as_fd(), room, offset));
        (done, view)
    }

    #[test]
    fn ranges_follow_each_other() {
        assert_eq!(read(&[(3, 2), (250, 3), (0, 0), (9, 1)], 7), (4, vec![3, 4, 250, 251, 252, 9, 7]));
    }

    #[test]
    fn what_is_cut_short_or_too_large_ends_it() {
        assert_eq!(read(&[(3, 2), (254, 3), (0, 1)], 9).0, 1, "the file ends");
        assert_eq!(read(&[(3, 2), (0, 3)], 4).0, 1, "the view ends");
        assert_eq!(read(&[(-1, 2), (0, 1)], 9).0, 0, "no such offset");
        assert_eq!(read(&[(0, usize::MAX)], 9).0, 0);
    }
}
