//! Where records may start among bytes that no chain of records leads to: at a magic that the record's own offset follows.

use crate::record::{self, Place, is_candidate};

const BLOCK: usize = 64;
const BEFORE_MAGIC: usize = 4;
/// The first bytes of a magic.
const FIRST: [u8; 2] = [0xDA, 0xA3];

/// Positions from `frame` on, ascending. `offset` is that of byte 0 of the buffer; magics are in the first `filled` bytes.
pub fn candidates(bytes: &[u8], filled: usize, frame: usize, offset: i64) -> Vec<usize> {
    let (mut found, mut from) = (Vec::new(), frame);
    while let Some(start) = next_candidate(bytes, filled, from, offset) {
        found.push(start);
        from = start + 1;
    }
    found
}

/// The first position from `from` on where a record may start.
fn next_candidate(bytes: &[u8], filled: usize, from: usize, offset: i64) -> Option<usize> {
    let searched = bytes.get(..filled).unwrap_or(bytes);
    let mut begin = from.saturating_add(BEFORE_MAGIC);
    while let Some(block) = searched.get(begin..).filter(|rest| !rest.is_empty()) {
        let size = block.len().min(BLOCK);
        if has_pair(block) {
            let mut starts = (begin..begin + size).filter(|&at| searched.get(at..).is_some_and(|rest| rest.starts_with(&FIRST)));
            if let Some(at) = starts.find(|&at| is_candidate(bytes, filled, at - BEFORE_MAGIC, offset)) {
                return Some(at - BEFORE_MAGIC);
            }
        }
        begin += size;
    }
    None
}

/// Adds the valid records that start in `[from, until)`, each the first one after the record before, wherever that is. Returns the other
/// places between them where a record may start that ends after the first `filled` bytes.
pub fn records_from(
    bytes: &[u8],
    filled: usize,
    (from, until): (usize, usize),
    offset: i64,
    frame: usize,
    places: &mut Vec<Place>,
) -> Vec<usize> {
    let (inside, mut from, mut outside) = (bytes.get(..filled).unwrap_or(bytes), from.max(frame), Vec::new());
    // Each time, it goes on after at least one byte.
    while let Some(start) = next_candidate(bytes, filled, from, offset).filter(|&start| start < until) {
        let end = record::chain_from(inside, start, until, offset, frame, places);
        if end == start && record::ends_after(inside, start) {
            outside.push(start);
        }
        from = end.max(start + 1);
    }
    outside
}

/// What is between position `from` and these records, and between one and the next; see `resumed`.
pub fn gaps(places: &[Place], base: i64, from: i64, frame: i64) -> Vec<[i64; 4]> {
    let (mut gaps, mut before, mut end) = (Vec::new(), -1, base.saturating_add(from));
    for (row, place) in (0..).zip(places) {
        let start = base + i64::from(place.start) - frame;
        if start > end {
            gaps.push([row, before, end, start]);
        }
        (before, end) = (start, start + frame + i64::from(place.size));
    }
    gaps
}

/// Whether the first two bytes of a magic may be in the first block: certain only where all of a block is there.
///
/// Both are compared for all places of a block at once, which the compiler does without a branch.
#[inline(always)]
fn has_pair(bytes: &[u8]) -> bool {
    let next = bytes.get(1..).and_then(<[u8]>::first_chunk::<BLOCK>);
    let (Some(block), Some(next)) = (bytes.first_chunk::<BLOCK>(), next) else { return true };
    block.iter().zip(next).fold(0, |any, (&one, &other)| any | (u8::from(one == FIRST[0]) & u8::from(other == FIRST[1]))) != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn a_record_is_found_wherever_it_is_and_however_its_bytes_end() {
        for before in 0..140 {
            let mut bytes = vec![0xDA; before];
            bytes.extend(record(1000 + before as i64, b"body", b"topic", b"", 0));
            for frame in [0, 48] {
                let expected = if before >= frame { vec![before] } else { vec![] };
                assert_eq!(candidates(&bytes, bytes.len(), frame, 1000), expected, "{before}");
            }
            assert!(candidates(&bytes, bytes.len(), 0, 1001).is_empty());
            assert!(candidates(&bytes, before + 7, 0, 1000).is_empty(), "half of the magic is not searched");
            assert!(candidates(&bytes[..before + 35], usize::MAX, 0, 1000).is_empty(), "the offset is not whole");
        }
    }

    #[test]
    fn records_and_gaps_are_found_after_damage() {
        let (mut bytes, mut starts) = (vec![7; 10], Vec::new());
        for gap in [0, 3, 0, 200] {
            bytes.extend(vec![0xDA; gap]);
            starts.push(bytes.len());
            bytes.extend(record(1000 + bytes.len() as i64, &[5; 30], b"topic", b"a\x01b", 0));
        }
        let find = |bytes: &[u8], filled: usize, until: usize| {
            let mut places = Vec::new();
            let outside = records_from(bytes, filled, (0, until), 1000, 0, &mut places);
            (places.iter().map(|place| place.start as usize).collect::<Vec<_>>(), gaps(&places, 50, 0, 0), outside)
        };
        let size = bytes.len() - starts[3];
        let own = |at: usize| 50 + starts[at] as i64;
        let end = |at: usize| own(at) + size as i64;
        let (found, between, outside) = find(&bytes, bytes.len(), bytes.len());
        assert_eq!((found, outside), (starts.clone(), vec![]));
        assert_eq!(between, [[0, -1, 50, own(0)], [1, own(0), end(0), own(1)], [3, own(2), end(2), own(3)]]);
        // The last one ends outside, and then no longer starts inside.
        assert_eq!(find(&bytes, bytes.len() - 1, bytes.len()).2, [starts[3]]);
        assert!(find(&bytes, bytes.len() - 1, starts[3]).2.is_empty());
        // A size that is too small is no record that ends outside.
        bytes[starts[1] + 3] -= 1;
        let (found, between, outside) = find(&bytes, bytes.len(), bytes.len());
        assert_eq!((found, outside), (vec![starts[0], starts[2], starts[3]], vec![]));
        assert_eq!(between[1], [1, own(0), end(0), own(2)]);
    }
}
