//! Entries of index files: their chains, as `native_reader/verify/chains.py` has them, and their keys, as `verify/keys.py` there.

use crate::Bytes;
use pyo3::exceptions::{PyIndexError, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// An entry: hash i4, offset i8, seconds i4, previous i4, all big-endian.
const ENTRY: usize = 20;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Chains>()?;
    module.add_function(wrap_pyfunction!(indexed, module)?)
}

/// The newest entry of each slot so far, 0 for none.
#[pyclass]
pub struct Chains {
    newest: Vec<i32>,
}

#[pymethods]
impl Chains {
    #[new]
    fn new(slots: usize) -> PyResult<Chains> {
        let mut newest = Vec::new();
        newest.try_reserve_exact(slots).map_err(|_| PyMemoryError::new_err("too many slots"))?;
        newest.resize(slots, 0);
        Ok(Chains { newest })
    }

    /// One byte an entry, as the file has them: 1 where it does not lead to the newest one before it. `first`: the first one's number.
    fn wrong<'py>(&mut self, py: Python<'py>, content: &Bound<'py, PyAny>, first: i32) -> PyResult<Bound<'py, PyByteArray>> {
        let content = Bytes::of(content)?;
        let (bytes, newest) = (content.as_slice(), &mut self.newest);
        let wrong = py.detach(|| wrong_of(newest, bytes, first));
        Ok(PyByteArray::new(py, &wrong))
    }

    /// The newest entries of the slots from `begin` on: int64, native byte order.
    fn newest<'py>(&self, py: Python<'py>, begin: usize, count: usize) -> PyResult<Bound<'py, PyByteArray>> {
        let end = begin.checked_add(count);
        let slots = end.and_then(|end| self.newest.get(begin..end)).ok_or_else(|| PyIndexError::new_err("a slot that does not exist"))?;
        let numbers: Vec<u8> = slots.iter().flat_map(|&number| i64::from(number).to_ne_bytes()).collect();
        Ok(PyByteArray::new(py, &numbers))
    }
}

fn wrong_of(newest: &mut [i32], content: &[u8], first: i32) -> Vec<u8> {
    let (entries, _) = content.as_chunks::<ENTRY>();
    let mut number = first;
    let slots = newest.len() as i64;
    let is_wrong = |entry: &[u8; ENTRY]| {
        let (Some(hash), Some(previous)) = (entry.first_chunk(), entry.last_chunk()) else { return 1 };
        let (hash, previous) = (i32::from_be_bytes(*hash), i32::from_be_bytes(*previous));
        let slot = i64::from(hash).checked_rem_euclid(slots).and_then(|slot| newest.get_mut(slot as usize));
        let wrong = hash < 0 || slot.as_deref() != Some(&previous);
        if let Some(slot) = slot {
            *slot = number;
        }
        number = number.wrapping_add(1);
        u8::from(wrong)
    };
    entries.iter().map(is_wrong).collect()
}

/// Whether these entries, as the file has them, have exactly these keys; and if so, one byte an entry: 1 where its time is not that of
/// the key's record. `offsets`, `hashes` and `times`: int64, native byte order. `begin`: the time from which the file's times count.
#[pyfunction]
fn indexed<'py>(
    py: Python<'py>,
    entries: &Bound<'py, PyAny>,
    offsets: &Bound<'py, PyAny>,
    hashes: &Bound<'py, PyAny>,
    times: &Bound<'py, PyAny>,
    begin: i64,
) -> PyResult<(bool, Bound<'py, PyByteArray>)> {
    let (entries, offsets, hashes, times) = (Bytes::of(entries)?, Bytes::of(offsets)?, Bytes::of(hashes)?, Bytes::of(times)?);
    let found = py.detach(|| late_of(entries.as_slice(), offsets.numbers(), hashes.numbers(), times.numbers(), begin));
    Ok((found.is_some(), PyByteArray::new(py, &found.unwrap_or_default())))
}

