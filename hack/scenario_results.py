"""The results of scenarios that were run: read where a run stored them, and kept beside the pages.

A run is stored as a folder ``STORE/<name>/<key>/<uid>/`` with ``test.json`` (the resource at its
end), the manifest, and, where it was scored, ``scorecard.json`` and ``report.html``. The key stands
for the manifest and the images. What the pages need of it is kept in ``DOCS/results/<name>.json``,
so pages can be written where the runs were not made, and a run of some scenarios leaves the others'
pages as they are. A result of an earlier version of its manifest is shown until there is a newer
one, and as what it is.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

HELD, NOT_HELD, NOT_MEASURED, INCONCLUSIVE = "met", "not met", "not evaluated", "inconclusive"
NOT_PERMITTED, UNFINISHED = "not permitted", "did not end"

KEPT = 6
"""Runs of a scenario that are kept and compared: twice the three that are to come out alike."""

OF_A_TEST = ("completionTime", "phase", "verdict", "score", "summary", "expectationResults")
"""What is kept of a resource's status."""

OF_A_CARD = ("verdict", "expectationResults", "inconclusiveReasons")
"""What is kept of the scorecard of every run."""

OF_THE_LAST_CARD = ("partitions", "rejections")
"""What is kept, besides, of the run whose page is shown."""


@dataclass(frozen=True)
class Result:
    """One run of a scenario.

    Attributes:
        uid: of the resource.
        key: manifest and images it was run with.
        manifest: digest of what was applied.
        test: the resource at its end.
        card: the scorecard; empty where the run was not scored.
        folder: where the run is stored; None of one that is kept alone.
    """

    uid: str
    key: str
    manifest: str
    test: dict[str, Any]
    card: dict[str, Any]
    folder: Path | None = None

    @property
    def status(self) -> dict[str, Any]:
        """The status of the resource."""
        found: dict[str, Any] = self.test.get("status", {})
        return found

    @property
    def ended(self) -> str:
        """When it ended, as Kubernetes writes times; empty where it did not."""
        return str(self.status.get("completionTime") or "")

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The claims as the scorecard holds them, or as far as the status tells of them."""
        if self.card:
            found: list[dict[str, Any]] = self.card.get("expectationResults", [])
            return found
        told = self.status.get("expectationResults", {})
        wanted = self.test.get("spec", {}).get("expect", {}).get("error")
        if wanted is None:
            return []
        held = bool(told.get("met")) and not told.get("notMet")
        seen = f"phase {self.status.get('phase')}: {self.status.get('summary', '')}"
        return [
            {
                "expectation": "error",
                "expected": f"ends in phase Error with {wanted}",
                "result": "Met" if held else "NotMet",
                "seen": seen,
            }
        ]

    @property
    def outcome(self) -> str:
        """What became of the claims as a whole."""
        results = [claim["result"] for claim in self.claims]
        if not self.ended:
            return UNFINISHED
        if "NotMet" in results:
            return NOT_HELD
        if "NotEvaluated" in results or not results:
            return NOT_MEASURED
        if self.card and self.card["verdict"] == "Inconclusive":
            return INCONCLUSIVE
        if self.card and self.card["verdict"] == "Failed":
            return NOT_PERMITTED
        return HELD

    @property
    def seconds(self) -> int:
        """How long it took from its creation to its end."""
        created = self.test["metadata"]["creationTimestamp"]
        return round((_time(self.ended) - _time(created)).total_seconds()) if self.ended else 0

    def kept(self, *, last: bool) -> dict[str, Any]:
        """Return what is kept of the run; more of the last one, whose page is shown."""
        meta, spec = self.test["metadata"], self.test.get("spec", {})
        card = {name: self.card[name] for name in OF_A_CARD if name in self.card}
        if last and self.card:
            card |= {name: self.card[name] for name in OF_THE_LAST_CARD if name in self.card}
            card["faults"] = [_kept_fault(fault) for fault in self.card.get("faults", [])]
        expect = spec.get("expect", {})
        return {
            "uid": self.uid,
            "key": self.key,
            "manifest": self.manifest,
            "test": {
                "metadata": {name: meta[name] for name in ("name", "creationTimestamp")},
                "spec": {"expect": {"error": expect["error"]}} if "error" in expect else {},
                "status": {name: self.status[name] for name in OF_A_TEST if name in self.status},
            },
            "card": card,
        }


def _kept_fault(fault: dict[str, Any]) -> dict[str, Any]:
    kinds = sorted({proof.get("kind", "") for proof in fault["observations"]})
    return {
        "name": fault["name"],
        "action": fault["action"],
        "verified": fault["verified"],
        "targets": [{"member": target.get("member", "")} for target in fault["targets"]],
        "observations": [{"kind": kind} for kind in kinds],
    }


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))  # noqa: FURB162 - python3 of macOS is 3.9


def digest(manifest: Path) -> str:
    """Return what a manifest is known by."""
    return hashlib.sha256(manifest.read_bytes()).hexdigest()[:12]


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
        folder=folder,
    )


def stored(store: Path, which: str) -> list[Result]:
    """Return the runs stored under ``NAME/KEY``, of whatever key where that is ``*``.

    None is among them that is still being written, or was cut off while it was. ``NAME/KEY/UID`` is
    one of them.
    """
    uid = "" if which.count("/") > 1 else "/[!.]*"
    return [read(path.parent) for path in sorted(store.glob(f"{which}{uid}/test.json"))]


def results(manifest: Path, store: Path, kept: Path) -> list[Result]:
    """Return the last KEPT runs of a manifest, the latest last, of whatever images.

    Those of the manifest as it is now; where there are none, of its version that was run last.

    Args:
        manifest: the scenario.
        store: where runs are stored.
        kept: the file of runs kept earlier; need not be there.
    """
    runs = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else []
    found = {run["uid"]: Result(**run) for run in runs}
    found |= {result.uid: result for result in stored(store, f"{manifest.stem}/*")}
    ordered = sorted(found.values(), key=lambda result: (result.ended, result.uid))
    versions = {result.manifest for result in ordered}
    wanted = digest(manifest)
    shown = wanted if wanted in versions or not ordered else ordered[-1].manifest
    return [result for result in ordered if result.manifest == shown][-KEPT:]


def keep(file: Path, runs: list[Result]) -> None:
    """Keep runs in a file, in place of those it held."""
    file.parent.mkdir(parents=True, exist_ok=True)
    told = [run.kept(last=run is runs[-1]) for run in runs]
    file.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")
