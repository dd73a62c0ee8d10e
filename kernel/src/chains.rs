//! Entries of index files: their chains, as `native_reader/verify/chains.py` has them, and their keys, as `verify/keys.py` there.

use crate::{Array, Bytes};
use pyo3::exceptions::{PyIndexError, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// An entry: hash i4, offset i8, seconds i4, previous i4, all big-endian.
const ENTRY: usize = 20;
/// The slots of so many entries are brought into the caches together. The table of a file has 20 MB.
const TOGETHER: usize = 256;

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
    fn wrong<'py>(&mut self, py: Python<'py>, content: &Bound<'py, PyAny>, first: i32) -> PyResult<Array<'py>> {
        let content = Bytes::of(content)?;
        let (bytes, newest) = (content.as_slice(), &mut self.newest);
        let wrong = py.detach(|| wrong_of(newest, bytes, first));
        Ok(PyByteArray::new(py, &wrong))
    }

    /// Which slots, as the file has them from `begin` on, do not have their newest entry: int64, native byte order, counted from `begin`.
    fn differing<'py>(&self, py: Python<'py>, content: &Bound<'py, PyAny>, begin: usize) -> PyResult<Array<'py>> {
        let content = Bytes::of(content)?;
        let (slots, _) = content.as_slice().as_chunks::<4>();
        let end = begin.checked_add(slots.len());
        let newest = end.and_then(|end| self.newest.get(begin..end)).ok_or_else(no_such_slot)?;
        let places = py.detach(|| differing_of(newest, slots));
        Ok(PyByteArray::new(py, &places))
    }

    /// These keys as entries of the file, each leading to the newest one before it; and how many are the first ones of their slots.
    ///
    /// Columns of int64, native byte order. `begin`: the time from which the file's times count. `first`: the number of the first entry.
    fn entries<'py>(
        &mut self,
        py: Python<'py>,
        hashes: &Bound<'py, PyAny>,
        offsets: &Bound<'py, PyAny>,
        times: &Bound<'py, PyAny>,
        begin: i64,
        first: i32,
    ) -> PyResult<(Array<'py>, usize)> {
        let (hashes, offsets, times) = (Bytes::of(hashes)?, Bytes::of(offsets)?, Bytes::of(times)?);
        let newest = &mut self.newest;
        let (entries, begun) = py.detach(|| {
            let keys = hashes.numbers().zip(offsets.numbers()).zip(times.numbers());
            entries_of(newest, keys.map(|((hash, offset), time)| (hash as i32, offset, seconds_of(time, begin))), first)
        });
        Ok((PyByteArray::new(py, &entries), begun))
    }

    /// The slots, as the file has them.
    fn slots<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        PyByteArray::new_with(py, size_of_val(self.newest.as_slice()), |slots| {
            for (slot, newest) in slots.as_chunks_mut().0.iter_mut().zip(&self.newest) {
                *slot = newest.to_be_bytes();
            }
            Ok(())
        })
    }

    /// The newest entry of a slot, 0 for none.
    fn newest(&self, slot: usize) -> PyResult<i32> {
        self.newest.get(slot).copied().ok_or_else(no_such_slot)
    }
}

fn no_such_slot() -> PyErr {
    PyIndexError::new_err("a slot that does not exist")
}

fn differing_of(newest: &[i32], slots: &[[u8; 4]]) -> Vec<u8> {
    let pairs = (0_i64..).zip(newest.iter().zip(slots));
    let differing = pairs.filter(|(_, (newest, slot))| **newest != i32::from_be_bytes(**slot));
    differing.flat_map(|(place, _)| place.to_ne_bytes()).collect()
}

fn wrong_of(newest: &mut [i32], content: &[u8], first: i32) -> Vec<u8> {
    let (entries, _) = content.as_chunks::<ENTRY>();
    let (mut wrong, mut number) = (Vec::with_capacity(entries.len()), first);
    for entries in entries.chunks(TOGETHER) {
        let hash_of = |entry: &[u8; ENTRY]| entry.first_chunk().map_or(-1, |hash| i32::from_be_bytes(*hash));
        let slots = Slots::of(newest, entries.iter().map(hash_of));
        wrong.extend(entries.iter().zip(slots.places()).map(|(entry, place)| {
            let previous = entry.last_chunk().map(|previous| i32::from_be_bytes(*previous));
            let slot = newest.get_mut(place);
            let wrong = hash_of(entry) < 0 || slot.as_deref().copied() != previous;
            if let Some(slot) = slot {
                *slot = number;
            }
            number = number.wrapping_add(1);
            u8::from(wrong)
        }));
    }
    wrong
}

