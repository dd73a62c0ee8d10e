//! Columns that are made from the properties of records, row by row: what is known of a row's properties is then still in registers.

use crate::arrow::{Buffer, Node};
use crate::properties::Exact;
use crate::record::Place;
use crate::shapes::Cut;
use crate::texts::{Texts, Valid, node};

/// Which column of properties; a number is that of a property among those that a plan wants.
#[derive(Clone, Copy)]
pub enum Kind {
    /// All of them.
    Map,
    Single(usize),
    Words(usize),
    /// The property, or the broker's own id.
    MessageId(usize),
    Level(usize),
}

/// How much memory the pairs of a row take.
#[derive(Clone, Copy, Default)]
pub struct Usual {
    pub pairs: usize,
    /// Of a name.
    pub name: usize,
}

pub enum FromProperties {
    Map { ends: Vec<i32>, names: Texts, values: Texts },
    Single { wanted: usize, texts: Texts, valid: Valid },
    Words { wanted: usize, ends: Vec<i32>, words: Texts, valid: Valid },
    MessageId { wanted: usize, texts: Texts },
    Level { wanted: usize, values: Vec<i32>, valid: Valid },
}

impl FromProperties {
    /// Without rows. `size`: that of the properties of all rows.
    pub fn new(kind: Kind, rows: usize, size: usize, usual: Usual) -> FromProperties {
        let ends = || {
            let mut ends = Vec::with_capacity(rows + 1);
            ends.push(0);
            ends
        };
        match kind {
            Kind::Map => {
                let pairs = usual.pairs.saturating_mul(rows).min(size);
                let names = Texts::with_capacity(pairs, usual.name.saturating_mul(pairs).min(size));
                FromProperties::Map { ends: ends(), names, values: Texts::with_capacity(pairs, size) }
            }
            Kind::Single(wanted) => FromProperties::Single { wanted, texts: Texts::with_capacity(rows, 8 * rows), valid: Valid::default() },
            Kind::Words(wanted) => {
                FromProperties::Words { wanted, ends: ends(), words: Texts::with_capacity(rows, 16 * rows), valid: Valid::default() }
            }
            Kind::MessageId(wanted) => FromProperties::MessageId { wanted, texts: Texts::with_capacity(rows, 32 * rows) },
            Kind::Level(wanted) => FromProperties::Level { wanted, values: Vec::with_capacity(rows), valid: Valid::default() },
        }
    }

    /// Adds a row; the properties are of these bytes.
    #[inline(always)]
    pub fn push(&mut self, bytes: &[u8], place: &Place, cut: &Cut) {
        match self {
            FromProperties::Map { ends, names, values } => {
                let (parts, name_ends) = cut.names();
                names.push_all(parts, name_ends);
                values.push_values(bytes, cut.pairs);
                ends.push(names.count());
            }
            FromProperties::Single { wanted, .. }
            | FromProperties::Words { wanted, .. }
            | FromProperties::MessageId { wanted, .. }
            | FromProperties::Level { wanted, .. } => {
                let value = cut.value(*wanted);
                self.push_value(bytes, place, value.map(|range| (bytes, range)));
            }
        }
    }

    /// Adds a row whose properties are not of a known shape.
    #[cold]
    pub fn push_exact(&mut self, bytes: &[u8], place: &Place, pairs: &Exact, all_wanted: &[Vec<u8>]) {
        match self {
            FromProperties::Map { ends, names, values } => {
                for (name, value) in pairs {
                    names.push(name.as_bytes());
                    values.push(value.as_bytes());
                }
                ends.push(names.count());
            }
            FromProperties::Single { wanted, .. }
            | FromProperties::Words { wanted, .. }
            | FromProperties::MessageId { wanted, .. }
            | FromProperties::Level { wanted, .. } => {
                let wanted = all_wanted.get(*wanted).map(Vec::as_slice);
                let pair = pairs.iter().find(|(name, _)| Some(name.as_bytes()) == wanted);
                self.push_value(bytes, place, pair.map(|(_, value)| (value.as_bytes(), (0, value.len()))));
            }
        }
    }

    /// Adds a row to a column of one property: where its value is, in these or in other bytes.
    #[inline(always)]
    fn push_value(&mut self, bytes: &[u8], place: &Place, value: Option<(&[u8], (usize, usize))>) {
        match self {
            FromProperties::Single { texts, valid, .. } => {
                valid.push(value.is_some());
                match value {
                    Some((bytes, (begin, end))) => texts.push_part(bytes, begin, end),
                    None => texts.close(),
                }
            }
            FromProperties::Words { ends, words, valid, .. } => {
                valid.push(value.is_some());
                if let Some((bytes, (begin, end))) = value {
                    words.push_words(bytes, begin, end);
                }
                ends.push(words.count());
            }
            FromProperties::MessageId { texts, .. } => match value {
                Some((bytes, (begin, end))) => texts.push_part(bytes, begin, end),
                None => texts.push_offset_id(bytes, place),
            },
            FromProperties::Level { values, valid, .. } => {
                let level = value.and_then(|(bytes, (begin, end))| level_of(bytes.get(begin..end)?));
                values.push(level.unwrap_or_default());
                valid.push(level.is_some());
            }
            FromProperties::Map { .. } => {}
        }
    }

    /// Whether 32-bit offsets are enough.
    pub fn fits(&self) -> bool {
        match self {
            FromProperties::Map { names, values, .. } => names.fits() && values.fits(),
            FromProperties::Single { texts, .. } | FromProperties::MessageId { texts, .. } => texts.fits(),
            FromProperties::Words { words, .. } => words.fits(),
            FromProperties::Level { .. } => true,
        }
    }

    /// How much memory a row took, if this has all pairs.
    pub fn usual(&self) -> Option<Usual> {
        let FromProperties::Map { ends, names, .. } = self else { return None };
        Some(Usual { pairs: names.ends.len() / ends.len() + 1, name: names.data.len() / names.ends.len() + 1 })
    }

    /// The column, of so many rows.
    pub fn node(self, rows: usize) -> Node {
        match self {
            FromProperties::Map { ends, names, values } => {
                let pairs = names.ends.len() - 1;
                let children = vec![names.node(None), values.node(None)];
                let entries = Node { length: pairs, nulls: 0, buffers: vec![Buffer::None], children };
                Node { children: vec![entries], ..node(rows, Buffer::I32(ends), None) }
            }
            FromProperties::Single { texts, valid, .. } => texts.node(Some(valid)),
            FromProperties::Words { ends, words, valid, .. } => {
                Node { children: vec![words.node(None)], ..node(rows, Buffer::I32(ends), Some(valid)) }
            }
            FromProperties::MessageId { texts, .. } => texts.node(None),
            FromProperties::Level { values, valid, .. } => node(rows, Buffer::I32(values), Some(valid)),
        }
    }
}

/// A delay level: digits, perhaps after a minus, that fit in an i32.
fn level_of(text: &[u8]) -> Option<i32> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_number = text.len() <= 11 && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}
