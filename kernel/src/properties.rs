//! The properties of one record: `name \x01 value \x02` repeated. The rules are those of `native_reader/layout/properties.py`.

use std::borrow::Cow;
use std::collections::HashMap;

const NAME_END: u8 = 1;
pub const VALUE_END: u8 = 2;
const CRC_NAME: &[u8] = b"__CRC32#";
const CRC_SIZE: usize = 20;
/// Up to this many pairs of a record, comparing each with each costs less than sorting.
const FEW: usize = 24;

/// A name and its value, as positions in the buffer. Neither is empty.
#[derive(Clone, Copy)]
pub struct Pair {
    pub name: (usize, usize),
    pub value: (usize, usize),
    /// Equal for equal names; see `sign_of`.
    pub sign: u64,
}

/// Cuts one field after the other, in memory that it keeps.
#[derive(Default)]
pub struct Cutter {
    pub pairs: Vec<Pair>,
    signs: Vec<u64>,
}

impl Cutter {
    /// Cuts the field into its pairs, without the broker's own checksum. False if they are for `exact`: two names may be equal, or not
    /// all is UTF-8.
    #[inline(always)]
    pub fn cut(&mut self, bytes: &[u8], begin: usize, end: usize) -> bool {
        self.pairs.clear();
        let field = bytes.get(begin..end).map_or(&[][..], without_checksum);
        let (mut piece, mut middle) = (0, None);
        let mut closed = |piece: usize, middle: Option<usize>, end: usize| {
            if let Some(middle) = middle
                && middle > piece
                && end > middle + 1
            {
                let name = (begin + piece, begin + middle);
                self.pairs.push(Pair { name, value: (begin + middle + 1, begin + end), sign: sign_of(bytes, name.0, name.1) });
            }
        };
        let is_ascii = each_separator(field, |at, byte| match byte {
            NAME_END if middle.is_none() => middle = Some(at),
            VALUE_END => {
                closed(piece, middle, at);
                (piece, middle) = (at + 1, None);
            }
            _ => {} // a zero, or a second \x01, which is part of the value
        });
        closed(piece, middle, field.len());
        // Separators are ASCII, so what they cut out of UTF-8 is UTF-8.
        (is_ascii || simdutf8::basic::from_utf8(field).is_ok()) && !self.may_repeat()
    }

    /// Whether two signs are equal. Nearly always, one bit a sign in a small table shows that none are.
    #[inline(always)]
    fn may_repeat(&mut self) -> bool {
        const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15; // 2^64 divided by the golden ratio
        let (mut table, mut taken) = ([0_u64; 16], 0_u64);
        for pair in &self.pairs {
            let place = pair.sign.wrapping_mul(SPREAD) >> 54;
            let bits = &mut table[(place >> 6) as usize];
            taken |= *bits >> (place & 63) & 1;
            *bits |= 1_u64 << (place & 63);
        }
        taken != 0 && self.repeats()
    }

    #[cold]
    fn repeats(&mut self) -> bool {
        if self.pairs.len() <= FEW {
            return self.pairs.iter().enumerate().any(|(i, pair)| self.pairs[..i].iter().any(|other| other.sign == pair.sign));
        }
        self.signs.clear();
        self.signs.extend(self.pairs.iter().map(|pair| pair.sign));
        self.signs.sort_unstable();
        self.signs.windows(2).any(|pair| matches!(pair, [one, other] if one == other))
    }
}

/// The pairs that count, as text: the last of equal names counts, at its own place. For rare rows.
#[cold]
pub fn exact<'a>(bytes: &'a [u8], pairs: &[Pair]) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
    let text = |(begin, end): (usize, usize)| String::from_utf8_lossy(bytes.get(begin..end).unwrap_or_default());
    let names: Vec<Cow<'a, str>> = pairs.iter().map(|pair| text(pair.name)).collect();
    let last: HashMap<&str, usize> = names.iter().enumerate().map(|(place, name)| (&**name, place)).collect();
    let kept: Vec<bool> = names.iter().enumerate().map(|(place, name)| last.get(&**name) == Some(&place)).collect();
    names.into_iter().zip(pairs).zip(kept).filter_map(|((name, pair), kept)| kept.then(|| (name, text(pair.value)))).collect()
}

/// The checksum that brokers since 5.2.0 append: ten digits, the last one first; and its size.
pub fn own_checksum(field: &[u8]) -> Option<(u64, usize)> {
    let (_, trailer) = field.split_last_chunk::<CRC_SIZE>()?;
    let digits = trailer.get(CRC_NAME.len() + 1..CRC_SIZE - 1)?;
    is_checksum(trailer).then(|| (digits.iter().rev().fold(0, |number, digit| 10 * number + u64::from(digit - b'0')), CRC_SIZE))
}

