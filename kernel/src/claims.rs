//! Entries of consume queues, and the bytes of the log that they claim.

use crate::Bytes;
use crate::cover::{Blocks, Cover, Covered, Span};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// An entry: offset i8, size i4, tags code i8, all big-endian.
const ENTRY: usize = 20;
/// The size in the entries before the first one of a queue that does not begin at 0.
const FILLER_SIZE: i32 = i32::MAX;

/// The claims of one queue: their offsets and sizes, or its entries as the file has them, all written.
#[derive(FromPyObject)]
enum List {
    Columns(PyBuffer<i64>, PyBuffer<i64>),
    #[pyo3(transparent)]
    Entries(Bytes),
}

impl List {
    fn claims(&self, py: Python<'_>) -> PyResult<Claims<'_>> {
        match self {
            List::Columns(offsets, sizes) => {
                let (offsets, sizes) = (native(py, offsets)?, native(py, sizes)?);
                if offsets.len() != sizes.len() {
                    return Err(PyValueError::new_err("as many sizes as offsets are needed"));
                }
                Ok(Claims::Columns(offsets, sizes))
            }
            List::Entries(content) => Ok(Claims::Entries(units_of(content)?)),
        }
    }
}

/// As `List`, for use without the GIL.
enum Claims<'a> {
    Columns(Vec<i64>, Vec<i64>),
    Entries(&'a [[u8; ENTRY]]),
}

impl Claims<'_> {
    fn of<'a>(py: Python<'_>, lists: &'a [List]) -> PyResult<Vec<Claims<'a>>> {
        lists.iter().map(|list| list.claims(py)).collect()
    }

    fn len(&self) -> usize {
        match self {
            Claims::Columns(offsets, _) => offsets.len(),
            Claims::Entries(units) => units.len(),
        }
    }

    /// Calls `seen` with offset and size of each claim, until it refuses one.
    fn each(&self, mut seen: impl FnMut(i64, i64) -> Result<(), Refusal>) -> Result<(), Refusal> {
        match self {
            Claims::Columns(offsets, sizes) => offsets.iter().zip(sizes).try_for_each(|(&offset, &size)| seen(offset, size)),
            Claims::Entries(units) => units.iter().map(place_of).try_for_each(|(offset, size)| seen(offset, size.into())),
        }
    }

    /// Where the last claim ends, which is the end of all if they are in order.
    fn end(&self) -> i64 {
        let (offset, size) = match self {
            Claims::Columns(offsets, sizes) => offsets.last().copied().zip(sizes.last().copied()),
            Claims::Entries(units) => units.last().map(place_of).map(|(offset, size)| (offset, size.into())),
        }
        .unwrap_or_default();
        offset.saturating_add(size)
    }
}

/// The entries in a buffer.
fn units_of(content: &Bytes) -> PyResult<&[[u8; ENTRY]]> {
    if content.is_whole() { Ok(content.as_slice().as_chunks().0) } else { Err(PyMemoryError::new_err("too many entries")) }
}

/// Offset and size of an entry.
fn place_of(unit: &[u8; ENTRY]) -> (i64, i32) {
    let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = *unit;
    (i64::from_be_bytes([a, b, c, d, e, f, g, h]), i32::from_be_bytes([i, j, k, l]))
}

/// A new array, in native byte order.
type Array<'py> = Bound<'py, PyByteArray>;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(merged_claims, module)?)?;
    module.add_function(wrap_pyfunction!(unclaimed_extents, module)?)?;
    module.add_function(wrap_pyfunction!(queue_entries, module)?)?;
    module.add_function(wrap_pyfunction!(ordinary_run, module)?)?;
    module.add_function(wrap_pyfunction!(ascending_within, module)?)
}

/// A claim in one integer: its offset after the lowest one, its size, and whether it is unwanted. So claims sort as integers.
trait Key: Copy + Ord {
    /// None if this type is too narrow.
    fn of(relative: u64, rest: u32) -> Option<Self>;
    fn parts(self) -> (u64, u32);
}

/// Of a segment of up to 4 GiB.
impl Key for u64 {
    fn of(relative: u64, rest: u32) -> Option<Self> {
        (relative <= u64::from(u32::MAX)).then_some((relative << 32) | u64::from(rest))
    }
    fn parts(self) -> (u64, u32) {
        (self >> 32, self as u32)
    }
}

