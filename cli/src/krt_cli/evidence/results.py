"""The files of a bundle that scoring writes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from krt_contract.bundle import Bundle

BUNDLE: Final = Bundle(Path())

REPORT: Final = BUNDLE.report.name
RESULTS: Final = (
    REPORT,
    *(path.name for path in (BUNDLE.junit, BUNDLE.summary, BUNDLE.scorecard, BUNDLE.series)),
)
"""What `krt report` copies."""

OUTPUTS: Final = frozenset({*RESULTS, BUNDLE.scoring.name})
"""What may differ from what was copied once a bundle was scored again."""