/// The field without the checksum that brokers since 5.2.0 append.
#[inline(always)]
fn without_checksum(field: &[u8]) -> &[u8] {
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
fn word(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => rest.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
    }
}

const LOW: u64 = u64::from_ne_bytes([0x7F; 8]);

/// Calls `seen` with each byte of at most 2 and its place, ascending; returns whether all bytes are ASCII.
#[inline(always)]
pub fn each_separator(field: &[u8], seen: impl FnMut(usize, u8)) -> bool {
    const ADD: u64 = u64::from_ne_bytes([0x7F - VALUE_END; 8]);
    each_marked(field, |bytes| ((bytes & LOW) + ADD) | bytes, seen)
}

/// Calls `seen` with the place of each VALUE_END, ascending.
#[inline(always)]
pub fn each_value_end(field: &[u8], mut seen: impl FnMut(usize)) {
    const ENDS: u64 = u64::from_ne_bytes([VALUE_END; 8]);
    let others = |bytes: u64| (((bytes ^ ENDS) & LOW) + LOW) | (bytes ^ ENDS);
    each_marked(field, others, |at, _| seen(at));
}

/// Calls `seen` with each byte whose top bit is clear in `others`, and its place, ascending; returns whether all bytes are ASCII.
///
/// Bytes are marked 64 at a time, because processors often mispredict a loop over one or two marks.
#[inline(always)]
fn each_marked(field: &[u8], others: impl Fn(u64) -> u64, mut seen: impl FnMut(usize, u8)) -> bool {
    const GATHER: u64 = 0x0102_0408_1020_4080; // a product with it has the lowest bit of each byte in its highest byte
    let mut all = 0_u64;
    let mut visit = |at: usize, block: &[u8; 64]| {
        let mut marks = 0_u64;
        for (number, eight) in block.as_chunks().0.iter().enumerate() {
            let bytes = u64::from_le_bytes(*eight);
            all |= bytes;
            let marked = !others(bytes) & !LOW;
            marks |= ((marked >> 7).wrapping_mul(GATHER) >> 56) << (8 * number);
        }
        while marks != 0 {
            let place = marks.trailing_zeros() as usize;
            seen(at + place, block[place]);
            marks &= marks - 1;
        }
    };
    let (blocks, rest) = field.as_chunks();
    for (number, block) in blocks.iter().enumerate() {
        visit(64 * number, block);
    }
    let mut last = [0x7F; 64];
    last[..rest.len()].copy_from_slice(rest);
    visit(64 * blocks.len(), &last);
    all & !LOW == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(field: &[u8]) -> Vec<(String, String)> {
        let padded = [b"..", field, b"...."].concat();
        let mut cutter = Cutter::default();
        cutter.cut(&padded, 2, 2 + field.len());
        exact(&padded, &cutter.pairs).into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
    }

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn each_separator_is_seen_once_at_its_place() {
        for size in 0..200 {
            let mut field: Vec<u8> = (0..size).map(|at: usize| (at * 7 % 11) as u8).collect();
            let expected: Vec<(usize, u8)> = field.iter().copied().enumerate().filter(|&(_, byte)| byte <= VALUE_END).collect();
            let (mut found, mut ends) = (Vec::new(), Vec::new());
            assert!(each_separator(&field, |at, byte| found.push((at, byte))));
            each_value_end(&field, |at| ends.push((at, VALUE_END)));
            assert_eq!(found, expected);
            assert_eq!(ends, expected.into_iter().filter(|&(_, byte)| byte == VALUE_END).collect::<Vec<_>>());
            if let Some(last) = field.last_mut() {
                *last = 0x80;
                assert!(!each_separator(&field, |_, _| {}));
            }
        }
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

    #[test]
    fn only_names_that_differ_and_text_are_cut_without_exact() {
        let mut cutter = Cutter::default();
        let fields: [(&[u8], bool); 6] = [
            ("a\x01b\x02".as_bytes(), true),
            ("a\x01b\x02a\x01c\x02".as_bytes(), false),
            ("ä\x01主题\x02b\x01ü".as_bytes(), true),
            (b"a\x01b\xFF\x02", false),
            (b"a\x01\xC3\x02\xA4\x01b", false),
            (b"12345678\x01123456\x80", false),
        ];
        for (field, is_plain) in fields {
            assert_eq!(cutter.cut(field, 0, field.len()), is_plain, "{field:?}");
        }
    }

    #[test]
    fn signs_of_many_names_are_compared_too() {
        let field: Vec<u8> = (0..200).flat_map(|number| format!("name{}\x01v\x02", number % 150).into_bytes()).collect();
        let mut cutter = Cutter::default();
        assert!(!cutter.cut(&field, 0, field.len()));
        assert_eq!(pairs(&field).len(), 150);
    }
}
