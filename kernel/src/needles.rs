//! Which records may have one of some texts: their bytes are searched before anything of them is decoded.

use crate::properties::word;
use crate::record::{INNER_BATCH, Place};
use memchr::memmem::Finder;
use std::collections::HashSet;

/// Up to so many texts are searched one after the other.
const FEW: usize = 3;
const WIDEST: usize = 8;
/// Of the table that most places of the bytes are looked up in. It is mostly empty.
const BITS_FOR_ONE: usize = 64;
const MOST_BITS: usize = 1 << 22;

/// Texts of which one must be in the properties of a message, or in its body, or the message is at one of these offsets.
pub struct Needles {
    properties: Texts,
    bodies: Texts,
    offsets: Vec<i64>,
}

enum Texts {
    Each(Vec<Finder<'static>>),
    Many(Endings),
}

/// The last bytes of many texts, all of one width.
struct Endings {
    width: usize,
    mask: u64,
    known: HashSet<u64>,
    bits: Vec<u64>,
    shift: u32,
}

impl Needles {
    pub fn new(properties: &[Vec<u8>], bodies: &[Vec<u8>], mut offsets: Vec<i64>) -> Needles {
        offsets.sort_unstable();
        Needles { properties: Texts::new(properties), bodies: Texts::new(bodies), offsets }
    }

    /// Whether a record may have one of them. A compressed body may have anything, also the properties of the messages of a batch.
    pub fn may_be_in(&self, bytes: &[u8], place: &Place) -> bool {
        let is_batch = place.sys_flag & INNER_BATCH != 0;
        if place.packed && (is_batch || !self.bodies.is_empty()) {
            return true;
        }
        self.properties.are_in(bytes, place.properties_range())
            || (is_batch && self.properties.are_in(bytes, place.body_range()))
            || self.bodies.are_in(bytes, place.body_range())
            || self.offsets.binary_search(&place.physical_offset).is_ok()
    }
}

impl Texts {
    fn new(texts: &[Vec<u8>]) -> Texts {
        if texts.len() <= FEW {
            Texts::Each(texts.iter().map(|text| Finder::new(text).into_owned()).collect())
        } else {
            Texts::Many(Endings::new(texts))
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Texts::Each(finders) if finders.is_empty())
    }

    /// Whether one of them may be in that range of the bytes.
    fn are_in(&self, bytes: &[u8], (begin, end): (usize, usize)) -> bool {
        match self {
            Texts::Each(finders) => finders.iter().any(|finder| finder.find(bytes.get(begin..end).unwrap_or_default()).is_some()),
            Texts::Many(endings) => endings.are_in(bytes, (begin, end)),
        }
    }
}

impl Endings {
    fn new(texts: &[Vec<u8>]) -> Endings {
        let width = texts.iter().map(Vec::len).min().unwrap_or(0).min(WIDEST);
        let mask = u64::MAX.checked_shr((64 - 8 * width) as u32).unwrap_or(0);
        let known: HashSet<u64> = texts.iter().map(|text| word(text, text.len() - width) & mask).collect();
        let size = (BITS_FOR_ONE * known.len()).next_power_of_two().clamp(BITS_FOR_ONE, MOST_BITS);
        let mut made = Endings { width, mask, known: HashSet::new(), bits: vec![0; size / 64], shift: u64::BITS - size.trailing_zeros() };
        for &ending in &known {
            let bit = made.bit_of(ending);
            if let Some(group) = made.bits.get_mut(bit / 64) {
                *group |= 1 << (bit % 64);
            }
        }
        Endings { known, ..made }
    }

    fn are_in(&self, bytes: &[u8], (begin, end): (usize, usize)) -> bool {
        let stop = (end + 1).saturating_sub(self.width).max(begin);
        // After most ranges, there is more of the buffer: words are then read without a look at its end.
        match bytes.get(begin..stop + WIDEST - 1) {
            Some(all) => all.windows(WIDEST).any(|window| self.may_have(word(window, 0))),
            None => (begin..stop).any(|at| self.may_have(word(bytes, at))),
        }
    }

    #[inline(always)]
    fn may_have(&self, word: u64) -> bool {
        let ending = word & self.mask;
        let bit = self.bit_of(ending);
        self.bits.get(bit / 64).is_some_and(|group| group >> (bit % 64) & 1 != 0) && self.known.contains(&ending)
    }

    #[inline(always)]
    fn bit_of(&self, ending: u64) -> usize {
        (ending.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_in(texts: &[&str], bytes: &str) -> bool {
        let texts = Texts::new(&texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>());
        let padded = format!("..{bytes}........");
        let found = [(bytes, 0), (&padded, 2)].map(|(all, begin)| texts.are_in(all.as_bytes(), (begin, begin + bytes.len())));
        assert_eq!(found[0], found[1], "what follows does not count");
        found[0]
    }

    #[test]
    fn one_of_few_or_of_many_texts_is_found_wherever_it_is() {
        let many: Vec<String> = (0..1000).map(|number| format!("ORDER-{number:04}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for texts in [&many[..1], &many[..FEW], &many[..FEW + 1], &many] {
            let last = texts.last().unwrap();
            for before in 0..70 {
                assert!(are_in(texts, &format!("{}{last}", "O".repeat(before))));
                assert!(are_in(texts, &format!("{}{last}{}", "O".repeat(before), "1".repeat(before))));
                assert!(!are_in(texts, &format!("{}{}", "O".repeat(before), &last[..last.len() - 1])));
            }
            assert!(!are_in(texts, "ORDER-1000 ORDER-00"));
        }
    }

    #[test]
    fn texts_of_different_sizes_are_found() {
        let texts = ["abcd", "some longer text", "1234567", "other"];
        for text in texts {
            assert!(are_in(&texts, text) && are_in(&texts, &format!("xx{text}x")));
        }
        assert!(!are_in(&texts, "abc bcd 123456 othe"));
        assert!(!are_in(&texts, "") && !are_in(&texts, "abc"));
        assert!(!are_in(&[], "abc"));
    }

    #[test]
    fn no_text_is_too_short() {
        let texts = ["a", "bc", "def", "ghij", ""];
        assert!(are_in(&texts, "") && are_in(&texts[..4], "xxa") && !are_in(&texts[..4], "xyz"));
    }
}
