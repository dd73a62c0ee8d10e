//! The rows of a chunk as the buffers of Arrow columns.

use crate::arrow::{Buffer, Node};
use crate::body_columns::{Bodies, BodyViews, Limits, Views};
use crate::from_properties::{FromProperties, Kind, Usual};
use crate::properties::exact;
use crate::record::{INNER_BATCH, Place, field};
use crate::shapes::Shapes;
use crate::texts::{Texts, Valid, node};
use std::sync::Mutex;

/// Rows that are done together, so that what one column has read is in the cache for the next. Few, because bodies are copied too; very
/// few in `checked`, so that tests cross their ends.
const BLOCK: usize = if cfg!(debug_assertions) { 3 } else { 128 };
/// The years 1 to 9999; other times are null.
const FIRST_MS: i64 = -62_135_596_800_000;
const LAST_MS: i64 = 253_402_300_799_999;
const UNIQ_KEY: &str = "UNIQ_KEY";

/// One column of a batch.
#[derive(Clone, Copy)]
enum Column {
    // A function for many rows, because a call for each takes longer than what it does.
    Int(fn(&[u8], &[Place], &mut Vec<i32>)),
    Long(fn(&[u8], &[Place], &mut Vec<i64>)),
    Moment(fn(&[Place], &mut Vec<i64>)),
    Topic,
    Kind,
    Body,
    StoredBody,
    BodyViews,
    StoredViews,
    OffsetId,
    Host(fn(&Place) -> (usize, usize)),
    FromProperties(Kind),
}

/// What is known from the last chunk: most shapes come again.
#[derive(Default)]
struct Last {
    shapes: Shapes,
    usual: Usual,
}

/// Which columns to make, in which order; and what the last chunk was like.
pub struct Plan {
    columns: Vec<Column>,
    properties: Vec<Vec<u8>>,
    last: Mutex<Last>,
}

impl Plan {
    /// The names of `messages`; `properties[NAME]` is the property NAME, `body_views` are bodies as views. None if one is not made here, or
    /// bodies are wanted twice.
    pub fn new(names: &[String]) -> Option<Plan> {
        let mut plan = Plan { columns: Vec::new(), properties: Vec::new(), last: Mutex::default() };
        for name in names {
            let column = match name.as_str() {
                "topic" => Column::Topic,
                "queue_id" => Column::Int(|_, rows, values| values.extend(rows.iter().map(|place| place.queue_id))),
                "queue_offset" => Column::Long(|_, rows, values| values.extend(rows.iter().map(|place| place.queue_offset))),
                "tags" => Column::FromProperties(Kind::Single(plan.property("TAGS"))),
                "keys" => Column::FromProperties(Kind::Words(plan.property("KEYS"))),
                "msg_id" => Column::FromProperties(Kind::MessageId(plan.property(UNIQ_KEY))),
                "body" => Column::Body,
                "properties" => Column::FromProperties(Kind::Map),
                "born_timestamp" => Column::Moment(|rows, values| values.extend(rows.iter().map(|place| place.born_timestamp))),
                "store_timestamp" => Column::Moment(|rows, values| values.extend(rows.iter().map(|place| place.store_timestamp))),
                "kind" => Column::Kind,
                "physical_offset" => Column::Long(|_, rows, values| values.extend(rows.iter().map(|place| place.physical_offset))),
                "sys_flag" => Column::Int(|_, rows, values| values.extend(rows.iter().map(|place| place.sys_flag))),
                "record_size" => Column::Int(|_, rows, values| values.extend(rows.iter().map(|place| place.size.cast_signed()))),
                "body_size" => Column::Int(|_, rows, values| values.extend(rows.iter().map(|place| place.body_size.cast_signed()))),
                "delay_level" => Column::FromProperties(Kind::Level(plan.property("DELAY"))),
                "magic" => Column::Int(|bytes, rows, values| values.extend(rows.iter().map(|place| field::magic(bytes, place)))),
                "body_crc" => Column::Int(|bytes, rows, values| values.extend(rows.iter().map(|place| field::body_crc(bytes, place)))),
                "flag" => Column::Int(|bytes, rows, values| values.extend(rows.iter().map(|place| field::flag(bytes, place)))),
                "reconsume_times" => {
                    Column::Int(|bytes, rows, values| values.extend(rows.iter().map(|place| field::reconsume_times(bytes, place))))
                }
                "prepared_transaction_offset" => Column::Long(|bytes, rows, values| {
                    values.extend(rows.iter().map(|place| field::prepared_transaction_offset(bytes, place)))
                }),
                "born_host" => Column::Host(Place::born_host_range),
                "store_host" => Column::Host(Place::store_host_range),
                "uniq_key" => Column::FromProperties(Kind::Single(plan.property(UNIQ_KEY))),
                "offset_msg_id" => Column::OffsetId,
                "stored_body" => Column::StoredBody,
                "body_views" => Column::BodyViews,
                "stored_body_views" => Column::StoredViews,
                "real_topic" => Column::FromProperties(Kind::Single(plan.property("REAL_TOPIC"))),
                "lite_topic" => Column::FromProperties(Kind::Single(plan.property("__LITE_TOPIC"))),
                other => Column::FromProperties(Kind::Single(plan.property(other.strip_prefix("properties[")?.strip_suffix(']')?))),
            };
            plan.columns.push(column);
        }
        // Two would have to end at the same row.
        let decide = |column: &&Column| matches!(column, Column::Body | Column::BodyViews);
        (plan.columns.iter().filter(decide).count() <= 1).then_some(plan)
    }

