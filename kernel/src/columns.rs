//! The rows of a chunk as the buffers of Arrow columns.

use crate::arrow::{Buffer, Node};
use crate::bodies::{Decoder, EXPANSION, LARGEST_BLOCK, Outcome};
use crate::properties::exact;
use crate::record::{INNER_BATCH, Place, field};
use crate::shapes::Shapes;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows that are done together, so that what one column has read is in the cache for the next. Few, because bodies are copied too; very
/// few in `checked`, so that tests cross their ends.
const BLOCK: usize = if cfg!(debug_assertions) { 3 } else { 128 };
/// The years 1 to 9999; other times are null.
const FIRST_MS: i64 = -62_135_596_800_000;
const LAST_MS: i64 = 253_402_300_799_999;
const KEYS_SEPARATOR: u8 = b' ';
const UNIQ_KEY: &str = "UNIQ_KEY";

/// One column of a batch.
#[derive(Clone, Copy)]
enum Column {
    Int(fn(&[u8], &Place) -> i32),
    Long(fn(&[u8], &Place) -> i64),
    Moment(fn(&Place) -> i64),
    Topic,
    Kind,
    Body,
    StoredBody,
    OffsetId,
    Host(fn(&Place) -> (usize, usize)),
    Map,
    /// The property with this number among `Plan::properties`, as text, as words, or as an id.
    Single(usize),
    Keys(usize),
    MessageId(usize),
    Level(usize),
}

/// Which columns to make, in which order; and how much memory the properties of the last chunk took.
pub struct Plan {
    columns: Vec<Column>,
    /// Those columns that are made from properties.
    of_properties: Vec<usize>,
    properties: Vec<Vec<u8>>,
    pairs: AtomicUsize,
    names: AtomicUsize,
}

impl Plan {
    /// The names of `messages`; `properties[NAME]` is the property NAME. None if one is not made here.
    pub fn new(names: &[String]) -> Option<Plan> {
        let mut plan = Plan {
            columns: Vec::new(),
            of_properties: Vec::new(),
            properties: Vec::new(),
            pairs: AtomicUsize::new(0),
            names: AtomicUsize::new(0),
        };
        for name in names {
            let column = match name.as_str() {
                "topic" => Column::Topic,
                "queue_id" => Column::Int(|_, place| place.queue_id),
                "queue_offset" => Column::Long(|_, place| place.queue_offset),
                "tags" => Column::Single(plan.property("TAGS")),
                "keys" => Column::Keys(plan.property("KEYS")),
                "msg_id" => Column::MessageId(plan.property(UNIQ_KEY)),
                "body" => Column::Body,
                "properties" => Column::Map,
                "born_timestamp" => Column::Moment(|place| place.born_timestamp),
                "store_timestamp" => Column::Moment(|place| place.store_timestamp),
                "kind" => Column::Kind,
                "physical_offset" => Column::Long(|_, place| place.physical_offset),
                "sys_flag" => Column::Int(|_, place| place.sys_flag),
                "record_size" => Column::Int(|_, place| place.size.cast_signed()),
                "body_size" => Column::Int(|_, place| place.body_size.cast_signed()),
                "delay_level" => Column::Level(plan.property("DELAY")),
                "magic" => Column::Int(field::magic),
                "body_crc" => Column::Int(field::body_crc),
                "flag" => Column::Int(field::flag),
                "reconsume_times" => Column::Int(field::reconsume_times),
                "prepared_transaction_offset" => Column::Long(field::prepared_transaction_offset),
                "born_host" => Column::Host(Place::born_host_range),
                "store_host" => Column::Host(Place::store_host_range),
                "uniq_key" => Column::Single(plan.property(UNIQ_KEY)),
                "offset_msg_id" => Column::OffsetId,
                "stored_body" => Column::StoredBody,
                "real_topic" => Column::Single(plan.property("REAL_TOPIC")),
                "lite_topic" => Column::Single(plan.property("__LITE_TOPIC")),
                other => Column::Single(plan.property(other.strip_prefix("properties[")?.strip_suffix(']')?)),
            };
            if matches!(column, Column::Map | Column::Single(_) | Column::Keys(_) | Column::MessageId(_) | Column::Level(_)) {
                plan.of_properties.push(plan.columns.len());
            }
            plan.columns.push(column);
        }
        Some(plan)
    }

