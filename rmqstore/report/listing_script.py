"""The script of a page with a table of all rows. It has neither `<` nor `&`, so it is the same in XML and HTML.

It makes elements, and sets only their text and attributes with fixed names; it loads nothing and keeps nothing. Numbers are written as
`native_reader.text` writes them. A page of the table has 25 rows: no others are elements, so a search among 100,000 stays quick.
"""

SCRIPT = r"""
"use strict";
(async () => {
const box = document.querySelector(".listing");
const [largest, hint, all] = box.children;
const [search] = all.getElementsByTagName("input");
const status = all.querySelector("[role=status]");
const [body] = all.getElementsByTagName("tbody");
const heads = [...all.getElementsByTagName("th")];
const ROWS = 25, UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

const packed = Uint8Array.from(atob(box.querySelector("script").textContent), (each) => each.charCodeAt(0));
const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
const {columns: held, marks, sorted, whole, texts} = await new Response(stream).json();
// A column can have the values of another.
const columns = held.map(([kind, values]) => [kind, typeof values === "number" ? held[values][1] : values]);
const names = columns[0][1], lower = names.map((each) => each.toLowerCase());

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name].toLocaleString("en-US"));
// Python rounds a tie to the even digit.
const rounded = (number) => {
  const near = Math.round(number), isTie = near - number === 0.5;
  return isTie ? (near % 2 === 0 ? near : near - 1) : near;
};
const tenths = (number) =>
  (rounded(number * 10) / 10).toLocaleString("en-US", {minimumFractionDigits: 1, maximumFractionDigits: 1});
const sizeOf = (count) => {
  let size = count, unit = -1;
  for (const _ of UNITS) {
    if (1024 > rounded(size * 10) / 10) break;
    size /= 1024;
    unit += 1;
  }
  if (unit === -1) return count.toLocaleString("en-US") + (count === 1 ? texts.byte : texts.bytes);
  return tenths(size) + " " + UNITS[unit];
};
const shareOf = (part) => {
  if (!part || !whole) return "0" + texts.percent;
  return 0.001 > part / whole ? texts.tiny : tenths(part / whole * 100) + texts.percent;
};
const WRITTEN = {
  name: (value) => value,
  count: (value) => value.toLocaleString("en-US"),
  size: sizeOf,
  share: shareOf,
  time: (value) => value === null ? "–" : new Date(value * 60000).toISOString().slice(0, 16).replace("T", " "),
};

const made = (tag, text, style) => {
  const found = document.createElement(tag);
  if (text) found.textContent = text;
  if (style) found.className = style;
  return found;
};
const SVG = "http://www.w3.org/2000/svg";
const barOf = (share) => {
  const [picture, bar] = ["svg", "rect"].map((tag) => document.createElementNS(SVG, tag));
  const drawn = [[picture, {viewBox: "0 0 1000 10", preserveAspectRatio: "none", "class": "bar", "aria-hidden": "true"}],
    [bar, {width: Math.round(share * 1000), height: 10, "class": "bar"}]];
  for (const [each, attributes] of drawn)
    for (const [name, value] of Object.entries(attributes)) each.setAttribute(name, value);
  picture.append(bar);
  return picture;
};
const lineOf = (row) => {
  const line = made("tr");
  for (const [number, [kind, values]] of columns.entries()) {
    const text = WRITTEN[kind](values[row]);
    const cell = number ? made("td", text, kind === "share" ? "share" : "number") : made("th");
    if (kind === "share") cell.append(barOf(whole ? values[row] / whole : 0));
    if (!number) {
      cell.scope = "row";
      cell.append(made("bdi", text));
      if (row in marks) cell.append(" ", made("span", marks[row], "mark"));
    }
    line.append(cell);
  }
  return line;
};

let column = sorted, isRising = false, first = 0, order = [], found = [];
const show = () => {
  first = Math.max(0, Math.min(first, Math.floor((found.length - 1) / ROWS) * ROWS));
  const rows = found.slice(first, first + ROWS);
  body.replaceChildren(...rows.map(lineOf));
  const values = {first: first + 1, last: first + rows.length, rows: found.length, whole: names.length};
  status.textContent = rows.length ? filled(found.length === names.length ? texts.shown : texts.found, values) : texts.none;
};
const find = () => {
  const words = search.value.toLowerCase().split(/\s+/);
  found = order.filter((row) => words.every((word) => lower[row].includes(word)));
  first = 0;
  show();
};
// The rows come in the order of their names.
const sort = () => {
  const values = columns[column][1], sign = isRising ? 1 : -1;
  order = [...names.keys()].sort((one, other) => (column ? sign * (values[one] - values[other]) || one - other : sign * (one - other)));
  for (const [number, head] of heads.entries())
    head.setAttribute("aria-sort", number === column ? (isRising ? "ascending" : "descending") : "none");
  find();
};
const MOVED = {first: () => 0, previous: () => first - ROWS, next: () => first + ROWS, last: () => found.length};

for (const button of all.querySelectorAll("thead button"))
  button.addEventListener("click", () => {
    const number = Number(button.value);
    isRising = number === column ? !isRising : number === 0;
    column = number;
    sort();
  });
for (const button of all.querySelectorAll(".controls button"))
  button.addEventListener("click", () => {
    first = MOVED[button.value]();
    show();
  });
search.addEventListener("input", find);
sort();
largest.hidden = hint.hidden = true;
all.hidden = false;
})();
"""
