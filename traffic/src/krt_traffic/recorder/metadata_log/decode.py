"""From batches of the metadata log to records, by Kafka's own schemas.

A record begins with the version of its frame, the number of its type and the version of that type.
"""

from __future__ import annotations

import base64
import io
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafka.protocol.schemas import StructField
from kafka.record.memory_records import MemoryRecords

from krt_contract.metadata_log.record import LogRecord, RecordType

if TYPE_CHECKING:
    from collections.abc import Iterator

FRAME_VERSION = 1
SECRETS = {10: "DELEGATION_TOKEN_RECORD", 11: "USER_SCRAM_CREDENTIAL_RECORD"}
"""Number → type of records that hold what lets somebody log in: their content is no evidence."""
SECRET_SETTING = re.compile(r"password|secret|jaas|\.key$", re.IGNORECASE)
"""Names of settings whose values are no evidence; Kafka writes them in plain text."""

CONTROL_TYPES = {
    2: RecordType.LEADER_CHANGE,
    3: "SNAPSHOT_HEADER",
    4: "SNAPSHOT_FOOTER",
    5: "KRAFT_VERSION",
    6: "KRAFT_VOTERS",
}
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


def records_in(data: bytes) -> Iterator[LogRecord]:
    """Yield the records of some batches; a batch at the end that is cut off is left out.

    Raises:
        ValueError: a batch is damaged.
    """
    batches = MemoryRecords(data)
    while batches.has_next():
        batch = batches.next_batch()
        if not batch.validate_crc():
            raise ValueError(f"the batch at offset {batch.base_offset} of the metadata log is bad")
        for record in batch:
            where = (record.offset, record.timestamp * 1000, batch.leader_epoch)
            if batch.is_control_batch:
                yield _control(*where, record.key or b"", record.value or b"")
            else:
                yield _metadata(*where, record.value or b"")


def _control(offset: int, at: int, epoch: int, key: bytes, value: bytes) -> LogRecord:
    number = int.from_bytes(key[2:4], "big")
    name = CONTROL_TYPES.get(number, f"CONTROL_{number}")
    data: dict[str, Any] = {}
    if name == RecordType.LEADER_CHANGE:
        # LeaderChangeMessage: int16 version, int32 leader id, and the voters.
        data = {"leaderId": int.from_bytes(value[2:6], "big", signed=True)}
    encoded = "" if data else base64.b64encode(value).decode()
    return LogRecord(offset, at, epoch, str(name), 0, data, encoded)


def _metadata(offset: int, at: int, epoch: int, value: bytes) -> LogRecord:
    stream = io.BytesIO(value)
    frame, number, version = (_unsigned(stream) for _ in range(3))
    if number in SECRETS:
        return LogRecord(offset, at, epoch, SECRETS[number], version)
    schema = schemas().get(number)
    if schema is None or frame != FRAME_VERSION or version > schema.max_version:
        kind = schema.type if schema else f"RECORD_{number}"
        encoded = base64.b64encode(value).decode()
        return LogRecord(offset, at, epoch, kind, version, {}, encoded)
    data = schema.read(stream, version)
    if number == CONFIG and SECRET_SETTING.search(str(data.get("name"))):
        data.pop("value", None)
    return LogRecord(offset, at, epoch, schema.type, version, data)


CONFIG = 4
"""The number of ``CONFIG_RECORD``."""


@dataclass(frozen=True, slots=True)
class Schema:
    """How records of a type are encoded.

    Attributes:
        type: ``PARTITION_CHANGE_RECORD`` for PartitionChangeRecord.
        max_version: the newest version that is known.
        struct: its fields; None where it has none.
    """

    type: str
    max_version: int
    struct: Any

    def read(self, stream: io.BytesIO, version: int) -> dict[str, Any]:
        """Return the fields of a record."""
        if self.struct is None:
            return {}
        decoded = self.struct.decode(stream, version=version, compact=True, tagged=True)
        return _fields(self.struct, decoded)


@cache
def schemas() -> dict[int, Schema]:
    """Return the number of each known type → its schema."""
    found = {}
    for item in resources.files(f"{__package__}.schemas").iterdir():
        if item.name.endswith(".json"):
            document = json.loads(_COMMENT.sub("", item.read_text(encoding="utf-8")))
            found[int(document["apiKey"])] = Schema(
                type=re.sub(r"(?<=[a-z])(?=[A-Z])", "_", document["name"]).upper(),
                max_version=int(document["validVersions"].rpartition("-")[2]),
                struct=StructField(document) if document["fields"] else None,
            )
    return found


def _fields(schema: Any, decoded: dict[str, Any]) -> dict[str, Any]:
    """Return decoded fields under Kafka's names, with values that JSON can hold."""
    found = {}
    for field in schema.fields.values():
        if field.name in decoded:
            name = field._name  # noqa: SLF001 - the library has no public name for Kafka's own
            found[name[0].lower() + name[1:]] = _value(field, decoded[field.name])
    return found


def _value(field: Any, value: Any) -> Any:
    if field.is_struct_array():
        return None if value is None else [_fields(field, item) for item in value]
    if isinstance(value, list):
        return [_scalar(item) for item in value]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, UUID):
        return kafka_uuid(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return value


def kafka_uuid(value: UUID) -> str:
    """Return a UUID as Kafka writes it: base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")


def _unsigned(stream: io.BytesIO) -> int:
    found = shift = 0
    while byte := stream.read(1):
        found |= (byte[0] & 0x7F) << shift
        if not byte[0] & 0x80:
            return found
        shift += 7
    raise ValueError("a record of the metadata log ends within a number")