impl Key for u128 {
    fn of(relative: u64, rest: u32) -> Option<Self> {
        Some((u128::from(relative) << 32) | u128::from(rest))
    }
    fn parts(self) -> (u64, u32) {
        ((self >> 32) as u64, self as u32)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Tile {
    /// After the lowest offset.
    start: i64,
    size: i64,
    unwanted: bool,
}

/// Why there are no keys.
#[derive(Debug, PartialEq)]
enum Refusal {
    /// A claim that no queue entry can make: numpy decides.
    Odd,
    /// The key type is too narrow.
    TooNarrow,
}

/// Where a claim starts after `low`, and where it ends if `spare` bytes belong to it, too. Both fit in an i64.
fn span_of(offset: i64, size: i64, low: i64, spare: i64) -> Result<Span, Refusal> {
    let start = relative_of(offset, size, low, spare).ok_or(Refusal::Odd)?;
    Ok((start, start.saturating_add_signed(size).saturating_add_signed(spare)))
}

/// The offset after `low`, if this is a claim that a queue entry can make.
fn relative_of(offset: i64, size: i64, low: i64, spare: i64) -> Option<u64> {
    let relative = offset.checked_sub(low)?;
    offset.checked_add(size)?;
    relative.checked_add(size)?.checked_add(spare)?;
    let is_usual = (1..=i64::from(i32::MAX)).contains(&size) && spare >= 0;
    u64::try_from(relative).ok().filter(|_| is_usual)
}

/// Calls `seen` for each tile in order. Equal claims count once, as wanted if any is; overlapping claims are all dropped.
fn tile<K: Key>(keys: &mut [K], mut seen: impl FnMut(Tile)) {
    // Stable, because that sort takes the runs as they are, and each queue is one.
    keys.sort();
    let mut reach = 0; // where the claims before the open one end
    let mut open: Option<(Tile, bool)> = None; // the newest claim, and whether it overlaps none before it
    for key in keys.iter() {
        let (start, rest) = key.parts();
        let next = Tile { start: start as i64, size: i64::from(rest >> 1), unwanted: rest & 1 == 1 };
        if let Some((tile, is_clear)) = open {
            if (tile.start, tile.size) == (next.start, next.size) {
                continue;
            }
            // `span_of` has proven that this sum fits.
            let end = tile.start.saturating_add(tile.size);
            if is_clear && end <= next.start {
                seen(tile);
            }
            reach = reach.max(end);
        }
        open = Some((next, reach <= next.start));
    }
    if let Some((tile, true)) = open {
        seen(tile);
    }
}

/// What claims leave to read.
#[derive(Debug, Default, PartialEq)]
struct Left {
    /// Ascending: unclaimed bytes, and wanted claims with their frames.
    starts: Vec<i64>,
    ends: Vec<i64>,
    /// The offsets of wanted claims.
    named: Vec<i64>,
    /// The size of the largest wanted claim.
    largest: i64,
    /// Where the last claim ends.
    last: i64,
    /// Ascending: spans that have exactly one claim over each byte; and the number of those that end before `last`.
    covered: Vec<(i64, i64)>,
    passed: usize,
}

impl Left {
    fn new(begin: i64) -> Self {
        Left { last: begin, ..Left::default() }
    }

    fn add(&mut self, tile: Tile, low: i64, frame: i64) {
        let end = tile.start.saturating_add(tile.size).saturating_add(frame);
        self.pass(tile.start);
        if tile.start > self.last {
            self.push(self.last, tile.start);
        }
        if !tile.unwanted {
            self.push(tile.start, end);
            self.named.push(low.saturating_add(tile.start));
            self.largest = self.largest.max(tile.size);
        }
        self.last = end;
    }

    /// Leaves what is before the covered spans that begin before this position.
    fn pass(&mut self, position: i64) {
        while let Some(&(start, end)) = self.covered.get(self.passed)
            && start < position
        {
            if start > self.last {
                self.push(self.last, start);
            }
            self.last = self.last.max(end);
            if end > position {
                return; // the next claim may be in it, too
            }
            self.passed = self.passed.saturating_add(1);
        }
    }

    fn push(&mut self, start: i64, end: i64) {
        self.starts.push(start);
        self.ends.push(end);
    }
}

/// What these claims cover from `begin` on. None if one is odd, begins before that, or ends after the last one of each queue.
fn cover_of((wanted, unwanted): (&[Claims], &[Claims]), (low, begin, frame): (i64, i64, i64)) -> Option<Cover> {
    let lists = || wanted.iter().chain(unwanted);
    let count = lists().fold(0_usize, |sum, claims| sum.saturating_add(claims.len()));
    let bound = lists().map(Claims::end).max()?.checked_sub(low)?.checked_add(frame)?;
    let mut blocks = Blocks::new(u64::try_from(begin).ok()?, u64::try_from(bound).ok()?, count)?;
    let mut add = |offset, size| if blocks.add(span_of(offset, size, low, frame)?) { Ok(()) } else { Err(Refusal::Odd) };
    lists().try_for_each(|claims| claims.each(&mut add)).ok()?;
    Some(Cover::of(blocks))
}

/// The claims of queues as keys, but for those that `is_left_out` by their span and whether they are unwanted.
fn packed<K: Key>(
    (wanted, unwanted): (&[Claims], &[Claims]),
    low: i64,
    spare: i64,
    is_left_out: &mut impl FnMut(Span, bool) -> bool,
) -> Result<Vec<K>, Refusal> {
    let mut keys = Vec::new();
    for (lists, is_unwanted) in [(wanted, false), (unwanted, true)] {
        for claims in lists {
            claims.each(|offset, size| {
                let span = span_of(offset, size, low, spare)?;
                if !is_left_out(span, is_unwanted) {
                    keys.push(K::of(span.0, ((size as u32) << 1) | u32::from(is_unwanted)).ok_or(Refusal::TooNarrow)?);
                }
                Ok(())
            })?;
        }
    }
    Ok(keys)
}

/// The numbers of an array. pyo3 0.30 takes arrays of the other byte order for native ones, so it is checked here.
fn native(py: Python<'_>, buffer: &PyBuffer<i64>) -> PyResult<Vec<i64>> {
    let others: &[u8] = if cfg!(target_endian = "little") { b">!" } else { b"<" };
    if buffer.format().to_bytes().first().is_some_and(|order| others.contains(order)) {
        return Err(PyBufferError::new_err("the array is not in native byte order"));
    }
    buffer.to_vec(py)
}

/// The keys of claims, as narrow as they can be.
enum Keys {
    Narrow(Vec<u64>),
    Wide(Vec<u128>),
}

impl Keys {
    /// None if a claim is odd.
    fn of(claims: (&[Claims], &[Claims]), low: i64, spare: i64, mut is_left_out: impl FnMut(Span, bool) -> bool) -> Option<Self> {
        match packed(claims, low, spare, &mut is_left_out) {
            Ok(keys) => Some(Keys::Narrow(keys)),
            Err(Refusal::Odd) => None,
            Err(Refusal::TooNarrow) => packed(claims, low, spare, &mut is_left_out).ok().map(Keys::Wide),
        }
    }

    /// See `tile`.
    fn tile(self, seen: impl FnMut(Tile)) {
        match self {
            Keys::Narrow(mut keys) => tile(&mut keys, seen),
            Keys::Wide(mut keys) => tile(&mut keys, seen),
        }
    }
}

/// The claimed bytes in order, as arrays of offsets (i64), sizes (i64) and whether they are unwanted (bool).
///
/// `wanted` and `unwanted`: arrays of offsets and sizes, one pair for each queue. None if a claim is odd.
#[pyfunction]
fn merged_claims<'py>(py: Python<'py>, wanted: Vec<List>, unwanted: Vec<List>, low: i64) -> PyResult<Option<[Array<'py>; 3]>> {
    let (wanted, unwanted) = (Claims::of(py, &wanted)?, Claims::of(py, &unwanted)?);
    let (mut offsets, mut sizes, mut marks) = (vec![], vec![], vec![]);
    let tiled = py.detach(|| {
        Keys::of((&wanted, &unwanted), low, 0, |_, _| false)?.tile(|tile| {
            offsets.push(low.saturating_add(tile.start));
            sizes.push(tile.size);
            marks.push(u8::from(tile.unwanted));
        });
        Some(())
    });
    Ok(if tiled.is_some() { Some([array(py, &offsets)?, array(py, &sizes)?, PyByteArray::new(py, &marks)]) } else { None })
}

/// What claims leave to read of a segment from `begin` on: starts, ends, named offsets; where the last claim ends; the largest size.
///
/// Starts and ends are positions: offsets minus `low`, the offset of the first record. A record has `frame` bytes before it.
#[pyfunction]
fn unclaimed_extents<'py>(
    py: Python<'py>,
    wanted: Vec<List>,
    unwanted: Vec<List>,
    low: i64,
    begin: i64,
    frame: i64,
) -> PyResult<Option<([Array<'py>; 3], i64, i64)>> {
    let (wanted, unwanted) = (Claims::of(py, &wanted)?, Claims::of(py, &unwanted)?);
    let left = py.detach(|| left_of((&wanted, &unwanted), (low, begin, frame)));
    let Some(Left { starts, ends, named, largest, last, .. }) = left else { return Ok(None) };
    Ok(Some(([array(py, &starts)?, array(py, &ends)?, array(py, &named)?], last, largest)))
}

/// None if a claim is odd.
fn left_of((wanted, unwanted): (&[Claims], &[Claims]), (low, begin, frame): (i64, i64, i64)) -> Option<Left> {
    let cover = cover_of((wanted, unwanted), (low, begin, frame));
    let unwanted = if cover.as_ref().is_some_and(Cover::is_whole) { &[] } else { unwanted };
    let mut covered = cover.as_ref().map(Covered::of);
    let is_left_out = |span, is_unwanted| covered.as_mut().is_some_and(|covered| covered.has(span)) && is_unwanted;
    let keys = Keys::of((wanted, unwanted), low, frame, is_left_out)?;
    let mut left = Left::new(begin);
    left.covered = covered.into_iter().flat_map(Covered::spans).map(|(start, end)| (start as i64, end as i64)).collect();
    keys.tile(|tile| left.add(tile, low, frame));
    left.pass(i64::MAX);
    Some(left)
}

/// Columns of entries.
#[derive(Debug, Default, PartialEq)]
struct Entries {
    numbers: Vec<i64>,
    offsets: Vec<i64>,
    sizes: Vec<i64>,
    codes: Vec<i64>,
}

/// The written entries; the first of `content` has that number. None if numbers do not fit in an i64.
fn entries_of(content: &[u8], first: i64) -> Option<Entries> {
    let (units, _) = content.as_chunks::<ENTRY>();
    first.checked_add(i64::try_from(units.len()).ok()?)?;
    let mut entries = Entries::default();
    let columns = [&mut entries.numbers, &mut entries.offsets, &mut entries.sizes, &mut entries.codes];
    for column in columns {
        column.reserve_exact(units.len());
    }
    for (unit, number) in units.iter().zip(first..) {
        let (offset, rest) = unit.split_first_chunk()?;
        let (size, code) = rest.split_first_chunk()?;
        let (offset, size) = (i64::from_be_bytes(*offset), i32::from_be_bytes(*size));
        if size > 0 && size != FILLER_SIZE && offset >= 0 {
            entries.numbers.push(number);
            entries.offsets.push(offset);
            entries.sizes.push(size.into());
            entries.codes.push(i64::from_be_bytes(*code.first_chunk()?));
        }
    }
    Some(entries)
}

/// The written ones of these queue entries: numbers, offsets, sizes and tags codes. None if numbers do not fit in an i64.
#[pyfunction]
fn queue_entries<'py>(py: Python<'py>, content: PyBuffer<u8>, first: i64) -> PyResult<Option<[Array<'py>; 4]>> {
    let content = content.to_vec(py)?;
    let Some(entries) = py.detach(|| entries_of(&content, first)) else { return Ok(None) };
    let Entries { numbers, offsets, sizes, codes } = entries;
    Ok(Some([array(py, &numbers)?, array(py, &offsets)?, array(py, &sizes)?, array(py, &codes)?]))
}

