"""The generation of the group that a member belongs to.

The client has no call for it. Its group metadata, which is meant for transactions alone, begins
with it: ``CGMDv2:``, the generation as a little-endian int32 (the member epoch, where the group
protocol is ``consumer``), the group's name and a zero byte (librdkafka 2.16). The format is
private, so anything that does not look like it gives no generation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

if TYPE_CHECKING:
    from confluent_kafka import Consumer

MAGIC = b"CGMDv2:"
_BYTES = 4
"""Bytes of the generation, after the magic."""


def generation_of(client: Consumer, group: str) -> int | None:
    """Return the generation of a member, None where it has none or the client hides it."""
    try:
        metadata = client.consumer_group_metadata()
    except (KafkaException, RuntimeError):  # closed, or about to be
        return None
    return parse(metadata, group)


def parse(metadata: object, group: str) -> int | None:
    """Return the generation in a client's group metadata, None where it is of another format."""
    if not isinstance(metadata, bytes) or not metadata.startswith(MAGIC):
        return None
    number, rest = metadata[len(MAGIC) :][:_BYTES], metadata[len(MAGIC) + _BYTES :]
    if not rest.startswith(group.encode() + b"\0"):
        return None
    generation = int.from_bytes(number, "little", signed=True)
    return generation if generation >= 0 else None
