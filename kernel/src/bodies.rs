//! Stored bodies, decompressed as `native_reader/layout/bodies.py` does.
//!
//! A body is done only where its stream is the plain one: a zlib or gzip stream, or one whole LZ4 or zstd frame, and nothing after it.
//! Of frames, whatever two decoders could see differently is odd.

use std::cell::RefCell;
use std::io::Cursor;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zlib_rs::{Inflate, InflateFlush, Status};
use zstd_safe::zstd_sys::ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall;
use zstd_safe::{DCtx, ErrorCode};

use self::Outcome::{Done, Null, Odd};

/// Room for a body, in sizes of its compressed form: most bodies need no more.
pub const EXPANSION: usize = 4;
/// The most that a block of zstd can become.
pub const LARGEST_BLOCK: usize = 128 << 10;

/// What became of a stored body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was appended.
    Done,
    /// It certainly cannot be decoded, or is larger than allowed.
    Null,
    /// The exact Python way decides.
    Odd,
}

/// The state of the codecs, used again for each body; made when a codec first occurs.
#[derive(Default)]
pub struct Decoder {
    zlib: Option<Inflate>,
    zstd: Option<DCtx<'static>>,
}

impl Decoder {
    /// A decoder that has seen no body.
    pub const fn new() -> Self {
        Self { zlib: None, zstd: None }
    }

    /// Append the body as the producer sent it; unless it is done, `out` stays as it was.
    pub fn append(&mut self, stored: &[u8], sys_flag: i32, at_most: usize, out: &mut Vec<u8>) -> Outcome {
        if stored.is_empty() {
            return Done; // Java does not decompress an empty body, whatever its flags
        }
        let start = out.len();
        let outcome = match (sys_flag >> 8) & 7 {
            0 | 3 => self.inflate(stored, at_most, out),
            1 => lz4(stored, at_most, out),
            2 => self.zstd(stored, at_most, out),
            _ => Null,
        };
        if outcome != Done {
            out.truncate(start);
        }
        outcome
    }

    /// A zlib or gzip stream, told apart by its first bytes; what follows it is ignored.
    fn inflate(&mut self, stored: &[u8], at_most: usize, out: &mut Vec<u8>) -> Outcome {
        let mut gzip;
        let stream = if stored.starts_with(&[0x1F, 0x8B]) {
            gzip = Inflate::new(true, 16 + 15);
            &mut gzip
        } else {
            let zlib = self.zlib.get_or_insert_with(|| Inflate::new(true, 15));
            zlib.reset(true);
            zlib
        };
        let (start, most) = (out.len(), at_most.saturating_add(1)); // a byte too many shows that a body is too large
        let mut room = stored.len().saturating_mul(EXPANSION).max(512).min(most);
        loop {
            if !resized(out, start, room) {
                return Odd;
            }
            let (read, made) = (stream.total_in() as usize, stream.total_out() as usize);
            let (Some(input), Some(output)) = (stored.get(read..), out.get_mut(start + made..)) else { return Odd };
            let status = stream.decompress(input, output, InflateFlush::Finish);
            let made = stream.total_out() as usize;
            match status {
                Ok(Status::StreamEnd) if made <= at_most => {
                    out.truncate(start + made);
                    return Done;
                }
                Ok(Status::Ok | Status::BufError) if made == room && room < most => room = room.saturating_mul(2).min(most),
                _ => return Null,
            }
        }
    }