/// Where the entries of records in `[low, high)` begin and stop among these, and the offset of the last written one, if there is any.
///
/// None unless all offsets ascend, and those entries are written without a break and end at or before `end`.
fn run_of(units: &[[u8; ENTRY]], low: i64, high: i64, end: i64) -> Option<(usize, usize, Option<i64>)> {
    let (mut begin, mut stop, mut newest) = (0, 0, None);
    for (place, (offset, size)) in units.iter().map(place_of).enumerate() {
        if size <= 0 || size == FILLER_SIZE || offset < 0 {
            continue;
        }
        if newest.is_some_and(|newest| newest >= offset) {
            return None;
        }
        newest = Some(offset);
        if low <= offset && offset < high {
            if begin == stop {
                begin = place;
            } else if place != stop {
                return None;
            }
            if offset.checked_add(size.into())? > end {
                return None;
            }
            stop = place.checked_add(1)?;
        }
    }
    Some((begin, stop, newest))
}

/// See `run_of`.
#[pyfunction]
fn ordinary_run(py: Python<'_>, content: Bytes, low: i64, high: i64, end: i64) -> PyResult<Option<(usize, usize, Option<i64>)>> {
    let units = units_of(&content)?;
    Ok(py.detach(|| run_of(units, low, high, end)))
}

