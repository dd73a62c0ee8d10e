"""Stores of brokers that replicate a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cut_logs import keep_truncated, old_records
from ports import free_port
from recipe import SEED, Answers, Recipe, keep, sent
from rocketmq import Broker, Java, await_all, brokers, name_server

# A broker no longer waits for a slave that is gone.
_SOON = {"haMaxTimeSlaveNotCatchup": 2000, "checkSyncStateSetPeriod": 500, "syncBrokerMetadataPeriod": 1000}


def slave(recipe: Recipe, home: Path, target: Path) -> Answers:
    """The store of a slave, which copies its master's log."""
    java = Java(recipe.version)
    with name_server(java, home) as address:
        master = Broker(java, home / "master", address, recipe.settings)
        copy = Broker(java, home / "slave", address, {**recipe.settings, "brokerRole": "SLAVE", "brokerId": 1})
        with brokers(master, copy):
            master.start()
            copy.launch()
            lines = [line for what, *arguments in recipe.traffic for line in sent(master, str(what), *arguments)]
            await_the_same_log(copy, master)
            await_the_topics(copy)
            copy.stop()
            keep(copy.store, target)
    assert not (target / "batchconsumequeue").exists(), "the slave knew the topic before its batches came: try again"
    return lines


@contextmanager
def controlled(java: Java, home: Path, *names: str, **settings: object) -> Iterator[list[Broker]]:
    """Brokers whose master a controller chooses. They are not started yet."""
    controller = free_port()
    members = {**settings, "enableControllerMode": "true", "controllerAddr": f"127.0.0.1:{controller}", **_SOON}
    with name_server(java, home, **_controller(home, controller)) as address:
        found = [Broker(java, home / name, address, members) for name in names]
        with brokers(*found):
            yield found


def failover(recipe: Recipe, home: Path, target: Path, parted: Callable[[Path, Path], None] = lambda old, new: None) -> Answers:
    """A master is killed that had more records than its slave. The slave becomes master, and the old master copies its log.

    `parted`: gets the stores of both before that.
    """
    with controlled(Java(recipe.version), home, "old", "new", **recipe.settings) as (old, new):
        old.start()
        lines = sent(old, "plain", 200)
        new.launch()
        await_the_same_log(new, old)
        new.stop()
        time.sleep(5)  # the old master removes it from those in sync, and dispatches new records to its queues
        lines += sent(old, "plain", 60, seed=SEED + 1)
        time.sleep(1.5)
        old.kill()
        new.start()
        lines += sent(new, "plain", 20, seed=SEED + 2)
        parted(old.store, new.store)
        old.launch()
        await_the_same_log(old, new)
        time.sleep(11)  # the checkpoint has the newest store time
        old.stop()
        keep_truncated(old, target)
    return lines


def _controller(home: Path, port: int) -> dict[str, object]:
    """Settings that make a name server the only controller, which elects any broker that runs."""
    return {
        "enableControllerInNamesrv": "true", "controllerDLegerGroup": "controller", "controllerDLegerSelfId": "n0",
        "controllerDLegerPeers": f"n0-127.0.0.1:{port}", "controllerStorePath": home / "controller", "enableElectUncleanMaster": "true",
        "scanNotActiveBrokerInterval": 500, "controllerHeartBeatTimeoutMills": 3000, "mappedFileSize": 1 << 20,
    }  # fmt: skip


def await_the_topics(slave: Broker) -> None:
    """Wait until the slave has the topic configuration of its master, which it requests once a minute."""
    assert slave.process is not None
    topics = slave.store / "config" / "topics.json"
    await_all(lambda: topics.exists() and '"Again"' in topics.read_text(), slave.process, slave.home / "broker.out")


def await_the_same_log(slave: Broker, master: Broker) -> None:
    """Wait until the slave has the same log as the master."""
    assert slave.process is not None
    await_all(lambda: _ends(slave) == _ends(master), slave.process, slave.home / "broker.out")


def _ends(broker: Broker) -> int:
    """The end of the last record. Without a log, or while segments are being deleted, a unique value."""
    try:
        return old_records(broker.store / "commitlog").end
    except (OSError, ValueError):
        return id(broker)
