//! The names of a record's properties, in their order, are its shape. Few occur in a store: they are compared, not cut.

use crate::properties::without_checksum;
use crate::separators::{NAME_END, Separators, VALUE_END};
use std::collections::HashSet;

const KNOWN_BITS: u32 = 9;
/// Names of up to this many bytes are compared as one number.
const SHORT: usize = 16;

pub struct Shape {
    sum: u64,
    /// All names, and zeros, so that a number can be read at the beginning of each.
    names: Vec<u8>,
    ends: Vec<i32>,
    /// For each wanted property, its place among the pairs.
    wanted: Vec<Option<usize>>,
}

impl Shape {
    /// Learns from a field. None if two names are equal, or one is empty.
    #[cold]
    fn of(sum: u64, bytes: &[u8], begin: usize, pairs: &[[u32; 2]], wanted: &[Vec<u8>]) -> Option<Box<Shape>> {
        let begins = std::iter::once(begin).chain(pairs.iter().map(|&[_, end]| end as usize + 1));
        let names: Vec<&[u8]> = begins.zip(pairs).filter_map(|(begin, &[middle, _])| bytes.get(begin..middle as usize)).collect();
        if names.len() < pairs.len() || names.iter().any(|name| name.is_empty()) {
            return None;
        }
        let mut seen = HashSet::new();
        if !names.iter().all(|name| seen.insert(name)) {
            return None;
        }
        let end_of = |end: &mut usize, name: &&[u8]| {
            *end += name.len();
            i32::try_from(*end).ok()
        };
        Some(Box::new(Shape {
            sum,
            names: [names.concat(), vec![0; SHORT]].concat(),
            ends: names.iter().scan(0, end_of).collect(),
            wanted: wanted.iter().map(|wanted| names.iter().position(|name| name == wanted)).collect(),
        }))
    }

    /// Whether the field has these names.
    #[inline(always)]
    fn is_of(&self, bytes: &[u8], begin: usize, pairs: &[[u32; 2]]) -> bool {
        let (mut at, mut from, mut same) = (begin, 0, pairs.len() == self.ends.len());
        for (&[middle, end], &to) in pairs.iter().zip(&self.ends) {
            let (size, to) = (middle as usize - at, to as usize);
            same &= size == to - from && is_same(bytes.get(at..).unwrap_or_default(), self.names.get(from..).unwrap_or_default(), size);
            (at, from) = (end as usize + 1, to);
        }
        same
    }
}

/// Whether the first bytes are the same: as one number if both have `SHORT` bytes, which needs no call.
#[inline(always)]
fn is_same(one: &[u8], other: &[u8], size: usize) -> bool {
    match (one.first_chunk::<SHORT>(), other.first_chunk::<SHORT>()) {
        (Some(one), Some(other)) if (1..=SHORT).contains(&size) => {
            (u128::from_le_bytes(*one) ^ u128::from_le_bytes(*other)) << (8 * (SHORT - size)) == 0
        }
        _ => one.get(..size) == other.get(..size),
    }
}

/// A field of a known shape: text, of pairs that all count.
pub struct Cut<'a> {
    shape: &'a Shape,
    pairs: &'a [[u32; 2]],
}

impl Cut<'_> {
    /// All names as one, and where each ends.
    #[inline(always)]
    pub fn names(&self) -> (&[u8], &[i32]) {
        let size = self.shape.names.len() - SHORT;
        (self.shape.names.get(..size).unwrap_or_default(), &self.shape.ends)
    }

    #[inline(always)]
    pub fn values(&self) -> impl Iterator<Item = (usize, usize)> {
        self.pairs.iter().map(|&pair| value_of(pair))
    }

    /// The value of the wanted property with this number.
    #[inline(always)]
    pub fn value(&self, wanted: usize) -> Option<(usize, usize)> {
        let place = (*self.shape.wanted.get(wanted)?)?;
        self.pairs.get(place).map(|&pair| value_of(pair))
    }
}

#[inline(always)]
fn value_of([middle, end]: [u32; 2]) -> (usize, usize) {
    (middle as usize + 1, end as usize)
}

pub struct Shapes {
    known: Vec<Option<Box<Shape>>>,
    separators: Separators,
}

impl Shapes {
    pub fn new() -> Shapes {
        Shapes { known: (0..1 << KNOWN_BITS).map(|_| None).collect(), separators: Separators::new() }
    }

    /// Cuts a field. None if it has no pairs, or is for `exact`: a piece that is no pair, equal names, other bytes than text, very many.
    #[inline(always)]
    pub fn cut(&mut self, bytes: &[u8], begin: usize, end: usize, wanted: &[Vec<u8>]) -> Option<Cut<'_>> {
        let field = without_checksum(bytes.get(begin..end)?);
        let end = begin + field.len();
        if !self.separators.find(bytes, begin, end) {
            return None;
        }
        self.separators.close(end);
        let (pairs, rest) = self.separators.places().as_chunks::<2>();
        let sum = sum_of(bytes, begin, end, pairs)?;
        // Separators are ASCII, so what they cut out of UTF-8 is UTF-8.
        if !rest.is_empty() || !(self.separators.is_ascii || simdutf8::basic::from_utf8(field).is_ok()) {
            return None;
        }
        let known = self.known.get_mut((sum >> (u64::BITS - KNOWN_BITS)) as usize)?;
        if !known.as_ref().is_some_and(|shape| shape.sum == sum && shape.is_of(bytes, begin, pairs)) {
            *known = Some(Shape::of(sum, bytes, begin, pairs, wanted)?);
        }
        known.as_deref().map(|shape| Cut { shape, pairs })
    }
}

