//! The hot stages of rmqstore-spark: bytes of a commitlog into records, and records into Arrow columns.

mod arrow;
mod bodies;
mod body_columns;
mod chains;
mod checksums;
mod claims;
mod columns;
mod cover;
mod from_properties;
mod gather;
mod marks;
mod needles;
mod properties;
mod record;
mod search;
mod separators;
mod shapes;
mod texts;

use arrow::{Buffer, Node};
use body_columns::Limits;
use columns::Plan;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyCapsule};
use record::{HEAD, Place};

/// Keeps its pages between chunks; see Cargo.toml. Miri, which runs no C, has its own.
#[cfg(not(miri))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Keeps freed pages for a second, in which a read that goes on uses them again; the allocator's own 10 ms are less than a busy machine
/// or Spark takes between two chunks. `MIMALLOC_PURGE_DELAY` still decides where it is set.
#[cfg(not(miri))]
fn keep_pages() {
    use std::ffi::{c_int, c_long};
    const PURGE_DELAY: c_int = 15; // mi_option_purge_delay of mimalloc 2
    const MILLISECONDS: c_long = 1000;
    #[allow(unsafe_code)]
    unsafe extern "C" {
        // SAFETY: it only sets a number of a table that mimalloc has from the start; of an option that does not exist, nothing.
        safe fn mi_option_set_default(option: c_int, value: c_long);
    }
    mi_option_set_default(PURGE_DELAY, MILLISECONDS);
}

#[cfg(miri)]
fn keep_pages() {}

/// What `native_reader.kernel` expects. Raise it with every change of a signature or of a meaning.
const SEAM: u32 = 3;

/// The profile `checked` names itself, so that the log of a test run says so.
const VERSION: &str = if cfg!(debug_assertions) { concat!(env!("CARGO_PKG_VERSION"), "+checked") } else { env!("CARGO_PKG_VERSION") };

const PARTS: usize = 8;

/// Numbers in native byte order.
type Array<'py> = Bound<'py, PyByteArray>;

/// The bytes of a buffer that positions of 32 bits can name. Arrays of wider numbers are refused, so byte order is no question here.
struct Bytes(PyBuffer<u8>);

impl Bytes {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
        let buffer = PyBuffer::get(object)?;
        if buffer.is_c_contiguous() { Ok(Bytes(buffer)) } else { Err(PyBufferError::new_err("the buffer is not contiguous")) }
    }

    fn as_slice(&self) -> &[u8] {
        let size = self.0.len_bytes().min(u32::MAX as usize);
        if size == 0 {
            return &[];
        }
        // SAFETY: the buffer is contiguous, has at least `size` bytes, and is kept alive by `self`. The caller in Python promises
        // that nothing writes to it during the call: a window belongs to one reader, and is loaded between calls only; the entries
        // of a queue are not changed once they are read.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.0.buf_ptr().cast(), size)
        }
    }

    /// Whether `as_slice` has all of them.
    fn is_whole(&self) -> bool {
        self.0.len_bytes() <= u32::MAX as usize
    }

    /// Its content as int64 in native byte order.
    fn numbers(&self) -> impl Iterator<Item = i64> {
        self.as_slice().as_chunks().0.iter().map(|number| i64::from_ne_bytes(*number))
    }
}

impl<'py> FromPyObject<'_, 'py> for Bytes {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Bytes> {
        Bytes::of(&object)
    }
}

/// Messages of one buffer: where their parts are. Made from bytes, or from what numpy knows of them.
#[pyclass(frozen)]
struct Chain {
    places: Vec<Place>,
    #[pyo3(get)]
    total: usize,
    #[pyo3(get)]
    largest: usize,
    #[pyo3(get)]
    flags: i32,
    #[pyo3(get)]
    longest_topic: u16,
}

impl Chain {
    fn of(places: Vec<Place>) -> Chain {
        let (mut total, mut largest, mut flags, mut longest_topic) = (0, 0, 0, 0);
        for place in &places {
            total += place.size as usize;
            largest = largest.max(place.size as usize);
            flags |= place.sys_flag;
            longest_topic = longest_topic.max(place.topic_size);
        }
        Chain { places, total, largest, flags, longest_topic }
    }

    fn place(&self, row: i64) -> Option<Place> {
        self.places.get(usize::try_from(row).ok()?).copied()
    }
}

#[pymethods]
impl Chain {
    fn __len__(&self) -> usize {
        self.places.len()
    }

    /// The sum of the sizes of the stored bodies.
    fn bodies(&self) -> u64 {
        self.places.iter().map(|place| u64::from(place.body_size)).sum()
    }

    /// Start and size of the last record.
    fn last(&self) -> Option<(u32, u32)> {
        self.places.last().map(|place| (place.start, place.size))
    }

