"""Python's cyclic garbage collector, kept off the traffic's path."""

from __future__ import annotations

import gc

MOST_OBJECTS = 200_000
"""Objects made and not freed until a collection: above what waits for a flush, so that a collection
never walks rows that are no garbage, and few enough (tens of MiB) for a pod of 256 MiB."""


def spare_traffic() -> None:
    """Collect only what has really piled up.

    By default Python looks for cycles whenever 700 objects more exist than before. Rows that wait
    for a flush are such objects, so it would walk them again and again, which took a quarter of a
    producer's time. What exists now is exempt for good: modules and settings are no garbage.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(MOST_OBJECTS, *gc.get_threshold()[1:])
