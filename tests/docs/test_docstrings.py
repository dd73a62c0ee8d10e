"""The docstrings of public names: complete, and their examples run. `help(rmqstore.open)` is often the first page that a user reads."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import rmqstore
import rmqstore_spark
from native_reader import api, rescue, testing

PUBLIC = {
    f"{package.__name__}.{name}": getattr(package, name)
    for package in (rmqstore, rescue, rmqstore_spark, testing)
    for name in package.__all__
}
PUBLIC["native_reader.api.TableScan"] = api.TableScan
SPARK = ("rmqstore_spark.register", "rmqstore_spark.read", "rmqstore_spark.account")
"""Their examples need a Spark: tests/spark/test_spark_frames.py runs them."""
SPEC = testing.StoreSpec(
    bytes=128 << 10,
    body=200,
    mapped_file_size_commit_log=32 << 10,
    max_hash_slot_num=1000,
    max_index_num=4000,
    rare=0,
    topics=3,
    producers=3,
)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stores of the examples: "store", a "damaged" copy with a page of zeros, and one that is "incomplete"."""
    folder = tmp_path_factory.mktemp("docstrings")
    testing.write_store(folder / "store", SPEC)
    for name in ("damaged", "incomplete"):
        copytree(folder / "store", folder / name)
    with sorted((folder / "damaged/commitlog").iterdir())[1].open("r+b") as file:
        file.seek(4096)
        file.write(bytes(4096))
    sorted((folder / "incomplete/commitlog").iterdir())[1].unlink()
    return folder


def documented(thing: Any) -> Iterator[tuple[str, Any]]:
    """A public name, and the methods and properties of a class that are not inherited from a class of Python."""
    yield "", thing
    if inspect.isclass(thing):
        for name, member in inspect.getmembers(thing):
            inner = member.fget if isinstance(member, property) else member
            if not name.startswith("_") and inspect.isfunction(inner) and inner.__module__.startswith(("native_reader", "rmqstore_spark")):
                yield f".{name}", inner


DOCUMENTED = {f"{name}{member}": thing for name, public in PUBLIC.items() for member, thing in documented(public)}


@pytest.mark.parametrize("name", [name for name, thing in DOCUMENTED.items() if ">>>" in (thing.__doc__ or "") and name not in SPARK])
def test_examples_run(name: str, stores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("store", "damaged", "incomplete"):
        (tmp_path / folder).symlink_to(stores / folder)
    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(DOCUMENTED[name])
    example = doctest.DocTestParser().get_doctest(text or "", {"rmqstore": rmqstore, "store": rmqstore.open("store")}, name, None, None)
    printed: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=printed.append)
    assert example.examples
    assert not printed, "".join(printed)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_argument_is_described(name: str) -> None:
    """One line that says what it is, then sections that the site and editors understand."""
    thing = DOCUMENTED[name]
    text = inspect.getdoc(thing) or ""
    assert re.fullmatch(r"[^\n]+[.:]", text.split("\n\n")[0]), text
    if issubclass(thing, Exception) if inspect.isclass(thing) else name.endswith((".spelled", ".extended")):
        return
    made_by_users = not inspect.isclass(thing) or name in {"native_reader.testing.CommitLog", "native_reader.testing.StoreSpec"}
    names = [each for each in inspect.signature(thing).parameters if each != "self"] if made_by_users else getattr(thing, "_fields", ())
    section = re.search(r"^(?:Args|Attributes):\n((?: .*\n?|\n)+)", text, re.MULTILINE)
    described = re.findall(r"^    (\*{0,2}\w+): ", section[1], re.MULTILINE) if section else []
    assert [each.lstrip("*") for each in described] == list(names) or not names


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example(name: str) -> None:
    assert "\nExamples:\n    >>> " in (inspect.getdoc(PUBLIC[name]) or "")
