"""The result of one run of a scenario, and the store where runs are put.

A run is stored as a folder ``STORE/<id>/<key>/<uid>/`` with ``test.json`` (the resource at its
end), the manifest, and, where it was scored, ``scorecard.json``, ``report.html`` and ``junit.xml``.
The id is that of the scenario in its mode, the key stands for the manifest and the images.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from krt_cli.resource import seconds
from krt_cli.scenarios.catalogue import digest
from krt_cli.scenarios.spread import Measurement
from krt_contract import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


class Outcome(StrEnum):
    """The result of all expectations of a run together."""

    MET = "met"
    NOT_MET = "not met"
    NOT_EVALUATED = "not evaluated"
    INCONCLUSIVE = "inconclusive"
    NOT_PERMITTED = "not permitted"
    DID_NOT_END = "did not end"


@dataclass(frozen=True, slots=True)
class Result:
    """One run of a scenario.

    Attributes:
        uid: of the resource.
        key: manifest and images it was run with.
        manifest: digest of the resource that was applied.
        test: the resource at its end.
        card: the scorecard; empty where the run was not scored.
    """

    uid: str
    key: str
    manifest: str
    test: dict[str, Any]
    card: dict[str, Any]

    @property
    def status(self) -> dict[str, Any]:
        """The status of the resource."""
        found: dict[str, Any] = self.test.get("status", {})
        return found

    @property
    def verdict(self) -> str | None:
        """The verdict on the data."""
        return self.status.get("verdict")

    @property
    def conclusion(self) -> str:
        """The verdict for a tally; that it was refused where that was expected."""
        if self.test.get("spec", {}).get("expect", {}).get("error") is not None:
            return "refused as expected" if self.outcome is Outcome.MET else "not refused"
        return self.verdict or "no verdict"

    @property
    def ended(self) -> str:
        """When it ended, as Kubernetes writes times; empty where it did not."""
        return str(self.status.get("completionTime") or "")

    @property
    def seconds(self) -> int:
        """How long it took from its creation to its end."""
        return round(seconds(self.test["metadata"]["creationTimestamp"], self.ended) or 0)

    @property
    def expectations(self) -> list[dict[str, Any]]:
        """The evaluated expectations: of the scorecard, or as far as the status has them."""
        if self.card:
            found: list[dict[str, Any]] = self.card.get("expectationResults", [])
            return found
        error = self.test.get("spec", {}).get("expect", {}).get("error")
        if error is None:
            return []
        results = self.status.get("expectationResults", {})
        met = bool(results.get("met")) and not results.get("notMet")
        return [
            {
                "expectation": "error",
                "expected": f"ends in phase Error with {error}",
                "observed": f"phase {self.status.get('phase')}: {self.status.get('summary', '')}",
                "result": "Met" if met else "NotMet",
            }
        ]

    @property
    def deviations(self) -> list[dict[str, Any]]:
        """The expectations that are not met or not evaluated."""
        return [item for item in self.expectations if item["result"] != "Met"]

    @property
    def outcome(self) -> Outcome:
        """The result of all expectations together."""
        results = {item["result"] for item in self.expectations}
        if not self.ended:
            return Outcome.DID_NOT_END
        if "NotMet" in results:
            return Outcome.NOT_MET
        if "NotEvaluated" in results or not results:
            return Outcome.NOT_EVALUATED
        if self.card and self.card["verdict"] == "Inconclusive":
            return Outcome.INCONCLUSIVE
        if self.card and self.card["verdict"] == "Failed":
            return Outcome.NOT_PERMITTED
        return Outcome.MET

    @property
    def fingerprint(self) -> tuple[tuple[str, str], ...]:
        """What two runs with the same outcome share, expectation by expectation."""
        each = ((item["expectation"], item["result"]) for item in self.expectations)
        return (("outcome", str(self.outcome)), *each)

    @property
    def lost(self) -> Measurement | None:
        """Acknowledged records that were lost; None where the run has no balanced ledger."""
        value = self.card.get("ledger", {}).get("lost")
        if value is None:
            numbers = [
                e.get("numbers", {}) for e in self.expectations if e["expectation"] == "loss"
            ]
            value = next((item["value"] for item in numbers if "value" in item), None)
        return None if value is None else Measurement(value)

    @property
    def acked(self) -> Measurement | None:
        """Acknowledged records."""
        value = self.card.get("ledger", {}).get("acked")
        return None if value is None else Measurement(value)

    def count(self, producer: str, term: str) -> Measurement | None:
        """Return a term of the ledger of one producer; None where the run has none.

        Args:
            producer: its name in ``spec.traffic.producers``.
            term: of the ledger identity.
        """
        for item in self.card.get("producers", ()):
            if item["producer"] == producer:
                return Measurement(item[term])
        return None

    def pause(self, topic: str) -> Measurement | None:
        """Return the longest pause of writes to a topic, or the limit below which none was seen."""
        for item in self.card.get("pauses", ()):
            if item["topic"] == topic and item["direction"] == "write":
                value, limit = item.get("max"), item.get("detectionLimit")
                if value:
                    return Measurement(value, duration=True)
                return Measurement(limit, duration=True, below=True) if limit else None
        return None

    def objective(self, name: str) -> Measurement | None:
        """Return what was measured for an objective that is a duration.

        Where nothing was seen it is the detection limit. None where nothing was measured, and where
        a scorecard of an earlier build holds 0, which meant "not seen" without saying below what.

        Args:
            name: as in ``spec.scoring.objectives``.
        """
        for item in self.card.get("objectives", ()):
            if item["name"] != name:
                continue
            if item.get("value"):
                return Measurement(item["value"], duration=True)
            limit = item.get("detectionLimit")
            return Measurement(limit, duration=True, below=True) if limit else None
        return None

    def part(self, name: str) -> Measurement | None:
        """Return the longest of the parts of that name that the run's pauses consist of.

        Args:
            name: ``detect``, ``elect``, ``rebalance`` or ``client``.
        """
        parts = self.card.get("parts") or longest_parts(self.card.get("availability", ()))
        return Measurement(parts[name], duration=True) if name in parts else None

    def number(self, expectation: str) -> Measurement | None:
        """Return the number an expectation was evaluated by, None where there is no single one."""
        for item in self.expectations:
            value = item.get("numbers", {}).get("value")
            if item["expectation"] == expectation and value is not None:
                return Measurement(value, duration=_is_duration(expectation))
        return None

    def summary(self) -> str:
        """Return the result in a line."""
        met = len(self.expectations) - len(self.deviations)
        text = f"{self.outcome} ({met} of {len(self.expectations)} expectations met)"
        text += f", verdict {self.verdict}"
        if self.outcome is Outcome.MET:
            return text
        reasons = [f"{item['expectation']}: {item['observed']}" for item in self.deviations]
        state = str(self.status.get("summary") or self.status.get("phase"))
        return f"{text}; {'; '.join(reasons) or state}"


@dataclass(frozen=True, slots=True)
class Store:
    """The folder where runs are stored.

    Attributes:
        folder: that folder; need not exist.
    """

    folder: Path

    def place(self, name: str, key: str, uid: str) -> Path:
        """Return the folder of a run."""
        return self.folder / name / key / uid

    def runs(self, name: str, key: str = "*", uid: str = "[!.]*") -> list[Result]:
        """Return the runs of a scenario, under any key or one, all of them or one.

        None is among them that is still being written (its folder begins with a dot), nor one of
        an earlier version of the scorecard, whose expectations have other names.
        """
        return [result for result in self._read(name, key, uid) if _current(result)]

    def outdated(self, name: str) -> int:
        """Return how many runs of a scenario have a scorecard of an earlier version."""
        return sum(not _current(result) for result in self._read(name, "*", "[!.]*"))

    def _read(self, name: str, key: str, uid: str) -> Iterator[Result]:
        for path in sorted(self.folder.glob(f"{name}/{key}/{uid}/test.json")):
            yield read(path.parent)


def read(folder: Path) -> Result:
    """Read one stored run."""
    test = json.loads((folder / "test.json").read_text(encoding="utf-8"))
    scorecard = folder / "scorecard.json"
    return Result(
        uid=folder.name,
        key=folder.parent.name,
        manifest=digest(folder / f"{test['metadata']['name']}.yaml"),
        test=test,
        card=json.loads(scorecard.read_text(encoding="utf-8")) if scorecard.exists() else {},
    )


def longest_parts(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return part → its longest duration in µs, over all gaps of a scorecard's availability."""
    found: dict[str, int] = {}
    for row in rows:
        for gap in row.get("gaps", ()):
            for name, duration in gap.get("breakdown", {}).items():
                found[name] = max(duration, found.get(name, 0))
    return found


def _is_duration(expectation: str) -> bool:
    """Return whether the number of an expectation is in µs: of a time after the fault."""
    return expectation.rsplit(".", 1)[-1].endswith("After")


def _current(result: Result) -> bool:
    if result.card:
        return bool(result.card.get("schemaVersion") == SCHEMA_VERSION)
    return "claims" not in result.status


def stored_count(store: Store, name: str, key: str) -> int:
    """Return how many runs of a scenario are stored under a key, without reading them."""
    return len(list(store.folder.glob(f"{name}/{key}/[!.]*/test.json")))
