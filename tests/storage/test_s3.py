"""Stores in object storage: what is read for what is asked, options, and secrets."""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.fs
import pytest
from support.command_line import run
from support.golden import Golden
from support.object_store import DENIED, KEY, SECRET, TOKEN, Bucket, Call, always, bucket_of, opened
from support.stores import ZERO, files_of, log_of, message, on_disk

import native_reader as nr
from native_reader.storage import S3Storage, pieces, storage_of
from native_reader.storage.remote import Access, fs_names
from native_reader.storage.s3 import SCHEMES
from native_reader.tables import TABLES
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

SECOND = f"{2048:020}"


def files_in(root: Path) -> dict[str, bytes]:
    """The files of a directory; an empty directory ends in `/`."""
    return {
        f"{path.relative_to(root)}{'/' if path.is_dir() else ''}": b"" if path.is_dir() else path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() or not any(path.iterdir())
    }


def without_uris(table: pa.Table, at: str) -> list[dict[str, Any]]:
    return json.loads(json.dumps(table.to_pylist(), default=str).replace(at, ""))  # type: ignore[no-any-return]


# What is read is the same as from a disk


def test_every_table_and_the_check_read_the_same(own_store: Callable[[str], Golden]) -> None:
    root = own_store("5.5.0-expired").root
    with bucket_of({f"store/{name}": content for name, content in files_in(root).items()}) as bucket:
        there, here = opened(bucket), nr.open(root)
        for name in ("messages", *TABLES):
            expected = without_uris(here.table(name).to_table(), root.as_uri())
            assert without_uris(there.table(name).to_table(), f"{bucket.url}/store") == expected, name
        assert there.messages().to_table(jobs=3).drop_columns("store").equals(here.messages().to_table().drop_columns("store"))


def test_every_way_to_name_a_store(bucket: Bucket) -> None:
    for path in (bucket.url, f"{bucket.url}/", f"{bucket.url}/store/", f"{bucket.url}//store/commitlog", f"{bucket.url}/st*/commit*"):
        assert nr.open(path, fs=bucket.link.fs).messages().count_rows() == 30, path
    for scheme in SCHEMES[:3]:
        store = nr.open(f"{scheme}://{bucket.name}/store/commitlog/{SECOND}", fs=bucket.link.fs)
        assert store.stores[0].uri == f"{scheme}://{bucket.name}/store"
        assert 0 < store.messages().count_rows() < 30
    parts = f"{bucket.url}/store/commitlog,{bucket.url}/none"
    assert nr.open(store_path_commit_log=parts, fs=bucket.link.fs).messages().count_rows() == 30


@pytest.mark.gate
def test_a_directory_with_more_objects_than_one_answer_lists() -> None:
    with bucket_of({f"store/index/{number:017}": b"" for number in range(1100)} | files_of()) as bucket:
        names = [entry.name for entry in storage_of(opened(bucket).stores[0].uri).list(f"{bucket.url}/store/index")]
        assert names == [f"{number:017}" for number in range(1100)]


