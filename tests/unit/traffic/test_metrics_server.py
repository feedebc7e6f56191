from __future__ import annotations

import socket
from http.client import HTTPConnection
from typing import TYPE_CHECKING

from tests.ports import free_port

from krt_traffic.metrics.ledger import LedgerMetrics
from krt_traffic.metrics.server import serve

if TYPE_CHECKING:
    import pytest


def get(port: int) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_serve_answers_with_the_metrics_as_they_are_then() -> None:
    waiting = [1]
    port = free_port()
    serve(port, LedgerMetrics("t", "main-0", lambda: waiting[0]))
    for waiting[0] in (1, 2):
        status, text = get(port)
        assert status == 200
        assert f'krt_ledger_waiting_bytes{{member="main-0",test="t"}} {waiting[0]}.0\n' in text
    assert "process_resident_memory_bytes " in text


def test_serve_on_a_port_that_is_taken_says_so_and_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:  # noqa: S104 - as the pod listens
        port = taken.getsockname()[1]
        serve(port, LedgerMetrics("t", "main-0", lambda: 1))
    assert f"no metrics: port {port} cannot be listened on (Address already in use)" in caplog.text


def test_serve_goes_on_after_a_source_that_fails() -> None:
    def waiting_bytes() -> int:
        if not failures:
            return 7
        raise failures.pop()

    failures = [RuntimeError("a defect")]
    port = free_port()
    serve(port, LedgerMetrics("t", "main-0", waiting_bytes))
    assert get(port)[0] == 500
    assert get(port)[0] == 200


def test_serve_without_a_port_listens_nowhere() -> None:
    port = free_port()
    serve(0, LedgerMetrics("t", "main-0", lambda: 1))
    with socket.create_server(("127.0.0.1", port)):
        pass
