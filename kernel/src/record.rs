//! One stored record: which bytes are a valid one, and where its parts are. The layout is that of `native_reader/layout/record.py`.

pub const COMPRESSED: i32 = 0x1;
pub const INNER_BATCH: i32 = 0x80;
pub const HEAD: usize = 88;
const MAGIC_V1: i32 = -626_843_481;
const MAGIC_V2: i32 = -626_843_477;
const BORN_IPV6: i32 = 0x10;
const STORE_IPV6: i32 = 0x20;
const SMALLEST: usize = HEAD + 1 + 1 + 2;
/// The fixed fields of a message in an inner batch, and the size of its properties.
const SMALLEST_UNIT: usize = 22;
const ENTRY_HEAD: usize = 48;
/// By how much an IPv6 address is longer than an IPv4 one.
const LONGER: usize = 12;

/// Where the parts of one message are in its buffer, and the fields of its head that columns need.
///
/// Positions fit 32 bits because `Bytes` does not show more of a buffer.
#[derive(Clone, Copy)]
pub struct Place {
    pub start: u32,
    pub size: u32,
    pub body: u32,
    pub body_size: u32,
    pub topic: u32,
    pub properties: u32,
    pub topic_size: u16,
    pub properties_size: u16,
    pub queue_id: i32,
    pub sys_flag: i32,
    /// Whether the body at `body` is compressed. Messages of a compressed inner batch are not, whatever their flags.
    pub packed: bool,
    pub queue_offset: i64,
    pub physical_offset: i64,
    pub born_timestamp: i64,
    pub store_timestamp: i64,
    /// The number in an inner batch, -1 for other rows, and its flag there. Rows that numpy made have some number.
    pub inner: i32,
    pub inner_flag: i32,
}

impl Place {
    /// Where the body is.
    pub fn body_range(&self) -> (usize, usize) {
        (self.body as usize, self.body as usize + self.body_size as usize)
    }

    /// Where the topic is.
    pub fn topic_range(&self) -> (usize, usize) {
        (self.topic as usize, self.topic as usize + usize::from(self.topic_size))
    }

    /// Where the properties are.
    pub fn properties_range(&self) -> (usize, usize) {
        (self.properties as usize, self.properties as usize + usize::from(self.properties_size))
    }

    /// Where the address and the port of the producer are.
    pub fn born_host_range(&self) -> (usize, usize) {
        let start = self.start as usize + 48;
        (start, start + if self.sys_flag & BORN_IPV6 != 0 { 20 } else { 8 })
    }

    /// Where the address and the port of the broker are.
    pub fn store_host_range(&self) -> (usize, usize) {
        let start = self.start as usize + 64 + if self.sys_flag & BORN_IPV6 != 0 { LONGER } else { 0 };
        (start, start + if self.sys_flag & STORE_IPV6 != 0 { 20 } else { 8 })
    }

    /// Where the field is that comes `after` this many bytes after the broker's host.
    fn after_hosts(&self, after: usize) -> usize {
        self.store_host_range().1 + after
    }
}

/// The fixed fields as they are on disk, big-endian; those after an IPv6 host are shifted to where they are without one.
type Head = [u8; HEAD];