def test_a_queue_that_is_copied_later_is_listed_after_a_while(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The listing of all queues at once counts for seconds only."""
    storage, queues, later = storage_of(opened(bucket).stores[0].uri), f"{bucket.url}/store/consumequeue", time.monotonic() + 3600
    bucket.put(f"store/consumequeue/first/0/{ZERO}", b"one")
    assert [entry.name for entry in storage.list(queues)] == ["first"]
    bucket.put(f"store/consumequeue/second/0/{ZERO}", b"two")
    monkeypatch.setattr("native_reader.storage.remote.monotonic", lambda: later)
    assert [entry.name for entry in storage.list(queues)] == ["first", "second"]
    assert [entry.name for entry in storage.list(f"{queues}/second/0")] == [ZERO]


def test_a_file_system_of_pyarrow_or_fsspec_can_be_handed_in(bucket: Bucket, tmp_path: Path) -> None:
    arguments = bucket.link.fs
    assert nr.open(f"{bucket.url}/store", fs=pyarrow.fs.S3FileSystem(**arguments)).messages().count_rows() == 30
    memory = fsspec.filesystem("memory")
    for name, content in files_of().items():
        memory.pipe_file(f"/bucket/{name}", content)
    expected = opened(bucket).messages().to_table().drop_columns("store")
    for given in (memory, pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(memory))):
        store = nr.open("mine://bucket/store", fs=given)
        assert store.messages().to_table().drop_columns("store").equals(expected)
        assert store.messages().to_table(jobs=3).drop_columns("store").equals(expected)
    on_disk(tmp_path, files_of())
    assert nr.open(f"mine://{tmp_path}/store", fs=pyarrow.fs.LocalFileSystem()).messages().count_rows() == 30
    assert nr.open(f"mine://{tmp_path}/store", fs=fsspec.filesystem("file")).messages().count_rows() == 30


def test_credentials_of_the_environment(bucket: Bucket) -> None:
    fs = bucket.link.fs
    own = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
    environment = os.environ | own | {"AWS_ENDPOINT_URL": f"http://{fs['endpoint_override']}"}
    code = f"import native_reader as nr; print(nr.open('{bucket.url}/store').messages().count_rows())"
    for arguments in (["-c", code], ["-m", "rmqstore", "cat", f"{bucket.url}/store", "--json"]):
        ended = subprocess.run([sys.executable, *arguments], env=environment, check=False, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout == "30\n" or len(ended.stdout.splitlines()) == 30


def test_a_forked_process_makes_its_own_connections(bucket: Bucket) -> None:
    store = opened(bucket)
    assert store.messages().count_rows() == 30
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, b"%d" % store.messages().count_rows())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        assert answer.read() == b"30"


# What is read for what is asked


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with queues and an index."""
    root = tmp_path_factory.mktemp("written") / "store"
    sizes = {"mapped_file_size_commit_log": 8 << 20, "mapped_file_size_consume_queue": 60_000}
    write_store(root, StoreSpec(bytes=24 << 20, max_hash_slot_num=5_000, max_index_num=20_000, **sizes))
    return root


def test_a_key_lookup_reads_kilobytes(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a log that is so large that a scan costs more: with the real costs, this one would be scanned."""
    monkeypatch.setattr(S3Storage, "call_costs", 1)
    files, local = files_in(written), nr.open(written)
    rows = local.messages(columns="topic,keys,kind", where="kind = 'normal'").to_table().to_pylist()
    topic, key = next((row["topic"], row["keys"][0]) for row in rows if len(row["keys"] or ()) == 1)
    with bucket_of({f"store/{name}": content for name, content in files.items()}) as bucket:
        scan = opened(bucket).messages(topic=topic, keys=key)
        bucket.link.reset()
        found = scan.to_table().drop_columns("store")
        expected = local.messages(topic=topic, keys=key).to_table().drop_columns("store")
        assert found.num_rows >= 1
        assert found.sort_by("physical_offset").equals(expected.sort_by("physical_offset"))
        calls, last = bucket.link.calls, f"store/commitlog/{max(os.listdir(written / 'commitlog'))}"
        lookups = [call for call in calls if call.kind == "get" and call.key != last]  # where the end of the log is searched
        assert sum(length_of(call) for call in lookups) < 2 << 20
        assert len(lookups) < 30, lookups
        assert len(calls) < 70, calls
        small = [call for call in lookups if length_of(call) < min(pieces.PAGE, len(files[call.key.removeprefix("store/")]))]
        assert [call for call in small if "/index/" not in call.key] == []  # the last page of an index file may be short


def test_a_time_inside_a_segment_is_found_with_few_calls(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a disk, 64 samples of a segment cost nothing. Each is about four calls, one after another."""
    monkeypatch.setattr(S3Storage, "call_costs", 1 << 20)
    times = nr.open(written).messages(columns="store_timestamp").to_table()["store_timestamp"].cast("int64").to_pylist()
    middle = times[len(times) // 6] // 1000
    second = {"starting_timestamp": middle, "ending_timestamp": middle + 1000, "columns": "physical_offset"}
    second |= {"time_skew_tolerance": "1s", "max_partition_bytes": 1 << 20}
    with bucket_of({f"store/{name}": content for name, content in files_in(written).items()}) as bucket:
        scan = opened(bucket).messages(**second)
        bucket.link.reset()
        scan.plan()
        assert 1 <= sum("/consumequeue/" in call.key for call in bucket.link.calls if call.kind == "get") <= 8
        assert scan.to_table().equals(nr.open(written).messages(**second).to_table())


def length_of(call: Call) -> int:
    """How many bytes a call asks for."""
    first, last = (int(place) for place in str(call.range).removeprefix("bytes=").split("-"))
    return last + 1 - first


@pytest.mark.gate
def test_a_scan_keeps_a_slow_link_busy() -> None:
    """10 ms a call and 100 MB/s, eight times as slow, because this machine also is the server."""
    log = log_of((message(number, body=bytes(20_000)) for number in range(3200)), 80 << 20)
    with bucket_of({}) as bucket:
        bucket.put_kept(files_of(log))
        link = bucket.link
        store = opened(bucket)
        scan = store.messages(columns="heads")
        scan.plan()
        link.reset()
        link.delay, link.rate = 0.08, 12.5e6
        begun = time.monotonic()
        rows = sum(batch.num_rows for batch in scan.to_batches())
        elapsed = time.monotonic() - begun
        assert rows == 3200
        assert link.busy >= 0.6 * elapsed, (link.busy, elapsed, link.kinds)  # 0.8 on a machine that does nothing else
        written = 3200 * 20_100
        assert written <= link.bytes <= 1.1 * written
        assert link.kinds["get"] <= 32


def test_zeros_at_the_end_of_a_segment_are_read_once() -> None:
    """A broker allocates a segment at once, so a copy ends with zeros. Only another object has to be read again."""
    name = f"store/commitlog/{ZERO}"
    content = files_of(log_of(5, 4 << 20))[name]
    with bucket_of({name: content}) as bucket:
        for count in (5, 7):
            store = opened(bucket)
            for most in (5 << 20, 256 << 10):
                bucket.link.reset()
                assert store.messages().count_rows() == count
                assert bucket.link.bytes < most
            bucket.replace(name, files_of(log_of(7, 4 << 20))[name])


def test_the_first_rows_need_little() -> None:
    with bucket_of(files_of(log_of((message(number, body=bytes(5000)) for number in range(1600)), 10 << 20))) as bucket:
        scan = opened(bucket).messages(columns="heads")
        scan.plan()
        bucket.link.reset()
        assert scan.head(5).num_rows == 5
        assert bucket.link.bytes <= 256 << 10


def test_small_ranges_are_read_together_and_in_parallel(bucket: Bucket) -> None:
    content = bytes(range(256)) * (8 << 10)
    bucket.put("file", content)
    opened(bucket)
    offsets = [*range(0, 200_000, 1000), 1_500_000, 2_050_000, 2_097_150]
    with storage_of(bucket.url).open(f"{bucket.url}/file") as file:
        bucket.link.reset()
        bucket.link.delay = 0.2
        begun = time.monotonic()
        assert file.read_ranges([(offset, 100) for offset in offsets]) == [content[offset : offset + 100] for offset in offsets]
        assert bucket.link.kinds["get"] == 3  # the last two are near each other
        assert time.monotonic() - begun < 3 * 0.2 + 5
        view = memoryview(bytearray(400))
        assert file.read_many([0, 1_000_000, len(content) - 50, 5], [100, 100, 100, 100], view) == 250
        assert view[:250] == content[:100] + content[1_000_000:1_000_100] + content[-50:]


def test_reads_that_follow_each_other_are_fetched_ahead_in_both_directions(bucket: Bucket) -> None:
    content = os.urandom(6 << 20)
    bucket.put("file", content)
    opened(bucket)
    step = 100_000
    for places in (range(0, len(content), step), range(len(content) - step, 0, -step)):
        with storage_of(bucket.url).open(f"{bucket.url}/file") as file:
            bucket.link.reset()
            for place in places:
                assert file.read_ranges([(place, step)]) == [content[place : place + step]]
            assert bucket.link.kinds["get"] < len(places)
            assert bucket.link.bytes <= len(content)


# Options


def test_a_wrong_option_names_the_nearest(bucket: Bucket) -> None:
    for given, near in (
        ("regoin", "region"),
        ("endpoint", "endpoint_override"),
        ("secretkey", "secret_key"),
        ("s3a.access.key", "access_key"),
    ):
        with pytest.raises(nr.OptionError) as raised:
            opened(bucket, **{given: SECRET})
        known = ", ".join(f"fs.{name}" for name in fs_names())
        assert str(raised.value) == f"the option fs.{given} is not supported. Did you mean 'fs.{near}'? Supported: {known}"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"region": ""}, "fs.region must be text that is not empty"),
        ({"secret_key": 5}, "fs.secret_key must be text that is not empty"),
        ({"anonymous": "yes"}, "fs.anonymous must be true or false"),
        ({"connect_timeout": "soon"}, "fs.connect_timeout must be a number of seconds above 0"),
        ({"request_timeout": 0}, "fs.request_timeout must be a number of seconds above 0"),
        ({"scheme": "ftp"}, "fs.scheme must be http or https"),
        ({5: "x"}, "the option 5 is not supported."),
    ],
)
def test_a_wrong_value_is_not_repeated(options: Mapping[Any, object], text: str) -> None:
    with pytest.raises(nr.OptionError) as raised:
        nr.open("s3://bucket/store", fs=options)
    assert str(raised.value).startswith(text)


