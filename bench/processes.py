"""What the kernel knows of a process that is measured."""

from __future__ import annotations

import re
from pathlib import Path

PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)


def peak_kib(pid: int) -> int:
    """Return the most memory that a process has had resident so far, KiB.

    Not what ``wait4`` reports: of a process that was started by a larger one, that is the larger
    one's.

    Raises:
        OSError: the process has ended.
    """
    found = PEAK.search(Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    if found is None:
        raise ProcessLookupError(f"process {pid} has ended")
    return int(found[1])
