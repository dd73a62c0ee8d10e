"""The store of a broker with gRPC clients, which use a proxy in its process."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from ports import free_port
from recipe import Answers, Recipe, answers, keep
from rocketmq import Broker, Java, brokers, name_server

CLIENT = "5.0.8"


@dataclass
class Proxied(Broker):
    """A broker and its proxy."""

    grpc: int = field(default_factory=free_port)
    remoting: int = field(default_factory=free_port)

    @property
    def ports(self) -> tuple[int, ...]:
        return self.port, self.grpc

    def program(self, configuration: Path) -> tuple[object, ...]:
        settings = self.home / "proxy.json"
        ports = {"grpcServerPort": self.grpc, "remotingListenPort": self.remoting}
        settings.write_text(json.dumps({"rocketMQClusterName": "DefaultCluster", "proxyMode": "LOCAL", **ports}))
        return "org.apache.rocketmq.proxy.ProxyStartup", "-pm", "LOCAL", "-n", self.name_server, "-bc", configuration, "-pc", settings


def grpc(recipe: Recipe, home: Path, target: Path) -> Answers:
    """Messages of all types, sent and received by gRPC."""
    java, client = Java(recipe.version, "proxy"), Java(CLIENT, "grpc")
    with name_server(java, home) as address:
        broker = Proxied(java, home, address, recipe.settings)
        with brokers(broker):
            broker.start()
            broker.traffic("typed")
            lines = answers(client.run("Grpc", f"127.0.0.1:{broker.grpc}", home=home))
            broker.stop()
            keep(broker.store, target)
    return lines
