"""What mkdocs.yml needs beside mkdocs: the site has the folders of the repository, so a link means the same in both.

mkdocs wants all pages in one folder. Here README.md is the front page, and the examples and notebooks that documents link to are pages.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from os.path import relpath
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs loads this file alone
from site_samples import samples

SHOWN = (
    "*.md",
    "LICENSE",
    "docs/*.md",
    "docs/*.png",
    "examples/*",
    "examples/*/*",
    "notebooks/*.ipynb",
    "notebooks/*.py",
    "kernel/*.md",
    "benchmarks/*.md",
)
LINK_HERE = re.compile(r"\]\((https://rmqstore\.github\.io/rmqstore-spark/docs/samples/[^)]*)\)")
DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```", re.MULTILINE | re.DOTALL)
CHINESE = "[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]"
BREAK_IN_CHINESE = re.compile(f"(?<={CHINESE})\n(?={CHINESE})")
PIPE_IN_CELL = re.compile(r"(?<=<td>).*?(?=</td>)", re.DOTALL)


def on_startup(command: str, dirty: bool) -> None:
    """Warnings are shown, and nothing else: `--quiet` also hides them."""
    logging.getLogger("mkdocs").setLevel(logging.WARNING)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    root = Path(config.config_file_path).parent
    paths = sorted({path for pattern in SHOWN for path in root.glob(pattern) if path.is_file()})
    ours = [file_of(path.relative_to(root).as_posix(), root, config) for path in paths]
    style = File.generated(config, "assets/site.css", abs_src_path=str(root / ".ci/site.css"))
    of_the_theme = [file for file in files if file.src_dir != config.docs_dir]
    made = [File.generated(config, name, content=content) for name, content in samples()]
    return Files([*of_the_theme, *ours, *made, style])


def file_of(name: str, root: Path, config: MkDocsConfig) -> File:
    make = SourcePage if PAGES.get(Path(name).suffix) else File
    return make(name, str(root), config.site_dir, config.use_directory_urls, inclusion=InclusionLevel.UNDEFINED)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Drawing a diagram takes a script of another host, so it is shown as text. A line break in Chinese would be shown as a space.

    A link to a sample is one to the public site, as the repository has no samples. Here it leads to this site's own.
    """
    pages = {f"{config.site_url}{file.url}": file.src_uri for file in files}
    markdown = LINK_HERE.sub(lambda link: f"]({relpath(pages.get(link[1], link[1]), Path(page.file.src_uri).parent)})", markdown)
    markdown = DIAGRAM.sub(lambda block: f"```text\n{arrows(block[1])}```", markdown)
    return BREAK_IN_CHINESE.sub("", markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    r"""In the cell of a table, GitHub shows `\|` as a pipe, also in code."""
    return PIPE_IN_CELL.sub(lambda cell: cell[0].replace(r"\|", "|"), html)


def on_post_build(config: MkDocsConfig) -> None:
    site = Path(config.site_dir)
    sizes = [path.stat().st_size for path in site.rglob("*") if path.is_file()]
    print(f"{config.site_dir}: {len(list(site.rglob('*.html')))} pages; {len(sizes)} files, {sum(sizes) >> 20} MiB")


def arrows(diagram: str) -> str:
    """One line for each box: its name, what it is, and the boxes that its arrows lead to. All arrows lead down."""
    boxes = {name: label.split("<br/>", 1) for name, label in re.findall(r'(\w+)\["(.*?)"\]', diagram)}
    ends = re.findall(r"^ *(\w+)(?:\[.*?\])? --> (\w+)", diagram, re.MULTILINE)
    leads = {name: [end for begin, end in ends if begin == name] for name in boxes}
    wide = max(len(title) for title, _ in boxes.values())

    def lines() -> Iterator[str]:
        for name in reversed([*TopologicalSorter(leads).static_order()]):
            title, meaning = boxes[name]
            yield f"{title:{wide}}  {meaning.replace('<br/>', ' ')}\n"
            if leads[name]:
                yield f"{'':{wide}}  → {', '.join(leads[name])}\n"

    return "".join(lines())


class SourcePage(File):
    """A page made from a file that is not Markdown."""

    def is_documentation_page(self) -> bool:
        return True

    @property
    def content_string(self) -> str:
        text = Path(self.src_dir or "", self.src_uri).read_text(encoding="utf-8")
        return PAGES[Path(self.src_uri).suffix](self.src_uri, text)


def script(name: str, text: str) -> str:
    return f"# {Path(name).name}\n\n{fenced(text, 'python')}"


def query(name: str, text: str) -> str:
    return f"# {Path(name).name}\n\n{fenced(text, 'sql')}"


def licence(name: str, text: str) -> str:
    return f"# {name}\n\n{fenced(text, 'text')}"


def notebook(name: str, text: str) -> str:
    return "\n\n".join(part for cell in json.loads(text)["cells"] for part in parts_of(cell))


PAGES: dict[str, Callable[[str, str], str]] = {".ipynb": notebook, ".py": script, ".sql": query, "": licence}
"""By suffix, what makes the Markdown of a page."""


def parts_of(cell: dict[str, Any]) -> Iterator[str]:
    """The Markdown of a notebook's cell, and of its outputs."""
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
        return
    yield fenced(text, "python")
    for output in cell["outputs"]:
        yield output_of(output.get("data", {"text/plain": output.get("text", "")}))


def output_of(data: dict[str, Any]) -> str:
    """The richest form that an output was saved in."""
    if "image/png" in data:
        return f'<p><img alt="{"".join(data["text/plain"])}" src="data:image/png;base64,{"".join(data["image/png"]).strip()}"></p>'
    if "text/html" in data:
        # An empty line would end the block of HTML. The theme's style is for tables without one of their own.
        html = re.sub(r"\n\s*\n", "\n", "".join(data["text/html"]))
        return html.replace('<table border="1" class="dataframe">', "<table>")
    return fenced("".join(data["text/plain"]), "text")


def fenced(text: str, language: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````"
