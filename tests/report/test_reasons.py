"""Damage and losses on a page in Chinese."""

from __future__ import annotations

from support.stores import in_memory
from support.verified import healthy

import native_reader as nr
from native_reader.plan.lost import LOST, Missing
from native_reader.records.damages import ANOMALIES, Damage
from native_reader.sentences import Said, say
from rmqstore.report.page import page_of

NOW = 1_800_000_000_000_000


def test_damage_and_losses_are_described_in_both_languages() -> None:
    for anomaly, reason in ANOMALIES.items():
        damage = Damage("segment", 0, 1, anomaly, 12_345)
        english, chinese = (damage.said.text(language) for language in ("en", "zh"))
        assert (damage.reason, damage.description) == (reason, english)
        assert ("12,345" in english) == ("12,345" in chinese)
    both = say("sentences", first=say("only segment"), second=say("packed file", name="0.gz", command="gunzip 0.gz"))
    lost = Missing("store", 0, 1, LOST, both)
    assert lost.said.text("zh") == f"唯一的 commitlog 文件中没有记录。{Said('no file').text('zh')}。0.gz 存在，请先解压：gunzip 0.gz"
    assert lost.description.startswith("its only segment contains no record. No file contains these offsets")
    back = say("packed segment", name="0.gz", command="gunzip 0.gz")
    gap = Missing("store", 0, 1, back=back)
    assert (gap.how_to_get_back, gap.said.text("zh")) == (back.text(), f"没有文件包含这些偏移量。{back.text('zh')}")


def test_a_page_in_chinese_says_what_is_lost_in_chinese() -> None:
    files = dict(healthy()[1])
    memory = in_memory(files)
    offsets = nr.open(f"{memory.url}/store").messages(columns="physical_offset").to_table()["physical_offset"].to_pylist()
    end = offsets[-3]
    for path in [path for path in files if "/commitlog/" in path]:
        base, content = int(path.rpartition("/")[2]), files[path]
        kept = content[: max(0, end - base)]
        files[path] = kept + bytes(len(content) - len(kept))
    cut = in_memory(files)
    page = page_of(nr.open(f"{cut.url}/store").report(now=NOW // 1000), "zh")
    assert f"条记录位于 commitlog 末尾（偏移量 {end:,}）之后，直到偏移量 " in page
    assert Said("copied before").text("zh") in page