    fn property(&mut self, name: &str) -> usize {
        let known = self.properties.iter().position(|known| known == name.as_bytes());
        known.unwrap_or_else(|| {
            self.properties.push(name.into());
            self.properties.len() - 1
        })
    }
}

/// Limits on what compressed bodies may become: one body, and those of one batch.
#[derive(Clone, Copy)]
pub struct Limits {
    pub body: usize,
    pub bodies: usize,
}

/// The columns of the first rows, and how many these are. `is_odd`: the next row is for the exact way.
pub struct Made {
    pub columns: Vec<Node>,
    pub rows: usize,
    pub is_odd: bool,
}

/// Makes the columns for as many of the rows as the limits allow. All parts of the rows are inside `bytes`.
pub fn make(plan: &Plan, bytes: &[u8], places: &[Place], limits: Limits) -> Made {
    let columns = Builders::filled(plan, bytes, places, limits);
    if !columns.fit() {
        return Made { columns: Vec::new(), rows: 0, is_odd: true };
    }
    columns.learn(plan);
    let (rows, is_odd) = (columns.rows, columns.is_odd);
    Made { columns: columns.nodes(), rows, is_odd }
}

/// The columns while they are built, in the order of the plan.
struct Builders<'a> {
    plan: &'a Plan,
    columns: Vec<Builder>,
    shapes: Shapes,
    rows: usize,
    /// Whether the next row is for the exact way.
    is_odd: bool,
}

/// A part of a buffer.
struct Part<'a>(&'a [u8], (usize, usize));

impl<'a> Part<'a> {
    fn content(&self) -> &'a [u8] {
        let &Part(bytes, (begin, end)) = self;
        bytes.get(begin..end).unwrap_or_default()
    }
}

enum Builder {
    Ints(Vec<i32>),
    Levels(Vec<i32>, Valid),
    Longs(Vec<i64>),
    Moments(Vec<i64>, Valid),
    Texts(Texts),
    Nullable(Texts, Valid),
    Lists(Vec<i32>, Texts, Valid),
    Maps(Vec<i32>, Texts, Texts),
    Body(Bodies),
}

