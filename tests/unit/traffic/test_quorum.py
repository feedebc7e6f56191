from __future__ import annotations

import socket

import pytest

from krt_traffic.recorder import quorum
from krt_traffic.recorder.quorum import SILENT, WITHOUT, leader_of, mode


def test_mode_nobody_listens_is_without_a_quorum() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert mode(f"127.0.0.1:{port}") == WITHOUT


def test_mode_answer_without_a_mode_is_without_a_quorum(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = "This ZooKeeper instance is not currently serving requests\n"
    monkeypatch.setattr(quorum, "send_four_letter_word", lambda *_: answer)
    assert mode("zk-0:2181") == WITHOUT


def test_mode_no_answer_in_time_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    def time_out(*_: object) -> str:
        raise TimeoutError

    monkeypatch.setattr(quorum, "send_four_letter_word", time_out)
    assert mode("zk-0:2181") == SILENT


@pytest.mark.parametrize(
    ("reported", "leader"),
    [
        (("follower", "leader", "follower"), "zk-1"),
        (("standalone",), "zk-0"),
        (("follower", SILENT, "follower"), None),  # a slow leader is no lost quorum
        ((SILENT, SILENT, SILENT), None),
        ((WITHOUT, WITHOUT, SILENT), ""),
        ((WITHOUT, SILENT, SILENT), None),
        ((WITHOUT, WITHOUT, "follower"), None),  # it will say so itself, in a tick or two
    ],
)
def test_leader_of_is_lost_only_where_it_is_certain(
    reported: tuple[str, ...], leader: str | None
) -> None:
    assert leader_of({f"zk-{number}": answer for number, answer in enumerate(reported)}) == leader
