from __future__ import annotations

from typing import Any

from krt_traffic.backlog import MOST_BYTES, Backlog
from krt_traffic.consumer.throttle import Throttle
from krt_traffic.ledger_thread import LedgerThread


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
    waiting = 0
    tested = Throttle(client, Backlog(LedgerThread(lambda: None), lambda: waiting))
    tested.step()
    waiting = MOST_BYTES
    tested.step()
    client.partitions = [0, 1]
    tested.step()
    waiting = 0
    tested.step()
    tested.step()
    assert client.calls == [("pause", [0]), ("pause", [0, 1]), ("resume", [0, 1])]
