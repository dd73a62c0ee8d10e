"""The paths of a store, from a broker's configuration file."""

from __future__ import annotations

import pytest
from support.stores import count_rows, path_error, scattered_store

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
