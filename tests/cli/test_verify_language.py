"""What the check finds, in Chinese: with its meaning and its advice, and the table keeps English."""

from __future__ import annotations

import json
import re
from pathlib import Path

from support.command_line import run, run_on_terminal

import native_reader as nr
from native_reader.sentences import CHINESE, Said


def test_the_details_of_a_finding_say_what_its_message_says(damaged: Path) -> None:
    rows = nr.open(damaged).verify().to_table().to_pylist()
    said = [Said.from_json(row["details"]) for row in rows]
    assert [each.text() for each in said] == [row["message"] for row in rows]
    assert all(re.search("[\u4e00-\u9fff]", each.text(CHINESE)) for each in said)
    details = next(json.loads(row["details"]) for row in rows if row["code"] == "log-damage")
    assert (details["kind"], details["what"]["kind"]) == ("without a record", "lengths")
    assert type(details["bytes"]) is int


def test_a_finding_in_chinese_has_its_meaning_and_its_advice(damaged: Path) -> None:
    (finding, *_) = [row for row in nr.open(damaged).verify().to_table().to_pylist() if row["code"] == "log-damage"]
    ended = run_on_terminal("verify", damaged, "--lang", "zh", "--option", "max_hash_slot_num=100")
    assert ended.code == 1
    lines = ended.out.replace("\r", "").split("\n")
    heading = next(number for number, line in enumerate(lines) if "log-damage" in line)
    assert f"错误     log-damage  {finding['file'].removeprefix('file://')} 偏移量 {finding['offset']:,}" in lines[heading]
    meaning, found, advice = lines[heading + 1 : heading + 4]
    assert (meaning.strip(), found.strip()) == ("commitlog 中有无法识别为记录的字节", Said.from_json(finding["details"]).text(CHINESE))
    assert finding["message"] not in ended.out
    assert advice.strip() == "→ 用从节点或备份中的数据补上这一区间；rmqstore 会继续读取其余部分，mode=DROPMALFORMED 也一样"
    assert re.search("[0-9]+ 个错误.*；共检查 [0-9]+ 个 commitlog 文件，", lines[-2])
    assert "--option access=scan" in ended.out


def test_the_table_of_findings_is_in_english_in_every_language(damaged: Path) -> None:
    english, chinese = (run("verify", damaged, "--json", "--lang", language) for language in ("en", "zh"))
    assert (english.code, english.out) == (chinese.code, chinese.out)


def test_a_page_in_chinese_has_the_findings_in_chinese(damaged: Path) -> None:
    page = damaged.parent / "page.html"
    assert run("report", damaged, "-o", page, "--verify", "--lang", "zh").code == 1
    text = page.read_text(encoding="utf-8")
    assert "<div>错误</div><div>log-damage</div>" in text
    assert "<bdi>commitlog 中有无法识别为记录的字节</bdi>" in text
    assert "<bdi>用从节点或备份中的数据补上这一区间；" in text
