"""The paths of a store, from a broker's configuration file."""

from __future__ import annotations

import pytest
from support.stores import count_rows, files_of, on_disk, path_error, scattered_store
from support.verified import healthy

import native_reader as nr


def test_a_broker_conf_has_all_paths(tmp_path):
    scattered_store(tmp_path)
    conf = tmp_path / "conf dir" / "broker.conf"
    conf.parent.mkdir()
    lines = [
        "# storePathRootDir=/commented/out",
        "brokerName = broker-a",
        f"storePathRootDir={tmp_path}/root",
        f" storePathCommitLog : {tmp_path}/one/store/commitlog,{tmp_path}/unused\r",
        f"readOnlyCommitLogStorePaths={tmp_path}/two/store/commitlog",
        f"storePathConsumeQueue={tmp_path}/elsewhere/cq",
    ]
    conf.write_text("\n".join(lines))
    for path in (conf, str(conf), conf.as_uri()):
        opened = nr.open(broker_conf=path)
        (files,) = opened.stores
        assert (files.uri, count_rows(opened)) == (f"{tmp_path.as_uri()}/root", 30)
        assert files.consume_queue == f"{tmp_path.as_uri()}/elsewhere/cq"
    (files,) = nr.open(broker_conf=conf, store_path_consume_queue="/other").stores
    assert files.consume_queue == "file:///other"
    (files,) = nr.open(tmp_path / "one" / "store", broker_conf=conf).stores
    assert files.uri == f"{tmp_path.as_uri()}/one/store"


def test_a_single_path_overrides_the_read_only_paths(tmp_path):
    scattered_store(tmp_path)
    conf = tmp_path / "broker.conf"
    conf.write_text(f"storePathCommitLog={tmp_path}/one/store/commitlog\nreadOnlyCommitLogStorePaths={tmp_path}/two/store/commitlog\n")
    (files,) = nr.open(broker_conf=conf).stores
    assert (files.uri, len(files.segments)) == (f"{tmp_path.as_uri()}/one/store", 2)


def test_a_broker_conf_with_a_root_only(store, tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text(f"storePathRootDir={store}")
    assert count_rows(nr.open(broker_conf=conf)) == 30


def test_a_broker_conf_whose_root_does_not_exist(tmp_path):
    scattered_store(tmp_path)
    conf = tmp_path / "broker.conf"
    conf.write_text(f"storePathRootDir=/home/rocketmq/store\nstorePathCommitLog={tmp_path}/one/store/commitlog")
    (files,) = nr.open(broker_conf=conf).stores
    assert (files.uri, len(files.segments)) == ("file:///home/rocketmq/store", 2)
    conf.write_text("storePathRootDir=/home/rocketmq/store")
    assert path_error(broker_conf=conf).startswith("file:///home/rocketmq/store does not exist")


def dead_host(tmp_path, root="/dead/store"):
    """The configuration of a broker whose disks are not here."""
    conf = tmp_path / "broker.conf"
    parts = {"CommitLog": "commitlog", "ConsumeQueue": "consumequeue", "Index": "index"}
    lines = [f"storePathRootDir={root}", *(f"storePath{name}=/dead/disk/{part}" for name, part in parts.items())]
    conf.write_text("\n".join(lines))
    return conf


def test_the_paths_of_a_dead_host_failed_on_a_copy_of_its_store(tmp_path, caplog):
    store = on_disk(tmp_path, healthy()[1]) / "store"
    conf = dead_host(tmp_path)
    for _ in range(2):
        (files,) = nr.open(store, broker_conf=conf).stores
        assert (files.uri, len(files.segments)) == (store.as_uri(), len(list((store / "commitlog").iterdir())))
        assert (files.consume_queue, files.index) == (f"{store.as_uri()}/consumequeue", f"{store.as_uri()}/index")
    own = f"{conf}: storePathCommitLog, storePathConsumeQueue, storePathIndex not used, because {store.as_uri()} has its own"
    assert caplog.messages == [own]
    (files,) = nr.open(store, broker_conf=conf, store_path_index="/other").stores
    assert files.index == "file:///other"


def test_queues_that_a_copy_does_not_have_are_missing_not_an_error(tmp_path, caplog):
    store = on_disk(tmp_path, files_of()) / "store"
    conf = dead_host(tmp_path)
    opened = nr.open(store, broker_conf=conf)
    assert (opened.stores[0].consume_queue, count_rows(opened)) == (None, 30)
    assert f"{conf}: storePathConsumeQueue, storePathIndex not used, because the path does not exist here" in caplog.messages


def test_a_copy_is_not_mixed_with_the_store_that_the_host_has_at_the_configured_path(tmp_path):
    copy = on_disk(tmp_path / "copy", healthy()[1]) / "store"
    other = on_disk(tmp_path / "other", healthy(30)[1]) / "store"
    conf = tmp_path / "broker.conf"
    conf.write_text(f"storePathRootDir={other}\nstorePathCommitLog={other}/commitlog\nstorePathConsumeQueue={other}/consumequeue\n")
    (files,) = nr.open(copy, broker_conf=conf).stores
    assert {files.uri, files.segments[0].uri.rpartition("/commitlog")[0]} == {copy.as_uri()}
    assert files.consume_queue == f"{copy.as_uri()}/consumequeue"
    (files,) = nr.open(other, broker_conf=conf).stores
    assert {files.uri, files.segments[0].uri.rpartition("/commitlog")[0]} == {other.as_uri()}


def test_a_store_with_its_own_configuration_has_all_its_log_directories(tmp_path, caplog):
    scattered_store(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "one" / "store")
    conf = tmp_path / "broker.conf"
    logs = f"{tmp_path}/one/store/commitlog,{tmp_path}/two/store/commitlog"
    for root in (tmp_path / "one" / "store", tmp_path / "link", "/dead/store"):
        conf.write_text(f"storePathRootDir={root}\nstorePathCommitLog={logs}\n")
        assert count_rows(nr.open(tmp_path / "one" / "store", broker_conf=conf)) == 30
        assert count_rows(nr.open(tmp_path / "link", broker_conf=conf)) == 30
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, " does not exist"),
        (b"x" * (2 << 20), " has 2,097,152 bytes"),
    ],
)
def test_files_that_are_not_a_broker_conf(tmp_path, content, expected):
    conf = tmp_path / "broker.conf"
    if content is not None:
        conf.write_bytes(content)
    assert (
        path_error(broker_conf=conf)
        == f"{conf.as_uri()}{expected}. Set broker_conf to the broker's configuration file, often conf/broker.conf"
    )


def test_a_broker_conf_without_paths(tmp_path):
    conf = tmp_path / "broker.conf"
    assert path_error(broker_conf=tmp_path).startswith(f"{tmp_path.as_uri()} is not a file. Set broker_conf")
    conf.write_bytes(b"brokerName=a\n\xff\xfe\n")
    assert path_error(broker_conf=conf) == (
        f"{conf.as_uri()} sets neither storePathRootDir nor storePathCommitLog. "
        "The store is then ~/store of the broker's user: load that path"
    )
