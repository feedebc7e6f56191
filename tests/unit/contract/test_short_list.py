from __future__ import annotations

import pytest

from krt_contract.short_list import short_list


@pytest.mark.parametrize(
    ("names", "text"),
    [((), ""), (("a",), "a"), (("a", "b"), "a, b"), (("a", "b", "c", "d"), "a, b and 2 more")],
)
def test_short_list_counts_what_it_does_not_name(names: tuple[str, ...], text: str) -> None:
    assert short_list(names, 2) == text


def test_short_list_joins_by_its_separator() -> None:
    assert short_list(["a is missing", "b differs"], 3, "; ") == "a is missing; b differs"
