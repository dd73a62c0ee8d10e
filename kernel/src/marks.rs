//! What the check of a store compares of each record. As `native_reader/verify/marks.py` has it.

use crate::arrow::{Buffer, Node, capsule};
use crate::properties::sign_of;
use crate::record::{COMPRESSED, INNER_BATCH, Place, is_inside, messages_in};
use crate::separators::each_value_end;
use crate::{Bytes, Chain};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use std::collections::HashMap;
use std::iter::{once, repeat};
use std::mem::take;
use std::sync::Arc;

const BASE: u32 = 31;
const UNKNOWN: i64 = -1;
/// How a record contradicts itself: its flags say that its body is compressed, or that it is not; its properties are damaged.
const NOT_PACKED: i32 = 1;
const PACKED: i32 = 2;
const ODD_PROPERTIES: i32 = 4;
/// How many pairs of topic and queue id are found without a table of all.
const NEAR: usize = 512;
/// So many bytes of names count as much as a record.
const NAMES_OF_RECORD: usize = 64;

/// So many rows stay in the first cache until all of their columns are written.
const ROWS: usize = 256;

type Name<'py> = Bound<'py, PyBytes>;
type Group<'py> = Bound<'py, PyCapsule>;
type Pairs<'py> = Vec<(Name<'py>, i32)>;

/// Collects the marks of records, chunk by chunk.
#[pyclass]
#[derive(Default)]
pub struct Marker {
    /// Offset, queue offset and store time of each record.
    longs: Vec<[i64; 3]>,
    /// Size, number of topic and queue, hash of the tag, hash of the tag as a key, flags, 1 if there is a delay level, how many
    /// messages it holds, or UNKNOWN, and how it contradicts itself.
    ints: Vec<[i32; 8]>,
    /// The record of each key, its hash as the index has it, and that of the key alone, in the order in which a broker indexes them.
    keys: Vec<[i64; 3]>,
    /// The record, the queue's number, and the record's number there or UNKNOWN, of each light queue that a record names.
    lights: Vec<[i64; 3]>,
    light_queues: Numbered,
    places: Places,
}

#[pymethods]
impl Marker {
    #[new]
    fn new() -> Marker {
        Marker::default()
    }

    /// Adds records. Returns how many are held, with their keys and light queues; names count by their size.
    fn add(&mut self, py: Python<'_>, records: &Bound<'_, Chain>, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        let buffer = Bytes::of(buffer)?;
        let (bytes, places) = (buffer.as_slice(), &records.get().places);
        if !places.iter().all(|place| is_inside(bytes, place)) {
            return Err(PyIndexError::new_err("the buffer is shorter than its records"));
        }
        py.detach(|| places.iter().for_each(|place| self.add_record(bytes, place)));
        let names = (self.light_queues.text + self.places.text) / NAMES_OF_RECORD;
        Ok(self.longs.len() + self.keys.len() + self.lights.len() + names)
    }

    /// What was added since the last call: four arrays of structs in capsules; new pairs of topic and queue id, in the order of their
    /// numbers; and the names of the light queues.
    fn taken<'py>(&mut self, py: Python<'py>) -> PyResult<([Group<'py>; 4], Pairs<'py>, Vec<Name<'py>>)> {
        let (longs, ints, keys, lights) = (take(&mut self.longs), take(&mut self.ints), take(&mut self.keys), take(&mut self.lights));
        let [longs, ints, keys, lights] = py.detach(|| {
            [
                structs_of(&longs, Buffer::I64),
                structs_of(&ints, Buffer::I32),
                structs_of(&keys, Buffer::I64),
                structs_of(&lights, Buffer::I64),
            ]
        });
        // Not as bytes of Python: the kernel keeps the pages of its arrays, and millions of records fill many.
        let columns = [capsule(py, longs)?, capsule(py, ints)?, capsule(py, keys)?, capsule(py, lights)?];
        let pairs = self.places.taken().map(|(topic, queue_id)| (PyBytes::new(py, &topic), queue_id)).collect();
        let light_queues = take(&mut self.light_queues).names.iter().map(|name| PyBytes::new(py, name)).collect();
        Ok((columns, pairs, light_queues))
    }
}