def test_options_that_do_not_fit(tmp_path: Path) -> None:
    for path, fs, text in (
        (tmp_path, {"region": "x"}, "fs options need a path of object storage, such as s3://bucket/store"),
        ("gs://bucket/store", {"region": "x"}, "fs options are for s3://, s3a://, s3n://, oss://, not for 'gs://bucket'"),
        ("s3://bucket/store", 5, "fs= must be options by name, a pyarrow.fs.FileSystem or an fsspec file system, not int"),
        ("s3://bucket/store", {"access_key": KEY, "region": "x"}, "s3://bucket cannot be reached with these fs options: "),
        ("oss://bucket/store", {"region": "x"}, "oss:// needs fs.endpoint_override, for example oss-cn-hangzhou.aliyuncs.com"),
    ):
        with pytest.raises(nr.OptionError) as raised:
            nr.open(path, fs=fs)
        assert str(raised.value).startswith(text)


def test_oss_is_s3_with_the_bucket_in_the_name_of_the_host(bucket: Bucket) -> None:
    endpoint = str(bucket.link.fs["endpoint_override"]).replace("127.0.0.1", "localhost")  # which has names below it
    store = nr.open(f"oss://{bucket.name}/store", fs=bucket.link.fs | {"endpoint_override": endpoint})
    assert store.messages().count_rows() == 30
    assert {call.host for call in bucket.link.calls} == {f"{bucket.name}.{endpoint}"}