    /// A zstd frame, in one call: without the buffers of a stream, which are as large as a frame says its window is.
    fn zstd(&mut self, stored: &[u8], at_most: usize, out: &mut Vec<u8>) -> Outcome {
        let Some(frame) = ZstdFrame::of(stored) else { return Odd };
        let (start, room) = (out.len(), frame.most.min(at_most));
        if out.try_reserve(room).is_err() {
            return Odd;
        }
        let context = match &mut self.zstd {
            Some(context) => context,
            none => match DCtx::try_create() {
                Some(context) => none.insert(context),
                None => return Odd,
            },
        };
        let mut end = Cursor::new(&mut *out);
        end.set_position(start as u64);
        match context.decompress(&mut end, stored) {
            Ok(made) if made > at_most => Null,
            Ok(made) if made > frame.window => Odd, // a stream forgets what is farther back; one call does not
            Ok(_) => Done,
            Err(code) if code == TOO_SMALL && frame.most > at_most => Null,
            Err(_) => Odd,
        }
    }
}

const TOO_SMALL: ErrorCode = (ZSTD_error_dstSize_tooSmall as usize).wrapping_neg();

/// Give `out` `room` bytes from `start` on; false if there is no memory.
fn resized(out: &mut Vec<u8>, start: usize, room: usize) -> bool {
    let Some(size) = start.checked_add(room) else { return false };
    if out.try_reserve(size.saturating_sub(out.len())).is_err() {
        return false;
    }
    out.resize(size, 0);
    true
}

/// The rest of the bytes, from which numbers of little-endian order are taken.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of at most eight bytes.
    fn number(&mut self, size: usize) -> Option<u64> {
        Some(self.take(size)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }
}

/// What the header and the block headers of a zstd frame say.
struct ZstdFrame {
    window: usize,
    /// Its body is not larger.
    most: usize,
}

impl ZstdFrame {
    const MAGIC: u64 = 0xFD2F_B528;
    /// A stream refuses a larger one.
    const LARGEST_WINDOW: u64 = 1 << 27;
    const LARGEST_BLOCK: u64 = LARGEST_BLOCK as u64;

    /// The frame, if it is of the plain kind, without a dictionary, and ends where the bytes end.
    fn of(stored: &[u8]) -> Option<Self> {
        let mut rest = Rest(stored);
        if rest.number(4)? != Self::MAGIC {
            return None;
        }
        let descriptor = rest.number(1)?;
        let (single, checksum) = (descriptor & 0x20 != 0, descriptor & 0x04 != 0);
        if descriptor & 0x1B != 0 {
            return None;
        }
        let window = if single {
            None
        } else {
            let code = rest.number(1)?;
            let base = 1_u64 << (10 + (code >> 3));
            Some(base + base / 8 * (code & 7))
        };
        let size = match (descriptor >> 6, single) {
            (0, false) => None,
            (0, true) => Some(rest.number(1)?),
            (1, _) => Some(rest.number(2)? + 256),
            (2, _) => Some(rest.number(4)?),
            _ => Some(rest.number(8)?),
        };
        let window = window.or(size).filter(|&window| window <= Self::LARGEST_WINDOW)?;
        let mut most = 0_u64;
        loop {
            let header = rest.number(3)?;
            let block = header >> 3;
            if block > Self::LARGEST_BLOCK.min(window) {
                return None;
            }
            match header >> 1 & 3 {
                0 => {
                    rest.take(block as usize)?;
                    most += block;
                }
                1 => {
                    rest.take(1)?;
                    most += block;
                }
                2 => {
                    rest.take(block as usize)?;
                    most += Self::LARGEST_BLOCK.min(window);
                }
                _ => return None,
            }
            if header & 1 != 0 {
                break;
            }
        }
        if checksum {
            rest.take(4)?;
        }
        let most = size.map_or(most, |size| size.min(most));
        rest.0.is_empty().then_some(Self { window: window as usize, most: usize::try_from(most).ok()? })
    }
}

/// One LZ4 frame; nothing but its size makes it null.
fn lz4(stored: &[u8], at_most: usize, out: &mut Vec<u8>) -> Outcome {
    match lz4_frame(stored, at_most, out) {
        Ok(()) => Done,
        Err(outcome) => outcome,
    }
}

