"""Property shapes: the properties of a message, in Java's order, as templates of constant and variable tokens."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from native_reader.testing.java import map_order
from native_reader.testing.producers import CLUSTER

# Columns: the variable parts of a record. The first four are in every record, the others are property values.
COLUMNS: Final = (
    "head", "body", "topic", "properties_length", "id", "born", "tag", "order", "user", "trace", "span", "region", "app", "version",
    "city", "small", "amount", "ip", "flag",
)  # fmt: skip
COLUMN: Final = {name: i for i, name in enumerate(COLUMNS)}

# Property values: constant text and {columns}.
_BASE: Final = {"MSG_REGION": "DefaultRegion", "UNIQ_KEY": "{id}", "CLUSTER": CLUSTER, "WAIT": "true", "TRACE_ON": "true"}
_KEYS: Final = (None, "o{order}", "o{order} u{user}")
_USER: Final = {
    "userId": "{user}",
    "orderId": "o{order}",
    "eventTime": "{born}",
    "traceparent": "00-{trace}-{span}-01",
    "EagleEye-TraceID": "{trace}",
    "region": "{region}",
    "app": "{app}",
    "version": "{version}",
    "city": "{city}",
    "属性": "{city}",
    "retries": "{small}",
    "shard": "{small}",
    "amount": "{amount}",
    "currency": "EUR",
    "clientIp": "{ip}",
    "contentType": "application/json",
    "schema": "v2",
    "debug": "{flag}",
    "sampled": "{flag}",
    "tenant": "{app}",
    "sessionId": "{span}",
    "source": "mobile-app",
    "__SHARDINGKEY": "{user}",
    "BORN_TIMESTAMP": "{born}",
    "a": "{flag}",
    "note": "multi\nline \"quoted\" text, with = and ; in it",
}  # fmt: skip

Mix = Literal["mixed", "equal"]


class PropertySet:
    """One set of properties: `tokens` holds constants (bytes) and column numbers, in the order of a 5.x broker's map."""

    def __init__(self, values: dict[str, str]) -> None:
        self.names = map_order(values, 128)
        text = "".join(f"{name}\x01{values[name]}\x02" for name in self.names)
        self.tokens: list[bytes | int] = []
        for i, part in enumerate(text.replace("}", "{").split("{")):
            if part:
                self.tokens.append(COLUMN[part] if i % 2 else part.encode())
        keys = values.get("KEYS", "")
        self.tagged = "TAGS" in values
        self.order_key = "{order}" in keys
        self.user_key = "{user}" in keys


def make_shapes(mix: Mix, rng: np.random.Generator, count: int = 36) -> list[PropertySet]:
    """`count` different shapes, or the only one of an "equal" log."""
    if mix == "equal":
        return [PropertySet(_BASE | {"TAGS": "{tag}", "KEYS": "o{order}", "userId": "{user}"})]
    names = sorted(_USER)
    shapes: dict[tuple[str, ...], PropertySet] = {}
    while len(shapes) < count:
        values = dict(_BASE)
        if rng.random() < 0.7:
            values["TAGS"] = "{tag}"
        keys = _KEYS[rng.integers(0, len(_KEYS))]
        if keys:
            values["KEYS"] = keys
        for i in rng.permutation(len(names))[: rng.integers(0, 8)]:
            values[names[i]] = _USER[names[i]]
        if rng.random() < 0.1:
            del values["WAIT"]  # some clients do not send it
        shape = PropertySet(values)
        shapes[tuple(shape.names)] = shape
    return list(shapes.values())
