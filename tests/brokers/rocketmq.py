"""RocketMQ's own programs and classes, from Maven Central: run, compiled against, started and stopped.

Nothing of it is part of the product. A broker lives in a temporary home on free loopback ports, has small files, and
never outlives the test that started it. A name server may outlive it, but not the tests.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ports import free_port
from remoting import is_ready

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "rocketmq"
VERSIONS = ("4.9.7", "5.5.0")
READY_WITHIN = 120.0
# RocketMQ unmaps its files through classes that Java 17 hides. Without these options 4.9.7 does not delete `abort`.
_OPENED = ("java.nio", "sun.nio.ch", "jdk.internal.ref", "java.lang", "java.util", "jdk.internal.misc", "jdk.internal.access")
# Half the processor time of a program that ends after a few seconds: no second compiler, no threads that collect, classes not verified.
_SHORT_LIVED = (
    "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote",
)  # fmt: skip
# 4.9.7 refuses to start without these files.
_LOGBACK = """<configuration>
<appender name="F" class="ch.qos.logback.core.FileAppender"><file>{log}</file>
<encoder><pattern>%d %p %c{{0}} %m%n</pattern></encoder></appender>
<root level="INFO"><appender-ref ref="F"/></root></configuration>"""
SMALL_FILES = {
    "mappedFileSizeCommitLog": 256 << 10, "mappedFileSizeConsumeQueue": 600, "mapperFileSizeBatchConsumeQueue": 460,
    "maxHashSlotNum": 200, "maxIndexNum": 800, "maxMessageSize": 128 << 10,
}  # fmt: skip
QUICK = {
    "brokerClusterName": "DefaultCluster", "brokerName": "broker-a", "brokerId": 0, "brokerRole": "ASYNC_MASTER",
    "flushDiskType": "ASYNC_FLUSH", "brokerIP1": "127.0.0.1", "brokerIP2": "127.0.0.1", "diskMaxUsedSpaceRatio": 98,
    "autoCreateTopicEnable": "true", "traceTopicEnable": "true", "messageDelayLevel": "1s 2s 1s 1s 2s 3s 5s 1h 2h",
    "transactionTimeOut": 1500, "transactionCheckInterval": 2000, "transactionCheckMax": 3,
    "timerWheelEnable": "true", "recallMessageEnable": "true", "enableLmq": "true", "enableMultiDispatch": "true",
    "waitTimeMillsInSendQueue": 10_000, "transactionMetricFlushInterval": 100, "timerFlushIntervalMs": 10_000,
    "transactionOpBatchInterval": 3_600_000, "transactionOpMsgMaxSize": 1,
}  # fmt: skip
"""By default, a message that waits for 200 ms, as on a busy machine, is refused: "broker busy". And three threads of 5.5.0 keep cores
busy: one writes metrics of transactions in the first three seconds, its interval; one compares the whole timer wheel each second; one
collects the ends of transactions for three seconds (OP_BATCHES), and after that never sleeps again. Here it writes each end at once."""
OP_BATCHES = {"transactionOpBatchInterval": 3_000, "transactionOpMsgMaxSize": 4_096}


_PROGRAMS = {pom: ("Json.java", f"{pom}/*.java") for pom in ("grpc", "starts")}
"""Which of our programs are compiled against these poms. Against others: those in no folder, and in that of the version."""


def missing() -> str | None:
    """What must be installed before this can run; None if nothing is missing."""
    lacks = [name for name in ("java", "javac", "mvn") if shutil.which(name) is None]
    if not lacks:
        return None
    return (
        f"tests with a real broker need a JDK 17 and Maven (missing: {', '.join(lacks)}). Debian, Ubuntu: apt install openjdk-17-jdk maven"
    )


class Unreachable(Exception):
    """Maven is installed, but cannot reach its repository."""


class Java:
    """One version of RocketMQ: the jars of one pom, and our small programs compiled against them, once per machine."""

    def __init__(self, version: str, pom: str = "pom") -> None:
        self.version = version
        self._clients: list[Clients] = []
        self._pom = HERE / f"{pom}.xml"
        self._programs = _PROGRAMS.get(pom, ("*.java", f"v{version[0]}/*.java"))
        self._folder = BUILD / version / pom
        self._folder.mkdir(parents=True, exist_ok=True)
        with (BUILD / "lock").open("w") as lock:  # Maven and the compiler, of one worker at a time
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.classpath = f"{self._compiled()}:{self._jars()}"

    def _jars(self) -> str:
        listed = self._folder / f"classpath-{hashlib.sha256(self._pom.read_bytes()).hexdigest()[:12]}"
        if not listed.exists() or not all(Path(jar).exists() for jar in listed.read_text().split(":")):
            resolve = ["mvn", "-q", "-B", "-f", str(self._pom), f"-Drocketmq.version={self.version}", "dependency:build-classpath"]
            resolve += [f"-Dmdep.outputFile={listed}"]
            resolved = subprocess.run(resolve, check=False, timeout=600, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if resolved.returncode:
                raise Unreachable(f"Maven cannot get RocketMQ {self.version}: {resolved.stdout.strip()[:500]}")
        return listed.read_text()

    def _compiled(self) -> Path:
        sources = sorted(path for pattern in self._programs for path in (HERE / "java").glob(pattern))
        said = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
        classes = self._folder / f"classes-{said}"
        if not classes.exists():
            half = self._folder / f"half-{os.getpid()}"
            command = ["javac", "-nowarn", "-proc:none", "-encoding", "UTF-8", "-d", str(half), "-cp", self._jars(), *map(str, sources)]
            ended = subprocess.run(command, check=False, timeout=300, capture_output=True, text=True)
            assert ended.returncode == 0, ended.stderr
            half.rename(classes)
        return classes

    def command(self, main: str, *arguments: object, home: Path, memory: str = "512m", options: Sequence[str] = _SHORT_LIVED) -> list[str]:
        opened = [word for package in _OPENED for word in ("--add-opens", f"java.base/{package}=ALL-UNNAMED")]
        exported = ["--add-exports", "java.base/jdk.internal.ref=ALL-UNNAMED", "--add-exports", "java.base/sun.nio.ch=ALL-UNNAMED"]
        settings = [f"-Duser.home={home}", f"-Drocketmq.home.dir={home}", f"-Drocketmq.client.logRoot={home}/log", "-Duser.timezone=UTC"]
        # Client ids of 32 digits also where the machine has IPv6; and a retry topic is pulled at once, not after 20 s.
        settings += ["-Djava.net.preferIPv4Stack=true", "-Drocketmq.client.rebalance.waitInterval=1500", "-Dfile.encoding=UTF-8"]
        limits = ["-Xms64m", f"-Xmx{memory}", "-XX:MaxDirectMemorySize=1g", *options]
        return ["java", *limits, *settings, *opened, *exported, "-cp", self.classpath, main, *map(str, arguments)]

    def run(self, main: str, *arguments: object, home: Path, timeout: float = 180) -> list[dict[str, Any]]:
        """Run one of our programs to its end. It prints one JSON object per line."""
        home.mkdir(parents=True, exist_ok=True)
        command = self.command(main, *arguments, home=home)
        ended = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=timeout, check=False)
        assert ended.returncode == 0, f"{main} ended with {ended.returncode}\n{ended.stdout[-2000:]}\n{ended.stderr[-4000:]}"
        return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]

    def clients(self, *arguments: object, timeout: float = 180) -> list[dict[str, Any]]:
        """Run Traffic in a Java that stays, and whose clients end each time: to start one takes a second of the processor."""
        clients = self._clients.pop() if self._clients else Clients(self)
        try:
            lines = clients.act(arguments, time.monotonic() + timeout)
        except BaseException:
            clients.end()
            raise
        self._clients.append(clients)
        return lines

    def start(self, main: str, *arguments: object, home: Path, log: str, memory: str = "512m") -> subprocess.Popen[bytes]:
        """Start one of our programs or RocketMQ's, in its own process group, with its output in a file."""
        home.mkdir(parents=True, exist_ok=True)
        with (home / log).open("ab") as said:
            return subprocess.Popen(
                self.command(main, *arguments, home=home, memory=memory),
                cwd=home,
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )


