"""Message traces: the text in the body of a message in a trace topic, as clients write it (`TraceDataEncoder`).

Records end with 2, fields are separated by 1; there is no escaping. The first field is the type of the record:

    Pub             time_stamp region_id group_name topic msg_id tags keys store_host body_length cost_time msg_type
                    12 fields: nothing more; 13: success; 14 and more: offset_msg_id success; 15: client_host (4.8.0)
    SubBefore       time_stamp region_id group_name request_id msg_id retry_times keys; 9 fields: client_host (4.8.0)
    SubAfter        request_id msg_id cost_time success keys
                    7 fields: context_code; 9: time_stamp group_name (4.9.0, and since 4.9.2)
    EndTransaction  time_stamp region_id group_name topic msg_id tags keys store_host msg_type transaction_id
                    transaction_state from_transaction_check (4.9.0+)
    Recall          time_stamp region_id group_name topic msg_id success (5.3.2+)

Java writes a value that is missing as the text `null`. Clients for clouds end a SubAfter after `context_code` with a 1.
"""

from __future__ import annotations

from typing import NamedTuple

FIELD_END, RECORD_END = 1, 2
ABSENT = "null"

PUB, SUB_BEFORE, SUB_AFTER, END_TRANSACTION, RECALL = TRACE_TYPES = ("Pub", "SubBefore", "SubAfter", "EndTransaction", "Recall")
MESSAGE_TYPES = ("Normal_Msg", "Trans_Msg_Half", "Trans_msg_Commit", "Delay_Msg", "Order_Msg")
"""`MessageType`, by the number in `msg_type`."""
TRANSACTION_STATES = ("COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW")
"""`LocalTransactionState`."""


class TraceLayout(NamedTuple):
    """The fields of one type of record after its type, and how many it has at least, with its type."""

    type: str
    fields: tuple[str, ...]
    least: int


_SENT = ("time_stamp", "region_id", "group_name", "topic", "msg_id", "tags", "keys", "store_host")
_PUB = (*_SENT, "body_length", "cost_time", "msg_type")
LAYOUTS = (
    TraceLayout(PUB, (*_PUB, "offset_msg_id", "success", "client_host"), 12),
    TraceLayout(SUB_BEFORE, ("time_stamp", "region_id", "group_name", "request_id", "msg_id", "retry_times", "keys", "client_host"), 8),
    TraceLayout(SUB_AFTER, ("request_id", "msg_id", "cost_time", "success", "keys", "context_code", "time_stamp", "group_name"), 6),
    TraceLayout(END_TRANSACTION, (*_SENT, "msg_type", "transaction_id", "transaction_state", "from_transaction_check"), 13),
    TraceLayout(RECALL, ("time_stamp", "region_id", "group_name", "topic", "msg_id", "success"), 7),
    TraceLayout(PUB, (*_PUB, "success"), 13),
)
"""The types in the order of TRACE_TYPES. The last one is a Pub of exactly 13 fields."""
SHORT_PUB, SHORT_PUB_FIELDS = len(TRACE_TYPES), 13