    /// Nothing, while another thread has it.
    fn take_last(&self) -> Last {
        self.last.lock().map(|mut last| std::mem::take(&mut *last)).unwrap_or_default()
    }

    fn keep(&self, new: Last) {
        if let Ok(mut last) = self.last.lock() {
            *last = new;
        }
    }

    fn property(&mut self, name: &str) -> usize {
        let known = self.properties.iter().position(|known| known == name.as_bytes());
        known.unwrap_or_else(|| {
            self.properties.push(name.into());
            self.properties.len() - 1
        })
    }
}

/// The columns of the first rows, and how many these are. `is_odd`: the next row is for the exact way.
pub struct Made {
    pub columns: Vec<Node>,
    pub rows: usize,
    pub is_odd: bool,
}

/// Makes the columns for as many of the rows as the limits allow. All parts of the rows are inside `bytes`.
pub fn make(plan: &Plan, bytes: &[u8], places: &[Place], limits: Limits) -> Made {
    let mut columns = Builders::filled(plan, bytes, places, limits);
    if !columns.fit() {
        return Made { columns: Vec::new(), rows: 0, is_odd: true };
    }
    plan.keep(columns.learned());
    let (rows, is_odd) = (columns.rows, columns.is_odd);
    Made { columns: columns.nodes(), rows, is_odd }
}

/// The columns while they are built: those of properties, and the others, each in the order of the plan.
struct Builders<'a> {
    plan: &'a Plan,
    columns: Vec<Builder>,
    from_properties: Vec<FromProperties>,
    last: Last,
    rows: usize,
    /// Whether the next row is for the exact way.
    is_odd: bool,
}

enum Builder {
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Moments(Vec<i64>, Valid),
    Texts(Texts),
    Body(Box<Bodies>),
    BodyViews(Box<BodyViews>),
    StoredViews(Views),
}

impl<'a> Builders<'a> {
    fn filled(plan: &'a Plan, bytes: &[u8], places: &[Place], limits: Limits) -> Builders<'a> {
        let last = plan.take_last();
        let mut new = Builders { plan, columns: Vec::new(), from_properties: Vec::new(), last, rows: 0, is_odd: false };
        let size = places.iter().map(|place| usize::from(place.properties_size)).sum();
        for &column in &plan.columns {
            match column {
                Column::FromProperties(kind) => {
                    new.from_properties.push(FromProperties::new(kind, places.len(), size, new.last.usual));
                }
                column => new.columns.extend(Builder::new(column, places, limits)),
            }
        }
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
            match builder {
                Builder::Body(bodies) => (rows, self.is_odd) = bodies.extend(bytes, block),
                Builder::BodyViews(bodies) => (rows, self.is_odd) = bodies.extend(bytes, block),
                _ => {}
            }
        }
        let block = block.get(..rows).unwrap_or(block);
        let others = self.plan.columns.iter().filter(|column| !matches!(column, Column::FromProperties(_)));
        for (column, builder) in others.zip(&mut self.columns) {
            builder.extend(*column, bytes, block);
        }
        if !self.from_properties.is_empty() {
            block.iter().for_each(|place| self.add_properties(bytes, place));
        }
        rows
    }

    #[inline(always)]
    fn add_properties(&mut self, bytes: &[u8], place: &Place) {
        let (begin, end) = place.properties_range();
        match self.last.shapes.cut(bytes, begin, end, &self.plan.properties) {
            Some(cut) => self.from_properties.iter_mut().for_each(|column| column.push(bytes, place, &cut)),
            None => {
                let pairs = exact(bytes, begin, end);
                self.from_properties.iter_mut().for_each(|column| column.push_exact(bytes, place, &pairs, &self.plan.properties));
            }
        }
    }

    /// Whether 32-bit offsets are enough.
    fn fit(&self) -> bool {
        let do_fit = |builder: &Builder| match builder {
            Builder::Texts(texts) => texts.fits(),
            Builder::BodyViews(bodies) => bodies.fit(),
            Builder::StoredViews(views) => views.fit,
            _ => true,
        };
        self.columns.iter().all(do_fit) && self.from_properties.iter().all(FromProperties::fits)
    }

