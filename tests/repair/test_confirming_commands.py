"""The commands at the end of a page can be pasted, and confirm what the page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest
from support.command_line import run
from support.golden import unpack
from support.own_stores import STORES
from support.store_damages import wrong_magic

from native_reader.text import quoted, with_paths

ODD = "a b \"c' 订单 $HOME `x`"
OPTIONS = {
    "clusterList": "n",
    "brokerStatus": "nc",
    "topicStatus": "nt",
    "consumerProgress": "ng",
    "queryMsgByOffset": "ntiob",
}
"""Of mqadmin 4.9.7 and 5.x: the letters that our commands use."""


def commands(page: str) -> list[list[str]]:
    """The words of each command of a page, as bash takes them."""
    (text,) = re.findall(r"## (?:Commands to confirm this|用于核对的命令)\n(.*)", page, re.DOTALL)
    lines = "".join(re.findall(r"```bash\n(.*?)```", text, re.DOTALL))
    show = """rmqstore() { printf '%s\\0' rmqstore "$@"; printf '\\n\\0'; }; sh() { printf '%s\\0' "$@"; printf '\\n\\0'; }"""
    out = subprocess.run(["bash", "-eu", "-c", f"{show}\n{lines}"], capture_output=True, check=True).stdout
    return [each.split("\0")[:-1] for each in os.fsdecode(out).split("\n\0")[:-1]]


def add_group(config: Path) -> None:
    """A group with an offset, and its retry topic."""
    topics = json.loads((config / "topics.json").read_text())
    topics["topicConfigTable"]["%RETRY%CG"] = topics["topicConfigTable"]["Plain"] | {"topicName": "%RETRY%CG"}
    for name, content in (("topics", topics), ("consumerOffset", {"offsetTable": {"Plain@CG": {"0": 1}}})):
        (config / f"{name}.json").write_text(json.dumps(content))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", ["repair", "extract", "rescue"])
def test_the_commands_of_a_page_can_be_pasted(tmp_path: Path, name: str, language: str) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    add_group(store / "config")
    here = tmp_path / ODD
    here.mkdir()
    shutil.move(store, here / "store")
    wrong_magic(here / "store", Random(1))
    options = ("--topic", "Plain") if name == "extract" else ()
    ended = run(name, here / "store", here / "new", *options, "--lang", language)
    assert ended.code == 1, ended.err
    assert "file://" not in ended.err
    page = (here / "new" / f"{name}.md").read_text(encoding="utf-8")
    assert "file://" not in page
    found = commands(page)
    ours = [words[1:] for words in found if words[0] == "rmqstore"]
    assert [words[0] for words in ours] == {
        "repair": ["doctor", "verify", "stat", "tables", "lag"],
        "extract": ["doctor", "verify", "stat", "tables", "lag"],
        "rescue": ["verify", "lag", "lost", "repair"],
    }[name]
    for words in ours:
        assert words[1] == str(here / ("store" if name == "rescue" else "new"))
        if words[0] != "lost":  # it needs the file with the keys
            assert run(*words).code in ((0,) if name != "rescue" else (1,)), words
    theirs = [words for words in found if words[0] == "bin/mqadmin"]
    for words in theirs:
        letters = "".join(word[1] for word in words[2:] if re.fullmatch("-[a-z]", word))
        assert sorted(letters) == sorted(OPTIONS[words[1]])
    of_new = ["clusterList", "brokerStatus", "topicStatus", "consumerProgress", "queryMsgByOffset"]
    if name == "extract":  # it has no retry topics, by which mqadmin finds a group
        of_new.remove("consumerProgress")
    assert list(dict.fromkeys(words[1] for words in theirs)) == (of_new if name != "rescue" else ["queryMsgByOffset"])
    assert ("consumerProgress" in page) == (name == "repair")


def test_the_message_that_mqadmin_asks_for_is_in_the_new_store(tmp_path: Path) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    wrong_magic(store, Random(1))
    run("repair", store, tmp_path / "new")
    found = commands((tmp_path / "new" / "repair.md").read_text(encoding="utf-8"))
    (words,) = (words for words in found if "queryMsgByOffset" in words)
    asked = dict(zip(words[2::2], words[3::2], strict=True))
    place = f"{asked['-t']}/{asked['-i']}/{asked['-o']}"
    ended = run("find", tmp_path / "new", "--offset", place, "--json")
    assert (ended.code, '"tags":"RMQSTORE_LOST"' in ended.out.replace(" ", "")) == (0, False)


@pytest.mark.parametrize("word", ["plain", "a b", "it's", "订单", "a\nrm -rf /", "\x1b[31m'\\", os.fsdecode(b"\xff\xe9"), "$HOME", "`x`"])
def test_a_shell_reads_the_word_that_was_written(word: str) -> None:
    written = quoted(word)
    assert written.isprintable()
    assert os.fsdecode(subprocess.run(["bash", "-c", f"printf %s {written}"], capture_output=True, check=True).stdout) == word


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("file:///a%20b/%E8%AE%A2 is", "/a b/订 is"),
        ("tar+file:///a%20b.tar/store", "tar+file:///a%20b.tar/store"),
        ("at file:///a: and file:///b.", "at /a: and /b."),
        ("s3://a/b%20", "s3://a/b%20"),
    ],
)
def test_people_read_paths(text: str, shown: str) -> None:
    assert with_paths(text) == shown
