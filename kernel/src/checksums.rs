//! Checksums of stored bodies, and of whole records where a broker since 5.2.0 appended one. As `columns/rows.py` has them.

use crate::properties::own_checksum;
use crate::record::Place;

/// RocketMQ clears the highest bit of a CRC-32.
const POSITIVE: u32 = 0x7FFF_FFFF;
const BODY_CRC: usize = 8;

/// Whether a record has a wrong checksum. All its parts are inside `bytes`.
pub fn is_wrong(bytes: &[u8], record: &Place) -> bool {
    let start = record.start as usize;
    let part = |(begin, end): (usize, usize)| bytes.get(begin..end).unwrap_or_default();
    let body = part(record.body_range());
    let stated: Option<&[u8; 4]> = bytes.get(start + BODY_CRC..).and_then(<[u8]>::first_chunk);
    if !body.is_empty() && stated != Some(&(crc32fast::hash(body) & POSITIVE).to_be_bytes()) {
        return true;
    }
    let properties = record.properties_range();
    own_checksum(part(properties))
        .is_some_and(|(stated, size)| u64::from(crc32fast::hash(part((start, properties.1 - size))) & POSITIVE) != stated)
}