fn entries_of(newest: &mut [i32], mut keys: impl Iterator<Item = (i32, i64, i32)>, first: i32) -> (Vec<u8>, usize) {
    let (mut entries, mut begun, mut number) = (Vec::with_capacity(keys.size_hint().0 * ENTRY), 0, first);
    let mut together = Vec::with_capacity(TOGETHER);
    loop {
        together.clear();
        together.extend(keys.by_ref().take(TOGETHER));
        if together.is_empty() {
            return (entries, begun);
        }
        let slots = Slots::of(newest, together.iter().map(|(hash, ..)| *hash));
        for ((hash, offset, seconds), place) in together.iter().zip(slots.places()) {
            let previous = newest.get_mut(place).map_or(0, |slot| std::mem::replace(slot, number));
            begun += usize::from(previous == 0);
            number = number.wrapping_add(1);
            let mut entry = [0; ENTRY];
            entry[..4].copy_from_slice(&hash.to_be_bytes());
            entry[4..12].copy_from_slice(&offset.to_be_bytes());
            entry[12..16].copy_from_slice(&seconds.to_be_bytes());
            entry[16..].copy_from_slice(&previous.to_be_bytes());
            entries.extend_from_slice(&entry);
        }
    }
}

/// The slots of at most `TOGETHER` hashes.
struct Slots([u32; TOGETHER]);

impl Slots {
    fn of(newest: &[i32], hashes: impl Iterator<Item = i32>) -> Slots {
        // Processors divide numbers of 32 bits faster. No check has more slots than those have.
        let slots = i32::try_from(newest.len()).unwrap_or_default();
        let mut places = [u32::MAX; TOGETHER];
        let mut seen = 0;
        for (place, hash) in places.iter_mut().zip(hashes) {
            *place = hash.checked_rem_euclid(slots).map_or(u32::MAX, |slot| slot as u32);
            // These loads do not wait for each other, so the processor makes many at once.
            seen |= newest.get(*place as usize).copied().unwrap_or_default();
        }
        std::hint::black_box(seen);
        Slots(places)
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|place| *place as usize)
    }
}

