"""A pass that takes long says in the controller's log where its time went."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.unit.operator.doubles.world import World


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The warnings of the controller."""
    with caplog.at_level(logging.WARNING, "krt"):
        yield caplog


def slow_passes(log: pytest.LogCaptureFixture) -> list[str]:
    return [text for text in log.messages if "a pass in" in text]


def test_slow_pass_names_the_part_that_was_slow(
    world: World, log: pytest.LogCaptureFixture
) -> None:
    world.run(until="Warmup")
    world.bounds_take = 6
    world.run(until="Injecting")
    slow = slow_passes(log)
    assert slow
    for warning in slow:
        assert "a pass in Warmup took 6.0 s (deciding, with requests to Kafka 6.0 s)" in warning


def test_pass_that_is_not_slow_is_not_logged(world: World, log: pytest.LogCaptureFixture) -> None:
    world.run(until="Warmup")
    world.bounds_take = 4
    world.run(until="Injecting")
    assert slow_passes(log) == []


def test_slow_pass_that_fails_is_logged_too(world: World, log: pytest.LogCaptureFixture) -> None:
    world.run(until="Warmup")

    def late(verb: str, kind: str, _name: str) -> Exception | None:
        if (verb, kind) != ("list", "Job"):
            return None
        world.tick(7)
        return TimeoutError("no answer")

    world.answers = late
    with pytest.raises(Exception, match="no answer"):
        world.controller().run_once("t")
    (warning,) = slow_passes(log)
    assert "took 7.0 s (until it failed 7.0 s)" in warning
