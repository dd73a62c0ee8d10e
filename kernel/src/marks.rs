//! What the check of a store compares of each record. As `native_reader/verify/marks.py` has it.

use crate::properties::{VALUE_END, each_separator, sign_of};
use crate::record::{INNER_BATCH, Place};
use std::collections::HashMap;
use std::iter::repeat;

/// Numbers of each record.
pub const COLUMNS: usize = 11;
const BASE: u32 = 31;
const UNKNOWN: i64 = -1;
/// How many topics are found without a table of all.
const NEAR: usize = 64;

/// Of a chunk of records.
#[derive(Default)]
pub struct Marks<'a> {
    /// Offset, size, queue id, queue offset, store time, flags, topic, hash of the tag, hash of the tag as a key, 1 if it has a delay
    /// level, and how many messages it holds, or UNKNOWN.
    pub records: Vec<[i64; COLUMNS]>,
    /// The row and the hash of each key, in the order in which a broker indexes them.
    pub keys: Vec<[i64; 2]>,
    /// The row, the place in `light_names`, and the number there or UNKNOWN, of each light queue that a record names.
    pub lights: Vec<[i64; 3]>,
    /// Every topic, in the order in which they occur.
    pub topics: Vec<&'a [u8]>,
    /// Every light queue, likewise.
    pub light_names: Vec<&'a [u8]>,
}

/// The marks of these records. All their parts are inside `bytes`.
pub fn marks_of<'a>(bytes: &'a [u8], places: &[Place]) -> Marks<'a> {
    let mut marks = Marks { records: Vec::with_capacity(places.len()), keys: Vec::with_capacity(2 * places.len()), ..Marks::default() };
    let (mut topics, mut lights) = (Topics::default(), HashMap::new());
    for (place, row) in places.iter().zip(0_i64..) {
        let (topic, number) = topics.number(bytes, place, &mut marks.topics);
        let found = Wanted::of(bytes, place);
        let mut add = |key: &[u8]| {
            if !key.is_empty() {
                marks.keys.push([row, positive(hash_after(topic.before_key, key))]);
            }
        };
        add(found.unique);
        found.keys.split(|&byte| byte == b' ').for_each(add);
        for (name, number) in found.lights() {
            let known = *lights.entry(name).or_insert_with(|| {
                marks.light_names.push(name);
                marks.light_names.len() as i64 - 1
            });
            marks.lights.push([row, known, number]);
        }
        let is_batch = place.sys_flag & INNER_BATCH != 0;
        marks.records.push([
            place.physical_offset,
            place.size.into(),
            place.queue_id.into(),
            place.queue_offset,
            place.store_timestamp,
            place.sys_flag.into(),
            number,
            hash_after(0, found.tag).cast_signed().into(),
            positive(hash_after(topic.before_tag, found.tag)),
            found.has_delay.into(),
            if is_batch { number_of(found.count, 5) } else { 1 },
        ]);
    }
    marks
}

/// The values of the properties that a check wants; empty if absent.
#[derive(Default)]
struct Wanted<'a> {
    tag: &'a [u8],
    keys: &'a [u8],
    unique: &'a [u8],
    count: &'a [u8],
    light_names: &'a [u8],
    light_numbers: &'a [u8],
    has_delay: bool,
}