impl<'a> Builders<'a> {
    fn filled(plan: &'a Plan, bytes: &[u8], places: &[Place], limits: Limits) -> Builders<'a> {
        let columns = plan.columns.iter().map(|&column| Builder::new(column, plan, places, limits)).collect();
        let mut new = Builders { plan, columns, shapes: Shapes::new(), rows: 0, is_odd: false };
        for block in places.chunks(BLOCK) {
            let rows = new.add(bytes, block);
            new.rows += rows;
            if rows < block.len() {
                break;
            }
        }
        new
    }

    /// Adds the first rows of a block, and returns how many. Bodies decide it, so they come first.
    fn add(&mut self, bytes: &[u8], block: &[Place]) -> usize {
        let mut rows = block.len();
        for builder in &mut self.columns {
            if let Builder::Body(bodies) = builder {
                (rows, self.is_odd) = bodies.extend(bytes, block);
            }
        }
        let block = block.get(..rows).unwrap_or(block);
        for (column, builder) in self.plan.columns.iter().zip(&mut self.columns) {
            builder.extend(*column, bytes, block);
        }
        if !self.plan.of_properties.is_empty() {
            block.iter().for_each(|place| self.add_properties(bytes, place));
        }
        rows
    }

    #[inline(always)]
    fn add_properties(&mut self, bytes: &[u8], place: &Place) {
        let (begin, end) = place.properties_range();
        let Some(cut) = self.shapes.cut(bytes, begin, end, &self.plan.properties) else {
            self.add_exact_properties(bytes, place);
            return;
        };
        for &number in &self.plan.of_properties {
            match (self.plan.columns.get(number), self.columns.get_mut(number)) {
                (Some(Column::Map), Some(Builder::Maps(ends, names, values))) => {
                    names.push_all(cut.names());
                    cut.values().for_each(|(begin, end)| values.push_part(bytes, begin, end));
                    ends.push(names.count());
                }
                (Some(column), Some(builder)) => {
                    builder.push_property(*column, bytes, place, |wanted| cut.value(wanted).map(|value| Part(bytes, value)));
                }
                _ => {}
            }
        }
    }

    #[cold]
    fn add_exact_properties(&mut self, bytes: &[u8], place: &Place) {
        let (begin, end) = place.properties_range();
        let pairs = exact(bytes, begin, end);
        let value_of = |number: usize| -> Option<Part> {
            let wanted = self.plan.properties.get(number)?;
            pairs.iter().find(|(name, _)| name.as_bytes() == wanted).map(|(_, value)| Part(value.as_bytes(), (0, value.len())))
        };
        for (column, builder) in self.plan.columns.iter().zip(&mut self.columns) {
            match (column, builder) {
                (Column::Map, Builder::Maps(ends, names, values)) => {
                    for (name, value) in &pairs {
                        names.push(name.as_bytes());
                        values.push(value.as_bytes());
                    }
                    ends.push(names.count());
                }
                (column, builder) => builder.push_property(*column, bytes, place, value_of),
            }
        }
    }

    /// Whether 32-bit offsets are enough.
    fn fit(&self) -> bool {
        let texts = self.columns.iter().flat_map(|builder| match builder {
            Builder::Texts(texts) | Builder::Nullable(texts, _) | Builder::Lists(_, texts, _) => [Some(texts), None],
            Builder::Maps(_, names, values) => [Some(names), Some(values)],
            _ => [None, None],
        });
        texts.flatten().all(|texts| i32::try_from(texts.data.len()).is_ok())
    }

    fn learn(&self, plan: &Plan) {
        for builder in &self.columns {
            if let Builder::Maps(ends, names, _) = builder {
                plan.pairs.store(names.ends.len() / ends.len() + 1, Ordering::Relaxed);
                plan.names.store(names.data.len() / names.ends.len() + 1, Ordering::Relaxed);
            }
        }
    }

    fn nodes(self) -> Vec<Node> {
        let rows = self.rows;
        self.columns
            .into_iter()
            .map(|builder| match builder {
                Builder::Ints(values) => node(rows, Buffer::I32(values), None),
                Builder::Levels(values, valid) => node(rows, Buffer::I32(values), Some(valid)),
                Builder::Longs(values) => node(rows, Buffer::I64(values), None),
                Builder::Moments(values, valid) => node(rows, Buffer::I64(values), Some(valid)),
                Builder::Texts(texts) => texts.node(None),
                Builder::Nullable(texts, valid) => texts.node(Some(valid)),
                Builder::Lists(ends, words, valid) => {
                    Node { children: vec![words.node(None)], ..node(rows, Buffer::I32(ends), Some(valid)) }
                }
                Builder::Maps(ends, names, values) => {
                    let pairs = names.ends.len() - 1;
                    let children = vec![names.node(None), values.node(None)];
                    let entries = Node { length: pairs, nulls: 0, buffers: vec![Buffer::None], children };
                    Node { children: vec![entries], ..node(rows, Buffer::I32(ends), None) }
                }
                Builder::Body(bodies) => bodies.texts.node(Some(bodies.valid)),
            })
            .collect()
    }
}

impl Builder {
    fn new(column: Column, plan: &Plan, places: &[Place], limits: Limits) -> Builder {
        let rows = places.len();
        let total = |size: fn(&Place) -> usize| places.iter().map(size).sum::<usize>();
        match column {
            Column::Int(_) => Builder::Ints(Vec::with_capacity(rows)),
            Column::Level(_) => Builder::Levels(Vec::with_capacity(rows), Valid::with_capacity(rows)),
            Column::Long(_) => Builder::Longs(Vec::with_capacity(rows)),
            Column::Moment(_) => Builder::Moments(Vec::with_capacity(rows), Valid::with_capacity(rows)),
            Column::Topic => Builder::Texts(Texts::with_capacity(rows, total(|place| usize::from(place.topic_size)))),
            Column::Kind => Builder::Texts(Texts::with_capacity(rows, 6 * rows)),
            Column::OffsetId | Column::MessageId(_) | Column::Host(_) => Builder::Texts(Texts::with_capacity(rows, 32 * rows)),
            Column::StoredBody => Builder::Texts(Texts::with_capacity(rows, total(|place| place.body_size as usize))),
            Column::Single(_) => Builder::Nullable(Texts::with_capacity(rows, 8 * rows), Valid::with_capacity(rows)),
            Column::Keys(_) => {
                let mut ends = Vec::with_capacity(rows + 1);
                ends.push(0);
                Builder::Lists(ends, Texts::with_capacity(rows, 16 * rows), Valid::with_capacity(rows))
            }
            Column::Map => {
                let (pairs, size) = (plan.pairs.load(Ordering::Relaxed) * rows, total(|place| usize::from(place.properties_size)));
                let names = (plan.names.load(Ordering::Relaxed) * pairs).min(size);
                let mut ends = Vec::with_capacity(rows + 1);
                ends.push(0);
                Builder::Maps(ends, Texts::with_capacity(pairs.min(size), names), Texts::with_capacity(pairs.min(size), size))
            }
            Column::Body => Builder::Body(Bodies::new(places, limits)),
        }
    }