    /// The rows with these numbers: int64, native byte order.
    fn take(&self, rows: &Bound<'_, PyAny>) -> PyResult<Chain> {
        let rows = Bytes::of(rows)?;
        let places: Option<Vec<Place>> = rows.numbers().map(|row| self.place(row)).collect();
        places.map(Chain::of).ok_or_else(|| PyIndexError::new_err("a row that does not exist"))
    }

    /// The numbers of the rows with a flag: int64, native byte order.
    fn with_flag<'py>(&self, py: Python<'py>, flag: i32) -> Bound<'py, PyByteArray> {
        let rows = (0_i64..).zip(&self.places).filter(|(_, place)| place.sys_flag & flag != 0);
        let rows: Vec<u8> = rows.flat_map(|(row, _)| row.to_ne_bytes()).collect();
        PyByteArray::new(py, &rows)
    }

    /// The numbers of the rows that may have one of those texts: int64, native byte order.
    fn having<'py>(&self, py: Python<'py>, buffer: &Bound<'py, PyAny>, needles: &Needles) -> PyResult<Array<'py>> {
        let buffer = Bytes::of(buffer)?;
        let bytes = buffer.as_slice();
        let rows: Vec<u8> = py.detach(|| {
            let rows = (0_i64..).zip(&self.places).filter(|(_, place)| needles.0.may_be_in(bytes, place));
            rows.flat_map(|(row, _)| row.to_ne_bytes()).collect()
        });
        Ok(PyByteArray::new(py, &rows))
    }

    /// Start and size of the body of one row, and its flags.
    fn body(&self, row: i64) -> PyResult<(u32, u32, i32)> {
        let place = self.place(row).ok_or_else(|| PyIndexError::new_err("a row that does not exist"))?;
        Ok((place.body, place.body_size, place.sys_flag))
    }

    /// The rows `which`; where `units` is not negative, the message that begins there, number `inner` of its batch. All int64.
    fn messages(
        &self,
        py: Python<'_>,
        buffer: &Bound<'_, PyAny>,
        which: &Bound<'_, PyAny>,
        units: &Bound<'_, PyAny>,
        inner: &Bound<'_, PyAny>,
    ) -> PyResult<Chain> {
        let (buffer, which, units, inner) = (Bytes::of(buffer)?, Bytes::of(which)?, Bytes::of(units)?, Bytes::of(inner)?);
        let bytes = buffer.as_slice();
        let places: Option<Vec<Place>> = py.detach(|| {
            let rows = which.numbers().zip(units.numbers()).zip(inner.numbers());
            rows.map(|((row, unit), inner)| {
                let place = self.place(row)?;
                if unit < 0 { Some(place) } else { record::message_at(bytes, usize::try_from(unit).ok()?, &place, inner) }
            })
            .collect()
        });
        places.map(Chain::of).ok_or_else(|| PyIndexError::new_err("a message of a batch is outside the buffer"))
    }

    /// The messages of all records, those of inner batches in place of the batches; and as int64 the number of each in its batch, -1
    /// for other rows. None if there is none of a batch, or more than `most` in all, or a batch is compressed.
    fn unwrapped<'py>(
        &self,
        py: Python<'py>,
        buffer: &Bound<'py, PyAny>,
        most: usize,
    ) -> PyResult<Option<(Chain, Bound<'py, PyByteArray>)>> {
        let buffer = Bytes::of(buffer)?;
        let bytes = buffer.as_slice();
        let Some(places) = py.detach(|| record::unwrapped(bytes, &self.places, most)) else { return Ok(None) };
        let inner = PyByteArray::new_with(py, 8 * places.len(), |out| {
            for (place, number) in places.iter().zip(out.as_chunks_mut::<8>().0) {
                *number = i64::from(place.inner).to_ne_bytes();
            }
            Ok(())
        })?;
        Ok(Some((Chain::of(places), inner)))
    }

    /// Eight columns of int64 in native byte order, one after the other: starts, sizes, body_at, body_size, topic_at, topic_size,
    /// properties_at, properties_size.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let columns: [fn(&Place) -> i64; PARTS] = [
            |place| place.start.into(),
            |place| place.size.into(),
            |place| place.body.into(),
            |place| place.body_size.into(),
            |place| place.topic.into(),
            |place| place.topic_size.into(),
            |place| place.properties.into(),
            |place| place.properties_size.into(),
        ];
        let width = 8 * self.places.len();
        PyByteArray::new_with(py, PARTS * width, |out| {
            for (column, out) in columns.iter().zip(out.chunks_exact_mut(width.max(1))) {
                for (place, number) in self.places.iter().zip(out.as_chunks_mut::<8>().0) {
                    *number = column(place).to_ne_bytes();
                }
            }
            Ok(())
        })
    }

    /// The heads, 88 bytes each, big-endian as on disk; fields after an IPv6 host are where they are without one.
    fn heads<'py>(&self, py: Python<'py>, buffer: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyByteArray>> {
        let buffer = Bytes::of(buffer)?;
        let bytes = buffer.as_slice();
        PyByteArray::new_with(py, HEAD * self.places.len(), |out| {
            for (place, out) in self.places.iter().zip(out.as_chunks_mut::<HEAD>().0) {
                *out = record::head_of(bytes, place).ok_or_else(|| PyIndexError::new_err("the buffer is shorter than its records"))?;
            }
            Ok(())
        })
    }

    /// One byte a record: 1 where a checksum is wrong.
    fn wrong_checksums<'py>(&self, py: Python<'py>, buffer: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyByteArray>> {
        let buffer = Bytes::of(buffer)?;
        let bytes = buffer.as_slice();
        if !self.places.iter().all(|place| record::is_inside(bytes, place)) {
            return Err(PyIndexError::new_err("the buffer is shorter than its records"));
        }
        let wrong: Vec<u8> = py.detach(|| self.places.iter().map(|place| checksums::is_wrong(bytes, place).into()).collect());
        Ok(PyByteArray::new(py, &wrong))
    }

    /// The columns of the rows from `begin` on: an array of structs in a capsule, its number of rows, and whether the next row is
    /// for the exact way. Bodies larger than `at_most` are null; those of one call become at most `at_once` bytes, if more than one.
    fn columns<'py>(
        &self,
        py: Python<'py>,
        columns: &Columns,
        buffer: &Bound<'py, PyAny>,
        begin: usize,
        at_most: usize,
        at_once: usize,
    ) -> PyResult<(Bound<'py, PyCapsule>, usize, bool)> {
        let buffer = Bytes::of(buffer)?;
        let bytes = buffer.as_slice();
        let places = self.places.get(begin..).unwrap_or_default();
        if !places.iter().all(|place| record::is_inside(bytes, place)) {
            return Err(PyIndexError::new_err("the buffer is shorter than its records"));
        }
        let made = py.detach(|| columns::make(&columns.0, bytes, places, Limits { body: at_most, bodies: at_once }));
        let batch = Node { length: made.rows, nulls: 0, buffers: vec![Buffer::None], children: made.columns };
        Ok((arrow::capsule(py, batch)?, made.rows, made.is_odd))
    }
}

