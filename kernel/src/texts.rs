//! Values of any length one after the other, as Arrow has them, and which of them are there.

use crate::arrow::{Buffer, Node};
use crate::record::Place;
use crate::separators::Pairs;

const KEYS_SEPARATOR: u8 = b' ';
/// Values of up to this many bytes are copied as this many, which needs no call and no branch on their size.
pub const WIDE: usize = 32;

/// Values of any length, one after the other.
pub struct Texts {
    pub ends: Vec<i32>,
    pub data: Vec<u8>,
}

impl Texts {
    /// Room for so many values and bytes. What does not fit is added all the same.
    pub fn with_capacity(count: usize, size: usize) -> Texts {
        let mut ends = Vec::with_capacity(count + 1);
        ends.push(0);
        Texts { ends, data: Vec::with_capacity(size + WIDE) }
    }

    /// How many values there are. Offsets that do not fit are seen in `fits`.
    pub fn count(&self) -> i32 {
        (self.ends.len() - 1) as i32
    }

    /// Whether 32-bit offsets are enough.
    pub fn fits(&self) -> bool {
        i32::try_from(self.data.len()).is_ok()
    }

    #[inline(always)]
    pub fn close(&mut self) {
        self.ends.push(self.data.len() as i32);
    }

    #[inline(always)]
    pub fn push(&mut self, value: &[u8]) {
        self.data.extend_from_slice(value);
        self.close();
    }

    /// Adds values that are one after the other in `parts`, followed by `WIDE` bytes of any content, and end at these places.
    #[inline(always)]
    pub fn push_all(&mut self, parts: &[u8], ends: &[i32]) {
        let before = self.data.len();
        let size = parts.len().saturating_sub(WIDE);
        if size <= 4 * WIDE {
            for block in parts.as_chunks::<WIDE>().0 {
                self.data.extend_from_slice(block);
            }
            self.data.truncate(before + size);
        } else {
            self.data.extend_from_slice(parts.get(..size).unwrap_or_default());
        }
        self.ends.extend(ends.iter().map(|end| (before as i32).wrapping_add(*end)));
    }

