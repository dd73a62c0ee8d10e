"""The headers of a tar archive: ustar, GNU and pax, and those of older programs. Reads no contents of files.

A header is a block of 512 bytes with a checksum. The content follows, padded to whole blocks, then the next header. Two blocks of
zeros are the end mark. Other headers may come before that of a file, with its name if that is long (GNU, kinds L and K), or with
any of its fields (pax, kind x). Constants are those of tar.h in GNU tar and of POSIX.1-2001.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn

from native_reader.errors import PathError, StoreDamaged, shown
from native_reader.sentences import Said, say
from native_reader.storage.protocol import StoredFile
from native_reader.storage.strays import command_for

BLOCK = 512
FILE, DIRECTORY, HARD_LINK, SYMBOLIC_LINK, OTHER = "file", "directory", "hard link", "symbolic link", "other"
SPARSE_GNU, SPARSE_LISTED, SPARSE_INSIDE = "S", "pax 0", "pax 1.0"
"""Where a sparse file has its map: after its header (GNU), in the pax header (0.0 and 0.1), or before its content (1.0)."""

MOST_MAP = 16 << 20
"""A larger map or extension is an error. A segment of 1 GiB with a hole in every second page has a map of 3 MB."""
_MOST_EXTENSIONS = 16
_MOST_REST = 64 << 20
"""How much may follow the end mark: programs write whole records of several blocks, and fill them with zeros."""
_AHEAD = 32
_CHUNK = 64 << 10
_LARGEST = 1 << 62

_KINDS = {
    **dict.fromkeys((b"0", b"\0", b"7", b"S"), FILE),
    **dict.fromkeys((b"5", b"D"), DIRECTORY),
    **dict.fromkeys((b"3", b"4", b"6"), OTHER),
    b"1": HARD_LINK,
    b"2": SYMBOLIC_LINK,
}
_WITHOUT_CONTENT = (b"1", b"2", b"3", b"4", b"5", b"6")
"""Some programs write the size of a linked file into the header of the link."""
_LONG_NAME, _LONG_LINK, _PAX, _PAX_OF_SUN, _PAX_GLOBAL, _VOLUME, _PART = b"L", b"K", b"x", b"X", b"g", b"V", b"M"
_OCTAL = re.compile(rb" *([0-7]*) *")
_ZEROS = bytes(BLOCK)
_RECORD = re.compile(rb"([1-9][0-9]{0,8}) ")
_DECIMAL = re.compile(rb"[0-9]{1,19}")
_KEYWORDS = {
    *(b"path", b"linkpath", b"size", b"atime", b"mtime", b"ctime", b"uid", b"gid", b"uname", b"gname"),
    *(b"charset", b"hdrcharset", b"comment"),
}
"""Those of POSIX. All others have a dot in their name, so without one the header is damaged."""
_OF_CONTENT = re.compile(rb"path|linkpath|size|GNU\.sparse\..*")
_COMPRESSED = {
    b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\0": "xz", b"BZh": "bzip2", b"\x04\x22\x4d\x18": "lz4",
    b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7z",
}  # fmt: skip


class Member(NamedTuple):
    """One file, directory or link of an archive, as its headers describe it."""

    start: int
    """Where its first header begins."""
    end: int
    """Where the next member begins."""
    kind: str
    name: bytes
    target: bytes
    """Of a link."""
    place: int
    """Where its content begins."""
    stored: int
    """The bytes of its content in the archive."""
    size: int
    """The size of the file, with its holes."""
    sparse: str | None = None
    """Where its map is, if it is sparse."""
    map: bytes = b""
    """The map of a sparse file, except of 1.0."""


class Headers:
    """The headers of an open archive. `is_slow`: a call costs more than reading some headers for nothing."""

    def __init__(self, file: StoredFile, *, is_slow: bool = False) -> None:
        self.uri = file.uri
        self._file, self._size, self._is_slow = file, file.size(), is_slow

    def members(self) -> Iterator[Member]:
        """All members, in the order of the archive, up to its end mark."""
        place = length = fetched = 0
        while (member := self.member_at(place)) is not None:
            yield member
            is_like_the_last, length = member.end - place == length, member.end - place
            place = member.end
            if self._is_slow and is_like_the_last and place > fetched:
                # Files of the same size follow each other, as segments do: fetch the next headers in parallel calls.
                fetched = self._fetch(range(place, min(place + _AHEAD * length, self._size), length))
        self._check_end(place)

    def _fetch(self, places: Sequence[int]) -> int:
        """Read what is at those places, which the file then keeps; returns the last of them."""
        self._file.read_ranges([(place, BLOCK) for place in places])
        return max(places, default=0)

    def member_at(self, start: int) -> Member | None:
        """The member whose first header begins there; None at the end mark."""
        place, pax, long = start, dict[bytes, bytes](), dict[bytes, bytes]()
        for _ in range(_MOST_EXTENSIONS):
            if self._size < BLOCK:
                self._fail_at_begin(self.read(0, self._size))
            block = self.read(place, BLOCK)
            if block == _ZEROS:
                if place > start:
                    self.fail(place, Said("no header"))
                return None
            self._check_sum(place, block)
            kind, size = block[156:157], self.number(place, block[124:136], "size")
            if kind not in (_LONG_NAME, _LONG_LINK, _PAX, _PAX_OF_SUN, _PAX_GLOBAL, _VOLUME):
                return self._member(start, place, block, pax, long)
            content = self._extension(place, size)
            if kind in (_LONG_NAME, _LONG_LINK):
                long[kind] = content.partition(b"\0")[0]
            elif kind in (_PAX, _PAX_OF_SUN):
                pax.update(self._pax(place, content))
            elif kind == _PAX_GLOBAL and any(_OF_CONTENT.fullmatch(name) for name in self._pax(place, content)):
                self.fail(place, Said("global header"))
            place = next_block(place + BLOCK + size)
        self.fail(start, say("many headers", most=_MOST_EXTENSIONS))

    def read(self, place: int, length: int) -> bytes:
        """That many bytes of the archive; an error if it is shorter."""
        content = self._file.read_ranges([(place, length)])[0] if place + length <= self._size else b""
        if len(content) < length:
            self._fail_truncated(place, length)
        return content

    def fail(self, place: int, problem: Said) -> NoReturn:
        """Raise StoreDamaged: the header at that place cannot be understood."""
        uri = self.uri
        raise StoreDamaged(say("archive damaged", uri=uri, place=place, problem=problem, command=command_for(uri, "tar -xf")))

    def _fail_truncated(self, place: int, length: int) -> NoReturn:
        uri = self.uri
        raise StoreDamaged(
            say("archive truncated", uri=uri, size=self._size, place=place, end=place + length, command=command_for(uri, "tar -xf"))
        )

    def _check_sum(self, place: int, block: bytes) -> None:
        """The sum of the header's bytes, with spaces for the sum itself. Old programs added signed bytes."""
        found = sum(block) - sum(block[148:156]) + 8 * ord(" ")
        match = _OCTAL.fullmatch(_text(block[148:156]))
        expected = int(match[1], 8) if match and match[1] else None
        if expected != found and expected != found - 256 * sum(byte >= 128 for byte in block[:148] + block[156:]):
            if place == 0:
                self._fail_at_begin(block)
            self.fail(
                place, say("header checksum", found=shown(block[148:156]) if expected is None else str(expected), expected=str(found))
            )

    def _fail_at_begin(self, block: bytes) -> NoReturn:
        uri = self.uri
        packed = next((name for magic, name in _COMPRESSED.items() if block.startswith(magic)), None)
        if packed is not None:
            command = {"zip": "unzip", "7z": "7z x"}.get(packed, "tar -xf")
            raise PathError(say("archive packed", uri=uri, packed=packed, command=command_for(uri, command)))
        problem = Said("archive empty" if not block else "first header wrong")
        raise PathError(say("no archive", uri=uri, problem=problem))

    def number(self, place: int, field: bytes, name: str) -> int:
        """A number in octal digits, or if the first bit is set, in the other bits (GNU, for large ones)."""
        if field[0] & 0x80:
            value = int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
        else:
            match = _OCTAL.fullmatch(_text(field))
            value = int(match[1] or b"0", 8) if match else -1
        if not 0 <= value < _LARGEST:
            self.fail(place, say("header number", name=name, value=shown(field)))
        return value

    def _extension(self, place: int, size: int) -> bytes:
        if size > MOST_MAP:
            self.fail(place, say("header too large", size=size, most=MOST_MAP))
        return self.read(place + BLOCK, size)

    def _pax(self, place: int, content: bytes) -> dict[bytes, bytes]:
        """The records `<length> <keyword>=<value>\\n` of a pax header."""
        found, at = dict[bytes, bytes](), 0
        sparse = list[bytes]()
        while at < len(content):
            match = _RECORD.match(content, at)
            stop = at + int(match[1]) if match else 0
            name, equals, value = content[match.end() if match else at : stop].partition(b"=")
            if not (at < stop <= len(content) and equals and value.endswith(b"\n")) or not (name in _KEYWORDS or b"." in name):
                self.fail(place, say("pax field", value=shown(content[at : at + 20])))
            if name in (b"GNU.sparse.offset", b"GNU.sparse.numbytes"):  # 0.0 repeats these
                sparse.append(value[:-1])
            found[name] = value[:-1]
            at = stop
        if sparse:
            found[b"GNU.sparse.map"] = b",".join(sparse)
        return found

    def _member(self, start: int, place: int, block: bytes, pax: Mapping[bytes, bytes], long: Mapping[bytes, bytes]) -> Member:
        code = block[156:157]
        if code == _PART:
            self.fail(place, Said("archive in volumes"))
        if code not in _KINDS:
            self.fail(place, say("unknown header", code=shown(code)))
        kind = _KINDS[code]
        stored = self._decimal(place, pax, b"size")
        if stored is None:
            stored = self.number(place, block[124:136], "size")
        if code in _WITHOUT_CONTENT:
            stored = 0
        name = self._name(place, block, pax, long)
        target = pax.get(b"linkpath", long.get(_LONG_LINK, _text(block[157:257])))
        if kind == FILE and name.endswith(b"/") and code != b"S":  # of programs before POSIX
            kind = DIRECTORY
        sparse, size, holes, content = self._sparse(place, block, pax, stored)
        end = next_block(content + stored)
        if end > self._size:
            self._fail_truncated(content, end - content)
        return Member(start, end, kind, name, target, content, stored, size, sparse, holes)

    def _name(self, place: int, block: bytes, pax: Mapping[bytes, bytes], long: Mapping[bytes, bytes]) -> bytes:
        name, prefix = _text(block[:100]), _text(block[345:500]) if block[257:263] == b"ustar\0" else b""
        if _LONG_NAME in long:
            if not long[_LONG_NAME].startswith(name):  # nothing else shows damage of a long name
                self.fail(place, Said("other long name"))
            name, prefix = long[_LONG_NAME], b""
        if b"path" in pax or b"GNU.sparse.name" in pax:
            name, prefix = pax.get(b"GNU.sparse.name", pax.get(b"path", b"")), b""
        return prefix + b"/" + name if prefix else name

    def _sparse(self, place: int, block: bytes, pax: Mapping[bytes, bytes], stored: int) -> tuple[str | None, int, bytes, int]:
        """Where the map of a sparse file is, the size of the file, the map, and where the content begins."""
        content = place + BLOCK
        if block[156:157] == b"S":
            size, holes = self.number(place, block[483:495], "size"), block[386:482]
            if block[482]:
                more = self._more_map(content)
                holes, content = holes + more, content + len(more) // (BLOCK - 8) * BLOCK
            return SPARSE_GNU, size, holes, content
        if not pax:
            return None, stored, b"", content
        major, minor = (self._decimal(place, pax, b"GNU.sparse." + each) for each in (b"major", b"minor"))
        sizes = (self._decimal(place, pax, b"GNU.sparse." + each) for each in (b"realsize", b"size"))
        whole = next((size for size in sizes if size is not None), None)
        listed = pax.get(b"GNU.sparse.map")
        if major is None and listed is None and whole is None:
            return None, stored, b"", content
        if whole is None or (listed is None and (major, minor) != (1, 0)):
            self.fail(place, Said("sparse unknown"))
        return (SPARSE_INSIDE, whole, b"", content) if listed is None else (SPARSE_LISTED, whole, listed, content)

    def _more_map(self, place: int) -> bytes:
        """The map in the blocks that continue a header: 21 entries in each, and whether another block follows."""
        kept = bytearray()
        while len(kept) < MOST_MAP:
            content = self.read(place, min(_CHUNK, max(BLOCK, (self._size - place) // BLOCK * BLOCK)))
            for at in range(0, len(content), BLOCK):
                kept += content[at : at + BLOCK - 8]
                if not content[at + BLOCK - 8]:
                    return bytes(kept)
            place += len(content)
        self.fail(place, say("sparse map too large", most=MOST_MAP))

    def _decimal(self, place: int, pax: Mapping[bytes, bytes], name: bytes) -> int | None:
        value = pax.get(name)
        if value is None:
            return None
        if not _DECIMAL.fullmatch(value) or int(value) >= _LARGEST:
            self.fail(place, say("pax value", name=name.decode(), value=shown(value)))
        return int(value)

    def _check_end(self, place: int) -> None:
        """Only zeros may follow the end mark: otherwise a header became zeros, or another archive was appended with `cat`."""
        if place + 2 * BLOCK > self._size:
            self._fail_truncated(place, 2 * BLOCK)
        if self._size - place > _MOST_REST:
            self.fail(place, say("after end mark", bytes=self._size - place))
        while place < self._size:
            content = self.read(place, min(1 << 20, self._size - place))
            if content.count(0) < len(content):
                self.fail(place + len(content) - len(content.lstrip(b"\0")), Said("data after end mark"))
            place += len(content)


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def next_block(place: int) -> int:
    """Where the block begins that follows the content before that place."""
    return -(-place // BLOCK) * BLOCK
