from __future__ import annotations

import socket

import pytest

from krt_contract.kafka_login import PLAINTEXT
from krt_operator.errors import TransientError
from krt_operator.kafka.zookeeper import four_letter


def test_four_letter_nobody_listens_is_transient_and_names_the_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(TransientError, match=rf"127.0.0.1:{port} did not answer srvr"):
        four_letter(f"127.0.0.1:{port}", "srvr", PLAINTEXT)