/// Rows of numbers as columns, one after the other, in native byte order.
fn columns_of<'py, T: Copy + Sync, const WIDTH: usize, const SIZE: usize>(
    py: Python<'py>,
    rows: &[[T; WIDTH]],
    bytes_of: fn(T) -> [u8; SIZE],
) -> PyResult<Array<'py>> {
    let height = SIZE * rows.len();
    PyByteArray::new_with(py, WIDTH * height, |out| {
        // Nothing else knows the new array yet.
        py.detach(|| {
            for (column, out) in out.chunks_exact_mut(height.max(1)).enumerate() {
                for (row, number) in rows.iter().zip(out.as_chunks_mut::<SIZE>().0) {
                    if let Some(value) = row.get(column) {
                        *number = bytes_of(*value);
                    }
                }
            }
        });
        Ok(())
    })
}

/// The columns that a read wants, by their names in `messages`; `properties[NAME]` is one property.
#[pyclass(frozen)]
struct Columns(Plan);

#[pymethods]
impl Columns {
    #[new]
    fn new(names: Vec<String>) -> PyResult<Columns> {
        Plan::new(&names).map(Columns).ok_or_else(|| PyValueError::new_err("a column that the kernel does not make"))
    }
}

/// Texts of which one must be in the properties of a record, or in its body; or its offset in the log is one of these.
#[pyclass(frozen)]
struct Needles(needles::Needles);

#[pymethods]
impl Needles {
    #[new]
    fn new(properties: Vec<Vec<u8>>, bodies: Vec<Vec<u8>>, offsets: Vec<i64>) -> Needles {
        Needles(needles::Needles::new(&properties, &bodies, offsets))
    }
}

/// The valid records from the first byte of a buffer on that start before `limit`. `offset` is the offset in the log of byte 0,
/// `frame` the size of the header before each record.
#[pyfunction]
fn chain(py: Python<'_>, buffer: &Bound<'_, PyAny>, filled: usize, limit: usize, offset: i64, frame: usize) -> PyResult<Chain> {
    let buffer = Bytes::of(buffer)?;
    let bytes = buffer.as_slice();
    let bytes = bytes.get(..filled).unwrap_or(bytes);
    Ok(py.detach(|| {
        // Enough for bodies of 100 bytes; what is not used costs nothing.
        let mut places = Vec::with_capacity(bytes.len() / 256 + 16);
        record::chain(bytes, limit, offset, frame, &mut places);
        Chain::of(places)
    }))
}

