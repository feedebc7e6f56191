"""``history.json``: what the output of the tools does not say.

Every key is optional::

    {"name": "bounce",
     "producers": {"1": {"acks": "1", "enableIdempotence": false, "config": {"retries": "3"}}},
     "groups": {"g": {"commit": "Auto", "isolation": "read_committed", "start": "first-read",
                      "config": {"session.timeout.ms": "10000"}}},
     "topics": {"foo": {"config": {"unclean.leader.election.enable": "true"}}},
     "brokerConfig": {"min.insync.replicas": "2"},
     "objectives": {"lostRecords": 0},
     "killed": ["consumer-g-2"]}
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krt_contract.durations import Duration
from krt_contract.settings import GROUP_SESSION
from krt_scoring.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PRODUCER_DEFAULTS: Mapping[str, Any] = {"acks": "all", "enableIdempotence": False}
"""VerifiableProducer sends with acks=-1 and retries=0; with no retries Kafka's client leaves
idempotence off."""

PRODUCER_CONFIG = {"retries": "0", "max.in.flight.requests.per.connection": "5"}
"""As VerifiableProducer sets them, and as Kafka's Java client defaults."""

EARLIEST, FIRST_READ = "earliest", "first-read"
STARTS = (EARLIEST, FIRST_READ)
"""Where a group starts on a partition: at the log's start (the tool's ``--reset-policy earliest``
and a group that had committed nothing), or at the first record it was given."""

GROUP_DEFAULTS: Mapping[str, Any] = {
    "commit": "AfterProcessing",
    "isolation": "read_uncommitted",
    "start": EARLIEST,
}
"""VerifiableConsumer commits by itself after it printed a poll; the rest are Kafka's defaults."""

GROUP_CONFIG = {GROUP_SESSION: "30000"}
"""VerifiableConsumer's ``--session-timeout``."""

_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "producers": (*PRODUCER_DEFAULTS, "config"),
    "groups": (*GROUP_DEFAULTS, "config"),
    "topics": ("config", "partitions", "replicationFactor"),
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "acks": ("all", "-1", "1", "0"),
    "commit": ("AfterProcessing", "BeforeProcessing", "Auto"),
    "isolation": ("read_committed", "read_uncommitted"),
    "start": STARTS,
}
_COUNTS = ("partitions", "replicationFactor")
_NUMBER = re.compile(r"(retries|\.ms|in\.flight\b.*|min\.insync\.replicas)$")
"""Settings that the rules compute with."""

_OTHERS: Mapping[str, type] = {
    "name": str,
    "brokerConfig": dict,
    "objectives": dict,
    "killed": list,
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a foreign history.

    Attributes:
        raw: the document of ``history.json``; empty where there is none.
    """

    name: str
    raw: Mapping[str, Any] = field(default_factory=dict)

    def producer(self, name: str) -> dict[str, Any]:
        """Return the settings of a producer as the spec of a run has them."""
        own = self.raw.get("producers", {}).get(name, {})
        config = {**PRODUCER_CONFIG, **own.get("config", {})}
        return {**PRODUCER_DEFAULTS, **own, "config": config}

    def group(self, name: str) -> dict[str, Any]:
        """Return the settings of a group's members as the spec of a run has them."""
        own = self.raw.get("groups", {}).get(name, {})
        return {**GROUP_DEFAULTS, **own, "config": {**GROUP_CONFIG, **own.get("config", {})}}

    def topic(self, name: str) -> dict[str, Any]:
        """Return what is said of a topic."""
        found: dict[str, Any] = self.raw.get("topics", {}).get(name, {})
        return found

    @property
    def killed(self) -> frozenset[str]:
        """Processes (file names without their ending) that were killed on purpose."""
        return frozenset(map(str, self.raw.get("killed", ())))


def load(path: Path, name: str) -> Settings:
    """Read ``history.json`` where there is one.

    Args:
        path: where it may lie.
        name: name of the history where the file gives none.

    Raises:
        PlanError: it is no JSON object, or holds a key or a value that means nothing.
    """
    if not path.exists():
        return Settings(name)
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PlanError(f"{path.name}: is no readable JSON ({error})") from error
    if not isinstance(raw, dict):
        raise PlanError(f"{path.name}: is no JSON object")
    _check(path.name, raw)
    return Settings(str(raw.get("name", name)), raw)


def _check(where: str, raw: Mapping[str, Any]) -> None:
    for key, value in raw.items():
        if key not in _OTHERS and key not in _ALLOWED:
            known = ", ".join(sorted({*_OTHERS, *_ALLOWED}))
            raise PlanError(f"{where}: {key!r} means nothing; known are {known}")
        kind = _OTHERS.get(key, dict)
        if not isinstance(value, kind):
            raise PlanError(f"{where}: {key} is no {kind.__name__}")
    _check_numbers(f"{where}: brokerConfig", raw.get("brokerConfig", {}))
    try:
        for limit in raw.get("objectives", {}).values():
            Duration.parse(limit) if isinstance(limit, str) else int(limit or 0)
    except (TypeError, ValueError) as error:
        raise PlanError(f"{where}: objectives: {error}") from error
    for key in sorted(raw.keys() & _ALLOWED.keys()):
        for name, entry in raw[key].items():
            _check_entry(f"{where}: {key}.{name}", entry, _ALLOWED[key])


def _check_entry(where: str, entry: Any, allowed: tuple[str, ...]) -> None:
    if not isinstance(entry, dict):
        raise PlanError(f"{where} is no object")
    for key, value in entry.items():
        if key not in allowed:
            raise PlanError(f"{where}.{key} means nothing; known are {', '.join(allowed)}")
        if key == "config":
            if not isinstance(value, dict):
                raise PlanError(f"{where}.config is no object")
            _check_numbers(f"{where}.config", value)
        if key in _COUNTS and (not isinstance(value, int) or value < 1):
            raise PlanError(f"{where}.{key} is {value!r}, no number above 0")
        if key in _CHOICES and str(value) not in _CHOICES[key]:
            raise PlanError(f"{where}.{key} is {value!r}, not one of {', '.join(_CHOICES[key])}")


def _check_numbers(where: str, config: Mapping[str, Any]) -> None:
    for key, value in config.items():
        if _NUMBER.search(key) and not str(value).isdecimal():
            raise PlanError(f"{where}.{key} is {value!r}, no number")