    /// Adds the values between the end of each name and their own.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn push_values(&mut self, bytes: &[u8], pairs: Pairs) {
        let pairs = pairs.places();
        let (Some(&[first, _]), Some(&[_, last])) = (pairs.first(), pairs.last()) else { return };
        if last as usize + 1 + WIDE > bytes.len() {
            pairs.iter().for_each(|&[middle, end]| self.push_part(bytes, middle as usize + 1, end as usize));
            return;
        }
        self.data.reserve((last - first) as usize + WIDE);
        self.ends.reserve(pairs.len());
        let (mut size, count) = (self.data.len(), self.ends.len());
        let (from, to, ends) = (bytes.as_ptr(), self.data.as_mut_ptr(), self.ends.as_mut_ptr());
        for (number, &[middle, end]) in pairs.iter().enumerate() {
            let (begin, long) = (middle as usize + 1, (end - middle - 1) as usize);
            // SAFETY: the places of `Pairs` ascend. So `begin` is at most `last + 1`, after which `bytes` has `WIDE` bytes, as checked
            // above, and all values together have less than `last - first` bytes, for which `reserve` made room, and for `WIDE` more,
            // and for a number of each pair. What is written is memory that only `self` knows.
            unsafe {
                if long <= WIDE {
                    to.add(size).cast::<[u8; WIDE]>().write(from.add(begin).cast::<[u8; WIDE]>().read());
                } else {
                    to.add(size).copy_from_nonoverlapping(from.add(begin), long);
                }
                size += long;
                ends.add(count + number).write(size as i32);
            }
        }
        // SAFETY: as many bytes and numbers have been written, in memory that is reserved.
        unsafe {
            self.data.set_len(size);
            self.ends.set_len(count + pairs.len());
        }
    }

    /// Adds a part of a buffer.
    #[inline(always)]
    pub fn push_part(&mut self, bytes: &[u8], begin: usize, end: usize) {
        self.append(bytes, begin, end);
        self.close();
    }

    /// Appends a part of a buffer: as a block, if it has no more bytes, which needs no call.
    #[inline(always)]
    fn append(&mut self, bytes: &[u8], begin: usize, end: usize) {
        let (rest, size) = (bytes.get(begin..).unwrap_or_default(), end - begin);
        match rest.first_chunk::<WIDE>() {
            Some(block) if size <= WIDE => self.append_wide(block, size),
            _ => self.data.extend_from_slice(rest.get(..size).unwrap_or_default()),
        }
    }

    /// Appends the first `size` bytes of a block.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn append_wide(&mut self, block: &[u8; WIDE], size: usize) {
        debug_assert!(size <= WIDE);
        self.data.reserve(WIDE);
        let before = self.data.len();
        // SAFETY: `reserve` made room for all bytes of the block after the `before` ones, which are written here; no more than
        // these are made part of the vector. An array of bytes may be at any address.
        unsafe {
            self.data.as_mut_ptr().add(before).cast::<[u8; WIDE]>().write(*block);
            self.data.set_len(before + size.min(WIDE));
        }
    }

    /// Adds the words of a part of a buffer. It nearly always is one.
    #[inline(always)]
    pub fn push_words(&mut self, bytes: &[u8], begin: usize, end: usize) {
        let part = bytes.get(begin..end).unwrap_or_default();
        if has(part, KEYS_SEPARATOR) {
            part.split(|&byte| byte == KEYS_SEPARATOR).filter(|word| !word.is_empty()).for_each(|word| self.push(word));
        } else if !part.is_empty() {
            self.push_part(bytes, begin, end);
        }
    }

    /// `address:port` as Java prints it, IPv6 without `::`; from 4 or 16 address bytes and a port of four.
    pub fn push_host(&mut self, host: &[u8]) {
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
    pub fn push_offset_id(&mut self, bytes: &[u8], place: &Place) {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        let (begin, end) = place.store_host_range();
        for part in [bytes.get(begin..end).unwrap_or_default(), &place.physical_offset.to_be_bytes()] {
            self.data.extend(part.iter().flat_map(|&byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
        }
        self.close();
    }

    pub fn node(self, valid: Option<Valid>) -> Node {
        let mut node = node(self.ends.len() - 1, Buffer::I32(self.ends), valid);
        node.buffers.push(Buffer::U8(self.data));
        node
    }
}

pub fn node(length: usize, values: Buffer, valid: Option<Valid>) -> Node {
    let (nulls, validity) = valid.map_or((0, Buffer::None), Valid::buffer);
    Node { length, nulls, buffers: vec![validity, values], children: Vec::new() }
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

/// Which values are there, as bits. Before the first that is not, they are only counted.
#[derive(Default)]
pub struct Valid {
    bits: Vec<u8>,
    count: usize,
    nulls: usize,
}

impl Valid {
    #[inline(always)]
    pub fn push(&mut self, is_valid: bool) {
        if is_valid && self.nulls == 0 {
            self.count += 1;
        } else {
            self.push_bit(is_valid);
        }
    }

    /// Adds those of many values. Mostly all are there.
    pub fn extend<T>(&mut self, values: &[T], is_valid: impl Fn(&T) -> bool) {
        if self.nulls == 0 && values.iter().all(&is_valid) {
            self.count += values.len();
        } else {
            values.iter().for_each(|value| self.push(is_valid(value)));
        }
    }

    #[inline(always)]
    fn push_bit(&mut self, is_valid: bool) {
        if self.nulls == 0 {
            self.bits = vec![0xFF; self.count / 8];
            self.bits.push(!(0xFF << (self.count % 8)));
        } else if self.count.is_multiple_of(8) {
            self.bits.push(0);
        }
        if let Some(last) = self.bits.last_mut() {
            *last |= u8::from(is_valid) << (self.count % 8);
        }
        self.count += 1;
        self.nulls += usize::from(!is_valid);
    }

    pub fn buffer(self) -> (usize, Buffer) {
        (self.nulls, if self.nulls > 0 { Buffer::U8(self.bits) } else { Buffer::None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn bits_are_those_of_a_plain_list_wherever_the_first_null_is() {
        for count in 0..40 {
            for first in 0..=count {
                let (mut valid, mut plain) = (Valid::default(), vec![0; usize::div_ceil(count, 8)]);
                for at in 0..count {
                    let is_valid = at < first || at % 3 == 1;
                    valid.push(is_valid);
                    plain[at / 8] |= u8::from(is_valid) << (at % 8);
                }
                let nulls = (0..count).filter(|&at| at >= first && at % 3 != 1).count();
                match valid.buffer() {
                    (found, Buffer::U8(bits)) => assert_eq!((found, bits), (nulls, plain), "{first} of {count}"),
                    (found, _) => assert_eq!((found, nulls), (0, 0)),
                }
            }
        }
    }

    /// Parts of every size, at every distance from the end of their buffer.
    #[test]
    fn parts_are_copied_whole_and_nothing_after_them() {
        let bytes: Vec<u8> = (0..100).collect();
        let (mut texts, mut plain) = (Texts::with_capacity(0, 0), Vec::new());
        for begin in 0..bytes.len() {
            for end in begin..bytes.len() {
                texts.push_part(&bytes, begin, end);
                plain.extend_from_slice(&bytes[begin..end]);
                assert_eq!(texts.ends.last(), Some(&(plain.len() as i32)));
            }
        }
        assert_eq!(texts.data, plain);
    }
}
