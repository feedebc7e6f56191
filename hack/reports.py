"""Renders the report of each scenario's last run into a folder, from the scorecards in git.

What a compact scorecard does not hold is left out of its report: the timeline and most examples; of
the oldest results also gaps and latencies.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krt_cli.scenarios.archive import Archive
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.outputs.report import render

if TYPE_CHECKING:
    from krt_cli.scenarios.results import Result

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs/scenarios/results"
REPORTS = ROOT / "build/docs/scenarios/reports"


def complete(name: str, run: Result) -> dict[str, Any]:
    """Return the scorecard of a run with what a report cannot do without."""
    described = {"namespace": "krt-scenario", "name": name, "uid": run.uid}
    status = {key: run.status[key] for key in ("score", "summary") if key in run.status}
    base: dict[str, Any] = {"run": described, "summary": "", "recovery": {"faults": []}}
    return base | status | run.card


def write(archive: Archive, out: Path) -> int:
    """Write the report of each scenario with a scorecard, and return how many there are."""
    out.mkdir(parents=True, exist_ok=True)
    for report in out.glob("*.html"):
        report.unlink()
    count = 0
    for file in sorted(archive.folder.glob("*.json")):
        *_, last = archive.runs(file.stem)
        if last.card:
            text = render(complete(file.stem, last), Timeline(()))
            (out / f"{file.stem}.html").write_text(text, encoding="utf-8")
            count += 1
    return count


def main() -> None:
    """Render the reports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--out", type=Path, default=REPORTS, help="folder of the reports")
    options = parser.parse_args()
    count = write(Archive(options.results), options.out)
    sys.stderr.write(f"{count} reports written to {options.out}\n")


if __name__ == "__main__":
    main()