/// How many of these entries, as the file has them, are of keys, if all of them are exactly the next keys, with entries of tags among
/// them; and one byte an entry: 1 where its time is not that of its record.
///
/// `records`: offset, time and hash of the tag of each record. `keys`: record and hash of each key. Columns of int64, native byte order.
/// `begin`: the time from which the file's times count.
#[pyfunction]
fn indexed<'py>(
    py: Python<'py>,
    entries: &Bound<'py, PyAny>,
    records: [Bound<'py, PyAny>; 3],
    keys: [Bound<'py, PyAny>; 2],
    begin: i64,
) -> PyResult<(Option<usize>, Array<'py>)> {
    let [offsets, times, tags] = records;
    let [rows, hashes] = keys;
    let (entries, offsets, times, tags) = (Bytes::of(entries)?, Bytes::of(&offsets)?, Bytes::of(&times)?, Bytes::of(&tags)?);
    let (rows, hashes) = (Bytes::of(&rows)?, Bytes::of(&hashes)?);
    let found = py.detach(|| {
        let records = offsets.numbers().zip(times.numbers()).zip(tags.numbers());
        let records = records.map(|((offset, time), tag)| Record { offset, time, tag });
        named_of(entries.as_slice(), records, rows.numbers().zip(hashes.numbers()), begin)
    });
    let (named, late) = found.unzip();
    Ok((named, PyByteArray::new(py, &late.unwrap_or_default())))
}

/// What the entries of a record are compared with.
#[derive(Clone, Copy)]
struct Record {
    offset: i64,
    time: i64,
    tag: i64,
}

fn named_of(
    content: &[u8],
    records: impl Iterator<Item = Record>,
    mut keys: impl Iterator<Item = (i64, i64)>,
    begin: i64,
) -> Option<(usize, Vec<u8>)> {
    let (entries, _) = content.as_chunks::<ENTRY>();
    let mut records = (0_i64..).zip(records);
    let (mut current, mut named) = (records.next(), 0);
    let late = entries.iter().map(|entry| {
        let (hash, rest) = entry.split_first_chunk()?;
        let (offset, rest) = rest.split_first_chunk()?;
        let (hash, offset) = (i64::from(i32::from_be_bytes(*hash)), i64::from_be_bytes(*offset));
        let seconds = i32::from_be_bytes(*rest.first_chunk()?);
        while current.is_some_and(|(_, record)| record.offset < offset) {
            current = records.next();
        }
        let (row, record) = current.filter(|(_, record)| record.offset == offset)?;
        if hash != record.tag {
            named += 1;
            if keys.next()? != (row, hash) {
                return None;
            }
        }
        Some(u8::from(seconds != seconds_of(record.time, begin)))
    });
    let late = late.collect::<Option<_>>()?;
    Some((named, late))
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
    fn made_entries_lead_to_the_newest_one_before_them() {
        let mut newest = vec![0; 7];
        let keys = [(1, 100, 2), (2, 100, 2), (8, 1 << 40, 3), (i32::MAX, -1, -1)];
        let (entries, begun) = entries_of(&mut newest, keys.into_iter(), 1);
        assert_eq!(begun, 2);
        assert_eq!(newest, [0, 4, 2, 0, 0, 0, 0]);
        assert_eq!(entries[40..60], [&8_i32.to_be_bytes()[..], &(1_i64 << 40).to_be_bytes(), &[0, 0, 0, 3], &[0, 0, 0, 1]].concat());
        assert_eq!(wrong_of(&mut [0; 7], &entries, 1), [0; 4]);
        assert_eq!(entries_of(&mut [], keys.into_iter(), 1).1, 4);
    }

    #[test]
    fn slots_have_their_newest_entries() {
        let slots = [0, 5, -2, 7].map(i32::to_be_bytes);
        let places = |newest: &[i32]| {
            let found = differing_of(newest, &slots);
            found.as_chunks().0.iter().map(|place| i64::from_ne_bytes(*place)).collect::<Vec<_>>()
        };
        assert!(places(&[0, 5, -2, 7]).is_empty());
        assert_eq!(places(&[0, 6, -2, 0]), [1, 3]);
    }

    #[test]
    fn entries_have_exactly_the_next_keys_and_tags() {
        let unit = |hash: i32, offset: i64, seconds: i32| {
            [&hash.to_be_bytes()[..], &offset.to_be_bytes(), &seconds.to_be_bytes(), &[9; 4]].concat()
        };
        let entries = [unit(5, 100, 2), unit(i32::MAX, 100, 3), unit(6, 100, 2), unit(0, 1 << 40, 3)].concat();
        let record = |offset, time, tag| Record { offset, time, tag };
        let records = [record(100, 2007, 6), record(101, 9, 9), record(1 << 40, 3006, 9)];
        let keys = [(0, 5), (0, i64::from(i32::MAX)), (2, 0), (2, 1)];
        let found =
            |entries: &[u8], records: &[Record], keys: &[(i64, i64)]| named_of(entries, records.iter().copied(), keys.iter().copied(), 7);
        assert_eq!(found(&entries, &records, &keys), Some((3, vec![0, 1, 0, 1])));
        assert_eq!(found(&entries, &records, &keys[..3]), Some((3, vec![0, 1, 0, 1])));
        assert_eq!(found(&entries, &records, &keys[..2]), None);
        assert_eq!(found(&entries, &records, &keys[1..]), None);
        assert_eq!(found(&entries, &records[..2], &keys), None);
        assert_eq!(found(&[&entries[60..], &entries[..60]].concat(), &records, &keys[2..]), None);
        assert_eq!(found(&unit(6, 100, 2), &records, &[]), Some((0, vec![0])));
        assert_eq!(found(&[], &[], &[]), Some((0, vec![])));
        assert_eq!([seconds_of(i64::MIN, 1), seconds_of(i64::MAX, 1), seconds_of(9, 0), seconds_of(0, 1)], [i32::MAX, i32::MAX, 0, 0]);
    }
}
