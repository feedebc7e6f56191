"""What people read in the controller's log."""

from __future__ import annotations

import logging

import pytest

from krt_operator import __main__ as program


@pytest.mark.parametrize(
    ("message", "level"),
    [
        ("Request attempt #1/9 failed; will retry: GET /apis -> 429", logging.WARNING),
        ("Request attempt #9/9 failed; escalating: GET /apis -> 429", logging.ERROR),
    ],
)
def test_lower_retries_of_kopf_request_sets_level(message: str, level: int) -> None:
    record = logging.LogRecord("kopf", logging.ERROR, "f", 1, message, None, None)
    assert program._lower_retries(record)  # noqa: SLF001 - the filter main() installs
    assert (record.levelno, record.levelname) == (level, logging.getLevelName(level))