fn lz4_frame(stored: &[u8], at_most: usize, out: &mut Vec<u8>) -> Result<(), Outcome> {
    let mut rest = Rest(stored);
    let start = out.len();
    if rest.number(4).ok_or(Odd)? != 0x184D_2204 {
        return Err(Odd);
    }
    let described = rest.0;
    let (flags, blocks) = (rest.number(1).ok_or(Odd)?, rest.number(1).ok_or(Odd)?);
    if flags & 0xC3 != 0x40 || blocks & 0x8F != 0 || blocks < 0x40 {
        return Err(Odd); // another version, a dictionary, reserved bits, or blocks of no known size
    }
    let (linked, block_sums, sized, summed) = (flags & 0x20 == 0, flags & 0x10 != 0, flags & 0x08 != 0, flags & 0x04 != 0);
    let largest = 1_usize << (8 + (blocks >> 4) * 2);
    let size = if sized { Some(rest.number(8).ok_or(Odd)?) } else { None };
    let described = described.get(..if sized { 10 } else { 2 }).ok_or(Odd)?;
    if rest.number(1).ok_or(Odd)? != u64::from(xxh32(described) >> 8 & 0xFF) {
        return Err(Odd);
    }
    loop {
        let header = rest.number(4).ok_or(Odd)?;
        if header == 0 {
            break;
        }
        let packed = (header & 0x7FFF_FFFF) as usize;
        let block = rest.take(packed).filter(|block| (1..=largest).contains(&block.len())).ok_or(Odd)?;
        if block_sums && rest.number(4).ok_or(Odd)? != u64::from(xxh32(block)) {
            return Err(Odd);
        }
        let from = out.len();
        if header >> 31 == 0 {
            let floor = if linked { start } else { from };
            lz4_block(block, Limits { floor, largest, end: start.saturating_add(at_most) }, out)?;
        } else if from - start + block.len() > at_most {
            return Err(Null);
        } else {
            out.extend_from_slice(block);
        }
    }
    let body = out.get(start..).ok_or(Odd)?;
    if summed && rest.number(4).ok_or(Odd)? != u64::from(xxh32(body)) || size.is_some_and(|size| size != body.len() as u64) {
        return Err(Odd);
    }
    if rest.0.is_empty() { Ok(()) } else { Err(Odd) }
}

/// Where a block's matches begin at the earliest, how large its bytes are at most, and where the output ends at the latest.
struct Limits {
    floor: usize,
    largest: usize,
    end: usize,
}

/// One block, if its end obeys the format: the last match ends early enough for the reference decoder, whichever of its ways it takes.
fn lz4_block(block: &[u8], limits: Limits, out: &mut Vec<u8>) -> Result<(), Outcome> {
    let from = out.len();
    let block_end = from + limits.largest;
    let mut rest = Rest(block);
    loop {
        let token = *rest.take(1).and_then(<[u8]>::first).ok_or(Odd)?;
        let length = lz4_length(token >> 4, &mut rest)?;
        let literals = rest.take(length).ok_or(Odd)?;
        let reached = out.len() + literals.len();
        if reached > limits.end {
            return Err(Null);
        }
        if reached > block_end {
            return Err(Odd);
        }
        out.extend_from_slice(literals);
        if rest.0.is_empty() {
            return if out.len() > from { Ok(()) } else { Err(Odd) };
        }
        // After the literals: an offset, and a last sequence of a token and five literals at least.
        if rest.0.len() < 2 + 1 + 5 || reached + 12 > block_end {
            return Err(Odd);
        }
        let offset = rest.number(2).ok_or(Odd)? as usize;
        let length = lz4_length(token & 15, &mut rest)? + 4;
        if offset == 0 || offset > reached - limits.floor || rest.0.len() < 1 + 5 {
            return Err(Odd);
        }
        if reached + length > limits.end {
            return Err(Null);
        }
        if reached + length + 5 > block_end {
            return Err(Odd);
        }
        // A match may repeat bytes that it makes itself: what is copied at once doubles each time.
        let (first, mut left) = (reached - offset, length);
        while left > 0 {
            let size = left.min(out.len() - first);
            out.extend_from_within(first..first + size);
            left -= size;
        }
    }
}

