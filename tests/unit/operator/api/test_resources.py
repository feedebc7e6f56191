from __future__ import annotations

import pytest

from krt_operator.api.resources import Resources, number_of


@pytest.mark.parametrize(
    ("amount", "number"),
    [
        ("768Mi", 805_306_368),
        ("0.5Gi", 536_870_912),
        ("1G", 1_000_000_000),
        ("1.5k", 1500),
        ("1Ti", 1_099_511_627_776),
        ("7", 7),
        ("2500m", 2),
    ],
)
def test_number_of_a_quantity_is_what_kubernetes_reads(amount: str, number: int) -> None:
    assert number_of(amount) == number


def test_memory_limit_is_in_mib_and_none_without_a_limit() -> None:
    assert Resources.of(cpu="1", memory="1Gi", limit="1.5Gi").memory_limit_mib == 1536
    assert Resources().memory_limit_mib is None
