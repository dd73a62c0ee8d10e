"""Light queues of a repaired store: each surviving record at the queue offset that it names, and placeholders between them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import contents, entries, opened, records_of
from support.store_damages import cut_tail, no_queues, patch, random_bytes, records, segments

import native_reader as nr
from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.layout.queue_entry import java_hash

_LIGHT = ("%LMQ%a", "%LMQ%b0", "%LMQ%b1")
_CODE = java_hash(PLACEHOLDER_TAG)
Change = Callable[[Path], object]


def _lights(store: Path) -> dict[str, list[tuple[int, int, int, int]]]:
    return {name: list(entries(store, name, 0)) for name in _LIGHT if (store / "consumequeue" / name).exists()}


def _own(store: Path) -> dict[str, list[tuple[int, int, int, int]]]:
    return {"Parent": list(entries(store, "Parent", 0))} | _lights(store)


def _zeros(count: int, first: int = 10) -> Change:
    """Some records are lost."""

    def change(store: Path) -> None:
        found = records(segments(store)[0])[first : first + count]
        patch(segments(store)[0], found[0][0], bytes(sum(size for _, size in found)))

    return change


def _body(store: Path) -> None:
    at, size = records(segments(store)[0])[10]
    begin = segments(store)[0].read_bytes().index(b"INNER", at, at + size)
    patch(segments(store)[0], begin - 30, b"?")


def _a_light_queue_of_random_bytes(store: Path) -> None:
    patch(store / "consumequeue" / "%LMQ%a" / "0" / ("0" * 20), 100, Random(1).randbytes(200))


def _no_light_queues(store: Path) -> None:
    for name in _LIGHT:
        shutil.rmtree(store / "consumequeue" / name)


def _all_queues(store: Path) -> None:
    no_queues(store, Random(1))


def _wrong_tag(store: Path) -> None:
    patch(store / "consumequeue" / "%LMQ%a" / "0" / ("0" * 20), 20 * 5 + 12, b"\0\0\0\0\1\2\3\4")


CHANGES: dict[str, tuple[Change, ...]] = {
    "a record": (_zeros(1),),
    "four records": (_zeros(4),),
    "the first records": (_zeros(3, 0),),
    "records without light queues": (_zeros(4), _no_light_queues),
    "records and all queues": (_zeros(4), _all_queues),
    "the first records and all queues": (_zeros(3, 0), _all_queues),
    "two places and all queues": (_zeros(3, 15), _zeros(2, 5), _all_queues),
    "records and a light queue": (_zeros(4), _a_light_queue_of_random_bytes),
    "a light queue": (_a_light_queue_of_random_bytes,),
    "light queues": (_no_light_queues,),
    "all queues": (_all_queues,),
    "a tag": (_wrong_tag,),
    "the end": (lambda store: cut_tail(store, Random(1)),),
    "random bytes": (lambda store: random_bytes(store, Random(3)),),
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_survivors_keep_their_offsets_in_light_queues(tmp_path: Path, changes: tuple[Change, ...]) -> None:
    store = unpack("4.9.7-light", tmp_path, STORES).root
    whole = _own(store)
    for change in changes:
        change(store)
    done = opened(store).repair(tmp_path / "new")
    new, alive = _own(tmp_path / "new"), {row[0] for row in records_of(tmp_path / "new")}
    assert len(alive) == done.plan.messages == len(whole["Parent"]) - done.plan.placeholders
    assert new.keys() == whole.keys()
    held = {offset: size for _, offset, size, code in new["Parent"] if code == _CODE}
    for name, before in whole.items():
        assert [each for each in new[name] if each[1] in alive] == [each for each in before if each[1] in alive]
        assert [slot for slot, *_ in new[name]] == [slot for slot, *_ in before]
        others = [each for each in new[name] if each[1] not in alive]
        assert {(offset, size, code) for _, offset, size, code in others} <= {(offset, size, _CODE) for offset, size in held.items()}
        assert len({offset for _, offset, *_ in new[name]}) == len(new[name]), "a record twice in a queue"
    assert (new == whole) == (not done.plan.placeholders)


def test_queues_that_are_made_of_a_repaired_log_are_the_same(tmp_path: Path) -> None:
    """A placeholder names the light queues of the lost record, so what makes queues of the log finds them there."""
    store = unpack("4.9.7-light", tmp_path, STORES).root
    _zeros(4)(store)
    opened(store).repair(tmp_path / "new")
    before = _own(tmp_path / "new")
    _all_queues(tmp_path / "new")
    shutil.copy(store.parent / "settings.json", tmp_path)
    done = opened(tmp_path / "new").repair(tmp_path / "again")
    assert (done.plan.placeholders, done.account is not None and done.account.is_whole) == (0, True)
    assert _own(tmp_path / "again") == before


def test_a_light_queue_without_files_beside_others(tmp_path: Path) -> None:
    """A broker deletes light queues. It is made again if a group has an offset in it."""
    store = unpack("4.9.7-light", tmp_path, STORES).root
    whole = _own(store)
    shutil.rmtree(store / "consumequeue" / "%LMQ%a")
    done = opened(store).repair(tmp_path / "new")
    assert (done.plan.dropped, "%LMQ%a" in _lights(tmp_path / "new")) == ({"%LMQ%a": len(whole["%LMQ%a"])}, False)
    offsets = store / "config" / "lmqConsumerOffset.json"
    content = json.loads(offsets.read_text()) | {"lmqOffsetTable": {"%LMQ%a@%LMQ%device": 7}}
    offsets.write_text(json.dumps(content))
    opened(store).repair(tmp_path / "again")
    assert _own(tmp_path / "again") == whole
    assert (tmp_path / "again" / "config" / "lmqConsumerOffset.json").read_bytes() == offsets.read_bytes()


@pytest.mark.parametrize("older", [1, 3])
@pytest.mark.parametrize("has_queues", [True, False])
def test_a_light_queue_that_was_created_again(tmp_path: Path, older: int, has_queues: bool) -> None:
    """Records of its first life have the same offsets. They are whole, and stay in their topic."""
    store = unpack("4.9.7-light", tmp_path, STORES).root
    whole, (segment,) = _own(store), segments(store)
    content = bytearray(segment.read_bytes())
    for slot, offset, size, _ in whole["%LMQ%b1"][older:]:
        own = b"INNER_MULTI_QUEUE_OFFSET\1%d," % (2 * slot + 1)
        at = content.index(own, offset, offset + size) + len(own)
        content[at : at + len(str(slot))] = b"%0*d" % (len(str(slot)), slot - older)
    segment.write_bytes(content)
    path = store / "consumequeue" / "%LMQ%b1" / "0" / ("0" * 20)
    path.write_bytes(path.read_bytes()[20 * older :] + bytes(20 * older))
    whole = _own(store)
    if not has_queues:
        _all_queues(store)
    done = opened(store).repair(tmp_path / "new")
    assert (done.plan.placeholders, done.plan.messages) == (0, len(whole["Parent"]))
    assert _own(tmp_path / "new") == whole


def test_a_group_of_a_light_queue_misses_its_lost_messages(tmp_path: Path) -> None:
    store = unpack("4.9.7-light", tmp_path, STORES).root
    (store / "config" / "lmqConsumerOffset.json").write_text('{"offsetTable":{},"lmqOffsetTable":{"%LMQ%a@%LMQ%device":11}}')
    _zeros(4)(store)
    facts = opened(store).repair(tmp_path / "new").to_dict()
    (group,) = facts["groups"]
    assert (group["topic"], group["queue_id"], group["committed"], group["missed"]) == ("%LMQ%a", 0, 11, 3)
    (light,) = [each for each in facts["queues"] if each["topic"] == "%LMQ%a"]
    assert (light["messages"], light["offsets"]) == (4, [(10, 14)])
    page = (tmp_path / "new" / "repair.md").read_text()
    assert "mqadmin" in page
    assert not [line for line in page.splitlines() if "mqadmin" in line and "%LMQ%a" in line and "topicStatus" in line]


def test_an_extract_of_a_store_with_light_queues_is_refused(tmp_path: Path) -> None:
    store = unpack("4.9.7-light", tmp_path, STORES).root
    before = contents(store)
    with pytest.raises(nr.StoreError) as refused:
        nr.open(store).extract(tmp_path / "new", topic="Parent")
    assert "'%LMQ%a' is a light queue (LMQ)" in str(refused.value)
    assert not (tmp_path / "new").exists()
    assert contents(store) == before