    /// What the next chunk can use.
    fn learned(&mut self) -> Last {
        let Last { shapes, usual } = std::mem::take(&mut self.last);
        Last { shapes, usual: self.from_properties.iter().find_map(FromProperties::usual).unwrap_or(usual) }
    }

    fn nodes(self) -> Vec<Node> {
        let rows = self.rows;
        let (mut others, mut from_properties) = (self.columns.into_iter(), self.from_properties.into_iter());
        let columns = self.plan.columns.iter().map(|column| match column {
            Column::FromProperties(_) => from_properties.next().map(|column| column.node(rows)),
            _ => others.next().map(|builder| builder.node(rows)),
        });
        columns.flatten().collect()
    }
}

impl Builder {
    /// None for a column of properties.
    fn new(column: Column, places: &[Place], limits: Limits) -> Option<Builder> {
        let rows = places.len();
        let total = |size: fn(&Place) -> usize| places.iter().map(size).sum::<usize>();
        Some(match column {
            Column::Int(_) => Builder::Ints(Vec::with_capacity(rows)),
            Column::Long(_) => Builder::Longs(Vec::with_capacity(rows)),
            Column::Moment(_) => Builder::Moments(Vec::with_capacity(rows), Valid::default()),
            Column::Topic => Builder::Texts(Texts::with_capacity(rows, total(|place| usize::from(place.topic_size)))),
            Column::Kind => Builder::Texts(Texts::with_capacity(rows, 6 * rows)),
            Column::OffsetId | Column::Host(_) => Builder::Texts(Texts::with_capacity(rows, 32 * rows)),
            Column::StoredBody => Builder::Texts(Texts::with_capacity(rows, total(|place| place.body_size as usize))),
            Column::Body => Builder::Body(Box::new(Bodies::new(places, limits))),
            Column::BodyViews => Builder::BodyViews(Box::new(BodyViews::new(rows, limits))),
            Column::StoredViews => Builder::StoredViews(Views::with_capacity(rows)),
            Column::FromProperties(_) => return None,
        })
    }

    fn node(self, rows: usize) -> Node {
        match self {
            Builder::Ints(values) => node(rows, Buffer::I32(values), None),
            Builder::Longs(values) => node(rows, Buffer::I64(values), None),
            Builder::Moments(values, valid) => node(rows, Buffer::I64(values), Some(valid)),
            Builder::Texts(texts) => texts.node(None),
            Builder::Body(bodies) => bodies.node(),
            Builder::BodyViews(bodies) => bodies.node(rows),
            Builder::StoredViews(views) => views.node(rows, None, Vec::new()),
        }
    }

    /// Adds a block of rows to a column that needs no property.
    fn extend(&mut self, column: Column, bytes: &[u8], block: &[Place]) {
        match (column, self) {
            (Column::Int(extend), Builder::Ints(values)) => extend(bytes, block, values),
            (Column::Long(extend), Builder::Longs(values)) => extend(bytes, block, values),
            (Column::Moment(extend), Builder::Moments(values, valid)) => {
                let before = values.len();
                extend(block, values);
                let new = values.get_mut(before..).unwrap_or_default();
                valid.extend(new, |milliseconds| (FIRST_MS..=LAST_MS).contains(milliseconds));
                new.iter_mut().for_each(|time| *time = time.wrapping_mul(1000));
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
                    let kind = kind_of(bytes.get(begin..end).unwrap_or_default(), place.sys_flag).as_bytes();
                    match <&[u8; 6]>::try_from(kind) {
                        Ok(usual) => texts.push(usual), // "normal": copied without a call
                        Err(_) => texts.push(kind),
                    }
                }
            }
            (Column::StoredBody, Builder::Texts(texts)) => {
                for (begin, end) in block.iter().map(Place::body_range) {
                    texts.push(bytes.get(begin..end).unwrap_or_default());
                }
            }
            (Column::StoredViews, Builder::StoredViews(views)) => views.extend(bytes, block),
            (Column::Host(range), Builder::Texts(texts)) => {
                for (begin, end) in block.iter().map(range) {
                    texts.push_host(bytes.get(begin..end).unwrap_or_default());
                }
            }
            (Column::OffsetId, Builder::Texts(texts)) => block.iter().for_each(|place| texts.push_offset_id(bytes, place)),
            _ => {}
        }
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

    const NAMES: &str = "born_host store_host magic body_crc flag reconsume_times prepared_transaction_offset topic tags keys msg_id body properties born_timestamp kind offset_msg_id stored_body stored_body_views queue_id properties[KEYS]";

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
