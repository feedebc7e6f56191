from __future__ import annotations

import socket
import threading

import pytest

from krt_operator.errors import TransientError
from krt_operator.kafka.zookeeper import four_letter, mode


def test_the_whole_answer_is_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                assert connection.recv(4) == b"srvr"
                for part in (b"Zookeeper version: 3.8.4\n", b"Mode: follower\nNode count: 5\n"):
                    connection.sendall(part)

        thread = threading.Thread(target=answer)
        thread.start()
        said = four_letter(f"127.0.0.1:{server.getsockname()[1]}", "srvr")
        thread.join()
    assert mode(said) == "follower"
    assert said.endswith("Node count: 5\n")


def test_nobody_there_is_transient_and_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(TransientError, match=rf"127.0.0.1:{port} did not answer srvr"):
        four_letter(f"127.0.0.1:{port}", "srvr")


def test_a_server_without_a_quorum_has_no_mode() -> None:
    assert mode("This ZooKeeper instance is not currently serving requests\n") is None
