//! Bodies as Arrow columns: copied one after the other, or as views of the buffer that has them.

use crate::arrow::{Buffer, Node};
use crate::bodies::{Decoder, EXPANSION, LARGEST_BLOCK, Outcome};
use crate::record::Place;
use crate::texts::{Texts, Valid};

/// Limits on what compressed bodies may become: one body, and those of one batch.
#[derive(Clone, Copy)]
pub struct Limits {
    pub body: usize,
    pub bodies: usize,
}

/// Decompresses the bodies of a batch.
struct Unpacker {
    decoder: Decoder,
    limits: Limits,
    /// The size of those that were decompressed.
    held: usize,
}

/// Why a body ends the batch: it is for the exact way, or too much for this batch.
enum Stop {
    Odd,
    Full,
}

impl Unpacker {
    fn new(limits: Limits) -> Unpacker {
        Unpacker { decoder: Decoder::new(), limits, held: 0 }
    }

    /// Appends a body, and returns whether there is one.
    fn append(&mut self, bytes: &[u8], place: &Place, out: &mut Vec<u8>) -> Result<bool, Stop> {
        let ((begin, end), before) = (place.body_range(), out.len());
        let stored = bytes.get(begin..end).unwrap_or_default();
        let outcome = self.decoder.append(stored, place.sys_flag, self.limits.body, out);
        let size = out.len() - before;
        let is_full = self.held > 0 && size > 0 && self.held + size > self.limits.bodies;
        let is_odd = matches!(outcome, Outcome::Odd) || i32::try_from(out.len()).is_err();
        if is_full || is_odd {
            out.truncate(before);
            return Err(if is_full { Stop::Full } else { Stop::Odd });
        }
        self.held += size;
        Ok(!matches!(outcome, Outcome::Null))
    }
}

/// The bodies, decompressed.
pub struct Bodies {
    texts: Texts,
    valid: Valid,
    unpacker: Unpacker,
}

impl Bodies {
    /// Room for the bodies of these rows.
    pub fn new(places: &[Place], limits: Limits) -> Bodies {
        let size_of = |packed: bool| places.iter().filter(|place| place.packed == packed).map(|place| place.body_size as usize).sum();
        let (plain, packed): (usize, usize) = (size_of(false), size_of(true));
        // Without room for what compressed bodies become, every chunk that has one copies all its bodies to a larger buffer.
        let room = if packed > 0 { packed.saturating_mul(EXPANSION).min(limits.bodies).saturating_add(LARGEST_BLOCK) } else { 0 };
        let texts = Texts::with_capacity(places.len(), plain + room);
        Bodies { texts, valid: Valid::default(), unpacker: Unpacker::new(limits) }
    }

    /// Adds the bodies of the first rows, as many as the limits allow; returns how many, and whether the next row is odd.
    pub fn extend(&mut self, bytes: &[u8], block: &[Place]) -> (usize, bool) {
        for (row, place) in block.iter().enumerate() {
            if !place.packed {
                let (begin, end) = place.body_range();
                if self.texts.data.len() + (end - begin) > i32::MAX as usize {
                    return (row, true);
                }
                self.texts.push_part(bytes, begin, end);
                self.valid.push(true);
                continue;
            }
            match self.unpacker.append(bytes, place, &mut self.texts.data) {
                Ok(is_valid) => {
                    self.texts.close();
                    self.valid.push(is_valid);
                }
                Err(stop) => return (row, matches!(stop, Stop::Odd)),
            }
        }
        (block.len(), false)
    }

    pub fn node(self) -> Node {
        self.texts.node(Some(self.valid))
    }
}

/// The buffers that views name by these numbers: the one with the records, which the caller puts there, and what was decompressed.
const STORED: i32 = 0;
const DECOMPRESSED: i32 = 1;
/// A value of up to this many bytes is in its view.
const INLINE: usize = 12;

/// Bodies as they are stored, as views of their buffer.
pub struct Views {
    /// Two numbers a view: its 16 bytes, as Arrow has them.
    views: Vec<i64>,
    /// Whether 32-bit positions are enough.
    pub fit: bool,
}

impl Views {
    /// Room for so many views.
    pub fn with_capacity(count: usize) -> Views {
        Views { views: Vec::with_capacity(2 * count), fit: true }
    }

    /// Adds the bodies of these rows.
    pub fn extend(&mut self, bytes: &[u8], block: &[Place]) {
        for (begin, end) in block.iter().map(Place::body_range) {
            self.push(bytes, begin, end, STORED);
        }
    }