/// Where records may start, as int64: a magic among the first `filled` bytes, and the right offset; from `frame` on. None if positions do
/// not fit 32 bits.
#[pyfunction]
fn candidates<'py>(
    py: Python<'py>,
    buffer: &Bound<'py, PyAny>,
    filled: usize,
    frame: usize,
    offset: i64,
) -> PyResult<Option<Bound<'py, PyByteArray>>> {
    let buffer = Bytes::of(buffer)?;
    if !buffer.is_whole() {
        return Ok(None);
    }
    let bytes = buffer.as_slice();
    let found = py.detach(|| search::candidates(bytes, filled, frame, offset));
    Ok(Some(PyByteArray::new(py, &found.iter().flat_map(|&start| (start as i64).to_ne_bytes()).collect::<Vec<u8>>())))
}

/// The valid records of a buffer in `span`, each the first one after the record before. With them come, as int64: the gaps before
/// and between them, in four columns (how many records come before, where the last of these starts or -1, begin, end); and the starts of
/// what may be records that end after the first `filled` bytes. Gaps have the positions of a file in which the buffer begins at `base`.
/// A record begins with its frame, but in the last column. None if positions do not fit 32 bits.
#[pyfunction]
fn resumed<'py>(
    py: Python<'py>,
    buffer: &Bound<'py, PyAny>,
    filled: usize,
    span: (usize, usize),
    base: i64,
    frame: usize,
    offset: i64,
) -> PyResult<Option<(Chain, Array<'py>, Array<'py>)>> {
    let buffer = Bytes::of(buffer)?;
    if !buffer.is_whole() {
        return Ok(None);
    }
    let bytes = buffer.as_slice();
    let (places, gaps, outside) = py.detach(|| {
        let mut places = Vec::with_capacity(bytes.len() / 256 + 16);
        let starts = (span.0.saturating_add(frame), span.1.saturating_add(frame));
        let outside: Vec<[i64; 1]> =
            search::records_from(bytes, filled, starts, offset, frame, &mut places).into_iter().map(|start| [start as i64]).collect();
        let gaps = search::gaps(&places, base, span.0 as i64, frame as i64);
        (places, gaps, outside)
    });
    let (gaps, outside) = (columns_of(py, &gaps, i64::to_ne_bytes)?, columns_of(py, &outside, i64::to_ne_bytes)?);
    Ok(Some((Chain::of(places), gaps, outside)))
}

/// Messages whose parts numpy knows. `parts` and `heads` are as `Chain` returns them; `is_inner` has one byte a message, not 0 for
/// those of inner batches. An `IndexError` if a part is outside the buffer.
#[pyfunction]
fn rows(
    py: Python<'_>,
    buffer: &Bound<'_, PyAny>,
    parts: &Bound<'_, PyAny>,
    heads: &Bound<'_, PyAny>,
    is_inner: &Bound<'_, PyAny>,
) -> PyResult<Chain> {
    let (buffer, parts, heads, is_inner) = (Bytes::of(buffer)?, Bytes::of(parts)?, Bytes::of(heads)?, Bytes::of(is_inner)?);
    let (bytes, (numbers, _), is_inner) = (buffer.as_slice(), parts.as_slice().as_chunks::<8>(), is_inner.as_slice());
    let heads = heads.as_slice();
    let count = heads.len() / HEAD;
    let places: Option<Vec<Place>> = py.detach(|| {
        (0..count)
            .map(|row| {
                let mut own = [0; PARTS];
                for (column, part) in own.iter_mut().enumerate() {
                    *part = i64::from_ne_bytes(*numbers.get(column * count + row)?);
                }
                let is_inner = is_inner.get(row).is_some_and(|&byte| byte != 0);
                record::place_of(bytes, heads.get(HEAD * row..HEAD * (row + 1))?, own, is_inner)
            })
            .collect()
    });
    places.map(Chain::of).ok_or_else(|| PyIndexError::new_err("a part of a message is outside the buffer"))
}

#[pymodule(gil_used = false)]
fn rmqstore_kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    keep_pages();
    chains::register(module)?;
    claims::register(module)?;
    gather::register(module)?;
    module.add("__version__", VERSION)?;
    module.add("SEAM", SEAM)?;
    module.add_class::<Chain>()?;
    module.add_class::<Columns>()?;
    module.add_class::<marks::Marker>()?;
    module.add_class::<Needles>()?;
    module.add_function(wrap_pyfunction!(bodies::decompress, module)?)?;
    module.add_function(wrap_pyfunction!(candidates, module)?)?;
    module.add_function(wrap_pyfunction!(chain, module)?)?;
    module.add_function(wrap_pyfunction!(resumed, module)?)?;
    module.add_function(wrap_pyfunction!(rows, module)?)
}