/// Rows of numbers as an array of structs.
fn structs_of<T: Copy, const WIDTH: usize>(rows: &[[T; WIDTH]], buffer_of: fn(Vec<T>) -> Buffer) -> Node {
    let mut columns: [Vec<T>; WIDTH] = std::array::from_fn(|_| Vec::with_capacity(rows.len()));
    for some in rows.chunks(ROWS) {
        for (place, column) in columns.iter_mut().enumerate() {
            column.extend(some.iter().filter_map(|row| row.get(place)));
        }
    }
    let column_of = |numbers| Node { length: rows.len(), nulls: 0, buffers: vec![Buffer::None, buffer_of(numbers)], children: vec![] };
    Node { length: rows.len(), nulls: 0, buffers: vec![Buffer::None], children: columns.map(column_of).into() }
}

impl Marker {
    /// Adds a record, of which all parts are inside `bytes`.
    fn add_record(&mut self, bytes: &[u8], place: &Place) {
        let row = self.longs.len() as i64;
        let found = Wanted::of(bytes, place);
        let (topic, number) = self.places.number(bytes, place);
        for key in once(found.unique).chain(found.keys.split(|&byte| byte == b' ')) {
            if !key.is_empty() {
                let hash = Hash::of(key);
                self.keys.push([row, positive(hash.after(topic.before_key)).into(), positive(hash.alone).into()]);
            }
        }
        for (name, number) in found.lights() {
            self.lights.push([row, self.light_queues.number(name).0 as i64, number]);
        }
        let is_batch = place.sys_flag & INNER_BATCH != 0;
        let tag = Hash::of(found.tag);
        self.longs.push([place.physical_offset, place.queue_offset, place.store_timestamp]);
        self.ints.push([
            place.size.cast_signed(),
            number,
            tag.alone.cast_signed(),
            positive(tag.after(topic.before_tag)),
            place.sys_flag,
            found.has_delay.into(),
            if is_batch { count_of(bytes, place, found.count) } else { 1 },
            body_doubt(bytes, place) | if found.is_odd { ODD_PROPERTIES } else { 0 },
        ]);
    }
}

/// Whether a body begins as a zlib stream: no preset dictionary, which no client sets, and a valid first block.
#[inline(always)]
fn begins_zlib(body: &[u8]) -> bool {
    let is_header = body[0] & 0x8F == 8 && body[1] & 0x20 == 0 && u16::from_be_bytes([body[0], body[1]]).is_multiple_of(31);
    is_header && body[2] & 6 != 6
}

/// Whether the flags of a record tell the truth about its body, as far as the magic of a codec shows it.
#[inline(always)]
fn body_doubt(bytes: &[u8], place: &Place) -> i32 {
    let (kind, is_packed) = (place.sys_flag >> 8 & 7, place.sys_flag & COMPRESSED != 0);
    if !is_packed && kind == 0 {
        return 0;
    }
    let (begin, end) = place.body_range();
    let body = bytes.get(begin..end).unwrap_or_default();
    let begins = body.len() > 4
        && match kind {
            0 | 3 => begins_zlib(body) || body.starts_with(&[0x1F, 0x8B, 8]),
            1 => body.starts_with(&[0x04, 0x22, 0x4D, 0x18]),
            2 => body.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]),
            _ => false,
        };
    match (is_packed, begins) {
        (true, false) if !body.is_empty() => NOT_PACKED,
        (false, true) => PACKED,
        _ => 0,
    }
}

/// How many messages a batch says that it has; if it does not, how many it has.
fn count_of(bytes: &[u8], batch: &Place, stated: &[u8]) -> i32 {
    let count = match number_of(stated, 5) {
        UNKNOWN => messages_in(bytes, batch).and_then(|count| i64::try_from(count).ok()),
        number => Some(number),
    };
    count.and_then(|count| i32::try_from(count).ok()).unwrap_or(-1)
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
    /// Whether they end in zeros, or are not UTF-8, as all text of a broker is.
    is_odd: bool,
}

