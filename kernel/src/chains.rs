//! The chains of an index file: each entry leads to the entry before it with the same slot. As `native_reader/verify/chains.py` has it.

use crate::Bytes;
use pyo3::exceptions::{PyIndexError, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// An entry: hash i4, offset i8, seconds i4, previous i4, all big-endian.
const ENTRY: usize = 20;

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
}
