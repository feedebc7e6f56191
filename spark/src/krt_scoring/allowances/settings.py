"""The settings of clients that decide what is permitted, with the clients' own defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_contract.settings import (
    MAX_IN_FLIGHT,
    MAX_IN_FLIGHT_IDEMPOTENT,
    RETRIES,
    first_of,
)

if TYPE_CHECKING:
    from krt_contract.plan import Plan

IN_FLIGHT_DEFAULT = 1_000_000
"""librdkafka 2.x ``max.in.flight.requests.per.connection``; 5 with idempotence."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What of a producer's settings the rules use.

    Attributes:
        acks: ``all``, ``1`` or ``0``.
        idempotent: also true of transactional producers.
        retries: whether the client sends again by itself.
        in_flight: requests in flight on a connection.
    """

    acks: str
    idempotent: bool
    retries: bool
    in_flight: int


STRICT = Settings(acks="all", idempotent=True, retries=False, in_flight=1)
"""Settings of a producer the plan does not know: nothing is permitted to it."""


def of_identity(run: Plan, identity: str) -> Settings:
    """Return the settings of the producer an identity of the evidence belongs to."""
    info = run.writer(identity)
    if info is None:
        return STRICT
    config = info.config
    retries = first_of(config, RETRIES)
    idempotent = info.idempotent or info.transactional
    default = MAX_IN_FLIGHT_IDEMPOTENT if idempotent else IN_FLIGHT_DEFAULT
    in_flight = first_of(config, MAX_IN_FLIGHT)
    return Settings(
        acks=str(info.acks),
        idempotent=idempotent,
        retries=retries is None or int(retries) > 0,
        in_flight=int(in_flight) if in_flight is not None else default,
    )
