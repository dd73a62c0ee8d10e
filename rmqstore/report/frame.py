"""The frame of a page: its head, its style sheet, what a browser may load, and its contents.

The style is for light and dark, narrow and wide, screen and paper. A name in a table is not broken inside a word, so that an address can
be read: its table scrolls instead. Only a name that is longer than the greatest width of its box is broken. The shadow at the right of a
table says that it can be scrolled: at its end, the first background, which moves with the table, covers it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rmqstore.report.markup import Markup, element

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_LANGUAGES = {"en": "en", "zh": "zh-CN"}


def framed(title: str, language: str, body: Markup, scripts: str | None = None) -> str:
    """The whole page. `scripts`: which ones may run, as a Content-Security-Policy names them; without it, none."""
    allowed = "" if scripts is None else f"; script-src {scripts}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        # If a name were ever not escaped, a browser would still load nothing, and run nothing else.
        element("meta", http_equiv="Content-Security-Policy", content=f"{_POLICY}{allowed}"),
        element("title", title),
        element("style", style_sheet()),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang=_LANGUAGES[language])}\n"


def contents(label: str, sections: Iterable[tuple[str, str]]) -> Markup:
    """Links to sections: the id and the title of each."""
    links = [element("li", element("a", title, href=f"#{identity}")) for identity, title in sections]
    return element("nav", element("ul", *links), aria_label=label)


LIGHT = {
    "paper": "#ffffff", "ink": "#1c2128", "quiet": "#57606a", "line": "#d0d7de", "fill": "#f3f5f7",
    "data": "#1f6feb", "broken": "#cf222e", "gone": "#8250df", "finding": "#9a6700", "empty": "#e4e8ec",
}  # fmt: skip
DARK = {
    "paper": "#0f1318", "ink": "#e6eaef", "quiet": "#9aa5b1", "line": "#343c46", "fill": "#171d24",
    "data": "#5a9bff", "broken": "#ff7066", "gone": "#c297ff", "finding": "#e3b341", "empty": "#29313a",
}  # fmt: skip
TEXT_COLORS = ("ink", "quiet", "data", "broken")
GRAPHIC_COLORS = ("data", "broken", "gone", "finding")

_RULES = """
:root { color-scheme: light dark; LIGHT }
@media (prefers-color-scheme: dark) { :root { DARK } }
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1rem 1rem 4rem; max-width: 72rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, "Noto Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif;
}
h1 { font-size: 1.6rem; line-height: 1.25; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; padding-top: .5rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .25rem; }
h4 { font-size: 1rem; margin: 1rem 0 .25rem; color: var(--quiet); }
.broker { border-top: .3rem solid var(--line); margin-top: 3rem; }
.broker > h2 { border-top: 0; margin-top: 0; font-size: 1.5rem; overflow-wrap: anywhere; }
p { max-width: 46rem; margin: .5rem 0; overflow-wrap: anywhere; }
a { color: var(--data); }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; margin: 1rem 0; padding: 0; }
.lead { font-size: 1.15rem; }
.time { white-space: nowrap; }
.note { color: var(--quiet); font-size: .9rem; }
.mark { color: var(--quiet); font-size: .8rem; border: 1px solid var(--line); padding: 0 .3rem; white-space: nowrap; }
.alarm { color: var(--broken); font-weight: 600; }
.warning {
  padding: .6rem .9rem; border: 2px solid var(--broken); border-left-width: .6rem; background: var(--fill); font-weight: 600;
  break-inside: avoid;
}
.pairs { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .25rem 1rem; margin: .5rem 0; }
.pairs dt { color: var(--quiet); }
.pairs dd { margin: 0; overflow-wrap: anywhere; }
.wide {
  overflow-x: auto;
  background: linear-gradient(var(--paper), var(--paper)) right / 1rem 100% no-repeat local,
    linear-gradient(to left, var(--line), transparent) right / .8rem 100% no-repeat scroll;
}
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { padding: .3rem .6rem; text-align: start; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--quiet); font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 400; min-width: 9rem; }
td.text { min-width: 9rem; }
th bdi, td bdi { display: inline-block; max-width: 20rem; overflow-wrap: break-word; vertical-align: top; }
td.long bdi { display: inline; }
td.long { min-width: 14rem; width: 28%; overflow-wrap: break-word; }
.number { text-align: end; white-space: nowrap; font-variant-numeric: tabular-nums; }
tr.others th, tr.others td { color: var(--quiet); }
td.share { min-width: 8rem; width: 22%; white-space: nowrap; }
td.share svg { display: block; width: 100%; height: .5rem; background: var(--empty); margin-top: .15rem; }
figure { margin: 1rem 0; }
figcaption { font-size: .9rem; color: var(--quiet); }
svg { display: block; }
svg.area { width: 100%; height: 11rem; background: var(--fill); border-bottom: 1px solid var(--quiet); }
svg.strip { width: 100%; height: 1.25rem; background: var(--empty); }
.bar, .area { fill: var(--data); }
svg.bar { fill: none; }
.grid { stroke: var(--line); vector-effect: non-scaling-stroke; }
.border { stroke: var(--paper); vector-effect: non-scaling-stroke; }
.written { fill: var(--data); } .unwritten { fill: var(--empty); }
.broken { fill: var(--broken); } .gone { fill: var(--gone); } .finding { fill: var(--finding); }
.axis { display: flex; justify-content: space-between; gap: 1rem; font-size: .8rem; color: var(--quiet); }
.row { margin: .6rem 0; }
.row .label { font-size: .8rem; color: var(--quiet); font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; font-size: .9rem; list-style: none; padding: 0; margin: .5rem 0; }
.legend li { display: flex; align-items: center; gap: .4rem; }
.legend svg { width: .9rem; height: .9rem; border: 1px solid var(--quiet); }
[hidden] { display: none; }
.controls { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; max-width: none; }
.controls label { display: flex; flex: 1 1 16rem; align-items: baseline; gap: .5rem; }
.controls span { display: flex; gap: .25rem; }
.controls input, .controls button {
  font: inherit; color: var(--ink); background: var(--fill); border: 1px solid var(--line); padding: .15rem .6rem; min-width: 0;
}
.controls input { flex: 1; max-width: 24rem; }
.controls button, th button { cursor: pointer; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; text-align: inherit; }
[aria-sort="ascending"] button::after { content: " ▲"; }
[aria-sort="descending"] button::after { content: " ▼"; }
.listing [role="status"] + .wide table { table-layout: fixed; min-width: 48rem; }
.listing [role="status"] + .wide th:first-child { width: 36%; }
.listing [role="status"] + .wide bdi { max-width: 100%; }
pre { overflow-x: auto; padding: .6rem .9rem; background: var(--fill); }
code { font: .9em/1.5 ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
pre code { display: block; overflow-wrap: normal; }
li { overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--data); }
@media (max-width: 34rem) {
  body { padding: .75rem .75rem 3rem; }
  th, td { padding: .3rem .35rem; }
  thead th, thead th.number { white-space: normal; min-width: 3.2em; }
  th bdi, td bdi { max-width: 18rem; }
  td.share { min-width: 4rem; }
  tbody th, td.text { min-width: 6rem; }
  .pairs { grid-template-columns: 1fr; gap: 0; }
  .pairs dd { margin-bottom: .5rem; }
}
@media print {
  :root { color-scheme: light; LIGHT }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  h2, h3, h4 { break-after: avoid; }
  tr, figure, .row { break-inside: avoid; }
  .wide { overflow: visible; background: none; }
  pre { white-space: pre-wrap; }
  svg { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  details, .controls { display: none; }
}
"""


def style_sheet() -> Markup:
    """The content of the `style` element. It has neither `<` nor `&`, so it is the same in XML and HTML."""
    return Markup(_RULES.replace("LIGHT", _variables(LIGHT)).replace("DARK", _variables(DARK)))


def _variables(colors: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {color};" for name, color in colors.items())
