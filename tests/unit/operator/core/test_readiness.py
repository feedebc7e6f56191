"""Ready means watching: the CRD is watched, and tests can be listed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from krt_operator.app import handlers, readiness

if TYPE_CHECKING:
    from collections.abc import Callable


def ask(obstacle: Callable[[], str], request: bytes = b"GET /readyz HTTP/1.1\r\n\r\n") -> str:
    async def exchange() -> str:
        async with readiness.serving(0, obstacle) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            answer = await asyncio.wait_for(reader.read(), 10)
            writer.close()
            return answer.decode()

    return asyncio.run(exchange())


def test_serving_without_obstacle_answers_200() -> None:
    answer = ask(lambda: "")
    assert answer.startswith("HTTP/1.1 200 OK\r\n")
    assert answer.endswith("\r\n\r\nwatching\n")


def test_serving_with_obstacle_answers_503_and_says_which() -> None:
    answer = ask(lambda: "the CRD is not installed")
    assert answer.startswith("HTTP/1.1 503 ")
    assert "the CRD is not installed" in answer


@pytest.mark.parametrize(
    ("has_watches", "listed", "words"),
    [
        (False, None, "CRD was not installed"),
        (False, True, "CRD was not installed"),
        (True, None, "cannot be listed"),
        (True, False, "cannot be listed"),
        (True, True, ""),
    ],
)
def test_obstacle_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, has_watches: bool, listed: bool | None, words: str
) -> None:
    memory = {} if listed is None else {"listed": listed}
    monkeypatch.setattr(handlers, "_memory", memory)
    found = handlers.obstacle(has_watches=has_watches)
    assert (words in found) if words else not found