    /// Adds a part of a buffer, of which `number` is the number.
    #[inline(always)]
    fn push(&mut self, buffer: &[u8], begin: usize, end: usize, number: i32) {
        let value = buffer.get(begin..end).unwrap_or_default();
        let (size, place) = (value.len() as i32, begin as i32);
        self.fit &= end <= i32::MAX as usize;
        let view = match value.first_chunk::<4>() {
            Some(first) if value.len() > INLINE => [size, i32::from_ne_bytes(*first), number, place],
            _ => {
                let mut inline = [0; INLINE];
                inline.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
                let [a, b, c, d, e, f, g, h, i, j, k, l] = inline;
                [size, i32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h]), i32::from_ne_bytes([i, j, k, l])]
            }
        };
        let [one, two, three, four] = view.map(i32::to_ne_bytes);
        for [[a, b, c, d], [e, f, g, h]] in [[one, two], [three, four]] {
            self.views.push(i64::from_ne_bytes([a, b, c, d, e, f, g, h]));
        }
    }

    /// An array of these views, whose first buffer of bytes is still empty.
    pub fn node(self, rows: usize, valid: Option<Valid>, decompressed: Vec<u8>) -> Node {
        let (nulls, validity) = valid.map_or((0, Buffer::None), Valid::buffer);
        let sizes = Buffer::I64(vec![0, decompressed.len() as i64]);
        let buffers = vec![validity, Buffer::I64(self.views), Buffer::U8(Vec::new()), Buffer::U8(decompressed), sizes];
        Node { length: rows, nulls, buffers, children: Vec::new() }
    }
}

/// The bodies as views: of their buffer, or of another with those that were decompressed.
pub struct BodyViews {
    views: Views,
    decompressed: Vec<u8>,
    valid: Valid,
    unpacker: Unpacker,
}

impl BodyViews {
    /// Room for so many bodies.
    pub fn new(count: usize, limits: Limits) -> BodyViews {
        let unpacker = Unpacker::new(limits);
        BodyViews { views: Views::with_capacity(count), decompressed: Vec::new(), valid: Valid::default(), unpacker }
    }

    /// Adds the bodies of the first rows, as `Bodies` does.
    pub fn extend(&mut self, bytes: &[u8], block: &[Place]) -> (usize, bool) {
        for (row, place) in block.iter().enumerate() {
            if !place.packed {
                let (begin, end) = place.body_range();
                self.views.push(bytes, begin, end, STORED);
                self.valid.push(true);
                continue;
            }
            let before = self.decompressed.len();
            match self.unpacker.append(bytes, place, &mut self.decompressed) {
                Ok(is_valid) => {
                    self.views.push(&self.decompressed, before, self.decompressed.len(), DECOMPRESSED);
                    self.valid.push(is_valid);
                }
                Err(stop) => return (row, matches!(stop, Stop::Odd)),
            }
        }
        (block.len(), false)
    }

    /// Whether 32-bit positions are enough.
    pub fn fit(&self) -> bool {
        self.views.fit
    }

    pub fn node(self, rows: usize) -> Node {
        self.views.node(rows, Some(self.valid), self.decompressed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value that a view names, as Arrow reads it.
    fn value(views: &[i64], buffers: [&[u8]; 2]) -> Vec<u8> {
        let bytes: Vec<u8> = views.iter().flat_map(|half| half.to_ne_bytes()).collect();
        let number = |at: usize| i32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        if number(0) <= INLINE {
            assert!(bytes[4 + number(0)..].iter().all(|&byte| byte == 0), "Arrow compares all bytes of a short value");
            return bytes[4..4 + number(0)].to_vec();
        }
        let found = &buffers[number(8)][number(12)..][..number(0)];
        assert_eq!(bytes[4..8], found[..4]);
        found.to_vec()
    }

    #[test]
    fn a_view_names_its_part_of_its_buffer() {
        let (stored, other): (Vec<u8>, Vec<u8>) = ((0..40).collect(), (100..140).collect());
        for begin in 0..=stored.len() {
            for end in begin..=stored.len() {
                for (number, buffer) in [(STORED, &stored), (DECOMPRESSED, &other)] {
                    let mut views = Views::with_capacity(1);
                    views.push(buffer, begin, end, number);
                    assert!(views.fit);
                    assert_eq!(value(&views.views, [&stored, &other]), buffer[begin..end], "{begin}..{end}");
                }
            }
        }
    }

    #[test]
    fn a_place_beyond_31_bits_does_not_fit() {
        let mut views = Views::with_capacity(1);
        views.push(&[], i32::MAX as usize, i32::MAX as usize + 1, STORED);
        assert!(!views.fit);
    }
}