/// Which offsets are in `[low, high)`, above all before them and below all after them.
fn kept_of(offsets: &[i64], low: i64, high: i64) -> Vec<u8> {
    let mut most: Option<i64> = None;
    let mut kept: Vec<u8> = offsets
        .iter()
        .map(|&offset| {
            let is_above = most.is_none_or(|most| most < offset);
            most = most.max(Some(offset));
            u8::from(is_above && low <= offset && offset < high)
        })
        .collect();
    let mut least = i64::MAX;
    let mut is_last = true;
    for (mark, &offset) in kept.iter_mut().zip(offsets).rev() {
        *mark &= u8::from(is_last || offset < least);
        least = least.min(offset);
        is_last = false;
    }
    kept
}

/// Which offsets are in `[low, high)`, above all before them and below all after them: an array of bool.
#[pyfunction]
fn ascending_within<'py>(py: Python<'py>, offsets: PyBuffer<i64>, low: i64, high: i64) -> PyResult<Array<'py>> {
    let offsets = native(py, &offsets)?;
    let kept = py.detach(|| kept_of(&offsets, low, high));
    Ok(PyByteArray::new(py, &kept))
}

/// The numbers as bytes in native order.
fn array<'py>(py: Python<'py>, numbers: &[i64]) -> PyResult<Array<'py>> {
    PyByteArray::new_with(py, size_of_val(numbers), |bytes| {
        let (places, _) = bytes.as_chunks_mut::<8>();
        for (place, number) in places.iter_mut().zip(numbers) {
            *place = number.to_ne_bytes();
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Claims as (offset, size, unwanted).
    type Claims = [(i64, i64, bool)];

    fn keys_of<K: Key>(claims: &Claims, low: i64) -> Result<Vec<K>, Refusal> {
        let key = |&(offset, size, unwanted): &(i64, i64, bool)| {
            let (start, _) = span_of(offset, size, low, 0)?;
            K::of(start, ((size as u32) << 1) | u32::from(unwanted)).ok_or(Refusal::TooNarrow)
        };
        claims.iter().map(key).collect()
    }

    fn tiles<K: Key>(claims: &Claims, low: i64) -> Result<Vec<(i64, i64, bool)>, Refusal> {
        let (mut keys, mut tiles) = (keys_of::<K>(claims, low)?, vec![]);
        tile(&mut keys, |each| tiles.push((low + each.start, each.size, each.unwanted)));
        Ok(tiles)
    }

    /// The same, from the definition.
    fn plain_tiles(claims: &Claims) -> Vec<(i64, i64, bool)> {
        let mut claims = claims.to_vec();
        claims.sort();
        claims.dedup_by_key(|&mut (offset, size, _)| (offset, size));
        let overlap = |a: (i64, i64, bool), b: (i64, i64, bool)| a.0 < b.0 + b.1 && b.0 < a.0 + a.1;
        let alone = |which: &usize| (0..claims.len()).all(|other| other == *which || !overlap(claims[*which], claims[other]));
        (0..claims.len()).filter(alone).map(|which| claims[which]).collect()
    }

    /// Numbers that look random, the same in each run.
    struct Draw(u64);

    impl Draw {
        fn below(&mut self, most: u64) -> i64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i64::try_from((self.0 >> 33) % most).unwrap()
        }
    }

    #[test]
    fn tiles_are_those_of_the_definition() {
        let mut draw = Draw(1);
        for round in 0..20_000 {
            let (count, spread, most) = (draw.below(12), 1 + draw.below(60), 1 + draw.below(9));
            let claims: Vec<_> =
                (0..count).map(|_| (7 + draw.below(spread as u64), 1 + draw.below(most as u64), draw.below(2) == 1)).collect();
            let expected = plain_tiles(&claims);
            assert_eq!(tiles::<u64>(&claims, 7).unwrap(), expected, "round {round}: {claims:?}");
            assert_eq!(tiles::<u128>(&claims, 7).unwrap(), expected, "round {round}: {claims:?}");
        }
    }

    #[test]
    fn a_claim_over_many_drops_them_all() {
        let claims = [(0, 100, true), (10, 5, false), (20, 5, true), (99, 1, true), (100, 5, false)];
        assert_eq!(tiles::<u64>(&claims, 0).unwrap(), [(100, 5, false)]);
    }

    fn run_in(entries: &[(i64, i32)], low: i64, high: i64, end: i64) -> Option<(usize, usize, Option<i64>)> {
        let content = entries.iter().flat_map(|&(offset, size)| unit(offset, size, 0)).collect::<Vec<_>>();
        run_of(content.as_chunks().0, low, high, end)
    }

    #[test]
    fn a_run_is_what_ascends_in_a_range() {
        let entries = [(0, FILLER_SIZE), (10, 5), (20, 5), (30, 5), (40, 5), (0, 0)];
        assert_eq!(run_in(&entries, 20, 40, 100), Some((2, 4, Some(40))));
        assert_eq!(run_in(&entries, 0, 100, 45), Some((1, 5, Some(40))));
        assert_eq!(run_in(&entries, 0, 100, 44), None, "the last one ends after the log");
        assert_eq!(run_in(&entries, 50, 60, 100), Some((0, 0, Some(40))));
        assert_eq!(run_in(&entries[..1], 0, 60, 100), Some((0, 0, None)));
    }

    #[test]
    fn entries_without_order_or_with_breaks_are_no_run() {
        assert_eq!(run_in(&[(10, 5), (10, 5)], 0, 100, 100), None);
        assert_eq!(run_in(&[(90, 5), (20, 5)], 0, 50, 100), None);
        assert_eq!(run_in(&[(10, 5), (15, 0), (20, 5)], 0, 100, 100), None);
        assert_eq!(run_in(&[(10, 5), (15, 0), (20, 5)], 15, 100, 100), Some((2, 3, Some(20))));
        assert_eq!(run_in(&[(i64::MAX - 2, 5)], 0, i64::MAX, i64::MAX), None);
    }

    #[test]
    fn far_claims_need_wide_keys() {
        let claims = [(0, 5, false), (1 << 32, 5, true), (i64::MAX - 5, 5, true)];
        assert_eq!(tiles::<u64>(&claims, 0), Err(Refusal::TooNarrow));
        assert_eq!(tiles::<u128>(&claims, 0).unwrap(), claims);
        assert_eq!(tiles::<u64>(&claims[2..], i64::MAX - 5).unwrap(), claims[2..]);
    }

    #[test]
    fn what_no_entry_claims_is_odd() {
        for claim in [(5, 0), (5, -1), (5, i64::MIN), (5, 1 << 31), (4, 1), (i64::MIN, 1), (i64::MAX, 1), (i64::MAX - 3, 5)] {
            assert_eq!(keys_of::<u128>(&[(claim.0, claim.1, false)], 5), Err(Refusal::Odd), "{claim:?}");
        }
        for low in [i64::MIN, -1] {
            assert_eq!(keys_of::<u128>(&[(i64::MAX - 9, 9, false)], low), Err(Refusal::Odd));
        }
        assert_eq!(relative_of(i64::MAX - 9, 5, 0, 5), None);
        assert_eq!(relative_of(i64::MAX - 9, 5, 0, 4), Some(i64::MAX as u64 - 9));
        assert_eq!(relative_of(9, 5, 0, -1), None);
        assert_eq!(keys_of::<u64>(&[(5, i64::from(i32::MAX), true)], 5).unwrap(), [u64::from(u32::MAX)]);
    }

    #[test]
    fn what_is_left_are_gaps_and_wanted_claims() {
        let mut left = Left::new(2);
        for (start, size, unwanted) in [(10, 4, true), (16, 4, false), (22, 4, false), (40, 4, true)] {
            left.add(Tile { start, size, unwanted }, 100, 2);
        }
        let (starts, ends) = (vec![2, 16, 22, 28], vec![10, 22, 28, 40]);
        let expected = Left { starts, ends, named: vec![116, 122], largest: 4, last: 46, ..Left::default() };
        assert_eq!(left, expected);
        assert_eq!(Left::new(-5), Left { last: -5, ..Left::default() });
    }

    /// Claims that follow each other, but for some that are missing, repeated or longer.
    fn drawn_row(draw: &mut Draw) -> Vec<(i64, i64, bool)> {
        let (mut claims, mut at, changes) = (vec![], draw.below(3), draw.below(5));
        for _ in 0..draw.below(200) {
            let claim = (at, 1 + draw.below(40), draw.below(4) > 0);
            claims.push(claim);
            at += claim.1;
        }
        for _ in 0..changes.min(claims.len() as i64) {
            let which = draw.below(claims.len() as u64) as usize;
            match draw.below(3) {
                0 => drop(claims.swap_remove(which)),
                1 => claims.push((claims[which].0, claims[which].1, draw.below(2) == 0)),
                _ => claims[which].1 += 1 + draw.below(300),
            }
            if claims.is_empty() {
                break;
            }
        }
        claims
    }

    #[test]
    fn what_is_left_is_the_same_without_the_claims_set_aside() {
        let (mut draw, mut aside) = (Draw(3), 0);
        for round in 0..20_000 {
            let (claims, begin, frame) = (drawn_row(&mut draw), draw.below(3), draw.below(2) * 16);
            let claims: Vec<_> =
                claims.into_iter().map(|(offset, size, unwanted)| (5 + offset * 17, size * 17 - frame, unwanted)).collect();
            let mut expected = Left::new(begin);
            tile(&mut keys_of::<u64>(&claims, 5).unwrap(), |each| expected.add(each, 5, frame));
            let split = |marks| {
                let (offsets, sizes) = claims.iter().filter(|claim| claim.2 == marks).map(|claim| (claim.0, claim.1)).unzip();
                super::Claims::Columns(offsets, sizes)
            };
            let mut left = left_of((&[split(false)], &[split(true)]), (5, begin, frame)).unwrap();
            aside += usize::from(!left.covered.is_empty());
            (left.covered, left.passed) = (vec![], 0);
            assert_eq!(left, expected, "round {round}: {claims:?}");
        }
        assert!(aside > 5_000, "{aside}");
    }

    fn unit(offset: i64, size: i32, code: i64) -> Vec<u8> {
        [&offset.to_be_bytes()[..], &size.to_be_bytes(), &code.to_be_bytes()].concat()
    }

    #[test]
    fn entries_are_the_written_ones() {
        let units = [(0, FILLER_SIZE, 0), (500, 91, -7), (0, 0, 0), (-1, 91, 3), (600, -91, 3), (700, 1, i64::MIN)];
        let mut content = units.map(|(offset, size, code)| unit(offset, size, code)).concat();
        content.extend([1; 19]);
        let expected = Entries { numbers: vec![41, 45], offsets: vec![500, 700], sizes: vec![91, 1], codes: vec![-7, i64::MIN] };
        assert_eq!(entries_of(&content, 40), Some(expected));
        assert_eq!(entries_of(&[1; 19], i64::MAX), Some(Entries::default()));
        assert_eq!(entries_of(&content, i64::MAX - 5), None);
    }

    #[test]
    fn kept_offsets_ascend() {
        let mut draw = Draw(2);
        for _ in 0..20_000 {
            let (count, spread) = (draw.below(9), 1 + draw.below(12) as u64);
            let edge =
                |offset: i64| [offset, i64::MIN + offset, i64::MAX - offset][usize::from(offset == 3) + usize::from(offset == 5) * 2];
            let offsets: Vec<_> = (0..count).map(|_| edge(draw.below(spread))).collect();
            let (low, high) = [(1, 9), (i64::MIN, i64::MAX)][draw.below(2) as usize];
            let expected: Vec<_> = (0..offsets.len())
                .map(|which| {
                    let (before, [offset, after @ ..]) = offsets.split_at(which) else { unreachable!() };
                    let ascends = before.iter().all(|other| other < offset) && after.iter().all(|other| other > offset);
                    u8::from(ascends && low <= *offset && *offset < high)
                })
                .collect();
            assert_eq!(kept_of(&offsets, low, high), expected, "{offsets:?}");
        }
    }
}
