from __future__ import annotations

import socket
import threading

import pytest

from krt_contract import zookeeper
from krt_contract.zookeeper import parse_mode, send_four_letter_word


def test_send_four_letter_word_answer_in_parts_is_read_to_its_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                assert connection.recv(4) == b"srvr"
                for part in (b"Zookeeper version: 3.8.4\n", b"Mode: follower\nNode count: 5\n"):
                    connection.sendall(part)

        thread = threading.Thread(target=answer)
        thread.start()
        text = send_four_letter_word(f"127.0.0.1:{server.getsockname()[1]}", "srvr")
        thread.join()
    assert parse_mode(text) == "follower"
    assert text.endswith("Node count: 5\n")


def test_send_four_letter_word_nobody_listens_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        send_four_letter_word(f"127.0.0.1:{port}", "srvr")


def test_send_four_letter_word_server_that_never_answers_times_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(zookeeper, "TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(TimeoutError):
        send_four_letter_word(f"127.0.0.1:{server.getsockname()[1]}", "srvr")


@pytest.mark.parametrize(
    ("answer", "mode"),
    [
        ("Zookeeper version: 3.8\nMode: leader\n", "leader"),
        ("Zookeeper version: 3.8\nMode: standalone\n", "standalone"),
        ("This ZooKeeper instance is not currently serving requests\n", None),
    ],
)
def test_parse_mode_answer_to_srvr_is_the_mode_or_none(answer: str, mode: str | None) -> None:
    assert parse_mode(answer) == mode