def test_newer_options_replace_older_ones(bucket: Bucket) -> None:
    """A token expires; a notebook opens the store again with a new one."""
    first, storage = opened(bucket), storage_of(bucket.url)
    assert storage_of(opened(bucket).stores[0].uri) is storage
    opened(bucket, session_token=TOKEN)
    assert storage_of(bucket.url) is not storage
    assert nr.open(f"{bucket.url}/store").messages().count_rows() == first.messages().count_rows() == 30


# Secrets


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("rest", ["bkt/store", "bkt", "bkt/sto*", "bkt/a.tar"])
def test_credentials_in_a_path_were_in_the_error(scheme: str, rest: str) -> None:
    with pytest.raises(nr.OptionError) as raised:
        nr.open(f"{scheme}://AKIDMARK:S3CR3TMARK@{rest}")
    text = str(raised.value)
    assert text.startswith(f"a path {scheme}://…@… holds credentials. Give the path without them, and set fs.access_key and ")
    assert "MARK" not in text


@pytest.mark.parametrize("scheme", ["hdfs", "gs", "abfs", "wasb", "http", "webhdfs", "tar+hdfs", "other"])
@pytest.mark.parametrize("secret", ["S3CR3TMARK", "S3CR/3TMARK", "S3@CR/3TMARK"])
def test_the_secret_of_other_storage_was_in_the_error(scheme: str, secret: str, capfd: pytest.CaptureFixture[str]) -> None:
    uri = f"{scheme}://user:{secret}@host:9000/store"
    with pytest.raises(nr.OptionError) as raised:
        nr.open(uri)
    assert str(raised.value).endswith(
        "holds credentials. Give the path without them, and pass fs=, a file system of pyarrow or fsspec that has them"
    )
    for arguments in (["doctor", uri], ["tables", uri], ["diff", uri, uri], ["export", "store", uri]):
        run(*arguments)
        captured = capfd.readouterr()
        assert "MARK" not in captured.out + captured.err


