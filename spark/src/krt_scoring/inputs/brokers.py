"""Brokers by their two names: the member ``kafka-0`` of a run is Kafka's broker 0."""

from __future__ import annotations

from typing import Final

KIND: Final = "kafka"


def member_of(broker: int | str) -> str:
    """Return the member that is the broker of this id."""
    return f"{KIND}-{broker}"


def broker_of(member: str) -> int | None:
    """Return the id of the broker that a member is; None where it is no broker."""
    kind, _, ordinal = member.rpartition("-")
    return int(ordinal) if kind == KIND and ordinal.isdigit() else None
