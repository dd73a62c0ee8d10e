"""The page on PyPI, as setup.py makes it of README.md. What a build makes of it, .ci/check_dist.py looks at."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable

from support.documented import ROOT

page: Callable[[str, str], str] = runpy.run_path(str(ROOT / "setup.py"))["page"]
FILES = "https://github.com/rmqstore/rmqstore-spark/blob/v1.2.3/"


def test_links_and_pictures_lead_to_the_files_of_this_version() -> None:
    readme = "[a](docs/a.md#b), [c](#d) and [e](https://e.org)\n![f](docs/f.png)\n[`g`](h) `[g](h)`\n```text\n[i](j)\n```\n[k](l)\n"
    expected = f"[a]({FILES}docs/a.md#b), [c]({FILES}README.md#d) and [e](https://e.org)\n"
    expected += "![f](https://raw.githubusercontent.com/rmqstore/rmqstore-spark/v1.2.3/docs/f.png)\n"
    expected += f"[`g`]({FILES}h) `[g](h)`\n```text\n[i](j)\n```\n[k]({FILES}l)\n"
    assert page(readme, "1.2.3") == expected


def test_each_link_of_the_readme_leads_to_a_file() -> None:
    made = page((ROOT / "README.md").read_text(encoding="utf-8"), "1.2.3")
    prose = re.sub(r"^```.*?^```$", "", made, flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", prose)
    assert len(links) > 30
    assert [link for link in links if not link.startswith("https://")] == []
    ours = [re.split(r"/v1\.2\.3/|#", link)[1] for link in links if "/v1.2.3/" in link]
    assert [path for path in ours if not (ROOT / path).exists()] == []
