//! The names of a record's properties, in their order, are its shape. Few occur in a store: they are compared, not cut.

use crate::properties::without_checksum;
use crate::separators::{Found, NAME_END, Pairs, Separators, VALUE_END};
use crate::texts::WIDE;
use std::collections::HashSet;

const KNOWN_BITS: u32 = 11;
/// Of more bytes of names, all shapes are forgotten: in a store that has so many, most do not come again.
const MOST_HELD: usize = 1 << 20;

/// The places of one name, its end and what is before it as one number: what a field of this shape has there.
struct Name {
    bits: u128,
    mask: u128,
}

/// Bytes that are compared as one number.
const SHORT: usize = 16;

impl Name {
    /// Of a name and the separators around it, as much as is `SHORT`. What is before the first name is not compared.
    fn of(name: &[u8], is_first: bool) -> Name {
        let (mut text, mut mask) = ([0; SHORT], [0; SHORT]);
        let all = [&[VALUE_END], name, &[NAME_END]].concat();
        for (at, byte) in all.into_iter().take(SHORT).enumerate().skip(usize::from(is_first)) {
            (text[at], mask[at]) = (byte, 0xFF);
        }
        Name { bits: u128::from_le_bytes(text), mask: u128::from_le_bytes(mask) }
    }
}

pub struct Shape {
    sum: u64,
    compared: Vec<Name>,
    /// Those that are not compared whole: their places among the pairs.
    long: Vec<usize>,
    /// All names, and `WIDE` zeros.
    names: Vec<u8>,
    ends: Vec<i32>,
    /// For each wanted property, its place among the pairs; a number of none, if it is not there.
    wanted: Vec<usize>,
}

impl Shape {
    /// Learns from a field. None if two names are equal, or what is between two names is not one pair.
    #[cold]
    fn of(sum: u64, bytes: &[u8], begin: usize, pairs: &[[u32; 2]], wanted: &[Vec<u8>]) -> Option<Shape> {
        let begins = || std::iter::once(begin).chain(pairs.iter().map(|&[_, end]| end as usize + 1));
        let names: Vec<&[u8]> = begins().zip(pairs).filter_map(|(begin, &[middle, _])| bytes.get(begin..middle as usize)).collect();
        let are_pairs = pairs.iter().all(|&[middle, _]| bytes.get(middle as usize) == Some(&NAME_END))
            && begins().skip(1).take(pairs.len() - 1).all(|begin| bytes.get(begin - 1) == Some(&VALUE_END));
        let mut seen = HashSet::new();
        if !are_pairs || names.len() < pairs.len() || !names.iter().all(|name| !name.is_empty() && seen.insert(name)) {
            return None;
        }
        let end_of = |end: &mut usize, name: &&[u8]| {
            *end += name.len();
            i32::try_from(*end).ok()
        };
        Some(Shape {
            sum,
            compared: names.iter().enumerate().map(|(place, name)| Name::of(name, place == 0)).collect(),
            long: (0..names.len()).filter(|&place| names.get(place).is_some_and(|name| name.len() + 2 > SHORT)).collect(),
            names: [names.concat(), vec![0; WIDE]].concat(),
            ends: names.iter().scan(0, end_of).collect(),
            wanted: wanted.iter().map(|wanted| names.iter().position(|name| name == wanted).unwrap_or(usize::MAX)).collect(),
        })
    }

    /// Whether the field has these names, and only separators of pairs.
    #[inline(always)]
    fn is_of(&self, bytes: &[u8], begin: usize, pairs: &[[u32; 2]]) -> bool {
        if pairs.len() != self.compared.len() {
            return false;
        }
        let (mut at, mut differs) = (begin, 0);
        for (&[_, end], name) in pairs.iter().zip(&self.compared) {
            // Where a name is so near to the end of the buffer that this does not fit, it has another way.
            let Some(found) = bytes.get(at.wrapping_sub(1)..).and_then(<[u8]>::first_chunk::<SHORT>) else { return false };
            differs |= (u128::from_le_bytes(*found) ^ name.bits) & name.mask;
            at = end as usize + 1;
        }
        differs == 0 && self.long.iter().all(|&place| self.is_name(bytes, begin, pairs, place))
    }

