"""Where the evidence of a test lies on this machine, if its volumes do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krt_cli.resource import Test


def local_bundles(test: Test, evidence: Path | None) -> list[Path]:
    """Return the folders that hold the evidence of a test.

    Args:
        test: the test.
        evidence: the folder on this machine that holds the evidence volumes; None where there is
            none.
    """
    if evidence is None:
        return []
    tail = Path(*test.identity)
    return sorted(evidence.glob(f"*/{tail}")) or sorted(evidence.glob(str(tail)))
