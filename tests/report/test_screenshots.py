"""The page in a headless Chromium: nothing on its console, and nothing wider than the screen. The pictures are for people to look at.

RMQSTORE_SCREENSHOTS names the directory for the pictures; without it they are deleted with the other files of the test.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from support.browser import ALWAYS, PROGRAMS, program
from support.command_line import run
from support.effort import mostly_long

import native_reader as nr
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
from rmqstore.report.file import write_report
from rmqstore.text import LANGUAGES

WIDTHS = (400, 900, 1600)
SCHEMES = {"light": (), "dark": ("--force-dark-mode",)}
_HEIGHT = 12_000
_NOW = 1_768_000_000_000_000
# The width of the content, measured from outside: no page has a script for it.
_FRAME = """<!DOCTYPE html><meta charset="utf-8"><iframe src="{page}" width="{width}" height="800"></iframe><script>
const frame = document.querySelector("iframe");
frame.onload = () => {{ document.title = "content " + frame.contentDocument.documentElement.scrollWidth; }};
</script>"""

Browser = Callable[..., str]

pytestmark = [pytest.mark.gate, pytest.mark.xdist_group("screenshots")]  # in one worker: one browser, each page once


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """Runs Chromium with these arguments; returns its standard output. Fails if a page writes to the console."""
    if (found := program()) is None:
        pytest.skip(f"no headless browser: none of {', '.join(PROGRAMS)} is installed")
    profile = tmp_path_factory.mktemp("profile")

    def run(*arguments: str) -> str:
        logging = ("--enable-logging=stderr", f"--user-data-dir={profile}", "--virtual-time-budget=5000")
        ended = subprocess.run([found, *ALWAYS, *logging, *arguments], check=True, capture_output=True, text=True, timeout=120)
        assert not re.findall(r".*:CONSOLE.*", ended.stderr)
        return ended.stdout

    return run


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A damaged store with everything in it."""
    store = tmp_path_factory.mktemp("report") / "store"
    write_store(store, StoreSpec(bytes=5 << 20, mapped_file_size_commit_log=1 << 20, rate=0.05, huge=True, killed=True))
    second, third, *_ = sorted((store / "commitlog").iterdir())[1:]
    content = bytearray(second.read_bytes())
    content[300_000:420_000] = bytes(120_000)
    second.write_bytes(content)
    third.unlink()
    return store


@pytest.fixture(
    scope="module", params=mostly_long([*product(LANGUAGES, ("report", "brokers", "rescue"))], ("zh", "report"), ("zh", "rescue"))
)
def page(request: pytest.FixtureRequest, damaged: Path) -> Path:
    """The report of it, that of it and another broker, or the page of its rescue."""
    language, kind = request.param
    output = damaged.parent / f"{kind}.{language}.html"
    if kind in ("report", "brokers"):
        stores = [damaged]
        if kind == "brokers":
            stores.append(damaged.parent / f"other-{language}" / "store")
            write_store(stores[1], StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=1 << 20))
        write_report(nr.open(stores), output, language, now=_NOW // 1000, disk_free=200 << 30, verify=True)
    else:
        run("rescue", damaged, damaged.parent / language, "--lang", language)
        (damaged.parent / language / "rescue.html").rename(output)
    return output


PICTURES = [
    pytest.param(scheme, width, marks=[] if (scheme, width) in (("dark", 1600),) else pytest.mark.long)
    for scheme, width in product(SCHEMES, WIDTHS)
]


@pytest.mark.parametrize(("scheme", "width"), PICTURES)
def test_a_picture_is_taken(browser: Browser, page: Path, width: int, scheme: str) -> None:
    folder = Path(os.environ.get("RMQSTORE_SCREENSHOTS", page.parent))
    picture = folder / f"{page.stem}.{scheme}.{width}.png"
    browser(*SCHEMES[scheme], f"--window-size={width},{_HEIGHT}", f"--screenshot={picture}", page.as_uri())
    assert picture.stat().st_size > 20_000


@pytest.mark.parametrize("width", mostly_long(WIDTHS, 400))
def test_nothing_is_wider_than_the_screen(browser: Browser, page: Path, width: int) -> None:
    frame = page.with_name(f"frame{width}.html")
    frame.write_text(_FRAME.format(page=page.name, width=width), encoding="utf-8")
    found = re.search(r"<title>content (\d+)</title>", browser("--dump-dom", frame.as_uri()))
    assert found
    assert int(found[1]) <= width


def test_it_can_be_printed(browser: Browser, page: Path) -> None:
    paper = page.with_suffix(".pdf")
    browser(f"--print-to-pdf={paper}", page.as_uri())
    assert paper.read_bytes().startswith(b"%PDF")
