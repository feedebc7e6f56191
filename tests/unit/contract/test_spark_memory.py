"""What a Spark pod may use beyond its heap."""

from __future__ import annotations

import pytest

from krt_contract.spark_memory import overhead_mib


@pytest.mark.parametrize(
    ("heap", "overhead"),
    [(256, 384), (512, 384), (516, 385), (1024, 512), (2048, 768), (8192, 2304)],
)
def test_overhead_grows_with_the_heap_and_has_a_least(heap: int, overhead: int) -> None:
    assert overhead_mib(heap) == overhead
