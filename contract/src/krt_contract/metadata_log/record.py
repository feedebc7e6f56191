"""One record of the metadata log, and its line in the bundle.

The fields of a record are those that Kafka's ``DumpLogSegments --cluster-metadata-decoder`` prints,
under the same names: a tagged field that has its default is left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class RecordType(StrEnum):
    """The types of records that the history is made of."""

    REGISTER_BROKER = "REGISTER_BROKER_RECORD"
    UNREGISTER_BROKER = "UNREGISTER_BROKER_RECORD"
    TOPIC = "TOPIC_RECORD"
    PARTITION = "PARTITION_RECORD"
    PARTITION_CHANGE = "PARTITION_CHANGE_RECORD"
    FENCE_BROKER = "FENCE_BROKER_RECORD"
    UNFENCE_BROKER = "UNFENCE_BROKER_RECORD"
    REMOVE_TOPIC = "REMOVE_TOPIC_RECORD"
    BROKER_REGISTRATION_CHANGE = "BROKER_REGISTRATION_CHANGE_RECORD"
    NO_OP = "NO_OP_RECORD"
    BEGIN_TRANSACTION = "BEGIN_TRANSACTION_RECORD"
    END_TRANSACTION = "END_TRANSACTION_RECORD"
    ABORT_TRANSACTION = "ABORT_TRANSACTION_RECORD"
    CLEAR_ELR = "CLEAR_ELR_RECORD"
    FEATURE_LEVEL = "FEATURE_LEVEL_RECORD"
    LEADER_CHANGE = "LEADER_CHANGE"
    """A control record: a controller became the quorum's leader."""


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A committed record of the metadata log.

    Attributes:
        offset: its place in the log.
        at: when the active controller wrote its batch, UTC µs (Kafka keeps milliseconds).
        epoch: the quorum epoch in which it was written.
        type: as Kafka names it; ``RecordType`` lists those that the history is made of.
        version: of its schema.
        data: its fields; empty where it was not decoded.
        value: a record of an unknown type as base64, else empty.
    """

    offset: int
    at: int
    epoch: int
    type: str
    version: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)
    value: str = ""

    def line(self) -> str:
        """Return the record as one line of JSON, newline included."""
        document: dict[str, Any] = {
            "offset": self.offset,
            "at": self.at,
            "epoch": self.epoch,
            "type": self.type,
            "version": self.version,
        }
        if self.data:
            document["data"] = dict(self.data)
        if self.value:
            document["value"] = self.value
        return json.dumps(document, separators=(",", ":")) + "\n"

    @classmethod
    def parse(cls, line: bytes | str) -> LogRecord:
        """Read a line of the bundle.

        Raises:
            ValueError: it is no record.
        """
        try:
            document = json.loads(line)
            data = document.get("data", {})
            return cls(
                offset=int(document["offset"]),
                at=int(document["at"]),
                epoch=int(document["epoch"]),
                type=str(document["type"]),
                version=int(document["version"]),
                data=dict(data.items()),
                value=str(document.get("value", "")),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"no record of the metadata log: {error!r}") from error