impl<'a> Wanted<'a> {
    fn of(bytes: &'a [u8], place: &Place) -> Wanted<'a> {
        let (begin, end) = place.properties_range();
        let field = bytes.get(begin..end).unwrap_or_default();
        let (mut wanted, mut piece) = (Wanted::default(), 0);
        each_separator(field, |at, byte| {
            if byte == VALUE_END {
                wanted.take(field.get(piece..at).unwrap_or_default());
                piece = at + 1;
            }
        });
        wanted.take(field.get(piece..).unwrap_or_default());
        wanted
    }

    /// The last value of a name counts, unless it is empty.
    #[inline(always)]
    fn take(&mut self, piece: &'a [u8]) {
        let value = |name: &[u8]| piece.strip_prefix(name).filter(|value| !value.is_empty());
        match piece.first() {
            Some(b'U') => self.unique = value(b"UNIQ_KEY\x01").unwrap_or(self.unique),
            Some(b'K') => self.keys = value(b"KEYS\x01").unwrap_or(self.keys),
            Some(b'T') => self.tag = value(b"TAGS\x01").unwrap_or(self.tag),
            Some(b'D') => self.has_delay |= value(b"DELAY\x01").is_some(),
            Some(b'I') => {
                self.count = value(b"INNER_NUM\x01").unwrap_or(self.count);
                self.light_names = value(b"INNER_MULTI_DISPATCH\x01").unwrap_or(self.light_names);
                self.light_numbers = value(b"INNER_MULTI_QUEUE_OFFSET\x01").unwrap_or(self.light_numbers);
            }
            _ => {}
        }
    }

    /// The light queues that also list the record, and its number in each.
    fn lights(&self) -> impl Iterator<Item = (&'a [u8], i64)> {
        let numbers = self.light_numbers.split(|&byte| byte == b',').chain(repeat::<&[u8]>(&[]));
        let names = self.light_names.split(|&byte| byte == b',');
        names.zip(numbers).filter(|(name, _)| !name.is_empty()).map(|(name, number)| (name, number_of(number, 18)))
    }
}

/// Java's hashes of what the index puts before the keys of a topic, and before its tags.
#[derive(Clone, Copy)]
struct Topic {
    before_key: u32,
    before_tag: u32,
}

impl Topic {
    fn of(name: &[u8]) -> Topic {
        let before_key = hash_after(hash_after(0, name), b"#");
        Topic { before_key, before_tag: hash_after(before_key, b"T#") }
    }
}

/// Numbers topics. Most records have one of few, which are found by a sign of their bytes.
struct Topics<'a> {
    near: [Option<(&'a [u8], Topic, i64)>; NEAR],
    all: HashMap<&'a [u8], (Topic, i64)>,
}

impl Default for Topics<'_> {
    fn default() -> Self {
        Topics { near: [None; NEAR], all: HashMap::new() }
    }
}

impl<'a> Topics<'a> {
    /// The topic of a record, and its number; `names` gets those that are new.
    #[inline(always)]
    fn number(&mut self, bytes: &'a [u8], place: &Place, names: &mut Vec<&'a [u8]>) -> (Topic, i64) {
        const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15; // 2^64 divided by the golden ratio
        let (begin, end) = place.topic_range();
        let name = bytes.get(begin..end).unwrap_or_default();
        let slot = sign_of(bytes, begin, end).wrapping_mul(SPREAD) >> (u64::BITS - NEAR.ilog2());
        // The shift leaves a number below NEAR.
        let near = &mut self.near[slot as usize % NEAR];
        match near {
            Some((known, topic, number)) if *known == name => (*topic, *number),
            _ => {
                let (topic, number) = *self.all.entry(name).or_insert_with(|| {
                    names.push(name);
                    (Topic::of(name), names.len() as i64 - 1)
                });
                *near = Some((name, topic, number));
                (topic, number)
            }
        }
    }
}

/// Java's `String.hashCode` of a text with that hash, followed by this one. What is not UTF-8 is U+FFFD, as everywhere.
fn hash_after(hash: u32, text: &[u8]) -> u32 {
    let step = |hash: u32, unit: u32| hash.wrapping_mul(BASE).wrapping_add(unit);
    if !text.is_ascii() {
        return String::from_utf8_lossy(text).encode_utf16().fold(hash, |hash, unit| step(hash, unit.into()));
    }
    // Four at once: each step of the sum waits for the one before it.
    let (fours, rest) = text.as_chunks::<4>();
    let hash = fours.iter().fold(hash, |hash, four| {
        let own = four.iter().fold(0, |own, &byte| step(own, byte.into()));
        hash.wrapping_mul(BASE.pow(4)).wrapping_add(own)
    });
    rest.iter().fold(hash, |hash, &byte| step(hash, byte.into()))
}

/// The number that a text of at most `most` digits is, up to 18; or UNKNOWN.
fn number_of(text: &[u8], most: usize) -> i64 {
    if text.is_empty() || text.len() > most || !text.iter().all(u8::is_ascii_digit) {
        return UNKNOWN;
    }
    text.iter().fold(0, |number, digit| 10 * number + i64::from(digit - b'0'))
}

/// A hash of a key as the index stores it: without a sign.
fn positive(hash: u32) -> i64 {
    hash.cast_signed().checked_abs().unwrap_or(0).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{chain, tests::record};

    fn java(text: &str) -> i32 {
        text.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
    }

    #[test]
    fn hashes_are_those_of_java() {
        for text in ["", "a", "abc", "abcd", "polygenelubricants", "C0A800010000073D16E9000000000001", "主题🚀", "aä"] {
            for (end, _) in text.char_indices() {
                let (begin, rest) = text.split_at(end);
                assert_eq!(hash_after(hash_after(0, begin.as_bytes()), rest.as_bytes()).cast_signed(), java(text), "{text} at {end}");
            }
        }
        assert_eq!(hash_after(0, b"a\xFF").cast_signed(), java("a\u{FFFD}"));
        assert_eq!(java("polygenelubricants"), i32::MIN);
        assert_eq!([positive(hash_after(0, b"polygenelubricants")), positive(u32::MAX)], [0, 1]);
    }

    #[test]
    fn the_last_value_of_a_name_counts_and_keys_are_in_order() {
        let properties = b"TAGS\x01a\x02KEYS\x01 x  y\x02UNIQ_KEY\x01u\x02TAGS\x01b\x02TAGS\x01\x02DELAY\x013";
        let bytes = record(0, b"\x02TAGS\x01z", b"t", properties, 0);
        let mut places = Vec::new();
        chain(&bytes, usize::MAX, 0, 0, &mut places);
        let marks = marks_of(&bytes, &places);
        let key = |text: &str| i64::from(java(text).abs());
        assert_eq!(marks.keys, [[0, key("t#u")], [0, key("t#x")], [0, key("t#y")]]);
        assert_eq!(marks.records[0][7..], [i64::from(java("b")), key("t#T#b"), 1, 1]);
        assert_eq!(marks.topics, [b"t"]);
    }

    #[test]
    fn light_queues_and_messages_of_batches_are_counted() {
        let lights = b"INNER_MULTI_DISPATCH\x01a,,b,a,c\x02INNER_MULTI_QUEUE_OFFSET\x017,8,x,123456789012345678\x02INNER_NUM\x0112345";
        let bytes = [record(0, b"", b"t", lights, INNER_BATCH), record(0, b"", b"t", b"INNER_NUM\x01123456\x02", INNER_BATCH)];
        let of = |bytes: &[u8]| {
            let mut places = Vec::new();
            chain(bytes, usize::MAX, 0, 0, &mut places);
            let marks = marks_of(bytes, &places);
            (marks.records[0][10], marks.lights, marks.light_names.concat())
        };
        let listed = vec![[0, 0, 7], [0, 1, UNKNOWN], [0, 0, 123_456_789_012_345_678], [0, 2, UNKNOWN]];
        assert_eq!(of(&bytes[0]), (12345, listed, b"abc".to_vec()));
        assert_eq!(of(&bytes[1]), (UNKNOWN, vec![], vec![]));
        assert_eq!([number_of(b"", 5), number_of(b"+1", 5), number_of(b"007", 5)], [UNKNOWN, UNKNOWN, 7]);
    }

    #[test]
    fn topics_are_numbered_as_they_occur_however_many_they_are() {
        let (mut bytes, mut expected) = (Vec::new(), Vec::<i64>::new());
        for number in (0..500).chain(0..500).chain([7, 7]) {
            let offset = i64::try_from(bytes.len()).unwrap();
            bytes.extend(record(offset, b"", format!("topic{number}").as_bytes(), b"", 0));
            expected.push(number);
        }
        let mut places = Vec::new();
        chain(&bytes, usize::MAX, 0, 0, &mut places);
        let marks = marks_of(&bytes, &places);
        assert_eq!(marks.records.iter().map(|each| each[6]).collect::<Vec<_>>(), expected);
        assert_eq!(marks.topics.len(), 500);
    }
}