    /// Adds a block of rows to a column that needs no property.
    fn extend(&mut self, column: Column, bytes: &[u8], block: &[Place]) {
        match (column, self) {
            (Column::Int(field), Builder::Ints(values)) => values.extend(block.iter().map(|place| field(bytes, place))),
            (Column::Long(field), Builder::Longs(values)) => values.extend(block.iter().map(|place| field(bytes, place))),
            (Column::Moment(field), Builder::Moments(values, valid)) => {
                for milliseconds in block.iter().map(field) {
                    values.push(milliseconds.wrapping_mul(1000));
                    valid.push((FIRST_MS..=LAST_MS).contains(&milliseconds));
                }
            }
            (Column::Topic, Builder::Texts(texts)) => {
                for (begin, end) in block.iter().map(Place::topic_range) {
                    let topic = bytes.get(begin..end).unwrap_or_default();
                    if topic.is_ascii() {
                        texts.push_part(bytes, begin, end);
                    } else {
                        texts.push(String::from_utf8_lossy(topic).as_bytes());
                    }
                }
            }
            (Column::Kind, Builder::Texts(texts)) => {
                for place in block {
                    let (begin, end) = place.topic_range();
                    texts.push(kind_of(bytes.get(begin..end).unwrap_or_default(), place.sys_flag).as_bytes());
                }
            }
            (Column::StoredBody, Builder::Texts(texts)) => {
                for (begin, end) in block.iter().map(Place::body_range) {
                    texts.push(bytes.get(begin..end).unwrap_or_default());
                }
            }
            (Column::Host(range), Builder::Texts(texts)) => {
                for (begin, end) in block.iter().map(range) {
                    texts.push_host(bytes.get(begin..end).unwrap_or_default());
                }
            }
            (Column::OffsetId, Builder::Texts(texts)) => block.iter().for_each(|place| texts.push_offset_id(bytes, place)),
            _ => {}
        }
    }

    /// Adds a row to a column made from one property; `value_of` has the values of `Plan::properties`.
    #[inline(always)]
    fn push_property<'b>(&mut self, column: Column, bytes: &[u8], place: &Place, value_of: impl Fn(usize) -> Option<Part<'b>>) {
        match (column, self) {
            (Column::Single(number), Builder::Nullable(texts, valid)) => {
                let value = value_of(number);
                valid.push(value.is_some());
                match value {
                    Some(Part(bytes, (begin, end))) => texts.push_part(bytes, begin, end),
                    None => texts.close(),
                }
            }
            (Column::Keys(number), Builder::Lists(ends, words, valid)) => {
                let value = value_of(number);
                valid.push(value.is_some());
                if let Some(Part(bytes, (begin, end))) = value {
                    words.push_words(bytes, begin, end);
                }
                ends.push(words.count());
            }
            (Column::Level(number), Builder::Levels(values, valid)) => {
                let level = value_of(number).and_then(|value| level_of(value.content()));
                values.push(level.unwrap_or_default());
                valid.push(level.is_some());
            }
            (Column::MessageId(number), Builder::Texts(texts)) => match value_of(number) {
                Some(Part(bytes, (begin, end))) => texts.push_part(bytes, begin, end),
                None => texts.push_offset_id(bytes, place),
            },
            _ => {}
        }
    }
}