/// A length of four bits, continued in the bytes that follow if they are all set.
fn lz4_length(bits: u8, rest: &mut Rest<'_>) -> Result<usize, Outcome> {
    let mut length = usize::from(bits);
    if bits == 15 {
        loop {
            let more = rest.number(1).ok_or(Odd)? as usize;
            length += more; // at most 255 times the size of the block
            if more < 255 {
                break;
            }
        }
    }
    Ok(length)
}

/// The checksum of LZ4 frames, with seed 0.
fn xxh32(bytes: &[u8]) -> u32 {
    const P: [u32; 5] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D, 0x27D4_EB2F, 0x1656_67B1];
    let (stripes, rest) = bytes.as_chunks::<16>();
    let mut hash = if stripes.is_empty() {
        P[4]
    } else {
        let mut lanes = [P[0].wrapping_add(P[1]), P[1], 0, P[0].wrapping_neg()];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<4>().0) {
                *lane = lane.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(P[1])).rotate_left(13).wrapping_mul(P[0]);
            }
        }
        let turned = lanes.iter().zip([1, 7, 12, 18]).map(|(lane, turn)| lane.rotate_left(turn));
        turned.fold(0, u32::wrapping_add)
    };
    hash = hash.wrapping_add(bytes.len() as u32);
    let (words, rest) = rest.as_chunks::<4>();
    for word in words {
        hash = hash.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(P[2])).rotate_left(17).wrapping_mul(P[3]);
    }
    for byte in rest {
        hash = hash.wrapping_add(u32::from(*byte).wrapping_mul(P[4])).rotate_left(11).wrapping_mul(P[0]);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(P[1]);
    hash = (hash ^ hash >> 13).wrapping_mul(P[2]);
    hash ^ hash >> 16
}

