"""Passes run in threads; one that does not end fails the liveness probe."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import kopf
import pytest

from krt_operator.app import handlers
from krt_operator.app.passes import STUCK_SECONDS, Passes
from krt_operator.kafka import reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Held:
    """Calls that wait until they are let go."""

    def __init__(self, calls: int) -> None:
        self._begun = threading.Barrier(calls + 1, timeout=10)
        self._go = threading.Event()

    def __call__(self) -> str:
        self._begun.wait()
        assert self._go.wait(10)
        return "done"

    async def await_begun(self) -> None:
        await asyncio.to_thread(self._begun.wait)

    def let_go(self) -> None:
        self._go.set()


def run(check: Callable[[Passes, Clock], Any]) -> None:
    clock = Clock()
    passes = Passes(2, clock)

    async def checked() -> None:
        await check(passes, clock)
        await passes.end()

    asyncio.run(checked())


def test_run_returns_what_the_call_returns_and_raises_what_it_raises() -> None:
    async def check(passes: Passes, clock: Clock) -> None:
        assert await passes.run("n/t", lambda: 1.5) == 1.5
        with pytest.raises(ZeroDivisionError):
            await passes.run("n/t", lambda: 1 / 0)
        clock.now += STUCK_SECONDS + 1
        assert not passes.stuck()

    run(check)


def test_stuck_names_every_call_that_takes_too_long_until_it_ends() -> None:
    async def check(passes: Passes, clock: Clock) -> None:
        held = Held(2)
        calls = [asyncio.create_task(passes.run(name, held)) for name in ("n/b", "n/a")]
        await held.await_begun()
        clock.now += STUCK_SECONDS
        assert not passes.stuck()
        clock.now += 1
        assert passes.stuck() == "n/a for 121 s, n/b for 121 s"
        held.let_go()
        assert await asyncio.gather(*calls) == ["done", "done"]
        assert not passes.stuck()

    run(check)


def test_a_call_that_waits_for_a_thread_is_not_stuck() -> None:
    async def check(passes: Passes, clock: Clock) -> None:
        held = Held(2)
        calls = [asyncio.create_task(passes.run("n/t", held)) for _ in range(2)]
        await held.await_begun()
        calls.append(asyncio.create_task(passes.run("waits", lambda: "done")))
        clock.now += STUCK_SECONDS + 1
        assert "waits" not in passes.stuck()
        held.let_go()
        await asyncio.gather(*calls)

    run(check)


def test_liveness_fails_while_a_pass_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(passes: Passes, clock: Clock) -> None:
        monkeypatch.setitem(handlers._memory, "passes", passes)  # noqa: SLF001 - what start() fills
        probe: Any = handlers.passes_end
        assert probe() == "ok"
        held = Held(1)
        call = asyncio.create_task(passes.run("n/t", held))
        await held.await_begun()
        clock.now += STUCK_SECONDS + 1
        with pytest.raises(kopf.PermanentError, match="n/t for 121 s"):
            probe()
        held.let_go()
        await call
        assert probe() == "ok"

    run(check)


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Clients that end only once this is set, as librdkafka may wait for a request."""
    ended = threading.Event()

    class Client:
        def __init__(self, *_args: Any, **_settings: Any) -> None:
            pass

        def __del__(self) -> None:
            ended.wait(10)

    monkeypatch.setattr(reader, "AdminClient", Client)
    monkeypatch.setattr(reader, "CLOSE_SECONDS", 0.05)
    yield ended
    ended.set()


def test_exit_leaves_a_client_behind_that_does_not_end(
    endless: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    with reader.KafkaReader("kafka:9092"):
        pass
    assert not endless.is_set()
    assert "a client of kafka:9092 did not end" in caplog.text


def test_exit_says_nothing_of_a_client_that_ends(
    endless: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    endless.set()
    with reader.KafkaReader("kafka:9092"):
        pass
    assert not caplog.text
