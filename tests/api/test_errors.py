"""The exceptions: each is also a built-in exception, and names the nearest valid name."""

from __future__ import annotations

import logging
import pickle

import pytest

import native_reader as nr
from native_reader.errors import DataLoss, Warned, did_you_mean, nearest, option_name
from native_reader.stream.offset import OffsetError
from rmqstore_spark.options import spark_name

FAMILY = {
    nr.PathError: FileNotFoundError,
    nr.OptionError: ValueError,
    nr.SchemaError: LookupError,
    nr.StoreDamaged: ValueError,
    nr.DataLoss: OSError,
    nr.SplitError: RuntimeError,
    nr.UnreadableError: OSError,
    nr.ExportError: OSError,
    nr.RepairError: ValueError,
    nr.UseError: TypeError,
}


def test_the_list_of_exceptions_is_complete():
    assert {each for each in nr.StoreError.__subclasses__() if each.__module__.startswith("native_reader")} == {*FAMILY, OffsetError}
    assert nr.OptionError.__subclasses__() == [nr.PredicateError]
    assert {name for name in nr.__all__ if isinstance(getattr(nr, name), type) and issubclass(getattr(nr, name), Exception)} == {
        "StoreError",
        "PredicateError",
        *(kind.__name__ for kind in FAMILY),
    }


@pytest.mark.parametrize(("kind", "built_in"), FAMILY.items())
def test_each_is_a_store_error_and_a_built_in_exception(kind, built_in):
    error = kind("what, where, and what to do")
    assert isinstance(error, nr.StoreError)
    assert isinstance(error, built_in)
    assert str(error) == "what, where, and what to do"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (kind, str(error))


def test_unreadable_error_keeps_its_errno():
    error = pickle.loads(pickle.dumps(nr.UnreadableError(5, "could not read file:///x at byte 7: Input/output error")))
    assert (error.errno, str(error)) == (5, "could not read file:///x at byte 7: Input/output error")


@pytest.mark.parametrize("kind", FAMILY)
def test_each_api_spells_an_error_its_own_way(kind):
    error = kind(f"read with {option_name('max_record_bytes')}=5 or {option_name('verify_crc', False)}, not 'max_record_bytes'")
    assert str(error) == "read with max_record_bytes=5 or verify_crc=False, not 'max_record_bytes'"
    for each in (error, pickle.loads(pickle.dumps(error))):
        spark = each.spelled(spark_name)
        assert (type(spark), str(spark)) == (kind, "read with maxRecordBytes=5 or verifyCrc=false, not 'max_record_bytes'")
        assert str(pickle.loads(pickle.dumps(spark))) == str(spark)


def test_an_error_keeps_its_facts():
    unreadable = nr.UnreadableError(5, f"could not read {option_name('path')}").spelled(spark_name)
    assert (unreadable.errno, str(unreadable)) == (5, "could not read path")
    loss = nr.DataLoss("a segment is gone")
    loss.is_file_gone = True
    assert pickle.loads(pickle.dumps(loss.spelled(spark_name))).is_file_gone


def test_text_that_only_looks_like_a_mark_is_shown():
    assert str(nr.OptionError("\x0ea b\x0f")) == r"\x0ea b\x0f"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("storeTimestamp", " Did you mean 'store_timestamp'?"),
        ("STORE_TIMESTAMP", " Did you mean 'store_timestamp'?"),
        ("topik", " Did you mean 'topic'?"),
        ("body_", " Did you mean 'body'?"),
        ("zzzzz", ""),
        ("status", ""),
        ("host", " Did you mean 'born_host'?"),
        ("born", " Did you mean 'born_host'?"),
        ("", ""),
    ],
)
def test_the_nearest_name(name, expected):
    assert did_you_mean(name, ["topic", "tags", "body", "store_timestamp", "born_host"]) == expected


def test_no_name_is_near_an_empty_text():
    assert nearest("topic", []) is None
    assert did_you_mean("topic", []) == ""


def test_warnings_are_kept_once_and_only_the_first_ones() -> None:
    log, shown = logging.getLogger("native_reader"), list[tuple[str, bool]]()
    with Warned(2, str.upper, lambda text, is_loss: shown.append((text, is_loss))) as warned:
        log.warning("set %s", option_name("mode"))
        log.warning("set %s", option_name("mode"))
        assert not warned.has_loss
        log.warning("%s", DataLoss("gone"))
        log.warning("a third one")
    log.warning("after it")
    assert warned.texts == ["set MODE", "gone"]
    assert shown == [("set MODE", False), ("gone", True)]
    assert (warned.left_out, warned.has_loss) == (1, True)
