from __future__ import annotations

from krt_contract.settings import MAX_IN_FLIGHT, RETRIES, first_of


def test_first_of_takes_the_first_name_that_is_set() -> None:
    assert first_of({"max.in.flight": "9"}, MAX_IN_FLIGHT) == "9"
    assert first_of({"retries": 1, "message.send.max.retries": 0}, RETRIES) == 0


def test_first_of_without_any_name_is_none() -> None:
    assert first_of({"acks": "all"}, RETRIES) is None
