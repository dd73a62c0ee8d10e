//! Where the separators of properties are: found in 64 bytes at a time.
#![allow(unsafe_code)] // sixteen bytes are compared by one instruction of SSE2

pub const NAME_END: u8 = 1;
pub const VALUE_END: u8 = 2;

pub type Block = [u8; 64];

/// One bit for each byte of a block.
struct Marks {
    /// Bytes of at most `VALUE_END`: separators, and zeros, which are part of a name or a value.
    low: u64,
    value_ends: u64,
    not_ascii: u64,
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn marks(block: &Block) -> Marks {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_set1_epi8};
    let mut marks = Marks { low: 0, value_ends: 0, not_ascii: 0 };
    for (number, sixteen) in block.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: each x86-64 has SSE2. The load is of all sixteen bytes of an array, and may be at any address.
        let found = unsafe {
            let (bytes, end) = (_mm_loadu_si128(sixteen.as_ptr().cast()), _mm_set1_epi8(VALUE_END.cast_signed()));
            let (low, ends) = (_mm_cmpeq_epi8(_mm_min_epu8(bytes, end), bytes), _mm_cmpeq_epi8(bytes, end));
            [low, ends, bytes].map(|mask| u64::from(_mm_movemask_epi8(mask).cast_unsigned()) << (16 * number))
        };
        marks.low |= found[0];
        marks.value_ends |= found[1];
        marks.not_ascii |= found[2];
    }
    marks
}

#[cfg(any(not(target_arch = "x86_64"), test))]
#[inline(always)]
fn portable_marks(block: &Block) -> Marks {
    const LOW: u64 = u64::from_ne_bytes([0x7F; 8]);
    const ADD: u64 = u64::from_ne_bytes([0x7F - VALUE_END; 8]);
    const ENDS: u64 = u64::from_ne_bytes([VALUE_END; 8]);
    const GATHER: u64 = 0x0102_0408_1020_4080; // a product with it has the lowest bit of each byte in its highest byte
    let mut marks = Marks { low: 0, value_ends: 0, not_ascii: 0 };
    for (number, eight) in block.as_chunks().0.iter().enumerate() {
        let bytes = u64::from_le_bytes(*eight);
        let differs = bytes ^ ENDS;
        let tops = |word: u64| (((word & !LOW) >> 7).wrapping_mul(GATHER) >> 56) << (8 * number);
        marks.low |= tops(!(((bytes & LOW) + ADD) | bytes));
        marks.value_ends |= tops(!(((differs & LOW) + LOW) | differs));
        marks.not_ascii |= tops(bytes);
    }
    marks
}

#[cfg(not(target_arch = "x86_64"))]
use portable_marks as marks;

/// Calls `seen` with the place of each VALUE_END, ascending. Returns whether the field is ASCII.
///
/// Bytes are marked 64 at a time, because processors often mispredict a loop over one or two marks.
#[inline(always)]
pub fn each_value_end(field: &[u8], mut seen: impl FnMut(usize)) -> bool {
    let mut is_ascii = true;
    let mut visit = |at: usize, block: &Block| {
        let marks = marks(block);
        is_ascii &= marks.not_ascii == 0;
        let mut left = marks.value_ends;
        while left != 0 {
            seen(at + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    };
    let (blocks, rest) = field.as_chunks();
    for (number, block) in blocks.iter().enumerate() {
        visit(64 * number, block);
    }
    visit(64 * blocks.len(), &padded(rest));
    is_ascii
}

/// The last bytes as a block. What is added is no separator, and ASCII.
#[inline(always)]
fn padded(rest: &[u8]) -> Block {
    let mut last = [0x7F; 64];
    last[..rest.len()].copy_from_slice(rest);
    last
}

/// Separators of one field, as pairs: each place is larger than the one before it, and none is after the end of the buffer that was
/// searched. Only made here, so that others can rely on it.
#[derive(Clone, Copy)]
pub struct Pairs<'a>(&'a [[u32; 2]]);

impl<'a> Pairs<'a> {
    /// Where each name and each value ends.
    #[inline(always)]
    pub fn places(self) -> &'a [[u32; 2]] {
        self.0
    }
}

/// The separators of one field; and whether the field is ASCII.
pub struct Found<'a> {
    pub pairs: Pairs<'a>,
    pub is_ascii: bool,
}

/// The places of the separators of a field, in memory that is used again for the next.
pub struct Separators {
    at: [u32; Separators::MOST + 64],
    count: usize,
}

impl Default for Separators {
    fn default() -> Separators {
        Separators { at: [0; Separators::MOST + 64], count: 0 }
    }
}

impl Separators {
    /// Of more, a field is cut in the way that has no limit.
    const MOST: usize = 128;

