"""A stream's offsets as text: read by people, by Spark, and by other versions."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores import sampled

from native_reader.scan.boundary import Boundary, Fingerprint
from rmqstore_spark.offsets import Batch, OffsetError, from_json, to_json


def test_an_offset_can_be_read_by_a_person() -> None:
    offset = {
        "file:///b": Batch(7, Boundary(7)),
        "file:///a": Batch(0, Boundary(768, Fingerprint(512, 1_700_000_000_123, 77))),
    }
    assert json.dumps(to_json(offset)) == (
        '{"stores": {"file:///a": {"from": 0, "last": {"crc": 77, "offset": 512, "stored": "2023-11-14T22:13:20.123Z"}, "next": 768}, '
        '"file:///b": {"from": 7, "last": null, "next": 7}}, "version": 1}'
    )


@given(
    st.dictionaries(
        st.text(max_size=9),
        st.tuples(
            st.integers(0, 2**63 - 1),
            st.integers(0, 2**63 - 1),
            st.none() | st.tuples(st.integers(0, 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1)),
        ),
    )
)
@sampled(50)
def test_an_offset_survives_its_text(stores: dict[str, tuple[int, int, tuple[int, int, int] | None]]) -> None:
    offset = {uri: Batch(start, Boundary(stop, last and Fingerprint(*last))) for uri, (start, stop, last) in stores.items()}
    text = json.dumps(to_json(offset))
    assert from_json(json.loads(text)) == offset
    assert json.dumps(to_json(from_json(json.loads(text)))) == text
    assert json.dumps(json.loads(text), sort_keys=True) == text  # Spark compares them as text


WRONG = {
    '{"stores": {}, "version": 2}': "the checkpoint was written by a newer rmqstore-spark: its offsets have version 2, this one reads 1",
    '{"stores": {}}': "the checkpoint holds no offset of rmqstore-spark: it has version None, not 1",
    '{"stores": {}, "version": 0}': "the checkpoint holds no offset of rmqstore-spark: it has version 0, not 1",
    "17": "the checkpoint holds no offset of rmqstore-spark: it has version None, not 1",
    '{"version": 1}': "an offset in the checkpoint was changed or cut: KeyError 'stores'",
    '{"stores": {"a": {"next": 1, "from": 0}}, "version": 1}': "an offset in the checkpoint was changed or cut: KeyError 'last'",
    '{"stores": {"a": {"next": -1, "from": 0, "last": null}}, "version": 1}': "ValueError -1 is no offset",
    '{"stores": {"a": {"next": "1", "from": 0, "last": null}}, "version": 1}': "ValueError '1' is no offset",
    '{"stores": {"a": {"next": 1, "from": 0, "last": {"crc": 1, "offset": 0, "stored": "now"}}}, "version": 1}': "ValueError Invalid",
    '{"stores": [1], "version": 1}': "an offset in the checkpoint was changed or cut: AttributeError",
}


@pytest.mark.parametrize("text", WRONG)
def test_an_offset_that_is_not_ours(text: str) -> None:
    with pytest.raises(OffsetError, match=re.escape(WRONG[text])) as raised:
        from_json(json.loads(text))
    assert str(raised.value).endswith("A new checkpointLocation starts afresh")
