"""Damaged, truncated and hostile tar archives: an error that says where, or the same rows; never other rows."""

from __future__ import annotations

import contextlib
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.stores import ZERO, files_of, log_of, on_disk, packed, path_error
from support.tars import FORMATS, gnu_tar

import native_reader as nr
from native_reader.storage import storage_of, tar_names
from native_reader.storage.tar_headers import BLOCK, Headers
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.memory import MemoryFile, MemoryStorage

FILES = {**files_of(log_of(12, 1024)), "store/config/topics.json": b"{}"}
LONG = "backup/" * 20


def rows_of(archive: Path) -> list[dict[str, object]]:
    table = nr.open(archive).messages(columns="heads").to_table()
    return table.drop_columns("store").to_pylist()  # type: ignore[no-any-return]


def headers_of(content: bytes) -> list[range]:
    """Where the headers of each member are, with all that describes it."""
    members = list(Headers(MemoryFile("memory://1/x.tar", content)).members())
    return [range(member.start, member.place) for member in members]


def archives(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Small archives with every kind of header."""
    on_disk(folder, FILES)
    with (folder / "store" / "commitlog" / f"{1024:020}").open("r+b") as file:
        file.truncate(1024)
    for kind in ("gnu", "ustar", "pax", "gnu -S", "pax -S 1.0", "pax -S 0.1", "pax -S 0.0"):
        yield kind, gnu_tar(folder / "x.tar", folder, options=FORMATS[kind]).read_bytes()
    for name, kind in {"python gnu": tarfile.GNU_FORMAT, "python pax": tarfile.PAX_FORMAT}.items():
        yield f"{name}, long names", packed({f"{LONG}{name}": content for name, content in FILES.items()}, kind)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return dict(archives(tmp_path_factory.mktemp("made")))


KINDS = (
    *("gnu", "ustar", "pax", "gnu -S", "pax -S 1.0", "pax -S 0.1", "pax -S 0.0"),
    *("python gnu, long names", "python pax, long names"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_cut_anywhere_is_an_error_with_the_place_and_what_to_do(made: dict[str, bytes], tmp_path: Path, kind: str) -> None:
    """Also between two members: only the end mark shows that an archive is complete."""
    content = made[kind]
    archive = tmp_path / "x.tar"
    ends = {place for each in headers_of(content) for place in (each.start, each.start + 100, each.stop - 1, each.stop, each.stop + 1)}
    last = len(content.rstrip(b"\0"))
    for end in sorted({*ends, last, last + BLOCK} - {0}):
        archive.write_bytes(content[:end])
        with pytest.raises((nr.StoreDamaged, nr.PathError)) as raised:
            nr.open(archive)
        text = str(raised.value)
        assert archive.as_uri() in text
        if end >= BLOCK:
            assert f"/x.tar was truncated: it has {end:,} bytes, but bytes " in text, end
            assert text.endswith(f"unpack what is there and load that: tar -xf {archive}")


def has_checksum(block: bytes) -> bool:
    return b"%06o" % sum(block[:148] + b" " * 8 + block[156:]) == block[148:154]


@pytest.mark.gate
@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_bit_in_a_header_is_an_error_or_changes_no_row(made: dict[str, bytes], tmp_path: Path, kind: str) -> None:
    """Names of more than 100 characters are the exception: formats have no checksum of them."""
    content, archive = made[kind], tmp_path / "x.tar"
    archive.write_bytes(content)
    expected = rows_of(archive)
    assert len(expected) == 12
    errors, seen = 0, set()
    for each in headers_of(content):
        step = 1 if len(each) not in seen else 31
        seen.add(len(each))
        for number, place in enumerate(each[::step]):
            block, at = content[place - place % BLOCK :][:BLOCK], place % BLOCK
            if (not content[place] and number % 11) or (not has_checksum(block) and LONG.encode() in content[each.start : each.stop]):
                continue
            flipped = bytearray(content)
            flipped[place] ^= 1 << (at * 5 + number) % 8
            changed = tmp_path / f"{place}.tar"  # of its own name: two of one name can be written within a tick of the clock
            changed.write_bytes(flipped)
            try:
                same = rows_of(changed) == expected
            except nr.StoreError:
                errors += 1
            else:
                assert same, (place, block[at - at % 64 : at + 64])
                assert 148 <= at < 156 or not has_checksum(block), (place, block[at])
    assert errors > 100


def test_the_begin_of_a_long_name_is_checked(made: dict[str, bytes], tmp_path: Path) -> None:
    """GNU tar repeats the first 100 characters in the header that follows."""
    content = bytearray(made["python gnu, long names"])
    place = content.index(LONG.encode()) + 7
    content[place] ^= 1
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(
        nr.StoreDamaged, match="is damaged at byte 1,024: the name in the header is not the beginning of the long name before it"
    ):
        nr.open(tmp_path / "x.tar")


# What is wrong, where, and what to do


def header(name: str = "store/commitlog/" + ZERO, size: int = 0, kind: bytes = b"0", **more: bytes) -> bytes:
    """A header of GNU tar with those fields; `f124=b"..."` replaces bytes from 124 on."""
    member = tarfile.TarInfo(name)
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    block[124:136], block[156:157] = b"%011o\0" % size, kind
    for field, value in more.items():
        block[int(field[1:]) : int(field[1:]) + len(value)] = value
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def pax(fields: bytes, size: int | None = None) -> bytes:
    """A pax header with that content."""
    return header("x", len(fields) if size is None else size, b"x") + fields.ljust(-(-len(fields) // BLOCK) * BLOCK, b"\0")


END = bytes(2 * BLOCK)
ONE = header(size=5) + b"hello".ljust(BLOCK, b"\0")
LARGE = b"\x80" + b"\0" * 3 + b"\x7f" + b"\xff" * 7

WRONG = {
    "a negative size": (header(f124=b"\xff" * 12), "byte 0: the size in the header is invalid: b'\\xff"),
    "an absurd size": (header(f124=LARGE), "byte 0: the size in the header is invalid: b'\\x80"),
    "a size without digits": (header(f124=b"12x45678901\0"), "byte 0: the size in the header is invalid: b'12x45678901"),
    "content beyond the end": (ONE + header("b", 4 << 30), "it has 2,560 bytes, but bytes 1,536 to 4,294,968,832 are needed"),
    "a name beyond the end": (header("x", 1 << 20, b"L"), "it has 1,536 bytes, but bytes 512 to 1,049,088 are needed"),
    "a long name that fills the memory": (
        header("x", 1 << 32, b"L"),
        "byte 0: a header with a long name or other fields has 4,294,967,296",
    ),
    "headers without end": (header("x", 0, b"g") * 40 + ONE, "byte 0: more than 16 headers describe one file"),
    "an unknown kind": (ONE + header("b", 0, b"Q"), "byte 1,024: a header of an unknown kind: b'Q'"),
    "one of several volumes": (header("b", 0, b"M"), "byte 0: it is a part of an archive in several volumes"),
    "a file without its header": (pax(b"9 uid=12\n"), "byte 1,024: a header is missing there"),
    "a field without length": (pax(b"path=b\n") + ONE, "byte 0: a field of the pax header is invalid: b'path=b"),
    "a field that is too long": (pax(b"99 path=b\n") + ONE, "byte 0: a field of the pax header is invalid: b'99 path=b"),
    "a field that is too short": (pax(b"2 path=b\n") + ONE, "byte 0: a field of the pax header is invalid: b'2 path=b"),
    "an unknown field": (pax(b"9 qath=b\n") + ONE, "byte 0: a field of the pax header is invalid: b'9 qath=b"),
    "a size of another kind": (pax(b"11 size=-5\n") + ONE, "byte 1,024: size in the pax header is invalid: b'-5'"),
    "a size for all files": (header("x", 10, b"g") + b"10 size=5\n".ljust(BLOCK, b"\0") + ONE, "a global header has the name or the size"),
    "a link to nothing": (
        ONE + header("b", 0, b"1", f157=b"a"),
        "byte 1,024: 'b' is a link to b'a', which is not before it in the archive",
    ),
    "a file and a directory": (ONE + header(f"store/commitlog/{ZERO}/x"), f"byte 1,024: 'store/commitlog/{ZERO}' is a file, and there are"),
    "zeros instead of a header": (ONE + bytes(BLOCK) + ONE, "byte 1,536: data follows the end mark"),
    "two archives in one": (ONE + END + ONE, "byte 2,048: data follows the end mark"),
    "a wrong checksum": (ONE + ONE[:9] + b"?" + ONE[10:], "byte 1,024: the checksum of the header is "),
    "no checksum": (ONE + ONE[:148] + bytes(8) + ONE[156:], "byte 1,024: the checksum of the header is b'\\x00"),
}


@pytest.mark.parametrize("what", WRONG)
def test_the_error_says_where_and_what_to_do(tmp_path: Path, what: str) -> None:
    content, text = WRONG[what]
    (tmp_path / "x y.tar").write_bytes(content + END)
    with pytest.raises(nr.StoreDamaged) as raised:
        nr.open(tmp_path / "x y.tar")
    assert f"{tmp_path.as_uri()}/x%20y.tar " in str(raised.value)
    assert text in str(raised.value)
    assert str(raised.value).endswith(f": tar -xf '{tmp_path}/x y.tar'")
    assert len(str(raised.value)) < 600


def old_map(*numbers: bytes, size: int = 100, more: bytes = b"\0") -> bytes:
    return header(size=5, kind=b"S", f386=b"".join(numbers), f482=more, f483=b"%011o\0" % size)


def field(number: int) -> bytes:
    return b"%011o\0" % number


INSIDE = b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n27 GNU.sparse.realsize=100\n"
FIVE = b"hello".ljust(BLOCK, b"\0")


def listed(numbers: bytes) -> bytes:
    record = b"GNU.sparse.map=" + numbers + b"\n"
    return pax(b"23 GNU.sparse.size=100\n" + b"%d " % (len(record) + 3) + record) + header(size=5) + FIVE


def inside(content: bytes) -> bytes:
    whole = content.ljust(BLOCK, b"\0") + b"hello"
    return pax(INSIDE) + header(size=len(whole)) + whole.ljust(2 * BLOCK, b"\0")


SPARSE = {
    "overlapping parts": old_map(field(10), field(3), field(11), field(2)) + FIVE,
    "parts in another order": old_map(field(50), field(3), field(11), field(2)) + FIVE,
    "parts beyond the end of the file": old_map(field(10), field(3), field(99), field(2)) + FIVE,
    "more parts than content": old_map(field(10), field(30)) + FIVE,
    "huge parts": old_map(field(0), field(8**11 - 1), field(8**11 - 1), field(8**11 - 1)) + FIVE,
    "a map that goes on without end": old_map(field(0), field(5), more=b"\1") + (bytes(504) + b"\1" + bytes(7)) * 40,
    "a number missing": listed(b"10,3,11"),
    "no numbers": listed(b"10,x"),
    "lines missing": inside(b"2\n10\n3\n"),
    "more lines than fit": inside(b"99999999\n10\n5\n"),
    "no count": inside(b"x\n10\n5\n"),
    "letters": inside(b"1\nten\n5\n"),
    "a wrong sum": inside(b"1\n10\n6\n"),
}


def test_the_maps_of_these_tests_would_be_right(tmp_path: Path) -> None:
    for right in (old_map(field(10), field(5)) + FIVE, listed(b"10,5"), inside(b"1\n10\n5\n")):
        (tmp_path / "x.tar").write_bytes(right + END)
        uri = f"tar+{tmp_path.as_uri()}/x.tar/store/commitlog/{ZERO}"
        with storage_of(uri).open(uri) as file:
            assert file.read_ranges([(0, 200)]) == [b"hello".rjust(15, b"\0").ljust(100, b"\0")]


@pytest.mark.parametrize("what", SPARSE)
def test_a_wrong_map_of_a_sparse_file_is_an_error(tmp_path: Path, what: str) -> None:
    (tmp_path / "x.tar").write_bytes(SPARSE[what] + END)
    with pytest.raises(nr.StoreDamaged, match=r"x\.tar (is damaged at byte|was truncated)"):
        nr.open(tmp_path / "x.tar").messages().to_table()


@given(st.data())
@settings(max_examples=150)
def test_any_bytes_end_in_an_error(data: st.DataObject) -> None:
    """Also if every header has a right checksum."""
    blocks = []
    for _ in range(data.draw(st.integers(1, 6))):
        more = data.draw(
            st.dictionaries(st.sampled_from(("f0", "f124", "f157", "f257", "f345", "f386", "f482", "f483")), st.binary(max_size=12))
        )
        kind = data.draw(st.sampled_from([b"0", b"L", b"x", b"S", b"g", b"1", b"2", b"5", b"K", b"\0"]))
        blocks.append(header(kind=kind, size=data.draw(st.sampled_from([0, 5, 512, 600, 1 << 33])), **more))
        blocks.append(data.draw(st.sampled_from([b"", FIVE, b"19 path=a/b/c/d/e/f\n".ljust(BLOCK, b"\0"), bytes(504) + b"\1" + bytes(7)])))
    memory = MemoryStorage({"x.tar": b"".join(blocks) + END})
    with contextlib.suppress(nr.StoreError):
        nr.open(f"{memory.url}/x.tar").messages().to_table()


def test_a_packed_file_with_the_suffix_of_an_archive_is_named_as_one(tmp_path: Path) -> None:
    for magic, name, command in ((b"\x1f\x8b", "gzip", "tar -xf"), (b"PK\3\4", "zip", "unzip"), (b"7z\xbc\xaf\x27\x1c", "7z", "7z x")):
        for size in (20, 2000):
            (tmp_path / "x.tar").write_bytes(magic.ljust(size, b"z"))
            uri = f"{tmp_path.as_uri()}/x.tar"
            assert path_error(tmp_path / "x.tar") == f"{uri} is packed with {name}, so unpack it first: {command} {tmp_path}/x.tar"
    (tmp_path / "x.tar").write_bytes(b"")
    assert path_error(tmp_path / "x.tar") == f"{uri} is not a tar archive: it is empty. Copy or pack it again"
    (tmp_path / "x.tar").write_bytes(b"z" * 2000)
    assert path_error(tmp_path / "x.tar") == f"{uri} is not a tar archive: the checksum of its first header is wrong. Copy or pack it again"


def test_too_many_files_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar_names, "_MOST_MEMBERS", 3)
    (tmp_path / "x.tar").write_bytes(packed({f"d/{number}": b"" for number in range(5)}))
    with pytest.raises(nr.StoreDamaged, match="byte 1,536: it has more than 3 files"):
        nr.open(tmp_path / "x.tar")


def test_the_headers_are_read_and_not_the_contents(tmp_path: Path) -> None:
    memory = MemoryStorage({"x.tar": packed({f"store/commitlog/{i << 20:020}": bytes(1 << 20) for i in range(20)})})
    faulty = FaultyStorage(memory.url)
    uri = f"tar+{faulty.url}/x.tar/store/commitlog"
    assert len(storage_of(uri).list(uri)) == 20
    assert faulty.bytes_read < 40_000
