//! The properties of one record: `name \x01 value \x02` repeated. The rules are those of `native_reader/layout/properties.py`.

use crate::separators::{NAME_END, VALUE_END};
use std::borrow::Cow;
use std::collections::HashMap;

const CRC_NAME: &[u8] = b"__CRC32#";
const CRC_SIZE: usize = 20;
/// Pairs as text.
pub type Exact<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// The pairs that count, as text: the last of equal names counts, at its own place. For what is not of a known shape.
#[cold]
pub fn exact(bytes: &[u8], begin: usize, end: usize) -> Exact<'_> {
    let pairs = pairs(bytes.get(begin..end).map_or(&[][..], without_checksum));
    let last: HashMap<&str, usize> = pairs.iter().enumerate().map(|(place, (name, _))| (&**name, place)).collect();
    let kept: Vec<bool> = pairs.iter().enumerate().map(|(place, (name, _))| last.get(&**name) == Some(&place)).collect();
    pairs.into_iter().zip(kept).filter_map(|(pair, kept)| kept.then_some(pair)).collect()
}

/// The pieces that have a name and a value.
fn pairs(field: &[u8]) -> Exact<'_> {
    let pieces = field.split(|&byte| byte == VALUE_END);
    let cut = pieces.filter_map(|piece| {
        let middle = piece.iter().position(|&byte| byte == NAME_END)?;
        Some((piece.get(..middle)?, piece.get(middle + 1..)?))
    });
    let whole = cut.filter(|(name, value)| !name.is_empty() && !value.is_empty());
    whole.map(|(name, value)| (String::from_utf8_lossy(name), String::from_utf8_lossy(value))).collect()
}

/// The checksum that brokers since 5.2.0 append: ten digits, the last one first; and its size.
pub fn own_checksum(field: &[u8]) -> Option<(u64, usize)> {
    let (_, trailer) = field.split_last_chunk::<CRC_SIZE>()?;
    let digits = trailer.get(CRC_NAME.len() + 1..CRC_SIZE - 1)?;
    is_checksum(trailer).then(|| (digits.iter().rev().fold(0, |number, digit| 10 * number + u64::from(digit - b'0')), CRC_SIZE))
}

/// The field without the checksum that brokers since 5.2.0 append.
#[inline(always)]
pub fn without_checksum(field: &[u8]) -> &[u8] {
    match field.split_last_chunk::<CRC_SIZE>() {
        Some((rest, trailer)) if is_checksum(trailer) => rest,
        _ => field,
    }
}

#[inline(always)]
fn is_checksum(trailer: &[u8; CRC_SIZE]) -> bool {
    trailer[CRC_SIZE - 1] == VALUE_END
        && trailer.starts_with(CRC_NAME)
        && trailer[CRC_NAME.len()] == NAME_END
        && trailer[CRC_NAME.len() + 1..CRC_SIZE - 1].iter().all(u8::is_ascii_digit)
}

/// First bytes, last bytes and size of a name as one number. Equal names have equal signs; the others rarely do.
///
/// Without a branch, because names of less and of more than eight bytes alternate.
#[inline(always)]
pub fn sign_of(bytes: &[u8], begin: usize, end: usize) -> u64 {
    let size = end - begin;
    let first = word(bytes, begin) & u64::MAX.checked_shr(64 - 8 * size.min(8) as u32).unwrap_or(0);
    let last = word(bytes, begin.max(end.saturating_sub(8))).rotate_left(21) & u64::from(size >= 8).wrapping_neg();
    first ^ last ^ (size as u64) << 56
}

/// Eight bytes as a number; bytes after the buffer are zeros.
#[inline(always)]
pub(crate) fn word(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => rest.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(field: &[u8]) -> Vec<(String, String)> {
        let padded = [b"..", field, b"...."].concat();
        exact(&padded, 2, 2 + field.len()).into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
    }

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn pieces_without_a_name_or_a_value_do_not_count() {
        assert_eq!(pairs(b"a\x01b\x02c\x01d"), owned(&[("a", "b"), ("c", "d")]));
        assert_eq!(pairs(b"\x01b\x02c\x01\x02d\x02\x02e\x01f\x01g\x02"), owned(&[("e", "f\x01g")]));
        assert_eq!(pairs(b""), owned(&[]));
        assert_eq!(pairs(b"a\0b\x01\0\x02"), owned(&[("a\0b", "\0")]));
    }

    #[test]
    fn the_last_of_equal_names_counts_at_its_own_place() {
        assert_eq!(pairs(b"a\x011\x02b\x012\x02a\x013\x02"), owned(&[("b", "2"), ("a", "3")]));
        assert_eq!(pairs(b"a\x011\x02a\x01\x02"), owned(&[("a", "1")]));
    }

    #[test]
    fn the_checksum_of_the_broker_is_left_out() {
        assert_eq!(pairs(b"a\x01b\x02__CRC32#\x011234567890\x02"), owned(&[("a", "b")]));
        assert_eq!(pairs(b"a\x01b__CRC32#\x011234567890\x02"), owned(&[("a", "b")]));
        assert_eq!(pairs(b"__CRC32#\x01123456789x\x02").len(), 1);
    }
}
