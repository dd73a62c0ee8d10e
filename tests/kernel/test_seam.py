"""Which kernel runs, and that the compiled one returns exactly what numpy returns: batches, order, damage and reports."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.compare import InMemory
from support.effort import sampled
from support.kernels import VARIABLE, read, read_by_both

import native_reader as nr
from native_reader import kernel
from native_reader.columns import rows
from native_reader.columns.schema import COLUMNS
from native_reader.testing import strategies as drawn
from native_reader.testing.compression import COMPRESSED, TYPE_ZSTD, zstd_body
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import INNER_BATCH, InnerMessage, Message, pack_inner
from native_reader.tuning import tuned

HERE = Path(__file__).parents[2]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The choice is made anew, and forgotten afterwards."""
    monkeypatch.delenv(VARIABLE, raising=False)
    kernel.chosen.cache_clear()
    yield monkeypatch
    kernel.chosen.cache_clear()


def installed(patch: pytest.MonkeyPatch, seam: int | None) -> None:
    """As if a kernel with this version of the interface were installed, or none."""
    module = None if seam is None else SimpleNamespace(SEAM=seam, __version__="9.9")
    patch.setitem(sys.modules, "rmqstore_kernel", module)


def test_without_a_kernel_numpy_runs(fresh: pytest.MonkeyPatch) -> None:
    installed(fresh, None)
    assert nr.kernel_info() == ("numpy", None, "rmqstore-kernel is not installed")
    assert str(nr.kernel_info()) == "numpy (rmqstore-kernel is not installed)"


def test_a_broken_kernel_is_not_used(fresh: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "rmqstore_kernel.py").write_text("raise ImportError('GLIBC_2.99 not found')")
    fresh.delitem(sys.modules, "rmqstore_kernel", raising=False)
    fresh.syspath_prepend(tmp_path)
    reason = "rmqstore_kernel cannot be imported: GLIBC_2.99 not found"
    assert [nr.kernel_info(), nr.kernel_info()] == [("numpy", None, reason)] * 2
    assert [record.getMessage() for record in caplog.records] == [f"{reason}. numpy runs: reads are slower"]


IN_A_ZIP = """
import sys
sys.modules["rmqstore_kernel"] = None
import native_reader as nr
assert ".zip" in nr.__file__, nr.__file__
print(nr.kernel_info(), nr.kernel_info(), sep="\\n")
"""


def test_in_a_zip_numpy_runs_and_says_so_once(tmp_path: Path) -> None:
    zipped = shutil.make_archive(str(tmp_path / "reader"), "zip", HERE, "native_reader")
    environment = os.environ | {"PYTHONPATH": zipped, "RMQSTORE_KERNEL": ""}
    ended = subprocess.run([sys.executable, "-P", "-c", IN_A_ZIP], env=environment, capture_output=True, text=True, check=True)
    reason = "rmqstore-kernel is not installed, and Python cannot load it from a zip"
    assert ended.stdout.splitlines() == [f"numpy ({reason})"] * 2
    assert ended.stderr == f"{reason}. numpy runs: reads are slower\n"


def test_an_installed_kernel_runs(fresh: pytest.MonkeyPatch) -> None:
    installed(fresh, kernel.SEAM)
    assert nr.kernel_info() == ("compiled", "9.9", "rmqstore-kernel is installed")