/// A delay level: digits, perhaps after a minus, that fit in an i32.
fn level_of(text: &[u8]) -> Option<i32> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_number = text.len() <= 11 && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

fn node(length: usize, values: Buffer, valid: Option<Valid>) -> Node {
    let (nulls, validity) = valid.map_or((0, Buffer::None), Valid::buffer);
    Node { length, nulls, buffers: vec![validity, values], children: Vec::new() }
}

/// The bodies, decompressed.
struct Bodies {
    texts: Texts,
    valid: Valid,
    decoder: Decoder,
    limits: Limits,
    /// The size of those that were decompressed.
    held: usize,
}

impl Bodies {
    fn new(places: &[Place], limits: Limits) -> Bodies {
        let size_of = |packed: bool| places.iter().filter(|place| place.packed == packed).map(|place| place.body_size as usize).sum();
        let (plain, packed): (usize, usize) = (size_of(false), size_of(true));
        // Without room for what compressed bodies become, every chunk that has one copies all its bodies to a larger buffer.
        let room = if packed > 0 { packed.saturating_mul(EXPANSION).min(limits.bodies).saturating_add(LARGEST_BLOCK) } else { 0 };
        let (texts, valid) = (Texts::with_capacity(places.len(), plain + room), Valid::with_capacity(places.len()));
        Bodies { texts, valid, decoder: Decoder::new(), limits, held: 0 }
    }

    /// Adds the bodies of the first rows, as many as the limits allow; returns how many, and whether the next row is odd.
    fn extend(&mut self, bytes: &[u8], block: &[Place]) -> (usize, bool) {
        for (row, place) in block.iter().enumerate() {
            let (begin, end) = place.body_range();
            let (stored, before) = (bytes.get(begin..end).unwrap_or_default(), self.texts.data.len());
            if !place.packed {
                self.texts.data.extend_from_slice(stored);
            }
            let outcome = if place.packed {
                self.decoder.append(stored, place.sys_flag, self.limits.body, &mut self.texts.data)
            } else {
                Outcome::Done
            };
            let size = if place.packed { self.texts.data.len() - before } else { 0 };
            let is_full = self.held > 0 && size > 0 && self.held + size > self.limits.bodies;
            let is_odd = matches!(outcome, Outcome::Odd) || i32::try_from(self.texts.data.len()).is_err();
            if is_full || is_odd {
                self.texts.data.truncate(before);
                return (row, is_odd && !is_full);
            }
            self.held += size;
            self.texts.close();
            self.valid.push(!matches!(outcome, Outcome::Null));
        }
        (block.len(), false)
    }
}

/// Values of any length, one after the other.
struct Texts {
    ends: Vec<i32>,
    data: Vec<u8>,
}

impl Texts {
    fn with_capacity(count: usize, size: usize) -> Texts {
        let mut ends = Vec::with_capacity(count + 1);
        ends.push(0);
        Texts { ends, data: Vec::with_capacity(size + 32) }
    }

    /// How many values there are. Offsets that do not fit are seen in `Builders::fit`.
    fn count(&self) -> i32 {
        (self.ends.len() - 1) as i32
    }

    fn close(&mut self) {
        self.ends.push(self.data.len() as i32);
    }

    fn push(&mut self, value: &[u8]) {
        self.data.extend_from_slice(value);
        self.close();
    }

    /// Adds values that are one after the other in `parts`, and end at these places.
    #[inline(always)]
    fn push_all(&mut self, (parts, ends): (&[u8], &[i32])) {
        let before = self.data.len() as i32;
        self.data.extend_from_slice(parts);
        self.ends.extend(ends.iter().map(|end| before.wrapping_add(*end)));
    }

