//! Where records may start among bytes that no chain of records leads to: at a magic that the record's own offset follows.

use crate::record::is_candidate;

const BLOCK: usize = 64;
const BEFORE_MAGIC: usize = 4;
/// The first bytes of a magic.
const FIRST: [u8; 2] = [0xDA, 0xA3];

/// Positions from `frame` on, ascending. `offset` is that of byte 0 of the buffer; magics are in the first `filled` bytes.
pub fn candidates(bytes: &[u8], filled: usize, frame: usize, offset: i64) -> Vec<usize> {
    let searched = bytes.get(..filled).unwrap_or(bytes);
    let mut found = Vec::new();
    let mut begin = frame.saturating_add(BEFORE_MAGIC);
    while let Some(block) = searched.get(begin..).filter(|rest| !rest.is_empty()) {
        let size = block.len().min(BLOCK);
        if has_pair(block) {
            let starts = (begin..begin + size).filter(|&at| searched.get(at..).is_some_and(|rest| rest.starts_with(&FIRST)));
            found.extend(starts.map(|at| at - BEFORE_MAGIC).filter(|&start| is_candidate(bytes, filled, start, offset)));
        }
        begin += size;
    }
    found
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
}
