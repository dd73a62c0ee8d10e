"""`rmqstore doctor` in Chinese: the same numbers and paths as in English."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import run
from support.golden import Golden

import native_reader as nr


def test_doctor_in_chinese_has_the_numbers_and_paths_of_the_english_one(damaged: Path) -> None:
    first, second, *_ = sorted((damaged / "commitlog").iterdir())
    first.write_bytes(bytes(40) + first.read_bytes()[40:])
    second.unlink()
    (damaged / "config" / "topics.json").write_text("{")
    (damaged / "abort").touch()
    english, chinese = (run("doctor", damaged, "--lang", language) for language in ("en", "zh_CN"))
    assert english.code == chinese.code == 1
    assert len(english.out.splitlines()) == len(chinese.out.splitlines())
    for line in (
        "版本       未知：未发现 4.9.2 之后版本的特征",
        "状态       本机没有 broker 正在使用",
        "提示       存在 abort 文件：",
        "后续命令   rmqstore rescue ",
    ):
        assert line in chinese.out
    assert re.search(r"^问题 .*/commitlog/0{20}：跳过偏移量 [\d,]+ 处的 [\d,]+ 字节损坏数据：全零$", chinese.out, re.MULTILINE)
    numbers = [sorted(re.findall(r"[\d,]*\d", ended.out.replace(str(damaged), ""))) for ended in (english, chinese)]
    assert numbers[0] == numbers[1]


def test_options_have_their_flags_in_chinese(store: Path) -> None:
    index = next((store / "index").iterdir())
    index.write_bytes(index.read_bytes() + b"\0")
    assert "1 个索引文件无法查询：请按 broker 的配置设置 --option max_hash_slot_num" in run("doctor", store, "--lang", "zh").out


def test_what_is_wrong_with_queues_and_index_is_in_chinese(store: Path) -> None:
    """A queue lacks entries between two files, and a header of the index has no entries."""
    queue = next((store / "consumequeue" / "T0").iterdir())
    first = next(queue.iterdir())
    size = first.stat().st_size
    (queue / f"{2 * size:020}").write_bytes(first.read_bytes())
    index = next((store / "index").iterdir())
    index.write_bytes(bytes(40) + index.read_bytes()[40:])
    ended = run("doctor", store, "--lang", "zh")
    assert f"问题       T0：没有文件包含第 {size // 20:,} 至 {2 * size // 20 - 1:,} 个条目" in ended.out
    assert re.search("^问题 .*/index/[0-9]+：文件为空$", ended.out, re.MULTILINE)
    english = run("doctor", store).out
    assert f"finding    T0: no file contains entries {size // 20:,} to {2 * size // 20 - 1:,}" in english


def test_json_is_in_english_in_every_language(damaged: Path) -> None:
    english, chinese = (run("doctor", damaged, "--json", "--lang", language) for language in ("en", "zh"))
    assert english == chinese


def test_the_locale_decides_the_language_of_doctor(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert run("doctor", store).out.startswith("store      ")


def test_databases_are_named_in_both_languages(own_store: Callable[[str], Golden]) -> None:
    root = own_store("5.5.0-rocksdb-all").root
    diagnosis = nr.open(root).diagnose()
    held = {each["holds"] for each in diagnosis.facts["rocksdb"]["databases"]}
    assert {"consume queues", "topics, groups and consumer offsets"} <= held
    line = next(line for line in run("doctor", root, "--lang", "zh").out.splitlines() if line.startswith("RocksDB"))
    assert "：消费队列；" in line
    assert "：topic、消费组和消费位点" in line


def test_why_a_store_is_not_repaired_was_said_in_english(damaged: Path) -> None:
    (damaged / "epochFileCheckpoint").write_text("")
    lines = [line for line in run("doctor", damaged, "--lang", "zh").out.splitlines() if line.startswith("修复 ")]
    assert len(lines) == 1
    assert re.search("[\u4e00-\u9fff]{4}", lines[0].removeprefix("修复"))


def test_consumer_offsets_that_are_gone_were_not_mentioned(store: Path) -> None:
    assert "has no consumerOffset.json" not in run("doctor", store).out
    for path in (store / "config").glob("*onsumerOffset.json*"):
        path.unlink()
    assert "has no consumerOffset.json" in run("doctor", store).out
