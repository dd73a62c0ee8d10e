"""Stores in object storage: faults of the service, and objects that change."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.object_store import DENIED, FAILED, SLOW_DOWN, Answer, Bucket, Call, always, bucket_of, opened
from support.stores import ZERO, files_of, log_of, message

import native_reader as nr
from native_reader.storage import pieces, storage_of


def failing(times: int, answer: Answer, kind: str = "") -> Callable[[Call], Answer | None]:
    """A fault of the first calls of a kind."""
    left = [times]

    def fault(call: Call) -> Answer | None:
        if left[0] and (not kind or call.kind == kind):
            left[0] -= 1
            return answer
        return None

    return fault


# Faults of the service


@pytest.mark.parametrize("kind", ["list", "head", "get"])
@pytest.mark.parametrize("answer", [SLOW_DOWN, FAILED, Answer(502), Answer(0, seconds=0.0)], ids=["503", "500", "502", "closed"])
def test_a_call_that_fails_once_is_repeated(bucket: Bucket, kind: str, answer: Answer) -> None:
    expected = opened(bucket).messages().to_table()
    bucket.link.fault = failing(1, answer, kind)
    assert opened(bucket).messages().to_table().equals(expected)


def test_an_answer_that_ends_early_is_asked_for_again(bucket: Bucket) -> None:
    expected = opened(bucket).messages().to_table()
    bucket.link.fault = failing(1, Answer(206, cut=True), "get")
    assert opened(bucket).messages().to_table().equals(expected)


def test_a_small_object_whose_errors_are_longer_than_itself_is_read_again(bucket: Bucket) -> None:
    """Arrow could not read the error, so it did not try again."""
    bucket.put("store/config/topics.json", b"{}")
    opened(bucket)
    with storage_of(bucket.url).open(f"{bucket.url}/store/config/topics.json") as file:
        bucket.link.fault = failing(2, SLOW_DOWN, "get")
        assert file.read_ranges([(0, 9)]) == [b"{}"]


# Arrow does not always get the service's own text of an error, so only what is always there.
REFUSALS = {
    "503": (SLOW_DOWN, "the service refuses more calls ("),
    "500": (FAILED, "the service failed (INTERNAL_FAILURE for GetObject"),
    "403": (DENIED, "access denied (ACCESS_DENIED for GetObject"),
    "closed": (Answer(0), "no connection (NETWORK_CONNECTION for GetObject: curlCode: 52"),
    "silent": (Answer(0, seconds=4), "timed out (NETWORK_CONNECTION for GetObject: curlCode: 28"),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_call_that_fails_for_good_names_the_object_and_the_byte(bucket: Bucket, kind: str, impatient: None) -> None:
    answer, text = REFUSALS[kind]
    scan = opened(bucket, request_timeout=1).messages()
    scan.plan()
    bucket.link.fault = always(answer, "get")
    with pytest.raises(nr.UnreadableError) as raised:
        scan.to_table()
    # The first bytes of the first segment are kept since the store was opened.
    assert f"could not read {bucket.url}/store/commitlog/{2048:020} at byte 0: {text}" in str(raised.value)
    assert not raised.value.is_of_disk


def test_a_listing_that_fails_names_the_directory(bucket: Bucket, impatient: None) -> None:
    bucket.link.fault = always(DENIED, "list")
    with pytest.raises(nr.UnreadableError, match=f"could not get the status of {bucket.url}/store: access denied") as raised:
        opened(bucket)
    assert raised.value.errno == 13


def test_an_object_that_may_not_be_opened_is_named(bucket: Bucket, impatient: None) -> None:
    bucket.link.fault = always(DENIED, "head")
    with pytest.raises(nr.UnreadableError, match=f"could not open {bucket.url}/store/commitlog/[0-9]*: access denied") as raised:
        opened(bucket).messages().to_table()
    assert raised.value.errno == 13


def test_a_path_that_does_not_exist(bucket: Bucket) -> None:
    with pytest.raises(nr.PathError, match=f"^{bucket.url}/stor does not exist. Did you mean 'store'"):
        nr.open(f"{bucket.url}/stor", fs=bucket.link.fs)
    with pytest.raises(nr.PathError, match=r"^s3://not-a-bucket: the bucket does not exist. Check its name, fs.region and"):
        nr.open("s3://not-a-bucket/store", fs=bucket.link.fs)
    with pytest.raises(nr.PathError, match=r"^s3://: the bucket is missing. Write s3://bucket/store"):
        nr.open("s3:///store", fs=bucket.link.fs)


# Objects that change


def test_an_object_replaced_during_a_large_read_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shorter object would be read as zeros after its end, a longer one as a mix of both."""
    monkeypatch.setattr(pieces, "BLOCK", 1 << 20)
    files = files_of(log_of((message(number, body=bytes(5000)) for number in range(900)), 5 << 20))
    name = f"store/commitlog/{ZERO}"
    for content in (files[name][: 2 << 20], files[name] + bytes(4096), files[name][::-1]):
        with bucket_of(files) as bucket:
            scan = opened(bucket).messages(columns="heads")
            scan.plan()
            batches = scan.to_batches()
            rows = next(batches).num_rows
            assert rows < 900
            bucket.replace(name, content)
            with pytest.raises(nr.DataLoss, match=f"/{ZERO} was replaced by another file while it was read. Load the store again"):
                list(batches)


def test_a_segment_deleted_between_listing_and_reading_can_be_ignored(bucket: Bucket) -> None:
    scan = opened(bucket).messages(ignore_missing_files=True)
    scan.plan()
    bucket.remove(f"store/commitlog/{2048:020}")  # the bytes of the first one are kept since the store was opened
    assert 0 < scan.to_table().num_rows < 30