    fn is_name(&self, bytes: &[u8], begin: usize, pairs: &[[u32; 2]], place: usize) -> bool {
        let begin_of = |place: usize| place.checked_sub(1).map(|before| (pairs.get(before), self.ends.get(before)));
        let (at, from) = match begin_of(place) {
            Some((Some(&[_, end]), Some(&from))) => (end as usize + 1, from as usize),
            None => (begin, 0),
            _ => return false,
        };
        let (Some(&[middle, _]), Some(&to)) = (pairs.get(place), self.ends.get(place)) else { return false };
        bytes.get(middle as usize) == Some(&NAME_END) && bytes.get(at..middle as usize) == self.names.get(from..to as usize)
    }
}

/// A field of a known shape: text, of pairs that all count.
pub struct Cut<'a> {
    shape: &'a Shape,
    pub pairs: Pairs<'a>,
}

impl<'a> Cut<'a> {
    /// All names as one, then `WIDE` zeros; and where each ends.
    #[inline(always)]
    pub fn names(&self) -> (&'a [u8], &'a [i32]) {
        (&self.shape.names, &self.shape.ends)
    }

    /// Where the value of the wanted property with this number is.
    #[inline(always)]
    pub fn value(&self, wanted: usize) -> Option<(usize, usize)> {
        let place = *self.shape.wanted.get(wanted)?;
        self.pairs.places().get(place).map(|&[middle, end]| (middle as usize + 1, end as usize))
    }
}

/// The shapes that occurred.
#[derive(Default)]
pub struct Shapes {
    /// The shape for each place that a sum can have.
    known: Vec<Option<Box<Shape>>>,
    /// The bytes of all names that were learned.
    held: usize,
    separators: Separators,
}

impl Shapes {
    /// Cuts a field; `wanted` has the same names in each call. None if the field has no pairs, or is for `exact`: a piece that is no
    /// pair, equal names, other bytes than text, very many.
    #[inline(always)]
    pub fn cut(&mut self, bytes: &[u8], begin: usize, end: usize, wanted: &[Vec<u8>]) -> Option<Cut<'_>> {
        if self.known.is_empty() || self.held > MOST_HELD {
            self.forget();
        }
        let field = without_checksum(bytes.get(begin..end)?);
        let end = begin + field.len();
        let Found { pairs, is_ascii } = self.separators.find(bytes, begin, end)?;
        let &[middle, last] = pairs.places().last()?;
        let is_whole = last as usize == end || last as usize + 1 == end && field.last() == Some(&VALUE_END);
        // Separators are ASCII, so what they cut out of UTF-8 is UTF-8.
        if !(is_whole && last > middle + 1 && (is_ascii || simdutf8::basic::from_utf8(field).is_ok())) {
            return None;
        }
        let sum = sum_of(bytes, begin, pairs.places());
        let known = self.known.get_mut((sum >> (u64::BITS - KNOWN_BITS)) as usize)?;
        if !known.as_ref().is_some_and(|shape| shape.sum == sum && shape.is_of(bytes, begin, pairs.places())) {
            let new = Shape::of(sum, bytes, begin, pairs.places(), wanted)?;
            self.held += new.names.len();
            *known = Some(Box::new(new));
        }
        known.as_deref().map(|shape| Cut { shape, pairs })
    }

    #[cold]
    fn forget(&mut self) {
        self.known = (0..1 << KNOWN_BITS).map(|_| None).collect();
        self.held = 0;
    }
}

