"""What scoring leaves in the bundle, beside the ledgers it only reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_evidence.bundle import write_text
from krt_scoring import junit
from krt_scoring.report import render
from krt_scoring.scorecard import dump

if TYPE_CHECKING:
    from krt_evidence.bundle import Bundle
    from krt_scoring.assess import Assessment


def write(bundle: Bundle, result: Assessment) -> None:
    """Write scorecard, report and JUnit file, each whole or not at all."""
    write_text(bundle.scorecard, dump(result.card))
    write_text(bundle.report, render(result.card, result.events))
    write_text(bundle.junit, junit.render(result.card))
