"""What stops a command, and what it warns of, in Chinese: damage, losses, files that cannot be written, options and conditions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command_line import run, run_on_terminal
from support.languages import HAN, in_english


def last_line(*words: object) -> tuple[int, str]:
    ended = run(*words, "--lang", "zh")
    assert in_english(ended.err) == []
    return ended.code, ended.err.splitlines()[-1]


def test_damage_stops_a_strict_read(damaged: Path) -> None:
    code, error = last_line("cat", damaged, "--strict")
    assert code == 1
    assert error.startswith(f"错误：{damaged}/commitlog/")
    assert "应为一条记录或文件末尾的填充，实际是" in error
    assert "去掉 --strict，可跳过损坏的字节" in error
    assert "只读取这个文件之前的部分：--option ending_physical_offset=" in error
    english = run("cat", damaged, "--strict", "--lang", "en").err.splitlines()[-1]
    assert "Omit --strict to skip the damaged bytes, log them and continue" in english


def test_a_missing_segment_stops_a_strict_read(store: Path) -> None:
    segments = sorted((store / "commitlog").iterdir())
    segments[1].unlink()
    code, error = last_line("cat", store, "--strict")
    assert code == 1
    assert error.endswith("设置 --option fail_on_data_loss=false 可读取其余部分")
    assert "有 commitlog 文件缺失，或被截短" in error


def test_an_export_that_cannot_be_written(store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    code, error = last_line("export", store, "-o", tmp_path / "file")
    assert (code, error) == (3, f"错误：无法创建目录 {tmp_path}/file：这是文件。请换一个目录")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_bytes(b"x")
    code, error = last_line("export", store, "-o", tmp_path / "full")
    assert (code, error) == (2, f"错误：{tmp_path}/full 不为空，其中没有可继续的导出。请换一个新目录或空目录")


def test_lists_are_as_chinese_has_them(store: Path) -> None:
    """They had English commas."""
    assert last_line("nothing")[1].startswith("错误：没有命令 nothing。全部命令：doctor、ls、stat、")
    assert last_line("find", store, "--offset", "T0/0/1", "-t", "T0", "-q", "0") == (2, "错误：--offset 已包含 -q、-t")
    assert "topic、topic_pattern、queue_id、" in last_line("cat", store, "--option", "bogus=1")[1]
    assert "messages、damage、" in last_line("tables", store, "bogus")[1]
    assert "全部列：topic、queue_id、" in last_line("cat", store, "-c", "bogus")[1]


def test_what_to_do_with_an_end_that_no_stream_has(store: Path, tmp_path: Path) -> None:
    """It was `Omit it`; and an export with a state was called a stream."""
    assert last_line("tail", store, "-f", "--until", "1h") == (2, "错误：流式读取没有终点，不支持 --until。请去掉这个选项")
    code, error = last_line("export", store, "-o", tmp_path / "out", "--state", tmp_path / "state.json", "--until", "1h")
    assert (code, error.partition("，不支持")[0]) == (2, "错误：带状态文件的导出会一次接一次地继续，没有终点")


def test_a_key_with_a_space(store: Path) -> None:
    """No message can have it: it is several keys, as consoles show them. Nothing was found, and nothing said why."""
    code, error = last_line("find", store, "--key", "ORDER-1 ORDER-2")
    assert (code, error[:40]) == (2, "错误：--key：没有消息的 key 是 'ORDER-1 ORDER-2'，因为 "[:40])


def test_a_file_that_is_not_there(store: Path, tmp_path: Path) -> None:
    """What the system says was in English only; and of a state, that its folder is missing was not said."""
    error = run("find", store, "--keys", tmp_path / "keys.txt", "--lang", "zh").err.splitlines()[-1]
    assert error == f"错误：--keys 的值不正确：{tmp_path}/keys.txt：文件或目录不存在（No such file or directory）"
    code, error = last_line("export", store, "-o", tmp_path / "out", "--state", tmp_path / "none" / "state.json")
    assert (code, error) == (3, f"错误：无法写入 {tmp_path}/none/state.json：目录 {tmp_path}/none 不存在。请先创建")
    code, error = last_line("export", store, "-o", tmp_path / "out", "--to", "csv", "--compression", "rar")
    assert (code, error) == (2, "错误：--to=csv 不能使用 --compression='rar'。可选值为 none、gzip、zstd")


def test_the_name_of_a_file_of_rows(store: Path) -> None:
    """The reason was in English."""
    assert last_line("sql", store, "SELECT 1", "-o", "rows.txt")[1].startswith(
        "错误：--output 的值不正确：rows.txt 的扩展名不是 .parquet、"
    )


OPTIONS = {
    ("--option", "mod=x"): "错误：没有选项 mod。是不是 mode？全部选项：",
    ("--option", "mode=x"): "错误：--option mode 的可选值为 ",
    ("--rate", "much"): "错误：--rate='much' 不是大小。例如：134217728、'128m'、'1g'",
    ("-b", "yesterday"): "错误：-b='yesterday' 不是时间。例如：",
    ("--since", "yesterday"): "错误：--since='yesterday' 不是时间。例如：",
    ("--since", "2026-01-31 12:00:00"): "错误：时间 --since='2026-01-31 12:00:00' 没有时区。请写成 '2026-01-31 12:00:00Z'（UTC）或 ",
    ("--columns", "bodi"): "错误：没有列 bodi。是不是 body？全部列：",
    ("--topic-pattern", "("): "错误：--topic-pattern='('：正则表达式不正确：缺少 )",
    ("--where", "queue_id = '12'"): "错误：where：queue_id 的类型为整数，却与文本比较。类型不会转换：请写成 12，位置在 ",
    ("--where", "topik = 'x'"): "错误：where：没有列 topik。是不是 topic？全部列：",
    ("--where", "topic ="): "错误：where：",
    ("--where", "topic = 'x';"): "错误：where：不应有分号（第 12 个字符）。请只写一个条件。支持 =、",
    ("--where", "topic RLIKE '(?=x)'"): "错误：where：RLIKE 不正确：'(?=' 需要回溯",
    ("--where", "kind = 'ded'"): "错误：where：没有 kind 'ded'。",
    ("--where", "topic = 'x'", "--time-zone", "Shanghai"): "错误：--time-zone='Shanghai' 不是时区。是不是 Asia/Shanghai？例如：UTC",
}


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_a_wrong_option_or_condition(store: Path, words: tuple[str, ...]) -> None:
    code, error = last_line("cat", store, *words)
    assert code == 2
    assert error.startswith(OPTIONS[words])


def test_warnings(store: Path) -> None:
    (store / "config").mkdir(exist_ok=True)
    (store / "config" / "topics.json").write_text("{", encoding="utf-8")
    ended = run("cat", store, "--topic", "T*", "--lang", "zh")
    assert in_english(ended.err) == []
    assert re.search(f"警告：.*{HAN}", ended.err)


def test_the_columns_of_a_table(store: Path) -> None:
    assert "队列编号" in run_on_terminal("tables", "queues", "--lang", "zh").out
    assert run("tables", "queues", "--lang", "zh").out == run("tables", "queues", "--lang", "en").out


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--topic", "T0"),
        ("--key", "K1"),
        ("--option", "access=trust", "--topic", "T0"),
        ("--topic", "T0,T1"),
        ("--columns", "topic,queue_offset", "--option", "access=trust"),
    ],
)
def test_the_plan_of_a_read(store: Path, words: tuple[str, ...]) -> None:
    chinese, english = (run("explain", store, *words, "--lang", language).out for language in ("zh", "en"))
    assert chinese.splitlines()[0].startswith("消息，条件：")
    assert in_english(chinese) == []
    assert len(chinese.splitlines()) == len(english.splitlines())
    assert [line for line in chinese.splitlines() if not re.search(HAN, line)] == []
    assert run("explain", store, *words, "--json", "--lang", "zh").out == run("explain", store, *words, "--json", "--lang", "en").out
