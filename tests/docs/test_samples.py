"""The samples of the site: made with it, in both languages, and the page that names them has no other links to them."""

from __future__ import annotations

import json
import re
import runpy

import pytest
from support.documented import ROOT

SITE = "https://rmqstore.github.io/rmqstore-spark/"


@pytest.mark.gate
def test_the_samples_are_those_that_the_page_links_to() -> None:
    made = dict(runpy.run_path(str(ROOT / ".ci/site_samples.py"))["samples"]())
    linked = re.findall(rf"\]\({SITE}(\S+)\)", (ROOT / "docs/samples.md").read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(name.replace(".md", ".html") for name in made)
    report, repair = made["docs/samples/report.html"], made["docs/samples/repair.md"]
    assert 'class="listing"' in report
    assert 'class="warning"' in report
    assert "$ rmqstore repair /data/damaged /data/new\n" in repair
    assert "see /data/new/repair.md" in repair
    assert "lost/orders/message.en.txt" in repair
    assert json.loads(made["docs/samples/repair.json"])["store"] == "file:///data/damaged"
    assert "#### Before you reconnect clients" in repair
    for name, text in made.items():
        assert "/tmp/" not in text
        chinese = re.findall("[\u4e00-\u9fff]", text)  # tags are Chinese in both
        assert (len(chinese) > 500) == (".zh." in name), name