    /// Adds a short part of a buffer: 16 or 32 bytes at once where that many are left, which needs no call.
    #[inline(always)]
    fn push_part(&mut self, bytes: &[u8], begin: usize, end: usize) {
        let (rest, size, before) = (bytes.get(begin..).unwrap_or_default(), end - begin, self.data.len());
        if size <= 16
            && let Some(block) = rest.first_chunk::<16>()
        {
            self.data.extend_from_slice(block);
            self.data.truncate(before + size);
        } else if size <= 32
            && let Some(block) = rest.first_chunk::<32>()
        {
            self.data.extend_from_slice(block);
            self.data.truncate(before + size);
        } else {
            self.data.extend_from_slice(rest.get(..size).unwrap_or_default());
        }
        self.close();
    }

    /// Adds the words of a part of a buffer. It nearly always is one.
    #[inline(always)]
    fn push_words(&mut self, bytes: &[u8], begin: usize, end: usize) {
        let part = bytes.get(begin..end).unwrap_or_default();
        if has(part, KEYS_SEPARATOR) {
            part.split(|&byte| byte == KEYS_SEPARATOR).filter(|word| !word.is_empty()).for_each(|word| self.push(word));
        } else if !part.is_empty() {
            self.push_part(bytes, begin, end);
        }
    }

    /// `address:port` as Java prints it, IPv6 without `::`; from 4 or 16 address bytes and a port of four.
    fn push_host(&mut self, host: &[u8]) {
        const IPV4_MAPPED: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF];
        if let Some((address, port)) = host.split_last_chunk() {
            match address.strip_prefix(IPV4_MAPPED).unwrap_or(address) {
                &[a, b, c, d] => {
                    for (byte, end) in [(a, b'.'), (b, b'.'), (c, b'.'), (d, b':')] {
                        self.extend_decimal(i32::from(byte));
                        self.data.push(end);
                    }
                }
                long => {
                    for group in long.as_chunks().0 {
                        let digits = format!("{:x}:", u16::from_be_bytes(*group)); // IPv6 is rare
                        self.data.extend_from_slice(digits.as_bytes());
                    }
                }
            }
            self.extend_decimal(i32::from_be_bytes(*port));
        }
        self.close();
    }

    fn extend_decimal(&mut self, number: i32) {
        let (mut rest, mut digits, mut begin) = (number.unsigned_abs(), [0; 11], 11);
        loop {
            begin -= 1;
            digits[begin] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            begin -= 1;
            digits[begin] = b'-';
        }
        self.data.extend_from_slice(&digits[begin..]);
    }

    /// The broker's own id: its address and the physical offset in hexadecimal.
    fn push_offset_id(&mut self, bytes: &[u8], place: &Place) {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        let (begin, end) = place.store_host_range();
        for part in [bytes.get(begin..end).unwrap_or_default(), &place.physical_offset.to_be_bytes()] {
            self.data.extend(part.iter().flat_map(|&byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
        }
        self.close();
    }

    fn node(self, valid: Option<Valid>) -> Node {
        let mut node = node(self.ends.len() - 1, Buffer::I32(self.ends), valid);
        node.buffers.push(Buffer::U8(self.data));
        node
    }
}

/// Whether a byte is among others: eight at a time.
#[inline(always)]
fn has(bytes: &[u8], wanted: u8) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    let (blocks, rest) = bytes.as_chunks();
    let differ = blocks.iter().map(|eight| u64::from_ne_bytes(*eight) ^ (ONES * u64::from(wanted)));
    let marks = differ.fold(0, |marks, word| marks | (word.wrapping_sub(ONES) & !word & TOPS)); // not 0 if a byte of a word is 0
    marks != 0 || rest.contains(&wanted)
}

/// Which values are there, as bits.
#[derive(Default)]
struct Valid {
    bits: Vec<u8>,
    count: usize,
    nulls: usize,
}

impl Valid {
    fn with_capacity(count: usize) -> Valid {
        Valid { bits: Vec::with_capacity(count / 8 + 1), ..Valid::default() }
    }

    #[inline(always)]
    fn push(&mut self, is_valid: bool) {
        if self.count.is_multiple_of(8) {
            self.bits.push(0);
        }
        if let Some(last) = self.bits.last_mut() {
            *last |= u8::from(is_valid) << (self.count % 8);
        }
        self.count += 1;
        self.nulls += usize::from(!is_valid);
    }