/// For the differential test: ("done", body), ("null", None) or ("odd", None), with one decoder for all bodies of a thread.
#[pyfunction]
#[pyo3(name = "_decompress")]
pub fn decompress<'py>(py: Python<'py>, stored: &[u8], sys_flag: i32, at_most: usize) -> (&'static str, Option<Bound<'py, PyBytes>>) {
    thread_local!(static STATE: RefCell<(Decoder, Vec<u8>)> = const { RefCell::new((Decoder::new(), Vec::new())) });
    STATE.with_borrow_mut(|(decoder, out)| {
        out.clear();
        match decoder.append(stored, sys_flag, at_most, out) {
            Done => ("done", Some(PyBytes::new(py, out))),
            Null => ("null", None),
            Odd => ("odd", None),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use zlib_rs::{Deflate, DeflateFlush};

    const AT_MOST: usize = 1 << 20;
    const ZLIB: i32 = 0x301;
    const LZ4: i32 = 0x101;
    const ZSTD: i32 = 0x201;

    /// As written by lz4-java's LZ4FrameOutputStream.
    const LZ4_FRAME: &str = "04224d1860707382000000f50c7b226f72646572223a302c227374617465223a2270616964227d2c1b004f373931391e00075f\
        31353833381f00075f32333735371f00075f33313637361f00084f393539351f00075f34373531341f00075f35353433331f00075f36333335321f00075f\
        37313237311f00083f39313935010849383731303601506964227d2c00000000";

    fn body() -> Vec<u8> {
        (0..12).flat_map(|i| format!("{{\"order\":{},\"state\":\"paid\"}},", i * 7919).into_bytes()).collect()
    }

    fn noise(size: usize) -> Vec<u8> {
        let mut seed = 1_u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 56) as u8
        };
        (0..size).map(|_| next()).collect()
    }

    fn deflated(body: &[u8], window_bits: u8) -> Vec<u8> {
        let mut out = vec![0; body.len() + 1000];
        let mut stream = Deflate::new(5, true, window_bits);
        assert_eq!(stream.compress(body, &mut out, DeflateFlush::Finish), Ok(Status::StreamEnd));
        out.truncate(stream.total_out() as usize);
        out
    }

    fn zstd(body: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(body.len() + 1000);
        zstd_safe::compress(&mut out, body, 3).unwrap();
        out
    }

    fn unhex(text: &str) -> Vec<u8> {
        text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// A frame of independent blocks of at most 4 MiB, with sums of blocks and body, and the size.
    fn lz4_frame_of(blocks: &[(&[u8], bool)], body: &[u8]) -> Vec<u8> {
        let mut frame = unhex("04224d18");
        frame.extend([0x7C, 0x70]);
        frame.extend((body.len() as u64).to_le_bytes());
        frame.push((xxh32(&frame[4..]) >> 8) as u8);
        for (block, packed) in blocks {
            frame.extend((block.len() as u32 | u32::from(!packed) << 31).to_le_bytes());
            frame.extend_from_slice(block);
            frame.extend(xxh32(block).to_le_bytes());
        }
        frame.extend([0; 4]);
        frame.extend(xxh32(body).to_le_bytes());
        frame
    }

    fn decoded(stored: &[u8], sys_flag: i32, at_most: usize) -> (Outcome, Vec<u8>) {
        let mut out = b"before".to_vec();
        let outcome = Decoder::new().append(stored, sys_flag, at_most, &mut out);
        assert_eq!(&out[..6], b"before");
        assert!(outcome == Done || out.len() == 6);
        (outcome, out.split_off(6))
    }

    fn samples(body: &[u8]) -> Vec<(i32, Vec<u8>)> {
        vec![
            (0x001, deflated(body, 15)),
            (ZLIB, deflated(body, 15)),
            (ZLIB, deflated(body, 31)),
            (LZ4, lz4_frame_of(&[(body, false)], body)),
            (ZSTD, zstd(body)),
        ]
    }

    #[test]
    fn each_codec_gives_the_body_back() {
        assert_eq!(decoded(&unhex(LZ4_FRAME), LZ4, AT_MOST), (Done, body()));
        for body in [body(), noise(1), noise(3000), vec![7; 300_000]] {
            for (flag, stored) in samples(&body) {
                assert_eq!(decoded(&stored, flag, AT_MOST), (Done, body.clone()), "{flag:#x}");
            }
        }
    }

    #[test]
    fn the_decoder_forgets_a_body_before_the_next() {
        let (mut decoder, mut out, mut expected) = (Decoder::new(), Vec::new(), Vec::new());
        for size in 1..200 {
            for (flag, stored) in samples(&noise(size)) {
                assert_eq!(decoder.append(&stored, flag, AT_MOST, &mut out), Done);
                assert_ne!(decoder.append(&stored[..stored.len() / 2], flag, AT_MOST, &mut out), Done);
                expected.extend(noise(size));
            }
        }
        assert!(out == expected);
    }

    #[test]
    fn an_empty_body_is_empty_and_an_unknown_codec_is_null() {
        for bits in 0..8 {
            assert_eq!(decoded(b"", bits << 8 | 1, 0), (Done, vec![]));
            if bits > 3 {
                assert_eq!(decoded(b"anything", bits << 8 | 1, AT_MOST).0, Null);
            }
        }
        assert_eq!(decoded(b"anything", -1, AT_MOST).0, Null);
    }

    #[test]
    fn a_cut_body_is_never_done() {
        for (flag, stored) in samples(&body()).into_iter().chain([(LZ4, unhex(LZ4_FRAME))]) {
            for cut in 1..stored.len() {
                let expected = if flag == LZ4 || flag == ZSTD { Odd } else { Null };
                assert_eq!(decoded(&stored[..cut], flag, AT_MOST).0, expected, "{flag:#x} {cut}");
            }
        }
    }

    #[test]
    fn bytes_after_the_end_are_ignored_after_zlib_and_odd_after_a_frame() {
        for (flag, stored) in samples(&body()).into_iter().chain([(LZ4, unhex(LZ4_FRAME))]) {
            for after in [b"x".as_slice(), &[0; 9], &stored] {
                let both = [stored.as_slice(), after].concat();
                let expected = if flag == LZ4 || flag == ZSTD { (Odd, vec![]) } else { (Done, body()) };
                assert_eq!(decoded(&both, flag, AT_MOST), expected, "{flag:#x}");
            }
        }
    }

    #[test]
    fn a_flipped_bit_never_panics_nor_gives_another_body_where_there_is_a_checksum() {
        for (flag, stored) in samples(&body()).into_iter().chain([(LZ4, unhex(LZ4_FRAME))]) {
            for bit in 0..stored.len() * 8 {
                let mut flipped = stored.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let (outcome, out) = decoded(&flipped, flag, AT_MOST);
                let summed = flag != ZSTD && (flag != LZ4 || stored.len() > 300);
                assert!(outcome != Done || !summed || out == body(), "{flag:#x} {bit}");
            }
        }
    }

    #[test]
    fn noise_is_never_done() {
        for size in 1..600 {
            for flag in [1, ZLIB, LZ4, ZSTD] {
                assert_ne!(decoded(&noise(size), flag, AT_MOST).0, Done);
            }
        }
    }

    #[test]
    fn a_body_may_be_as_large_as_allowed_and_a_bomb_takes_no_more() {
        let bomb = vec![0; 3 << 20];
        let packed = [&[0x1F_u8, 0, 1, 0] as &[u8], &[255; 5000], &[0, 0x50, 1, 2, 3, 4, 5]].concat();
        let mut stored = samples(&bomb);
        stored.push((LZ4, lz4_frame_of(&[(&packed, true)], &bomb)));
        for (flag, stored) in stored {
            for at_most in [0, 1, 1000, 1 << 20] {
                let mut out = Vec::new();
                assert_eq!(Decoder::new().append(&stored, flag, at_most, &mut out), Null, "{flag:#x} {at_most}");
                assert!(out.capacity() <= 2 * at_most + 1024);
            }
        }
        for (flag, stored) in samples(&body()) {
            assert_eq!(decoded(&stored, flag, body().len()), (Done, body()));
            assert_eq!(decoded(&stored, flag, body().len() - 1).0, Null);
            assert_eq!(decoded(&stored, flag, usize::MAX), (Done, body()));
        }
    }

    #[test]
    fn an_lz4_block_that_ends_against_the_format_is_odd() {
        let match_at_the_end = [0x1F, b'a', 1, 0, 0, 0x10, b'b'];
        assert_eq!(decoded(&lz4_frame_of(&[(&match_at_the_end, true)], &[b'a'; 20]), LZ4, AT_MOST).0, Odd);
        let too_far = [0x10, b'a', 2, 0, 0x50, 1, 2, 3, 4, 5];
        assert_eq!(decoded(&lz4_frame_of(&[(&too_far, true)], b"a"), LZ4, AT_MOST).0, Odd);
        let repeated = [0x13, b'a', 1, 0, 0x50, b'b', b'b', b'b', b'b', b'b'];
        assert_eq!(decoded(&lz4_frame_of(&[(&repeated, true)], b"aaaaaaaabbbbb"), LZ4, AT_MOST), (Done, b"aaaaaaaabbbbb".to_vec()));
    }

    #[test]
    fn xxh32_of_known_texts() {
        assert_eq!(xxh32(b""), 0x02CC_5D05);
        assert_eq!(xxh32(b"a"), 0x550D_7456);
        assert_eq!(xxh32(b"abc"), 0x32D1_53FF);
        assert_eq!(xxh32(b"Nobody inspects the spammish repetition"), 0xE229_3B2F);
    }
}
