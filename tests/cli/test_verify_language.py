"""What the check finds, in Chinese: every code has a meaning and an advice, and the table keeps English."""

from __future__ import annotations

import json
import re
from pathlib import Path

from support.command_line import run, run_on_terminal
from support.sentences import names_by_kind, not_translated

import native_reader as nr
from native_reader.broker.config_files import PROBLEMS
from native_reader.plan.lost import BACK, WHAT, WHY
from native_reader.records.damages import SENTENCES as DAMAGE
from native_reader.text import Said
from native_reader.verification import SENTENCES
from native_reader.verify import words
from native_reader.verify.codes import CODES as ENGLISH
from native_reader.verify.codes import SEVERITIES
from rmqstore.chinese import findings as chinese
from rmqstore.chinese.found import CHINESE as FOUND


def test_every_code_is_there_in_chinese_with_the_same_options() -> None:
    assert chinese.SEVERITIES.keys() == SEVERITIES.keys()
    assert list(chinese.CODES) == list(ENGLISH)
    for texts in ("meaning", "advice"):
        by_code = {code: getattr(each, texts) for code, each in chinese.CODES.items()}
        assert names_by_kind(by_code) == names_by_kind({code: getattr(each, texts) for code, each in ENGLISH.items()})
        assert not_translated(by_code) == set()
        assert {code for code, text in by_code.items() if re.search("[\u4e00-\u9fff] ?[;,:]|。", text)} == set()


def test_the_summary_is_there_in_chinese_with_the_same_numbers() -> None:
    assert names_by_kind(chinese.CHINESE) == names_by_kind(SENTENCES)
    assert not_translated(chinese.CHINESE) == set()


def test_what_was_found_is_there_in_chinese_with_the_same_numbers() -> None:
    assert names_by_kind(FOUND) == names_by_kind(words.ENGLISH)
    assert not_translated({kind: FOUND[kind] for kind in words.OWN}) == set()
    assert {kind for kind, text in FOUND.items() if re.search("[\u4e00-\u9fff)}] ?[;,]|。 |[\u4e00-\u9fff]: ", text)} == set()
    parts = (PROBLEMS, BACK, WHAT, WHY, DAMAGE, words.OWN)
    assert len(words.ENGLISH) == sum(map(len, parts)) + len(["missing", "text", "sentences"])  # no kind has two meanings


def test_the_details_of_a_finding_say_what_its_message_says(damaged: Path) -> None:
    rows = nr.open(damaged).verify().to_table().to_pylist()
    said = [Said.from_json(row["details"]) for row in rows]
    assert [each.text(words.ENGLISH) for each in said] == [row["message"] for row in rows]
    assert not_translated({row["message"]: each.text(FOUND) for row, each in zip(rows, said, strict=True)}) == set()
    details = next(json.loads(row["details"]) for row in rows if row["code"] == "log-damage")
    assert (details["kind"], details["what"]["kind"]) == ("without a record", "lengths")
    assert type(details["bytes"]) is int


def test_a_finding_in_chinese_has_its_meaning_and_its_advice(damaged: Path) -> None:
    (finding, *_) = [row for row in nr.open(damaged).verify().to_table().to_pylist() if row["code"] == "log-damage"]
    ended = run_on_terminal("verify", damaged, "--lang", "zh", "--option", "max_hash_slot_num=100")
    assert ended.code == 1
    lines = ended.out.replace("\r", "").split("\n")
    heading = next(number for number, line in enumerate(lines) if "log-damage" in line)
    assert f"错误     log-damage  {finding['file']} 偏移量 {finding['offset']:,}" in lines[heading]
    meaning, found, advice = lines[heading + 1 : heading + 4]
    assert (meaning.strip(), found.strip()) == ("日志中不是记录的字节", Said.from_json(finding["details"]).text(FOUND))
    assert finding["message"] not in ended.out
    assert advice.strip() == "→ 用从节点或备份中的数据恢复该区间；rmqstore 会继续读取其余部分，mode=DROPMALFORMED 也一样"
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
    assert "<bdi>日志中不是记录的字节</bdi>" in text
    assert "<bdi>用从节点或备份中的数据恢复该区间；" in text