def test_a_kernel_of_another_version_is_not_used(fresh: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    installed(fresh, kernel.SEAM + 1)
    needs = f"rmqstore-kernel 9.9 has version {kernel.SEAM + 1} of the interface, this reader needs {kernel.SEAM}"
    with caplog.at_level(logging.WARNING, "native_reader"):
        assert [nr.kernel_info(), nr.kernel_info()] == [("numpy", None, needs)] * 2
    assert [record.getMessage() for record in caplog.records] == [f"{needs}. It is not used: reads are slower"]


@pytest.mark.parametrize("content", ["", "SEAM = 1", "raise RuntimeError('broken')"])
def test_a_folder_of_that_name_ended_every_read(
    fresh: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str
) -> None:
    (tmp_path / "rmqstore_kernel").mkdir()
    (tmp_path / "rmqstore_kernel" / "__init__.py").write_text(content)
    fresh.delitem(sys.modules, "rmqstore_kernel", raising=False)
    fresh.syspath_prepend(tmp_path)
    with caplog.at_level(logging.WARNING, "native_reader"):
        name, version, reason = nr.kernel_info()
        assert nr.kernel_info() == (name, version, reason)
    assert (name, version) == ("numpy", None)
    assert reason.startswith("rmqstore_kernel cannot be imported: ")
    assert [record.getMessage() for record in caplog.records] == [f"{reason}. numpy runs: reads are slower"]


def test_the_variable_decides(fresh: pytest.MonkeyPatch) -> None:
    installed(fresh, kernel.SEAM)
    fresh.setenv(VARIABLE, "numpy")
    assert nr.kernel_info() == ("numpy", None, "RMQSTORE_KERNEL=numpy")
    fresh.setenv(VARIABLE, "compiled")
    assert nr.kernel_info() == ("compiled", "9.9", "RMQSTORE_KERNEL=compiled")


@pytest.mark.parametrize(
    ("value", "seam", "error"),
    [
        ("rust", 1, "RMQSTORE_KERNEL='rust' is invalid. It must be numpy or compiled"),
        ("compiled", None, "RMQSTORE_KERNEL=compiled, but rmqstore_kernel cannot be imported: .* Install rmqstore-kernel"),
        ("compiled", 99, "RMQSTORE_KERNEL=compiled, but .* Install the rmqstore-kernel of this reader's version"),
    ],
)
def test_what_cannot_run_is_an_error(fresh: pytest.MonkeyPatch, value: str, seam: int | None, error: str) -> None:
    installed(fresh, seam)
    fresh.setenv(VARIABLE, value)
    with pytest.raises(nr.OptionError, match=error):
        nr.kernel_info()


OPTIONS = st.fixed_dictionaries(
    {
        "columns": st.one_of(st.just("*"), st.none(), st.lists(st.sampled_from(sorted(COLUMNS)), unique=True, min_size=1)),
        "mode": st.sampled_from(["FAILFAST", "DROPMALFORMED", "PERMISSIVE"]),
        "max_partition_bytes": st.one_of(st.integers(40, 900), st.just(1 << 27)),
        "where": st.sampled_from([None, "queue_id < 3", "tags IS NOT NULL", "properties['a'] IS NULL AND kind = 'normal'"]),
        "verify_crc": st.booleans(),
    }
)


@pytest.mark.kernel
@pytest.mark.sweep
@sampled(300)
@given(log=st.one_of(drawn.commitlogs(), drawn.damaged_logs()), options=OPTIONS, at_once=st.sampled_from([1, 100, 1 << 24]))
def test_both_kernels_return_the_same(log: drawn.DrawnLog, options: dict[str, Any], at_once: int) -> None:
    with tuned(decompressed_at_once=at_once):
        read_by_both(InMemory(log.segments, log.framing), **options)


@pytest.mark.kernel
def test_a_property_without_a_value_is_absent_for_both() -> None:
    log = CommitLog(1 << 20)
    for properties in (b"TAGS\x01\x02KEYS\x01k\x02", b"TAGS\x01t\x02KEYS\x01\x02", b"KEYS\x01k\x02TAGS\x01"):
        log.append(Message(topic="t", properties=properties))
    (batch,) = read_by_both(InMemory(log.segments(preallocated=False)), columns="*").batches
    assert batch["tags"].to_pylist() == [None, "t", None]
    assert batch["properties"].to_pylist() == [[("KEYS", "k")], [("TAGS", "t")], [("KEYS", "k")]]


def compressed_log(*bodies: bytes) -> InMemory:
    log = CommitLog(1 << 20)
    for body in bodies:
        log.append(Message(topic="t", body=zstd_body(body), sys_flag=COMPRESSED | TYPE_ZSTD))
    return InMemory(log.segments(preallocated=False))


@pytest.mark.kernel
@pytest.mark.parametrize("columns", [None, "*"])
def test_bodies_that_numpy_makes_are_cut_into_batches_with_the_columns_of_the_kernel(columns: str | None) -> None:
    store = compressed_log(b"one", b"two", b"three")
    with tuned(decompressed_at_once=1):
        batches = read_by_both(store, columns=columns, mode="PERMISSIVE").batches
    assert [batch["body"].to_pylist() for batch in batches] == [[b"one"], [b"two"], [b"three"]]


@pytest.mark.kernel
@pytest.mark.parametrize("columns", ["body_text", "body_text,tags,body"])
def test_a_text_is_made_from_the_body_that_the_kernel_makes(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    store = compressed_log("ä".encode(), b"\xff", b"three")
    batches = read_by_both(store, columns=columns).batches
    assert [batch["body_text"].to_pylist() for batch in batches] == [["ä", None, "three"]]
    monkeypatch.setattr(rows, "decompress", None)  # what numpy would call
    assert read(store, "compiled", columns=columns).batches == batches


@pytest.mark.kernel
def test_a_body_for_the_exact_way_starts_no_batch() -> None:
    larger_than_its_window = bytes(1 << 20)
    batches = read_by_both(compressed_log(b"one", larger_than_its_window, b"three")).batches
    assert [batch["body"].to_pylist() for batch in batches] == [[b"one", larger_than_its_window, b"three"]]


@pytest.mark.kernel
@pytest.mark.parametrize("compressed", [False, True])
def test_the_kernel_unwraps_inner_batches_if_none_is_compressed(compressed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    log, units = CommitLog(16 << 10), pack_inner([InnerMessage(b"one", b"TAGS\x01a\x02", 5), InnerMessage(b"two")])
    body, flags = (zstd_body(units), COMPRESSED | TYPE_ZSTD) if compressed else (units, 0)
    for message in (Message(body=b"zero"), Message(body=body, sys_flag=INNER_BATCH | flags, queue_offset=7), Message(body=b"three")):
        log.append(message)
    store, calls = InMemory(log.segments()), []
    own = kernel.messages
    monkeypatch.setattr(kernel, "messages", lambda *arguments: calls.append(arguments) or own(*arguments))
    (batch,) = read(store, "compiled", columns="body,flag,queue_offset,tags").batches
    assert batch.to_pydict() == {
        "body": [b"zero", b"one", b"two", b"three"],
        "flag": [0, 5, 0, 0],
        "queue_offset": [0, 7, 8, 0],
        "tags": [None, "a", None, None],
    }
    assert len(calls) == compressed


@pytest.mark.kernel
def test_the_kernel_makes_every_column_that_the_seam_names() -> None:
    compiled, _ = kernel.chosen("")
    compiled.Columns(sorted(kernel.COLUMNS))
    assert COLUMNS.keys() >= kernel.COLUMNS
    with pytest.raises(ValueError, match="a column that the kernel does not make"):
        compiled.Columns(["segment"])


@pytest.mark.kernel
def test_threads_read_after_the_one_that_loaded_the_kernel_has_ended() -> None:
    """mimalloc 3.3.2 frees the heap that all threads begin with: the second thread crashed."""
    program = """
import threading
from support.compare import InMemory
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import Message
log = CommitLog(4096)
log.append(Message(topic="t", body=b"x"))
store = InMemory(log.segments())
for _ in range(3):
    thread = threading.Thread(target=lambda: print(store.messages().to_table().num_rows))
    thread.start()
    thread.join()
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), VARIABLE: "compiled"}
    ended = subprocess.run([sys.executable, "-c", program], check=False, env=environment, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "1\n1\n1\n", "")


@pytest.mark.kernel
def test_heads_are_read_while_the_window_has_their_bytes() -> None:
    log = CommitLog(16 << 10)
    log.append(Message(topic="t", body=b"x"))
    store = InMemory(log.segments())
    assert read(store, "compiled", columns="*").batches[0]["topic"].to_pylist() == ["t"]


@pytest.mark.kernel
@pytest.mark.parametrize("kind", ["<i8", ">i8", "=i8", ">u2", "i1", "?", "f8"])
def test_only_bytes_are_taken(kind: str) -> None:
    """Wider numbers have a byte order, which pyo3 does not check."""
    compiled, _ = kernel.chosen("")
    log = CommitLog(16 << 10)
    log.append(Message(topic="t", body=b"x"))
    content = np.frombuffer(log.segments()[0][1], np.uint8)
    wrong, few = np.zeros(512, kind), np.zeros(8, np.uint8)
    chain = compiled.chain(content, len(content), len(content), 0, 0)
    parts, heads = chain.parts(), chain.heads(content)
    compiled.rows(content, parts, heads, few)
    calls: list[Callable[[], object]] = [
        lambda: compiled.chain(wrong, 512, 512, 0, 0),
        lambda: chain.take(wrong[:1]),
        lambda: chain.heads(wrong),
        lambda: compiled.Marker().add(chain, wrong),
        lambda: chain.columns(compiled.Columns(["topic"]), wrong, 0, 100, 100),
        lambda: compiled.rows(wrong, parts, heads, few),
        lambda: compiled.rows(content, wrong, heads, few),
        lambda: compiled.rows(content, parts, wrong, few),
        lambda: compiled.rows(content, parts, heads, wrong),
        lambda: compiled.queue_entries(wrong, 0),
        lambda: compiled.Chains(3).wrong(wrong, 1),
        lambda: compiled.Chains(3).differing(wrong, 0),
        lambda: compiled.indexed(few, [few, few, few], [few, wrong], 0),
    ]
    for call in calls:
        with pytest.raises(BufferError):
            call()
