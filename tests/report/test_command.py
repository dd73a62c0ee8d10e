"""`rmqstore report`: its options, its file and its exit codes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support.command_line import Ran, run
from support.golden import Golden
from support.stores import files_of, log_of, message, on_disk
from support.verified import healthy

import native_reader as nr
from native_reader.storage.usage import Usage, disk_of
from native_reader.text import size_of
from rmqstore import disk
from rmqstore.cli.report import report
from rmqstore.report.page import page_of

NOW = "2027-01-15 08:00:00Z"
DOCS = Path(__file__).parents[2] / "docs" / "report.md"


def made(tmp_path: Path, *options: str, damaged: bool = False) -> tuple[Ran, Path]:
    """Run it on a store; returns the path of its page, too."""
    files: Mapping[str, bytes] = files_of(log_of(map(message, range(60))))
    if damaged:
        files = {path: content[:300] + bytes(100) + content[400:] for path, content in files.items()}
    store, output = on_disk(tmp_path, files) / "store", tmp_path / "page.html"
    return run("report", store, "-o", output, "--now", NOW, *options), output


def test_the_file_is_the_page(tmp_path: Path) -> None:
    ended, output = made(tmp_path, "--disk-free", "10g", "--lang", "en")
    assert (ended.code, ended.out) == (0, "")
    page, fills = ended.err.splitlines()
    assert page == f"{output}: {output.stat().st_size:,} bytes"
    assert fills.endswith("; largest topics: T1 (33.3 % of the records), T2 (33.3 %), T0 (33.3 %)")
    assert re.match(r"on disk [\d.]+ KiB: log [\d.]+ KiB, consume queues 0 bytes, index 0 bytes, other [\d.]+ ", fills)
    assert "its disk" not in fills
    facts = nr.open(tmp_path / "store").report(now=1_800_000_000_000, disk_free=10 << 30)
    assert output.read_text(encoding="utf-8") == page_of(facts, "en")


def test_the_terminal_is_in_the_language_of_the_page(tmp_path: Path) -> None:
    """The page was Chinese, and the lines on the terminal were English."""
    ended, output = made(tmp_path, "--disk-free", "10g", "--lang", "zh_CN")
    page, fills = ended.err.splitlines()
    assert page == f"{output}：{output.stat().st_size:,} 字节"
    assert fills.endswith("；最大的 topic：T1（占记录的 33.3%），T2（33.3%），T0（33.3%）")
    assert re.match(r"占用磁盘 [\d.]+ KiB：commitlog [\d.]+ KiB，消费队列 0 字节，索引 0 字节，其他 [\d.]+ ", fills)
    facts = nr.open(tmp_path / "store").report(now=1_800_000_000_000, disk_free=10 << 30)
    assert output.read_text(encoding="utf-8") == page_of(facts, "zh")


def test_a_size_that_is_not_known_is_said(tmp_path: Path) -> None:
    said = disk.said_of_usage(Usage(4096, None, None, 0), None)
    assert said.text() == "on disk at least 4.0 KiB: log 4.0 KiB, other 0 bytes, not counted: consume queues and index"
    assert said.text("zh") == "占用磁盘至少 4.0 KiB：commitlog 4.0 KiB，其他 0 字节；未计入：消费队列和索引"
    assert disk.said_of_usage(Usage(None, None, None, None), None).text() == "how much it takes on disk is not known"


def test_the_page_is_not_written_into_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path)
    monkeypatch.chdir(tmp_path / "store")
    ended = run("report", ".", "--now", NOW)
    assert (ended.code, ended.out) == (2, "")
    assert "report.html is inside the store" in ended.err
    assert not (tmp_path / "store" / "report.html").exists()


def test_a_file_that_cannot_be_written_is_an_error_before_the_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path)
    monkeypatch.setattr("native_reader.facts.gather.gather", None)
    ended = run("report", tmp_path / "store", "-o", tmp_path / "nowhere" / "page.html")
    assert (ended.code, ended.out) == (3, "")  # it was 2, which is for wrong arguments
    assert f"cannot write there: the folder {tmp_path / 'nowhere'} does not exist. Make it first" in " ".join(ended.err.split())
    (tmp_path / "file").touch()
    ended = run("report", tmp_path / "store", "-o", tmp_path / "file" / "page.html")
    assert ended.code == 3
    assert "cannot write there: Not a directory" in ended.err
    ended = run("report", tmp_path / "store", "-o", "/proc/page.html")  # it said that /proc does not exist
    assert ended.code == 3
    assert "/proc/page.html: cannot write there: No such file or directory" in ended.err


def test_the_disk_is_that_of_the_store_unless_its_free_space_is_given(tmp_path: Path) -> None:
    ended, output = made(tmp_path)
    disk = disk_of(nr.open(tmp_path / "store").stores)
    assert disk is not None
    assert f"its disk has {size_of(disk.size)}, " in ended.err
    assert f"Its disk has {size_of(disk.size)}: " in output.read_text(encoding="utf-8")
    _, output = made(tmp_path, "--disk-free", "10g")
    assert "10.0 GiB are free on its disk." in output.read_text(encoding="utf-8")
    assert "Its disk has" not in output.read_text(encoding="utf-8")


def test_a_deleted_topic_is_named(tmp_path: Path) -> None:
    store = on_disk(tmp_path, healthy()[1]) / "store"
    shutil.rmtree(store / "consumequeue" / "T1")
    (store / "config" / "topics.json").unlink()
    ended = run("report", store, "-o", tmp_path / "page.html", "--now", NOW, "--json")
    assert ended.err.splitlines()[-1].startswith("1 deleted topic still has records: T1, 20 messages, ")
    assert ended.rows[0]["deleted_topics"] == 1


def test_the_retention_is_that_of_the_brokers_configuration(tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text(f"storePathRootDir={tmp_path / 'store'}\nfileReservedTime = 48\n")
    _, output = made(tmp_path, "--broker-conf", str(conf))
    assert "Last written more than 48 hours before this report (2027-01-15 08:00 UTC), the newest one aside: " in output.read_text(
        encoding="utf-8"
    )
    _, output = made(tmp_path, "--broker-conf", str(conf), "--file-reserved-time", "96")
    assert "Last written more than 96 hours before" in output.read_text(encoding="utf-8")
    ended = run("report", tmp_path / "store", "-o", output, "--file-reserved-time", "3 days")
    assert ended.code == 2
    assert ended.err.endswith("Invalid value for '--file-reserved-time': '3 days' is not a number from 0 to 9999999\n")
    conf.write_text(f"storePathRootDir={tmp_path / 'store'}\nfileReservedTime = soon\n")
    _, output = made(tmp_path, "--broker-conf", str(conf))
    assert "Last written more than 72 hours before" in output.read_text(encoding="utf-8")


def title_of(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    title, *_ = re.findall("<title>(.*?)</title>", text)  # the bars of the charts have others
    assert re.findall("<h1>(.*?)</h1>", text) == [title]
    return str(title)


def test_every_report_had_the_title_store(tmp_path: Path, own_store: Callable[[str], Golden]) -> None:
    for name in ("5.5.0-kinds", "4.9.7-kinds"):
        store, page = own_store(name).root, tmp_path / f"{name}.html"
        run("report", store, "-o", page, "--now", NOW)
        assert title_of(page) == "RocketMQ store report: broker-a, DefaultCluster, 127.0.0.1"
    conf = tmp_path / "broker.conf"
    conf.write_text(f"storePathRootDir={store}\nbrokerName=b-1\nbrokerClusterName=East\n")
    run("report", store, "-o", page, "--now", NOW, "--broker-conf", conf, "--lang", "zh")
    assert title_of(page) == "RocketMQ store 报告：b-1, East, 127.0.0.1"
    run("report", store, "-o", page, "--now", NOW, "--title", "Orders & <payments>, before the move")
    assert title_of(page) == "Orders &amp; &lt;payments&gt;, before the move"
    _, page = made(tmp_path)
    assert title_of(page).startswith("RocketMQ store report: store, ")


def test_json_has_the_numbers_of_the_page(tmp_path: Path) -> None:
    ended, output = made(tmp_path, "--json", "--verify", "--option", "max_record_bytes=1m", damaged=True)
    (found,) = ended.rows
    assert found["page"] == str(output)
    assert 0 < found["messages"] < 60
    assert found["damaged_ranges"] > 0
    assert found["damaged_bytes"] > 0
    assert found["errors"] > 0


def test_damage_gives_exit_code_1(tmp_path: Path) -> None:
    ended, output = made(tmp_path, damaged=True)
    assert ended.code == 1
    assert "damaged or missing" in output.read_text(encoding="utf-8")


WRONG = (
    ("--time-zone", "Nowhere"),
    ("--disk-free", "much"),
    ("--now", "soon"),
    ("--lang", "xx"),
    ("--jobs", "0"),
    ("--option", "topic=orders"),
)


@pytest.mark.parametrize(("option", "value"), WRONG)
def test_a_wrong_option_writes_no_page(tmp_path: Path, option: str, value: str) -> None:
    ended, output = made(tmp_path, option, value)
    assert ended.code == 2
    assert option in ended.err
    assert not output.exists()


def test_every_option_is_documented() -> None:
    cells = re.findall(r"^\| (`-.*?) \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    documented = {each.strip("`") for cell in cells for each in cell.split(", ")}
    names = {name for option in report.params for name in option.opts if name.startswith("-")}
    assert documented == names
