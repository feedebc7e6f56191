"""The results that lie in git: of each scenario the last runs, as compact scorecards.

Pages are made from them alone, so that they can be made where the runs were not, and a run of some
scenarios leaves the others' results as they are. A result of an earlier version of its manifest is
kept until there is one of the present version.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from krt_cli.scenarios.results import Result, Store, longest_parts

if TYPE_CHECKING:
    from pathlib import Path

    from krt_cli.scenarios.catalogue import Scenario

RUNS = 6
"""Runs of a scenario that are kept and compared: twice the three that are to have one outcome."""

OF_A_TEST = ("completionTime", "phase", "verdict", "score", "summary", "expectationResults")
"""What is kept of a resource's status."""

OF_A_CARD = (
    "schemaVersion",
    "verdict",
    "expectationResults",
    "inconclusiveReasons",
    "ledger",
    "objectives",
    "producers",
)
"""What is kept of the scorecard of every run: what runs are compared by."""

OF_THE_LAST_CARD = (
    "adminRequests",
    "components",
    "gapsTruncated",
    "latency",
    "leadership",
    "partitions",
    "recovery",
    "rejections",
    "replicas",
    "run",
    "score",
    "steadyFrom",
    "summary",
    "transactions",
    "warnings",
)
"""What is kept, besides, of the last run, whose page and report are shown."""

EXAMPLES = 3
"""Examples of an anomaly, gaps of a partition and observations of a kind that are kept."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The folder of results: a file for each scenario and mode, named by the scenario's id.

    Attributes:
        folder: that folder; need not exist.
    """

    folder: Path

    def runs(self, name: str) -> list[Result]:
        """Return the kept runs of a scenario, by its id, the latest last."""
        file = self._file(name)
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
        return [Result(**run) for run in kept]

    def merge(self, scenario: Scenario, store: Store) -> list[Result]:
        """Take the stored runs of a scenario in, and return those that are kept.

        These are the last RUNS of the manifest as it is now, of whatever images; where there are
        none, of the version that was run last.
        """
        found = {run.uid: run for run in self.runs(scenario.id)}
        found |= {run.uid: run for run in store.runs(scenario.id)}
        ordered = sorted(found.values(), key=lambda run: (run.ended, run.uid))
        if not ordered:
            return []
        present = scenario.digest
        versions = {run.manifest for run in ordered}
        version = present if present in versions else ordered[-1].manifest
        runs = [run for run in ordered if run.manifest == version][-RUNS:]
        self._keep(scenario.id, runs)
        return runs

    def prune(self, ids: set[str]) -> None:
        """Remove the results of scenarios other than these."""
        for file in self.folder.glob("*.json"):
            if file.stem not in ids:
                file.unlink()

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _keep(self, name: str, runs: list[Result]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = [asdict(compact(run, last=run is runs[-1])) for run in runs]
        text = json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        self._file(name).write_text(text, encoding="utf-8")


def compact(run: Result, *, last: bool) -> Result:
    """Return a run with what is kept of it; more of the last one, whose page is shown."""
    meta = run.test["metadata"]
    error = run.test.get("spec", {}).get("expect", {}).get("error")
    test = {
        "metadata": {name: meta[name] for name in ("name", "creationTimestamp")},
        "spec": {"expect": {"error": error}} if error is not None else {},
        "status": {name: run.status[name] for name in OF_A_TEST if name in run.status},
    }
    card = {name: run.card[name] for name in OF_A_CARD if name in run.card}
    if "availability" in run.card:
        card["pauses"] = _pauses(run.card["availability"])
    elif "pauses" in run.card:
        card["pauses"] = run.card["pauses"]
    # What was kept before has but the longest gaps.
    parts = run.card.get("parts") or longest_parts(run.card.get("availability", ()))
    if parts:
        card["parts"] = parts
    if last and run.card:
        card |= {name: run.card[name] for name in OF_THE_LAST_CARD if name in run.card}
        card["faults"] = [_fault(fault) for fault in run.card.get("faults", [])]
        if "anomalies" in run.card:
            card["anomalies"] = {n: _anomaly(a) for n, a in run.card["anomalies"].items()}
        if "availability" in run.card:
            card["availability"] = [_availability(row) for row in run.card["availability"]]
    return Result(run.uid, run.key, run.manifest, test, card)


def _fault(fault: dict[str, Any]) -> dict[str, Any]:
    """Keep EXAMPLES observations of each kind."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for item in fault.get("observations", []):
        kinds.setdefault(item.get("kind", ""), []).append(item)
    observations = [item for kind in sorted(kinds) for item in kinds[kind][:EXAMPLES]]
    return {**fault, "observations": observations}


def _anomaly(anomaly: dict[str, Any]) -> dict[str, Any]:
    """Keep EXAMPLES examples, without the histories in them."""
    examples = [
        {key: value for key, value in example.items() if not isinstance(value, list | dict)}
        for example in anomaly.get("examples", [])[:EXAMPLES]
    ]
    return {**anomaly, "examples": examples}


def _pauses(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep the longest gap and the greatest detection limit of each topic, direction and group."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row["topic"], row["direction"], row.get("group") or "")
        names = dict(zip(("topic", "direction", "group"), key, strict=True))
        kept = found.setdefault(key, names)
        for name in ("max", "detectionLimit"):
            if name in row:
                kept[name] = max(row[name], kept.get(name, 0))
    return [found[key] for key in sorted(found)]


def _availability(row: dict[str, Any]) -> dict[str, Any]:
    """Keep the EXAMPLES longest gaps."""
    longest = sorted(row.get("gaps", []), key=lambda gap: -gap["duration"])[:EXAMPLES]
    return {**row, "gaps": sorted(longest, key=lambda gap: (gap.get("start", 0), -gap["duration"]))}
