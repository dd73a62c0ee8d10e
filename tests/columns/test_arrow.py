"""Arrow arrays without pandas equal those of pyarrow, and a read does not import pandas."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stores import files_of, on_disk

from native_reader.arrow import array, numpy_of, repeat, scalar

OPTIONAL = {
    pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    pa.binary(): st.binary(max_size=9),
    pa.int64(): st.integers(-(1 << 63), (1 << 63) - 1),
    pa.int32(): st.integers(-(1 << 31), (1 << 31) - 1),
    pa.bool_(): st.booleans(),
    pa.float64(): st.floats(allow_nan=False),
    pa.list_(pa.string()): st.lists(st.sampled_from(["", "a", "é"]), max_size=3),
}


@pytest.mark.parametrize("type_", OPTIONAL, ids=str)
@given(data=st.data())
def test_lists_become_the_arrays_of_pyarrow(type_, data):
    values = data.draw(st.lists(st.none() | OPTIONAL[type_], max_size=20))
    for given_type in (type_, None):
        made, theirs = array(values, given_type), pa.array(values, given_type)
        made.validate(full=True)
        assert made.type == theirs.type
        assert made.equals(theirs)
    for value in values:
        assert scalar(value, type_).equals(pa.scalar(value, type_))
        assert repeat(value, 3).equals(pa.array([value] * 3))


@pytest.mark.parametrize("dtype", ["i1", "u1", "<i2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8", "?", ">i4", "<f2"])
@given(data=st.data())
def test_numpy_values_become_the_arrays_of_pyarrow(dtype, data):
    numbers = np.array(data.draw(st.lists(st.integers(0, 100), max_size=40)), np.int64)
    step = data.draw(st.sampled_from([1, 2, -1]))
    values = numbers.astype(dtype)[::step]
    mask = np.array([number % 3 == 1 for number in numbers], np.bool_)[::step]
    if dtype == ">i4":  # pyarrow has no such arrays
        with pytest.raises(pa.ArrowNotImplementedError):
            array(values)
        return
    for masked in (None, mask):
        made = array(values, mask=masked)
        made.validate(full=True)
        assert made.equals(pa.array(values, mask=masked))
    if dtype not in ("<f4", "<f8", "<f2", "?"):
        assert array(values, pa.int64()).equals(pa.array(values, pa.int64()))


TYPES = [pa.int8(), pa.int32(), pa.int64(), pa.uint16(), pa.float64(), pa.bool_(), pa.string(), pa.timestamp("us", "UTC")]


@pytest.mark.parametrize("type_", TYPES, ids=str)
@given(data=st.data())
def test_arrow_values_become_those_of_to_numpy(type_, data):
    numbers = data.draw(st.lists(st.integers(0, 1 if type_ == pa.bool_() else 100), max_size=40))
    few_nulls = data.draw(st.booleans())
    values = pa.array([None if few_nulls and number % 7 == 3 else number for number in numbers], pa.int64()).cast(type_)
    first = data.draw(st.integers(0, len(values)))
    part = values.slice(first, data.draw(st.integers(0, len(values))))
    for each in (values, part, pa.chunked_array([part]), pa.chunked_array([part, values]), pa.chunked_array([], type_)):
        made, theirs = numpy_of(each), each.to_numpy() if isinstance(each, pa.ChunkedArray) else each.to_numpy(zero_copy_only=False)
        assert made.dtype == theirs.dtype
        np.testing.assert_array_equal(made, theirs)


def test_what_pyarrow_refuses_is_refused():
    for values, type_ in (
        (["a", 1], None),
        ([1 << 63], pa.int64()),
        ([1 << 31], pa.int32()),
        (["\ud800"], pa.string()),
        ([b"\xff"], pa.string()),
    ):
        errors = []
        for make in (array, pa.array):
            try:
                make(values, type_)
            except Exception as error:
                errors.append(type(error))
        assert len(errors) == 2, (values, errors)
        assert errors[0] is errors[1] or (errors, type_) == ([OverflowError, pa.ArrowInvalid], pa.int32())


READS = {
    "head": "store.messages().head(1)",
    "all columns": "store.messages(columns='*').to_table()",
    "a topic": "store.messages(topic='T1', columns='body').to_table()",
    "a condition": "store.messages(where=\"tags = 'A' and queue_offset > 1 and topic in ('T1', 'T2')\").count_rows()",
    "a key": "store.messages(keys='k1').to_table()",
    "scan of a key": "store.messages(keys='k1', access='scan').to_table()",
    "a time": "store.messages(starting_timestamp='2020-01-01 00:00:00Z').count_rows()",
    "queues": "store.table('queues').to_table()",
}


def test_a_read_does_not_import_pandas(tmp_path):
    """It takes half a second of each process; Spark starts one for each task."""
    (tmp_path / "pandas").mkdir()
    (tmp_path / "pandas/__init__.py").write_text("print('pandas was imported'); raise ImportError('not this pandas')\n")
    store = on_disk(tmp_path / "store", files_of())
    lines = [f"import sys; sys.path.insert(0, {str(tmp_path)!r})", "import native_reader as nr", f"store = nr.open({str(store)!r})"]
    for name, read in READS.items():
        lines += [read, f"print({name!r})"]
    run = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:-1] == list(READS)