@pytest.mark.parametrize("uri", ["hdfs://host:9000/a@b", "hdfs://user@host/store", "abfs://container@account/store"])
def test_a_port_and_a_name_are_no_secret(uri: str) -> None:
    with pytest.raises(nr.PathError, match=f"^{uri}: "):
        nr.open(uri)


@pytest.mark.parametrize("query", ["X-Amz-Signature=MARK", "sig=MARK", "a=1&access_token=MARK"])
def test_the_signature_of_a_link_was_in_the_error(query: str) -> None:
    with pytest.raises(nr.OptionError) as raised:
        nr.open(f"https://host/store?{query}")
    assert "MARK" not in str(raised.value)


def test_no_secret_is_shown(bucket: Bucket, caplog: pytest.LogCaptureFixture, impatient: None) -> None:
    caplog.set_level(logging.DEBUG)
    fs = bucket.link.fs | {"session_token": TOKEN}
    shown = [repr(Access(fs)), str(Access(fs)), f"{[Access(fs)]}", repr(storage_of(bucket.url)), repr(vars(storage_of(bucket.url)))]
    store = nr.open(f"{bucket.url}/store", fs=fs)
    scan = store.messages(keys="k5")
    shown += [repr(store), repr(scan), str(scan.explain()), repr(store.stores), repr(scan.plan())]
    assert not any(secret.encode() in pickle.dumps(scan.plan()) for secret in (KEY, SECRET, TOKEN))
    message_with_all = f"The key {KEY} with {SECRET} and {TOKEN} is unknown"
    for kind in ("list", "head", "get"):
        body = DENIED.body.replace(b"Access Denied", message_with_all.encode())
        bucket.link.fault = always(DENIED._replace(body=body), kind)
        with pytest.raises(nr.UnreadableError) as raised:
            nr.open(f"{bucket.url}/store").messages().to_table()
        error: BaseException | None = raised.value
        while error is not None:
            shown.append(f"{error!r} {error} {vars(error)}")
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert "The key *** with *** and *** is unknown" in "".join(shown)
    with pytest.raises(nr.OptionError) as wrong:
        nr.open("s3://bucket/store", fs={"access_key": KEY, "session_token": TOKEN})
    text = "".join([*shown, str(wrong.value), caplog.text])
    assert not any(secret in text for secret in (KEY, SECRET, TOKEN))


def test_access_survives_pickling() -> None:
    access = Access({"access_key": KEY, "secret_key": SECRET, "connect_timeout": "2"})
    again = pickle.loads(pickle.dumps(access))
    assert again == access
    assert hash(again) == hash(access)
    assert repr(again) == "<fs: access_key, secret_key, connect_timeout>"
    assert repr(Access()) == "<fs: from the environment>"
