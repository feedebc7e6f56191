"""The memory of a Spark pod: controller and driver compute it alike from the heap of its JVM."""

from __future__ import annotations

from typing import Final

LEAST_OVERHEAD_MIB: Final = 384
"""MiB that the least heap needs in addition: class data, compiled code, threads, buffers of the
network, and in the driver a Python process (measured with a heap of 512 MiB: JVMs of 390 to 430 MiB
in all, Python of 50 to 250 MiB). Also Spark's own minimum."""

BASE_OVERHEAD_MIB: Final = 256
HEAP_PARTS: Final = 4
"""What an executor needs beyond its heap grows with the heap: tables of the collector, and buffers
for what executors fetch from each other."""


def overhead_mib(heap_mib: int) -> int:
    """Return what a pod may use beyond a heap of so many MiB."""
    return max(LEAST_OVERHEAD_MIB, BASE_OVERHEAD_MIB + heap_mib // HEAP_PARTS)
