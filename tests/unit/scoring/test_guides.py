"""The example diffs of the development guides apply to this tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDES = ("adding-an-anomaly.md", "adding-an-expectation.md")


@pytest.mark.parametrize("guide", GUIDES)
def test_example_of_a_guide_applies_to_the_tree(guide: str) -> None:
    text = (ROOT / "docs" / "development" / guide).read_text(encoding="utf-8")
    (example,) = [block.split("```")[0] for block in text.split("```diff\n")[1:]]
    done = subprocess.run(
        ["git", "apply", "--check", "-"],
        input=example,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
