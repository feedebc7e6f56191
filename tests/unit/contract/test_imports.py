"""The controller has no Arrow and the traffic image no pydantic."""

from __future__ import annotations

import subprocess
import sys

LOADED = """
import sys
import krt_contract.{module}
print(*sorted({{"pyarrow", "pydantic"}} & set(sys.modules)))
"""


def test_plan_and_timeline_load_neither_arrow_nor_pydantic() -> None:
    for module in ("plan", "timeline", "labels", "faults", "outcomes"):
        code = LOADED.format(module=module)
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        assert done.stdout.strip() == b"", module