fn late_of(
    content: &[u8],
    mut offsets: impl Iterator<Item = i64>,
    mut hashes: impl Iterator<Item = i64>,
    mut times: impl Iterator<Item = i64>,
    begin: i64,
) -> Option<Vec<u8>> {
    let (entries, _) = content.as_chunks::<ENTRY>();
    let late = entries.iter().map(|entry| {
        let (hash, rest) = entry.split_first_chunk()?;
        let (offset, rest) = rest.split_first_chunk()?;
        let seconds = i32::from_be_bytes(*rest.first_chunk()?);
        let is_same = i64::from_be_bytes(*offset) == offsets.next()? && i64::from(i32::from_be_bytes(*hash)) == hashes.next()?;
        let time = times.next()?;
        is_same.then(|| u8::from(seconds != seconds_of(time, begin)))
    });
    let late: Vec<u8> = late.collect::<Option<_>>()?;
    offsets.next().is_none().then_some(late)
}

/// What a broker writes into the entry of a record with that time.
fn seconds_of(time: i64, begin: i64) -> i32 {
    if begin <= 0 {
        return 0;
    }
    i32::try_from(time.wrapping_sub(begin).div_euclid(1000).max(0)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(hash: i32, previous: i32) -> [u8; ENTRY] {
        let mut entry = [9; ENTRY];
        entry[..4].copy_from_slice(&hash.to_be_bytes());
        entry[16..].copy_from_slice(&previous.to_be_bytes());
        entry
    }

    #[test]
    fn entries_lead_to_the_newest_one_before_them() {
        let mut newest = vec![0; 7];
        let right = [entry(1, 0), entry(2, 0), entry(8, 1), entry(i32::MAX, 2), entry(1, 3)].concat();
        assert_eq!(i32::MAX % 7, 1);
        assert_eq!(wrong_of(&mut newest, &right, 1), [0, 0, 0, 1, 1]);
        assert_eq!(newest, [0, 5, 2, 0, 0, 0, 0]);
        assert_eq!(wrong_of(&mut newest, &entry(-6, 5), 6), [1]); // no broker writes a negative hash
        assert_eq!(newest[1], 6);
        assert_eq!(wrong_of(&mut newest, &[entry(3, 0).as_slice(), &[0; 19]].concat(), i32::MAX), [0]);
        assert_eq!(wrong_of(&mut [], &right, 1), [1; 5]);
    }

    #[test]
    fn entries_have_exactly_the_keys() {
        let unit = |hash: i32, offset: i64, seconds: i32| {
            [&hash.to_be_bytes()[..], &offset.to_be_bytes(), &seconds.to_be_bytes(), &[9; 4]].concat()
        };
        let entries = [unit(5, 100, 0), unit(i32::MAX, 100, 2), unit(0, 1 << 40, 3)].concat();
        let late = |entries: &[u8], offsets: &[i64], hashes: &[i64], times: &[i64]| {
            late_of(entries, offsets.iter().copied(), hashes.iter().copied(), times.iter().copied(), 7)
        };
        let (offsets, hashes, times) = ([100, 100, 1 << 40], [5, i64::from(i32::MAX), 0], [6, 2007, 3006]);
        assert_eq!(late(&entries, &offsets, &hashes, &times), Some(vec![0, 0, 1]));
        assert_eq!(late(&entries, &offsets, &[5, 5, 0], &times), None);
        assert_eq!(late(&entries, &[100, 101, 1 << 40], &hashes, &times), None);
        assert_eq!(late(&entries, &offsets[..2], &hashes[..2], &times[..2]), None);
        assert_eq!(late(&entries[..40], &offsets, &hashes, &times), None);
        assert_eq!(late(&[], &[], &[], &[]), Some(vec![]));
        assert_eq!([seconds_of(i64::MIN, 1), seconds_of(i64::MAX, 1), seconds_of(9, 0), seconds_of(0, 1)], [i32::MAX, i32::MAX, 0, 0]);
    }
}