class Clients:
    """A Java that runs Traffic, or another program, again and again. It ends with this process, whose end closes its input."""

    def __init__(self, java: Java, program: str = "Clients") -> None:
        self._home = Path(tempfile.mkdtemp(prefix="rocketmq-clients-"))
        atexit.register(self.end)
        furnish(self._home)
        command = java.command(program, home=self._home)
        with (self._home / "err").open("wb") as errors:
            self._process = subprocess.Popen(command, cwd=self._home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)

    def act(self, arguments: Sequence[object], until: float) -> list[dict[str, Any]]:
        """What it prints: one JSON object per line."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(map(str, arguments)).encode() + b"\n")
        self._process.stdin.flush()
        told = b""
        while not told.endswith((b"done\n", b"failed\n")):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"{arguments} takes too long\n{told[-2000:].decode()}\n{self._errors()}"
            told += (some := os.read(self._process.stdout.fileno(), 1 << 16))
            assert some, f"{arguments} ended its Java\n{told[-2000:].decode()}\n{self._errors()}"
        assert told.endswith(b"done\n"), f"{arguments} failed\n{told[-4000:].decode()}\n{self._errors()}"
        return [json.loads(line) for line in told.decode().splitlines() if line.startswith("{")]

    def _errors(self) -> str:
        return (self._home / "err").read_text(errors="replace")[-4000:]

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
        shutil.rmtree(self._home, ignore_errors=True)


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), contextlib.closing(socket.create_connection(("127.0.0.1", port), 0.5)):
        return True
    return False


def ended(process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM, patience: float = 40) -> int:
    """Stop a process and its children. 143 is a clean end after SIGTERM."""
    if process.poll() is None:
        process.send_signal(how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        process.stdin.close()
    return process.wait()


@dataclass
class Broker:
    """A broker, running or stopped. `store` is its storage directory."""

    java: Java
    home: Path
    name_server: str
    settings: Mapping[str, object]
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    ready_after: float = 0.0

    @property
    def store(self) -> Path:
        return Path(str(self.settings.get("storePathRootDir", self.home / "store")))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it accepts commands and is registered with the name server."""
        begun = time.monotonic()
        self.launch()
        assert self.process is not None
        elected = "controllerAddr" in self.settings  # it registers as soon as it is a master, and takes no messages before
        await_all(lambda: is_ready(self.name_server, self.address, registers_again=not elected), self.process, self.home / "broker.out")
        self.ready_after = time.monotonic() - begun

    def launch(self) -> None:
        """Start it, and wait until it listens: a slave accepts no commands."""
        main, *arguments = self.program(self._configured())
        self.process = self.java.start(str(main), *arguments, home=self.home, log="broker.out")
        await_all(lambda: all(map(listens, self.ports)), self.process, self.home / "broker.out")

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports it listens on after its start."""
        return (self.port,)

    def program(self, configuration: Path) -> tuple[object, ...]:
        """The RocketMQ class to start, and its arguments."""
        return "org.apache.rocketmq.broker.BrokerStartup", "-c", configuration, "-n", self.name_server

    def _configured(self) -> Path:
        places = {
            "storePathRootDir": self.store,
            "storePathCommitLog": self.store / "commitlog",
            "listenPort": self.port,
            "haListenPort": free_port(),
        }
        settings = QUICK | SMALL_FILES | places | dict(self.settings)
        configuration = self.home / "broker.conf"
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        configuration.write_text(lines.replace("{store}", str(self.store)).replace("{free}", str(free_port())))
        return configuration

    def stop(self) -> int:
        """Stop it as an operator would."""
        assert self.process is not None
        return ended(self.process)

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            ended(self.process, signal.SIGKILL)

    def traffic(self, what: str, *arguments: object, seed: int = 1) -> list[dict[str, Any]]:
        """What clients do with this broker, and what it answers."""
        return self.java.clients(what, self.name_server, self.address, seed, *arguments)

    def traffic_once(self, what: str, *arguments: object, seed: int = 1) -> list[dict[str, Any]]:
        """The same by a program that then ends, without a word to the broker."""
        return self.java.run("Traffic", what, self.name_server, self.address, seed, *arguments, home=self.home)


def await_all(done: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    patience = time.monotonic() + READY_WITHIN
    while not done():
        said = log.read_text(errors="replace")[-3000:] if log.exists() else ""
        assert process.poll() is None, f"it ended with {process.returncode}: {said}"
        assert time.monotonic() < patience, f"not ready within {READY_WITHIN:.0f} s: {said}"
        time.sleep(0.05)


@contextlib.contextmanager
def name_server(java: Java, home: Path, **settings: object) -> Iterator[str]:
    """The address of a name server. One with settings is stopped afterwards.

    The others are lent to one test after the other, until the process ends: to start one takes two seconds of the processor, and it
    forgets a broker that ended. After a test that failed, it is not lent again.
    """
    if settings:
        process, address = _name_server(java, home, settings)
        try:
            yield address
        finally:
            ended(process, signal.SIGKILL)
    else:
        free = _NAME_SERVERS.setdefault(java.version, [])
        address = free.pop() if free else _lasting_name_server(java)
        yield address
        free.append(address)


_NAME_SERVERS: dict[str, list[str]] = {}
"""Addresses of those that no test has now, by version."""


def _lasting_name_server(java: Java) -> str:
    home = Path(tempfile.mkdtemp(prefix="rocketmq-"))
    process, address = _name_server(java, home, {})

    def stop() -> None:
        ended(process, signal.SIGKILL)
        shutil.rmtree(home, ignore_errors=True)

    atexit.register(stop)
    return address


def _name_server(java: Java, home: Path, settings: Mapping[str, object]) -> tuple[subprocess.Popen[bytes], str]:
    """A name server that listens, and its address."""
    furnish(home)
    port = free_port()
    options = {"listenPort": port, "kvConfigPath": home / "kv.json", **settings}
    (home / "namesrv.conf").write_text("".join(f"{name}={value}\n" for name, value in options.items()))
    main = "org.apache.rocketmq.namesrv.NamesrvStartup"
    process = java.start(main, "-c", home / "namesrv.conf", home=home, log="namesrv.out", memory="256m")
    try:
        await_all(lambda: listens(port), process, home / "namesrv.out")
    except BaseException:
        ended(process, signal.SIGKILL)
        raise
    return process, f"127.0.0.1:{port}"


@contextlib.contextmanager
def brokers(*some: Broker) -> Iterator[None]:
    """Home directories for brokers. All are stopped afterwards, whatever happens."""
    for broker in some:
        furnish(broker.home)
    try:
        yield
    finally:
        for broker in some:
            broker.kill()


def furnish(home: Path) -> None:
    """Create the files that RocketMQ's programs expect in their home."""
    (home / "conf").mkdir(parents=True, exist_ok=True)
    for name in ("namesrv", "broker", "tools"):
        (home / "conf" / f"logback_{name}.xml").write_text(_LOGBACK.format(log=home / f"{name}.log"))


@contextlib.contextmanager
def running(java: Java, home: Path, **settings: object) -> Iterator[Broker]:
    """A broker and its name server. The broker is stopped afterwards, whatever happens."""
    with name_server(java, home) as address:
        broker = Broker(java, home, address, settings)
        with brokers(broker):
            broker.start()
            yield broker