    fn buffer(self) -> (usize, Buffer) {
        (self.nulls, if self.nulls > 0 { Buffer::U8(self.bits) } else { Buffer::None })
    }
}

/// The kind of a record, as `native_reader/layout/kinds.py` defines it.
fn kind_of(topic: &[u8], sys_flag: i32) -> &'static str {
    const TRANSACTION: i32 = 0xC;
    let transaction = sys_flag & TRANSACTION;
    match transaction {
        0x4 => return "prepared",
        0xC => return "rollback",
        _ => {}
    }
    if let Some(kind) = kind_of_topic(topic) {
        return kind;
    }
    if transaction == 0x8 {
        return "committed";
    }
    if sys_flag & INNER_BATCH != 0 { "batch" } else { "normal" }
}

fn kind_of_topic(topic: &[u8]) -> Option<&'static str> {
    // Nearly all topics are users'; one byte at each end tells most of them apart.
    if !matches!(topic.first(), Some(b'%' | b'r' | b'R' | b'S' | b'T' | b'B' | b'O' | b'C' | b'D')) && topic.last() != Some(&b'C') {
        return None;
    }
    match topic {
        b"RMQ_SYS_TRANS_HALF_TOPIC" | b"RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC" => Some("half"),
        b"RMQ_SYS_TRANS_OP_HALF_TOPIC" | b"RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC" => Some("op"),
        b"SCHEDULE_TOPIC_XXXX" => Some("delay"),
        b"rmq_sys_wheel_timer" => Some("timer"),
        b"RMQ_SYS_TRACE_TOPIC" => Some("trace"),
        b"TBW102"
        | b"BenchmarkTest"
        | b"TRANS_CHECK_MAX_TIME_TOPIC"
        | b"SELF_TEST_TOPIC"
        | b"OFFSET_MOVED_EVENT"
        | b"CHECKPOINT_TOPIC"
        | b"DefaultHeartBeatSyncerTopic" => Some("system"),
        _ if topic.starts_with(b"%RETRY%") => Some("retry"),
        _ if topic.starts_with(b"%DLQ%") => Some("dlq"),
        _ if topic.starts_with(b"rmq_sys_REVIVE_LOG_") => Some("pop"),
        _ if topic.starts_with(b"rmq_sys_TRACE_DATA_") => Some("trace"),
        _ if topic.starts_with(b"rmq_sys_") || topic.ends_with(b"_REPLY_TOPIC") => Some("system"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{chain, tests::record};

    const NAMES: &str = "born_host store_host magic body_crc flag reconsume_times prepared_transaction_offset topic tags keys msg_id body properties born_timestamp kind offset_msg_id stored_body queue_id properties[KEYS]";

    #[test]
    fn a_byte_is_found_wherever_it_is() {
        for size in 0..40 {
            let mut bytes = vec![0xA0; size];
            assert!(!has(&bytes, b' '));
            for at in 0..size {
                bytes[at] = b' ';
                assert!(has(&bytes, b' '), "{at} of {size}");
                bytes[at] = 0x1F;
                assert!(!has(&bytes, b' '), "{at} of {size}");
                bytes[at] = 0xFF;
            }
        }
    }

    #[test]
    fn no_flipped_bit_panics_in_any_column() {
        let plan = Plan::new(&NAMES.split(' ').map(String::from).collect::<Vec<_>>()).unwrap();
        let bytes = record(0, &[5; 9], b"topic", b"KEYS\x01a b\x02KEYS\x01\xC3\xA4\x02UNIQ_KEY\x01id\x02TAGS\x01\x02", 0x10);
        // Miri is slow.
        for bit in (0..8 * bytes.len()).step_by(if cfg!(miri) { 7 } else { 1 }) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let mut places = Vec::new();
            chain(&flipped, usize::MAX, 0, 0, &mut places);
            let made = make(&plan, &flipped, &places, Limits { body: 100, bodies: 100 });
            assert_eq!((made.rows, made.is_odd), (places.len(), false), "bit {bit}");
            assert!(made.columns.iter().all(|column| column.length == made.rows));
        }
    }
}