/// A number from the sizes and first bytes of the names. None unless all is pairs: name, `NAME_END`, a value, `VALUE_END`.
#[inline(always)]
fn sum_of(bytes: &[u8], begin: usize, end: usize, pairs: &[[u32; 2]]) -> Option<u64> {
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15; // 2^64 divided by the golden ratio
    let (mut sum, mut at, mut are_pairs) = (pairs.len() as u64, begin, true);
    for &[middle, last] in pairs {
        let (middle, last) = (middle as usize, last as usize);
        let first = bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |four| u32::from_le_bytes(*four));
        are_pairs &= bytes.get(middle) == Some(&NAME_END) && (last == end || bytes.get(last) == Some(&VALUE_END)) && last > middle + 1;
        sum = (sum.rotate_left(7) ^ ((middle - at) as u64) << 32 ^ u64::from(first)).wrapping_mul(SPREAD);
        at = last + 1;
    }
    (are_pairs && at >= end && !pairs.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::exact;

    fn cut(shapes: &mut Shapes, field: &[u8], wanted: &[Vec<u8>]) -> Option<Vec<(String, String)>> {
        let padded = [b"..", field, b"...."].concat();
        let cut = shapes.cut(&padded, 2, 2 + field.len(), wanted)?;
        let text = |begin: usize, end: usize, bytes: &[u8]| String::from_utf8(bytes[begin..end].to_vec()).unwrap();
        let (names, ends) = cut.names();
        let begins = std::iter::once(0).chain(ends.iter().copied());
        let names: Vec<String> = begins.zip(ends).map(|(begin, &end)| text(begin as usize, end as usize, names)).collect();
        for (number, wanted) in wanted.iter().enumerate() {
            let place = names.iter().position(|name| name.as_bytes() == wanted);
            assert_eq!(cut.value(number), place.and_then(|place| cut.values().nth(place)));
        }
        Some(names.into_iter().zip(cut.values().map(|(begin, end)| text(begin, end, &padded))).collect())
    }

    fn exactly(field: &[u8]) -> Vec<(String, String)> {
        exact(field, 0, field.len()).into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
    }

    #[test]
    fn a_known_shape_has_the_pairs_of_the_exact_way() {
        let (mut shapes, long) = (Shapes::new(), "x".repeat(40));
        let wanted = [b"TAGS".to_vec(), b"b".to_vec(), b"not there".to_vec()];
        for _ in 0..2 {
            for field in [
                "TAGS\x01a\x02",
                "TAGS\x01a",
                "b\x012\x02TAGS\x01a\x02",
                "b\x01ü\x02主题\x01主",
                "b\x01c\x02__CRC32#\x011234567890\x02",
                &format!("{long}\x01{long}\x02{long}y\x01b\x02"),
                &format!("{}\x01b\x02", &long[..16]),
                &format!("{}\x01b\x02", &long[..17]),
            ] {
                assert_eq!(cut(&mut shapes, field.as_bytes(), &wanted), Some(exactly(field.as_bytes())), "{field:?}");
            }
        }
    }

    #[test]
    fn what_is_not_only_pairs_is_for_the_exact_way() {
        let many = (0..100).flat_map(|number| format!("{number}\x01v\x02").into_bytes()).collect::<Vec<_>>();
        let fields: [&[u8]; 12] = [
            b"",
            b"a",
            b"a\x01",
            b"a\x01\x02",
            b"\x01b\x02",
            b"a\x01b\x02c",
            b"a\x01b\x01c\x02",
            b"a\x01b\x02\x02",
            b"a\0\x01b\x02",
            b"a\x01b\x02a\x01c\x02",
            b"a\x01b\xFF\x02",
            &many,
        ];
        for field in fields {
            assert_eq!(cut(&mut Shapes::new(), field, &[]), None, "{field:?}");
        }
    }

    #[test]
    fn names_of_equal_sums_are_told_apart() {
        let mut shapes = Shapes::new();
        let fields = ["PROPERTY_1\x01a\x02", "PROPERTY_2\x01a\x02", "PROPERTY_1\x01b\x02"];
        for field in fields {
            assert_eq!(cut(&mut shapes, field.as_bytes(), &[]), Some(exactly(field.as_bytes())));
        }
    }

    /// More shapes than are kept, in an order drawn by a plain generator.
    #[test]
    fn shapes_that_share_a_place_take_turns() {
        let (mut shapes, mut drawn) = (Shapes::new(), 1_u64);
        for _ in 0..if cfg!(miri) { 200 } else { 20_000 } {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let count = 1 + (drawn >> 40) % 9;
            let field: String = (0..count).map(|pair| format!("n{}{pair}\x01{}\x02", drawn >> (50 + pair) & 7, drawn >> 60)).collect();
            assert_eq!(cut(&mut shapes, field.as_bytes(), &[]), Some(exactly(field.as_bytes())));
        }
    }
}
