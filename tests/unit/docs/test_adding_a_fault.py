"""The example diff of docs/development/adding-a-fault.md applies to the tree as it is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "development" / "adding-a-fault.md"


def test_adding_a_fault_example_diff_applies_to_the_tree() -> None:
    [diff] = re.findall(r"^```diff\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    check = subprocess.run(
        ["git", "apply", "--check", "-"],
        cwd=ROOT,
        input=diff,
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 0, f"renew the diff in {PAGE.name}: {check.stderr}"
