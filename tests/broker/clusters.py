"""Stores of brokers that copy each other's log."""

from __future__ import annotations

import time
from pathlib import Path

from cut_logs import behind, keep_what_was_cut
from ports import free_port
from recipe import SEED, Recipe, Told, keep, sent
from rocketmq import Broker, Java, await_all, brokers, name_server

# A broker no longer waits for a slave that is gone.
_SOON = {"haMaxTimeSlaveNotCatchup": 2000, "checkSyncStateSetPeriod": 500, "syncBrokerMetadataPeriod": 1000}


def slave(recipe: Recipe, home: Path, target: Path) -> Told:
    """What a slave makes of a log that comes from its master."""
    java = Java(recipe.version)
    with name_server(java, home) as address:
        master = Broker(java, home / "master", address, recipe.settings)
        copy = Broker(java, home / "slave", address, {**recipe.settings, "brokerRole": "SLAVE", "brokerId": 1})
        with brokers(master, copy):
            master.start()
            copy.launch()
            told = [line for what, *arguments in recipe.traffic for line in sent(master, str(what), *arguments)]
            await_the_same_log(copy, master)
            await_the_topics(copy)
            copy.stop()
            keep(copy.store, target)
    assert not (target / "batchconsumequeue").exists(), "the slave knew the topic before its batches came: try again"
    return told


def failover(recipe: Recipe, home: Path, target: Path) -> Told:
    """A master is killed that had records which its slave lacked; the slave becomes master, and the old one takes over its log."""
    java, controller = Java(recipe.version), free_port()
    members = {**recipe.settings, "enableControllerMode": "true", "controllerAddr": f"127.0.0.1:{controller}", **_SOON}
    with name_server(java, home, **_controller(home, controller)) as address:
        old, new = (Broker(java, home / name, address, members) for name in ("old", "new"))
        with brokers(old, new):
            old.start()
            told = sent(old, "plain", 200)
            new.launch()
            await_the_same_log(new, old)
            new.stop()
            time.sleep(5)  # the old one takes it out of those in sync, and puts what comes now into its queues
            told += sent(old, "plain", 60, seed=SEED + 1)
            time.sleep(1.5)
            old.kill()
            new.start()
            told += sent(new, "plain", 20, seed=SEED + 2)
            old.launch()
            await_the_same_log(old, new)
            time.sleep(11)  # a checkpoint has the newest store time
            old.stop()
            keep_what_was_cut(old, target)
    return told


def _controller(home: Path, port: int) -> dict[str, object]:
    """A name server's settings that make it the controller too: the only one, which elects whoever is there."""
    return {
        "enableControllerInNamesrv": "true", "controllerDLegerGroup": "controller", "controllerDLegerSelfId": "n0",
        "controllerDLegerPeers": f"n0-127.0.0.1:{port}", "controllerStorePath": home / "controller", "enableElectUncleanMaster": "true",
        "scanNotActiveBrokerInterval": 500, "controllerHeartBeatTimeoutMills": 3000, "mappedFileSize": 1 << 20,
    }  # fmt: skip


def await_the_topics(slave: Broker) -> None:
    """Wait until it has asked its master for the topics' configuration, which it does once a minute."""
    assert slave.process is not None
    topics = slave.store / "config" / "topics.json"
    await_all(lambda: topics.exists() and '"Again"' in topics.read_text(), slave.process, slave.home / "broker.out")


def await_the_same_log(slave: Broker, master: Broker) -> None:
    """Wait until the slave has what the master has."""
    assert slave.process is not None
    await_all(lambda: _ends(slave) == _ends(master), slave.process, slave.home / "broker.out")


def _ends(broker: Broker) -> int:
    """Where the last record of its log ends; of no log, or one of which segments are just being deleted, nowhere that another one does."""
    try:
        return behind(broker.store / "commitlog").end
    except (OSError, ValueError):
        return id(broker)
