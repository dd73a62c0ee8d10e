"""One log of plain and DLedger files: a broker that switched to DLedger keeps its plain files, at lower offsets."""

from __future__ import annotations

from collections.abc import Sequence

from native_reader.errors import StoreDamaged
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import DLEDGER, PLAIN, Segment, merged

_ZEROS = bytes(1 << 20)


def one_log(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Merge the segments of one store into one log. Files that hold data are never dropped."""
    dledger = [segment for segment in segments if segment.framing == DLEDGER]
    plain = [segment for segment in segments if segment.framing == PLAIN] if dledger else []
    if not _reaching_into(dledger, plain):
        return merged(segments)
    # Brokers allocate files ahead of use, so a file of zeros does not show which offsets a log covers.
    dledger = [segment for segment in dledger if _holds_data(segment)]
    shared = _reaching_into(dledger, plain)
    conflict = next(filter(_holds_data, shared), None)
    if conflict is not None:
        first = min(dledger)
        raise StoreDamaged(
            f"a plain log and a DLedger log both contain data at or after offset {first.base:,}: {conflict.uri} and {first.uri}. "
            f"Expected the plain log to end there. Load only the directory of the right log: {conflict.directory} or {first.directory}"
        )
    return merged([*dledger, *(segment for segment in plain if segment not in shared)])


def _reaching_into(dledger: Sequence[Segment], plain: Sequence[Segment]) -> list[Segment]:
    """The plain segments that end after the start of the DLedger log."""
    return [segment for segment in plain if segment.end > min(dledger).base] if dledger else []


def _holds_data(segment: Segment) -> bool:
    """Whether a file holds a byte other than zero; False if the file is gone."""
    try:
        file = storage_of(segment.uri).open(segment.uri)
    except FileNotFoundError:
        return False
    with file:
        buffer = bytearray(len(_ZEROS))
        offset, end = 0, file.written_end()
        while (offset := file.next_data(offset)) < end:
            got = file.read_into(offset, buffer)
            if not got:  # cut meanwhile
                break
            if buffer[:got] != _ZEROS[:got]:
                return True
            offset += len(_ZEROS)
    return False