#[inline(always)]
fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline(always)]
fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline(always)]
fn i16_at(bytes: &[u8], at: usize) -> Option<i16> {
    Some(i16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline(always)]
fn head_at(bytes: &[u8], at: usize) -> Option<&Head> {
    bytes.get(at..)?.first_chunk()
}

#[inline(always)]
fn word(head: &Head, at: usize) -> i32 {
    i32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
}

#[inline(always)]
fn long(head: &Head, at: usize) -> i64 {
    (i64::from(word(head, at)) << 32) | i64::from(word(head, at + 4).cast_unsigned())
}

/// The structurally valid record at `start`, or None.
///
/// Magic, bounds, the sum of all lengths, and the physical offset, which is that of `start`; in a DLedger log (`frame` = 48) the
/// header of its entry too. `offset` is that of byte 0 of the buffer.
#[inline(always)]
pub fn record_at(bytes: &[u8], start: usize, offset: i64, frame: usize) -> Option<Place> {
    let head = head_at(bytes, start)?;
    let size = usize::try_from(word(head, 0)).ok()?;
    let magic = word(head, 4);
    let wide = magic == MAGIC_V2;
    if !(wide || magic == MAGIC_V1) {
        return None;
    }
    let record = bytes.get(start..start.checked_add(size)?)?;
    let physical_offset = long(head, 28);
    if physical_offset != offset.checked_add(i64::try_from(start).ok()?)? {
        return None;
    }
    let sys_flag = word(head, 36);
    let (mut store_timestamp, mut body_size, mut longer) = (long(head, 56), word(head, 84), 0);
    if sys_flag & (BORN_IPV6 | STORE_IPV6) != 0 {
        let born = if sys_flag & BORN_IPV6 != 0 { LONGER } else { 0 };
        longer = born + if sys_flag & STORE_IPV6 != 0 { LONGER } else { 0 };
        store_timestamp = i64_at(record, 56 + born)?;
        body_size = i32_at(record, 84 + longer)?;
    }
    let body_size = usize::try_from(body_size).ok()?;
    let body = HEAD + longer;
    let topic_size_at = body.checked_add(body_size)?;
    let (topic_size, topic) = if wide {
        (i16_at(record, topic_size_at)?, topic_size_at + 2)
    } else {
        (i16::from(record.get(topic_size_at)?.cast_signed()), topic_size_at + 1)
    };
    if topic_size <= 0 {
        return None;
    }
    let (topic_size, properties_size_at) = (topic_size.cast_unsigned(), topic + usize::from(topic_size.cast_unsigned()));
    let properties_size = u16::try_from(i16_at(record, properties_size_at)?).ok()?;
    let properties = properties_size_at + 2;
    if properties + usize::from(properties_size) != size || (frame != 0 && !entry_agrees(bytes, start, size, offset)?) {
        return None;
    }
    Some(Place {
        start: u32::try_from(start).ok()?,
        size: u32::try_from(size).ok()?,
        body: u32::try_from(start + body).ok()?,
        body_size: u32::try_from(body_size).ok()?,
        topic: u32::try_from(start + topic).ok()?,
        properties: u32::try_from(start + properties).ok()?,
        topic_size,
        properties_size,
        queue_id: word(head, 12),
        sys_flag,
        packed: sys_flag & COMPRESSED != 0,
        queue_offset: long(head, 20),
        physical_offset,
        born_timestamp: long(head, 40),
        store_timestamp,
        inner: -1,
        inner_flag: 0,
    })
}

/// Whether a magic among the first `filled` bytes, and its own offset, are where those of a record at `start` would be.
pub fn is_candidate(bytes: &[u8], filled: usize, start: usize, offset: i64) -> bool {
    let is_inside = start.checked_add(8).is_some_and(|end| end <= filled);
    let is_magic = is_inside && matches!(i32_at(bytes, start + 4), Some(MAGIC_V1 | MAGIC_V2));
    is_magic && i64_at(bytes, start + 28) == Some(offset.wrapping_add(start as i64))
}

/// Message number `inner` of the batch `record`, which begins at `start` in the buffer: its own fields in place of the record's.
pub fn message_at(bytes: &[u8], start: usize, record: &Place, inner: i64) -> Option<Place> {
    const FLAG: usize = 12;
    const BODY_SIZE: usize = 16;
    const BODY: usize = 20;
    let unit = bytes.get(start..)?;
    let body_size = usize::try_from(i32_at(unit, BODY_SIZE)?).ok()?;
    let properties_size = u16::try_from(i16_at(unit, BODY.checked_add(body_size)?)?).ok()?;
    let place = Place {
        body: u32::try_from(start + BODY).ok()?,
        body_size: u32::try_from(body_size).ok()?,
        properties: u32::try_from(start + BODY + body_size + 2).ok()?,
        properties_size,
        packed: false,
        queue_offset: record.queue_offset.wrapping_add(inner),
        inner: i32::try_from(inner).ok()?,
        inner_flag: i32_at(unit, FLAG)?,
        ..*record
    };
    is_inside(bytes, &place).then_some(place)
}

/// The messages of these records: those of an inner batch in its place. A batch whose lengths do not add up stays one row.
///
/// None if there is no message of a batch, or there are more than `most` rows, or a batch is compressed.
pub fn unwrapped(bytes: &[u8], records: &[Place], most: usize) -> Option<Vec<Place>> {
    let (mut places, mut is_any) = (Vec::with_capacity(2 * records.len()), false);
    for record in records {
        let before = places.len();
        let is_batch = record.sys_flag & INNER_BATCH != 0;
        if is_batch && record.packed {
            return None;
        }
        if is_batch && add_messages(bytes, record, most, &mut places).is_some() {
            is_any = true;
        } else {
            places.truncate(before);
            places.push(*record);
        }
        if places.len() > most {
            return None;
        }
    }
    is_any.then_some(places)
}

/// Adds the messages of a batch, up to one more than `most` rows. None if there are none, or their lengths do not add up.
fn add_messages(bytes: &[u8], batch: &Place, most: usize, places: &mut Vec<Place>) -> Option<()> {
    let ((mut start, end), mut number) = (batch.body_range(), 0);
    while start + SMALLEST_UNIT <= end && places.len() <= most {
        let size = usize::try_from(i32_at(bytes, start)?).ok()?;
        let place = message_at(bytes, start, batch, number)?;
        // It has at least SMALLEST_UNIT bytes, so this ends.
        if place.properties_range().1 != start.checked_add(size)? {
            return None;
        }
        places.push(place);
        start += size;
        number += 1;
    }
    (number > 0 && (start == end || places.len() > most)).then_some(())
}

/// How many messages a batch has; None if its lengths do not add up, or it is compressed.
pub fn messages_in(bytes: &[u8], batch: &Place) -> Option<usize> {
    let mut messages = Vec::new();
    if !batch.packed {
        add_messages(bytes, batch, usize::MAX, &mut messages)?;
    }
    (!messages.is_empty()).then_some(messages.len())
}

/// Fields of the head that few reads want, taken from the buffer. 0 if they are outside, which they are not in a valid record.
pub mod field {
    use super::{Place, i32_at, i64_at};

    pub fn magic(bytes: &[u8], place: &Place) -> i32 {
        i32_at(bytes, place.start as usize + 4).unwrap_or_default()
    }

    pub fn body_crc(bytes: &[u8], place: &Place) -> i32 {
        i32_at(bytes, place.start as usize + 8).unwrap_or_default()
    }

    pub fn flag(bytes: &[u8], place: &Place) -> i32 {
        if place.inner < 0 { i32_at(bytes, place.start as usize + 16).unwrap_or_default() } else { place.inner_flag }
    }

    pub fn reconsume_times(bytes: &[u8], place: &Place) -> i32 {
        i32_at(bytes, place.after_hosts(0)).unwrap_or_default()
    }

    pub fn prepared_transaction_offset(bytes: &[u8], place: &Place) -> i64 {
        i64_at(bytes, place.after_hosts(4)).unwrap_or_default()
    }
}

/// Whether the DLedger entry header before a record is one of that record.
fn entry_agrees(bytes: &[u8], start: usize, size: usize, offset: i64) -> Option<bool> {
    let at = start.checked_sub(ENTRY_HEAD)?;
    let size = i64::try_from(size).ok()?;
    let is_entry = i32_at(bytes, at)? == 1 && i64::from(i32_at(bytes, at + 4)?) == size + 48;
    let position = offset.checked_add(i64::try_from(at).ok()?)?;
    Some(is_entry && i64_at(bytes, at + 24)? == position && i64::from(i32_at(bytes, at + 44)?) == size)
}

/// The records that follow each other from the first byte on and start before `limit`, up to the first that is invalid.
pub fn chain(bytes: &[u8], limit: usize, offset: i64, frame: usize, places: &mut Vec<Place>) {
    chain_from(bytes, frame, limit.saturating_add(frame), offset, frame, places);
}

/// The same from the record at `start` on, of those that start before `until`. Returns where the record after the last would start.
pub fn chain_from(bytes: &[u8], mut start: usize, until: usize, offset: i64, frame: usize, places: &mut Vec<Place>) -> usize {
    let last = until.min((bytes.len() + 1).saturating_sub(SMALLEST));
    while start < last {
        // A valid record has at least SMALLEST bytes, so this ends.
        let Some(place) = record_at(bytes, start, offset, frame) else { break };
        start += place.size as usize + frame;
        places.push(place);
    }
    start
}

/// Whether what is at `start` has a size that does not end inside the buffer.
pub fn ends_after(bytes: &[u8], start: usize) -> bool {
    i32_at(bytes, start).is_some_and(|size| i64::from(size) > bytes.len().saturating_sub(start) as i64)
}

/// The head of a valid record, or of a message in one; see `Head`.
pub fn head_of(bytes: &[u8], place: &Place) -> Option<Head> {
    let start = place.start as usize;
    let mut head = *head_at(bytes, start)?;
    if place.sys_flag & (BORN_IPV6 | STORE_IPV6) != 0 {
        let born = if place.sys_flag & BORN_IPV6 != 0 { LONGER } else { 0 };
        let both = born + if place.sys_flag & STORE_IPV6 != 0 { LONGER } else { 0 };
        let host = if place.sys_flag & STORE_IPV6 == 0 { 8 } else { 0 };
        for (to, longer, size) in [(56, born, 8), (64, born, host), (72, both, 4), (76, both, 8), (84, both, 4)] {
            let from = start + to + longer;
            head.get_mut(to..to + size)?.copy_from_slice(bytes.get(from..from + size)?);
        }
    }
    if place.inner >= 0 {
        head[16..20].copy_from_slice(&place.inner_flag.to_be_bytes());
        head[20..28].copy_from_slice(&place.queue_offset.to_be_bytes());
        head[84..88].copy_from_slice(&place.body_size.to_be_bytes());
    }
    Some(head)
}

/// A message whose parts numpy knows: a record that a filter left, or a message of an inner batch. None if a part is outside.
pub fn place_of(bytes: &[u8], head: &[u8], parts: [i64; 8], is_inner: bool) -> Option<Place> {
    let head: &Head = head.try_into().ok()?;
    let sys_flag = word(head, 36);
    let [start, size, body, body_size, topic, topic_size, properties, properties_size] = parts;
    let position = |value: i64| u32::try_from(value).ok();
    let place = Place {
        start: position(start)?,
        size: position(size)?,
        body: position(body)?,
        body_size: position(body_size)?,
        topic: position(topic)?,
        properties: position(properties)?,
        topic_size: u16::try_from(topic_size).ok().filter(|&size| size > 0)?,
        properties_size: u16::try_from(properties_size).ok()?,
        queue_id: word(head, 12),
        sys_flag,
        packed: sys_flag & COMPRESSED != 0 && !is_inner,
        queue_offset: long(head, 20),
        physical_offset: long(head, 28),
        born_timestamp: long(head, 40),
        store_timestamp: long(head, 56),
        inner: if is_inner { 0 } else { -1 },
        inner_flag: word(head, 16),
    };
    is_inside(bytes, &place).then_some(place)
}

/// Whether all parts of a message are inside the buffer.
pub fn is_inside(bytes: &[u8], place: &Place) -> bool {
    let ranges = [place.body_range(), place.topic_range(), place.properties_range(), place.store_host_range()];
    ranges.into_iter().all(|(_, end)| end <= bytes.len())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn record(offset: i64, body: &[u8], topic: &[u8], properties: &[u8], sys_flag: i32) -> Vec<u8> {
        let longer = [BORN_IPV6, STORE_IPV6].map(|bit| if sys_flag & bit != 0 { 20 } else { 8 });
        let mut out = vec![0; 4];
        out.extend(MAGIC_V1.to_be_bytes());
        out.extend([0; 20]);
        out.extend(offset.to_be_bytes());
        out.extend(sys_flag.to_be_bytes());
        out.extend(7_i64.to_be_bytes());
        out.extend(vec![1; longer[0]]);
        out.extend(9_i64.to_be_bytes());
        out.extend(vec![2; longer[1]]);
        out.extend([0; 12]);
        out.extend(i32::try_from(body.len()).unwrap().to_be_bytes());
        out.extend(body);
        out.push(u8::try_from(topic.len()).unwrap());
        out.extend(topic);
        out.extend(i16::try_from(properties.len()).unwrap().to_be_bytes());
        out.extend(properties);
        let size = i32::try_from(out.len()).unwrap();
        out[..4].copy_from_slice(&size.to_be_bytes());
        out
    }

    fn places(bytes: &[u8], offset: i64) -> Vec<Place> {
        let mut places = Vec::new();
        chain(bytes, usize::MAX, offset, 0, &mut places);
        places
    }

    #[test]
    fn a_chain_ends_at_the_first_byte_that_is_wrong() {
        let first = record(100, b"body", b"topic", b"a\x01b", 0);
        let offset = 100 + i64::try_from(first.len()).unwrap();
        let both = [first.clone(), record(offset, b"", b"t", b"", 0x30)].concat();
        assert_eq!(places(&both, 100).len(), 2);
        assert_eq!(places(&both, 100)[1].store_timestamp, 9);
        for at in first.len()..both.len() {
            assert_eq!(places(&both[..at], 100).len(), 1, "cut at {at}");
        }
        assert!(places(&both, 101).is_empty());
    }

    #[test]
    fn no_flipped_bit_panics_or_leaves_the_buffer() {
        let bytes = record(0, &[5; 40], b"topic", b"KEYS\x01k\x02", 0x10);
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            for place in places(&flipped, 0) {
                assert!(place.properties_range().1 <= flipped.len());
                assert!(head_of(&flipped, &place).is_some());
            }
        }
    }

    fn unit(body: &[u8], properties: &[u8]) -> Vec<u8> {
        let size = i32::try_from(SMALLEST_UNIT + body.len() + properties.len()).unwrap();
        let mut out = [size.to_be_bytes(), [0; 4], [0; 4], 7_i32.to_be_bytes()].concat();
        out.extend(i32::try_from(body.len()).unwrap().to_be_bytes());
        out.extend(body);
        out.extend(i16::try_from(properties.len()).unwrap().to_be_bytes());
        out.extend(properties);
        out
    }

    #[test]
    fn messages_are_in_the_place_of_their_batch() {
        let body = [unit(b"one", b"a\x01b"), unit(b"", b"")].concat();
        let numbers = |body: &[u8], sys_flag: i32, most: usize| {
            let bytes = [record(0, b"x", b"t", b"", 0), record(93, body, b"t", b"", sys_flag)].concat();
            let unwrapped = unwrapped(&bytes, &places(&bytes, 0), most)?;
            assert!(unwrapped.iter().all(|place| is_inside(&bytes, place)));
            Some(unwrapped.iter().map(|place| (place.inner, place.body_size)).collect::<Vec<_>>())
        };
        assert_eq!(numbers(&body, INNER_BATCH, 3), Some(vec![(-1, 1), (0, 3), (1, 0)]));
        assert_eq!(numbers(&body, INNER_BATCH, 2), None);
        assert_eq!(numbers(&body, 0, 3), None);
        assert_eq!(numbers(&body, INNER_BATCH | COMPRESSED, 3), None);
        for cut in 0..body.len() {
            assert_eq!(numbers(&body[..cut], INNER_BATCH, 9).is_some(), cut == SMALLEST_UNIT + 6, "cut at {cut}");
        }
        for bit in 0..8 * body.len() {
            let mut flipped = body.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(numbers(&flipped, INNER_BATCH, 9).is_none_or(|rows| rows.len() <= 3));
        }
    }

    #[test]
    fn the_largest_sizes_do_not_overflow() {
        let mut bytes = record(0, b"", b"t", b"", 0);
        for size in [i32::MAX, i32::MIN, -1, 0, 91] {
            bytes[..4].copy_from_slice(&size.to_be_bytes());
            assert!(record_at(&bytes, 0, 0, 0).is_none());
            bytes[84..88].copy_from_slice(&size.to_be_bytes());
            assert!(record_at(&bytes, 0, 0, 0).is_none());
        }
        assert!(record_at(&bytes, usize::MAX, i64::MAX, 48).is_none());
    }
}