/// A number from the sizes and the first two bytes of the names; of a name of one byte, the second is its end.
#[inline(always)]
fn sum_of(bytes: &[u8], begin: usize, pairs: &[[u32; 2]]) -> u64 {
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15; // 2^64 divided by the golden ratio
    let (mut sum, mut at) = (pairs.len() as u64, begin);
    for &[middle, end] in pairs {
        let size = middle as usize - at;
        let first = bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |two| u16::from_le_bytes(*two));
        sum = sum.rotate_left(9).wrapping_add((size as u64) << 16 | u64::from(first));
        at = end as usize + 1;
    }
    sum.wrapping_mul(SPREAD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::exact;
    use crate::texts::Texts;

    /// Cut in a buffer that ends with it, and in one that goes on.
    fn cut(shapes: &mut Shapes, field: &[u8], wanted: &[Vec<u8>]) -> Option<Vec<(String, String)>> {
        let one = cut_before(shapes, field, wanted, b"");
        assert_eq!(one, cut_before(shapes, field, wanted, &[b'.'; 64]));
        one
    }

    fn cut_before(shapes: &mut Shapes, field: &[u8], wanted: &[Vec<u8>], rest: &[u8]) -> Option<Vec<(String, String)>> {
        let buffer = [b"..", field, rest].concat();
        let cut = shapes.cut(&buffer, 2, 2 + field.len(), wanted)?;
        let (mut names, mut values) = (Texts::with_capacity(0, 0), Texts::with_capacity(0, 0));
        let (parts, ends) = cut.names();
        names.push_all(parts, ends);
        values.push_values(&buffer, cut.pairs);
        let (names, values) = (listed(&names), listed(&values));
        for (number, wanted) in wanted.iter().enumerate() {
            let place = names.iter().position(|name| name.as_bytes() == wanted);
            let value = cut.value(number).map(|(begin, end)| str::from_utf8(&buffer[begin..end]).unwrap());
            assert_eq!(value, place.map(|place| &*values[place]));
        }
        Some(names.into_iter().zip(values).collect())
    }

    fn listed(texts: &Texts) -> Vec<String> {
        let ranges = texts.ends.windows(2).map(|ends| texts.data[ends[0] as usize..ends[1] as usize].to_vec());
        ranges.map(|value| String::from_utf8(value).unwrap()).collect()
    }

    fn exactly(field: &[u8]) -> Vec<(String, String)> {
        exact(field, 0, field.len()).into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
    }

    #[test]
    fn a_known_shape_has_the_pairs_of_the_exact_way() {
        let (mut shapes, long) = (Shapes::default(), "x".repeat(40));
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
                &format!("{}\x01b\x02{}\x01{}\x02", &long[..14], &long[..15], &long[..33]),
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
            assert_eq!(cut(&mut Shapes::default(), field, &[]), None, "{field:?}");
        }
    }

    #[test]
    fn names_of_equal_sums_are_told_apart() {
        let mut shapes = Shapes::default();
        let (one, other) = (format!("{}a", "x".repeat(20)), format!("{}b", "x".repeat(20)));
        for name in ["PROPERTY_1", "PROPERTY_2", "PROPERTY_1", &one, &other, &one] {
            for field in [format!("{name}\x01a\x02"), format!("a\x01b\x02{name}\x01a\x02c\x01d")] {
                assert_eq!(cut(&mut shapes, field.as_bytes(), &[]), Some(exactly(field.as_bytes())));
            }
        }
    }

    /// Of a known shape but for one byte: the names are those of the shape or the field has no shape.
    #[test]
    fn a_field_that_differs_by_a_byte_is_cut_as_the_exact_way_does() {
        let field = b"TAGS\x01a\x02a name of sixteen\x01b\x02KEYS\x01c\x02";
        for at in 0..field.len() {
            for byte in [0, 1, 2, b'T', b'b', 0x80] {
                let (mut shapes, mut other) = (Shapes::default(), field.to_vec());
                other[at] = byte;
                cut(&mut shapes, field, &[]).unwrap();
                if let Some(pairs) = cut(&mut shapes, &other, &[]) {
                    assert_eq!(pairs, exactly(&other), "{byte} at {at}");
                }
            }
        }
    }

    #[test]
    fn names_of_many_bytes_are_forgotten() {
        let mut shapes = Shapes::default();
        for number in 0..if cfg!(miri) { 40 } else { 400 } {
            let field = format!("{number}{}\x01v\x02", "n".repeat(30_000));
            assert_eq!(cut(&mut shapes, field.as_bytes(), &[]), Some(exactly(field.as_bytes())));
            let held: usize = shapes.known.iter().flatten().map(|shape| shape.names.len()).sum();
            assert!(held <= shapes.held && shapes.held <= MOST_HELD + 31_000);
        }
    }

    /// More shapes than are kept, in an order drawn by a plain generator.
    #[test]
    fn shapes_that_share_a_place_take_turns() {
        let (mut shapes, mut drawn) = (Shapes::default(), 1_u64);
        for _ in 0..if cfg!(miri) { 200 } else { 20_000 } {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let count = 1 + (drawn >> 40) % 9;
            let field: String = (0..count).map(|pair| format!("n{}{pair}\x01{}\x02", drawn >> (50 + pair) & 7, drawn >> 60)).collect();
            assert_eq!(cut(&mut shapes, field.as_bytes(), &[]), Some(exactly(field.as_bytes())));
        }
    }
}
