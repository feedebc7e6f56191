"""The order of things that are compared in rounds."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

from bench.rounds import order


def test_first_round_is_in_the_given_order() -> None:
    assert order(("a", "b", "c"), 0) == ("a", "b", "c")


def test_two_things_have_had_each_order_twice_after_four_rounds() -> None:
    found = Counter(order(("a", "b"), number) for number in range(4))
    assert found == {("a", "b"): 2, ("b", "a"): 2}


def test_three_things_have_had_each_order_after_six_rounds() -> None:
    names = ("a", "b", "c")
    assert {order(names, number) for number in range(6)} == set(permutations(names))