    /// Finds all of `bytes[begin..end]`, as places in `bytes`; and `end`, if the last value has no end of its own. None if there are
    /// too many, or nothing is between two of them, or before the first.
    #[inline(always)]
    pub fn find(&mut self, bytes: &[u8], begin: usize, end: usize) -> Option<Found<'_>> {
        self.count = 0;
        let (mut at, mut not_ascii, mut before, mut touch) = (begin, 0, 1, 0);
        while at < end {
            let size = (end - at).min(64);
            let marks = match bytes.get(at..).and_then(<[u8]>::first_chunk) {
                Some(block) => marks(block),
                None => marks(&padded(bytes.get(at..end).unwrap_or_default())),
            };
            let inside = u64::MAX >> (64 - size);
            let low = marks.low & inside;
            not_ascii |= marks.not_ascii & inside;
            touch |= low & (low << 1 | before);
            before = low >> 63;
            if touch != 0 || !self.push(at as u32, low) {
                return None;
            }
            at += size;
        }
        if self.count % 2 == 1 {
            *self.at.get_mut(self.count)? = end as u32;
            self.count += 1;
        }
        let places = self.at.get(..self.count)?;
        debug_assert!(places.is_sorted_by(|one, next| one < next) && places.last().is_none_or(|&last| last as usize <= bytes.len()));
        Some(Found { pairs: Pairs(places.as_chunks().0), is_ascii: not_ascii == 0 })
    }

    /// Adds the places of marks. Eight at once, without a question after each: what is written after the last is written over.
    #[inline(always)]
    fn push(&mut self, at: u32, mut marks: u64) -> bool {
        let count = self.count + marks.count_ones() as usize;
        if count > Separators::MOST {
            return false;
        }
        let Some(free) = self.at.get_mut(self.count..) else { return false };
        for slots in free.as_chunks_mut::<8>().0 {
            for slot in slots {
                *slot = at + marks.trailing_zeros();
                marks &= marks.wrapping_sub(1);
            }
            if marks == 0 {
                break;
            }
        }
        self.count = count;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field_of(size: usize) -> Vec<u8> {
        (0..size).map(|at: usize| (at * 7 % 11) as u8).collect()
    }

    #[test]
    fn each_end_of_a_value_is_seen_once_at_its_place() {
        for size in 0..200 {
            let (field, mut ends) = (field_of(size), Vec::new());
            each_value_end(&field, |at| ends.push(at));
            assert_eq!(ends, (0..size).filter(|&at| field[at] == VALUE_END).collect::<Vec<_>>());
        }
    }

    /// The places of all low bytes, and the end if one has none; None if two touch, the first is at the beginning, or they are too many.
    fn expected(bytes: &[u8], begin: usize, end: usize) -> Option<Vec<u32>> {
        let mut places: Vec<usize> = (begin..end).filter(|&at| bytes[at] <= VALUE_END).collect();
        let touch = places.first() == Some(&begin) || places.windows(2).any(|two| two[0] + 1 == two[1]);
        if touch || places.len() > Separators::MOST {
            return None;
        }
        if places.len() % 2 == 1 {
            places.push(end);
        }
        Some(places.into_iter().map(|at| at as u32).collect())
    }

    #[test]
    fn places_are_those_of_a_plain_search_wherever_the_field_and_its_buffer_end() {
        let mut separators = Separators::default();
        for (distance, shift) in [(2, 0), (2, 1), (3, 1), (5, 2), (11, 4), (64, 63), (64, 1), (1, 0)] {
            let plain = |size: usize| (0..size).map(|at| if at % distance == shift { (at % 3) as u8 } else { b'a' }).collect::<Vec<_>>();
            for size in (0..400).step_by(if cfg!(miri) { 37 } else { 1 }) {
                let bytes = plain(size);
                for (begin, end) in [(0, size), (size / 3, size), (size / 3, size - size / 4), (size, size)] {
                    let found = separators.find(&bytes, begin, end);
                    let places = found.map(|found| {
                        assert!(found.is_ascii);
                        found.pairs.places().as_flattened().to_vec()
                    });
                    assert_eq!(places, expected(&bytes, begin, end), "{begin}..{end} of {distance}, {shift}");
                }
            }
        }
    }

    #[test]
    fn only_bytes_of_the_field_decide_whether_it_is_ascii() {
        let (mut separators, mut bytes) = (Separators::default(), vec![b'a'; 200]);
        for at in (0..200).step_by(if cfg!(miri) { 23 } else { 1 }) {
            bytes[at] = 0x80;
            assert_eq!(separators.find(&bytes, 20, 150).unwrap().is_ascii, !(20..150).contains(&at), "{at}");
            bytes[at] = b'a';
        }
    }

    #[test]
    fn the_portable_way_finds_the_same() {
        for byte in 0..=u8::MAX {
            for at in 0..64 {
                let mut block = [b'a'; 64];
                (block[at], block[63 - at]) = (byte, byte.wrapping_mul(3));
                let (one, other) = (marks(&block), portable_marks(&block));
                assert_eq!((one.low, one.value_ends, one.not_ascii), (other.low, other.value_ends, other.not_ascii), "{byte} at {at}");
            }
        }
    }
}
