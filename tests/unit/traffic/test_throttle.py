from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from krt_traffic.consumer.throttle import Throttle
from krt_traffic.ledger_thread import WAITING_ROWS


class Client:
    def __init__(self) -> None:
        self.calls: list[tuple[str, list[int]]] = []
        self.partitions = [0]

    def assignment(self) -> list[int]:
        return self.partitions

    def pause(self, partitions: list[int]) -> None:
        self.calls.append(("pause", list(partitions)))

    def resume(self, partitions: list[int]) -> None:
        self.calls.append(("resume", list(partitions)))


def test_step_above_the_limit_pauses_what_is_assigned_and_resumes_it_below() -> None:
    client: Any = Client()
    buffer: Any = SimpleNamespace(waiting=0)
    tested = Throttle(client, buffer)
    tested.step()
    buffer.waiting = WAITING_ROWS + 1
    tested.step()
    client.partitions = [0, 1]
    tested.step()
    buffer.waiting = 0
    tested.step()
    tested.step()
    assert client.calls == [("pause", [0]), ("pause", [0, 1]), ("resume", [0, 1])]
