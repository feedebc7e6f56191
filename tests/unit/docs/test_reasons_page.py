"""The page of reasons is what hack/render makes of the table, and names each reason."""

from __future__ import annotations

from pathlib import Path

from krt_contract.reasons import REASONS
from krt_operator.api.reasons_reference import page

PAGE = Path(__file__).resolve().parents[3] / "docs/reference/reasons.md"


def test_page_of_reasons_is_current() -> None:
    assert PAGE.read_text() == page(), "run make manifests"


def test_page_of_reasons_has_a_row_for_every_reason() -> None:
    text = PAGE.read_text()
    assert [code for code in REASONS if f"| `{code}` | " not in text] == []