impl<'a> Wanted<'a> {
    fn of(bytes: &'a [u8], place: &Place) -> Wanted<'a> {
        let (begin, end) = place.properties_range();
        let field = bytes.get(begin..end).unwrap_or_default();
        let (mut wanted, mut piece) = (Wanted::default(), 0);
        let is_ascii = each_value_end(field, |at| {
            wanted.take(field.get(piece..at).unwrap_or_default());
            piece = at + 1;
        });
        wanted.is_odd = field.last() == Some(&0) || (!is_ascii && std::str::from_utf8(field).is_err());
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

/// Names, numbered as they occur.
#[derive(Default)]
struct Numbered {
    numbers: HashMap<Arc<[u8]>, usize>,
    names: Vec<Arc<[u8]>>,
    /// The size of all names.
    text: usize,
}

impl Numbered {
    /// The number of a name, and the copy of it that is kept.
    fn number(&mut self, name: &[u8]) -> (usize, Arc<[u8]>) {
        if let Some((known, &number)) = self.numbers.get_key_value(name) {
            return (number, Arc::clone(known));
        }
        let (number, name) = (self.names.len(), Arc::<[u8]>::from(name));
        self.text += name.len();
        self.names.push(Arc::clone(&name));
        self.numbers.insert(Arc::clone(&name), number);
        (number, name)
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
        let before_key = Hash::of(b"#").after(Hash::of(name).alone);
        Topic { before_key, before_tag: Hash::of(b"T#").after(before_key) }
    }
}

/// A pair of topic and queue id.
#[derive(Clone)]
struct Near {
    name: Arc<[u8]>,
    topic: Topic,
    queue_id: i32,
    number: i32,
}

/// Numbers pairs of topic and queue id. Most records have one of few, which are found by a sign of their bytes.
struct Places {
    near: Vec<Option<Near>>,
    topics: Numbered,
    numbers: HashMap<(usize, i32), i32>,
    /// Those that are new since the last call of `taken`, and the size of their names.
    new: Vec<(Arc<[u8]>, i32)>,
    text: usize,
}

impl Default for Places {
    fn default() -> Self {
        Places { near: vec![None; NEAR], topics: Numbered::default(), numbers: HashMap::new(), new: Vec::new(), text: 0 }
    }
}

impl Places {
    /// The topic of a record, and the number of the pair.
    #[inline(always)]
    fn number(&mut self, bytes: &[u8], place: &Place) -> (Topic, i32) {
        const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15; // 2^64 divided by the golden ratio
        let (begin, end) = place.topic_range();
        let name = bytes.get(begin..end).unwrap_or_default();
        let sign = sign_of(bytes, begin, end) ^ u64::from(place.queue_id.cast_unsigned());
        let slot = (sign.wrapping_mul(SPREAD) >> (u64::BITS - NEAR.ilog2())) as usize;
        match self.near.get(slot) {
            Some(Some(near)) if near.queue_id == place.queue_id && *near.name == *name => (near.topic, near.number),
            _ => self.number_among_all(name, place.queue_id, slot),
        }
    }

    #[cold]
    fn number_among_all(&mut self, name: &[u8], queue_id: i32, slot: usize) -> (Topic, i32) {
        let topic = Topic::of(name);
        let (which, name) = self.topics.number(name);
        let next = i32::try_from(self.numbers.len()).unwrap_or(i32::MAX);
        let number = *self.numbers.entry((which, queue_id)).or_insert_with(|| {
            self.new.push((Arc::clone(&name), queue_id));
            self.text += name.len();
            next
        });
        if let Some(near) = self.near.get_mut(slot) {
            *near = Some(Near { name, topic, queue_id, number });
        }
        (topic, number)
    }

    fn taken(&mut self) -> impl Iterator<Item = (Arc<[u8]>, i32)> {
        self.text = 0;
        take(&mut self.new).into_iter()
    }
}

/// Java's `String.hashCode` of a text: alone, and by what the hash of a text before it counts.
struct Hash {
    alone: u32,
    factor: u32,
}

/// The powers of BASE, of most texts.
const FACTORS: [u32; 64] = {
    let (mut factors, mut at) = ([1; 64], 1);
    while at < factors.len() {
        factors[at] = BASE.wrapping_mul(factors[at - 1]);
        at += 1;
    }
    factors
};

impl Hash {
    /// What is not UTF-8 is U+FFFD, as everywhere.
    fn of(text: &[u8]) -> Hash {
        let step = |hash: u32, unit: u32| hash.wrapping_mul(BASE).wrapping_add(unit);
        if !text.is_ascii() {
            let one = Hash { alone: 0, factor: 1 };
            let units = String::from_utf8_lossy(text);
            return units
                .encode_utf16()
                .fold(one, |hash, unit| Hash { alone: step(hash.alone, unit.into()), factor: hash.factor.wrapping_mul(BASE) });
        }
        // Four at once: each step of the sum waits for the one before it.
        let (fours, rest) = text.as_chunks::<4>();
        let alone = fours.iter().fold(0_u32, |hash, four| {
            let own = four.iter().fold(0, |own, &byte| step(own, byte.into()));
            hash.wrapping_mul(BASE.pow(4)).wrapping_add(own)
        });
        let alone = rest.iter().fold(alone, |hash, &byte| step(hash, byte.into()));
        // A text in a buffer has fewer bytes than 2^32.
        let factor = FACTORS.get(text.len()).copied().unwrap_or_else(|| BASE.wrapping_pow(text.len() as u32));
        Hash { alone, factor }
    }

    /// The hash of a text with the hash `before`, followed by this one.
    fn after(&self, before: u32) -> u32 {
        before.wrapping_mul(self.factor).wrapping_add(self.alone)
    }
}

/// The number that a text of at most `most` digits is, up to 18; or UNKNOWN.
fn number_of(text: &[u8], most: usize) -> i64 {
    if text.is_empty() || text.len() > most || !text.iter().all(u8::is_ascii_digit) {
        return UNKNOWN;
    }
    text.iter().fold(0, |number, digit| 10 * number + i64::from(digit - b'0'))
}

/// A hash of a key as the index stores it: without a sign.
fn positive(hash: u32) -> i32 {
    hash.cast_signed().checked_abs().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{chain, tests::record};

    fn java(text: &str) -> i32 {
        text.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
    }

    fn marker_of(bytes: &[u8]) -> Marker {
        let (mut marker, mut places) = (Marker::default(), Vec::new());
        chain(bytes, usize::MAX, 0, 0, &mut places);
        places.iter().for_each(|place| marker.add_record(bytes, place));
        marker
    }

    #[test]
    fn hashes_are_those_of_java() {
        for text in ["", "a", "abc", "abcd", "polygenelubricants", "C0A800010000073D16E9000000000001", "主题🚀", "aä"] {
            for (end, _) in text.char_indices() {
                let (begin, rest) = text.split_at(end);
                assert_eq!(Hash::of(rest.as_bytes()).after(Hash::of(begin.as_bytes()).alone).cast_signed(), java(text), "{text} at {end}");
            }
        }
        assert_eq!(Hash::of(b"a\xFF").alone.cast_signed(), java("a\u{FFFD}"));
        assert_eq!(java("polygenelubricants"), i32::MIN);
        assert_eq!([positive(Hash::of(b"polygenelubricants").alone), positive(u32::MAX)], [0, 1]);
    }

    #[test]
    fn the_last_value_of_a_name_counts_and_keys_are_in_order() {
        let properties = b"TAGS\x01a\x02KEYS\x01 x  y\x02UNIQ_KEY\x01u\x02TAGS\x01b\x02TAGS\x01\x02DELAY\x013";
        let bytes = record(0, b"\x02TAGS\x01z", b"t", properties, 0);
        let marker = marker_of(&bytes);
        let key = |text: &str| i64::from(java(text).abs());
        assert_eq!(marker.keys, ["u", "x", "y"].map(|each| [0, key(&format!("t#{each}")), key(each)]));
        assert_eq!(marker.ints[0][1..], [0, java("b"), java("t#T#b").abs(), 0, 1, 1, 0]);
        assert_eq!(marker.longs, [[0, 0, 9]]);
    }

    #[test]
    fn light_queues_and_messages_of_batches_are_counted() {
        let lights = b"INNER_MULTI_DISPATCH\x01a,,b,a,c\x02INNER_MULTI_QUEUE_OFFSET\x017,8,x,123456789012345678\x02INNER_NUM\x0112345";
        let marker = marker_of(&record(0, b"", b"t", lights, INNER_BATCH));
        assert_eq!(marker.ints[0][6], 12345);
        assert_eq!(marker.lights, [[0, 0, 7], [0, 1, UNKNOWN], [0, 0, 123_456_789_012_345_678], [0, 2, UNKNOWN]]);
        assert_eq!(marker.light_queues.names.concat(), b"abc");

        let unit = [22_u32.to_be_bytes().as_slice(), &[0; 18]].concat();
        let count = |body: &[u8], flags: i32| marker_of(&record(0, body, b"t", b"INNER_NUM\x01123456\x02", flags)).ints[0][6];
        assert_eq!(count(&unit.repeat(3), INNER_BATCH), 3);
        assert_eq!(count(&unit.repeat(3), INNER_BATCH | crate::record::COMPRESSED), -1);
        assert_eq!(count(&unit[1..], INNER_BATCH), -1);
        assert_eq!(count(&unit.repeat(3), 0), 1);
        assert_eq!([number_of(b"", 5), number_of(b"+1", 5), number_of(b"007", 5)], [UNKNOWN, UNKNOWN, 7]);
    }

    #[test]
    fn records_that_contradict_themselves_are_marked() {
        let doubt = |body: &[u8], properties: &[u8], flags: i32| marker_of(&record(0, body, b"t", properties, flags)).ints[0][7];
        assert_eq!([doubt(b"\x78\x9c123", b"", COMPRESSED), doubt(b"", b"", COMPRESSED), doubt(b"plain", b"", 0x100)], [0; 3]);
        assert_eq!([doubt(b"plain", b"", COMPRESSED), doubt(b"\x78\x9c123", b"", COMPRESSED | 0x100)], [NOT_PACKED; 2]);
        assert_eq!([doubt(b"\x04\x22\x4d\x18x", b"", 0x100), doubt(b"\x28\xb5\x2f\xfdx", b"", 0x200)], [PACKED; 2]);
        assert_eq!([doubt(b"", b"a\x01\xff\x02", 0), doubt(b"", b"a\x01b\0", 0)], [ODD_PROPERTIES; 2]);
        assert_eq!(doubt(b"", "a\x01\u{e4}\x02".as_bytes(), 0), 0);
    }

    #[test]
    fn topics_are_numbered_as_they_occur_however_many_they_are() {
        let (mut bytes, mut expected) = (Vec::new(), Vec::<i32>::new());
        for number in (0..2000).chain(0..2000).chain([7, 7]) {
            let offset = i64::try_from(bytes.len()).unwrap();
            bytes.extend(record(offset, b"", format!("topic{number}").as_bytes(), b"", 0));
            expected.push(number);
        }
        let mut marker = marker_of(&bytes);
        assert_eq!(marker.ints.iter().map(|each| each[1]).collect::<Vec<_>>(), expected);
        let names: Vec<_> = marker.places.taken().collect();
        assert_eq!((names.len(), &*names[1999].0), (2000, b"topic1999".as_slice()));
        assert_eq!(marker.places.taken().count(), 0);
    }
}
