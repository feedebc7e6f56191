"""The preflight of an object store, on the real server."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from krt_traffic import exchange

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.store.server import Server


@pytest.fixture
def environment(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set the variables of the pods; returns the file of the termination message."""
    for name, value in server.settings().variables().items():
        monkeypatch.setenv(name, value)
    message = tmp_path / "termination"
    monkeypatch.setenv("KRT_TERMINATION_LOG", str(message))
    monkeypatch.setenv("KRT_TEST_UID", "uid-1")
    monkeypatch.setenv("KRT_POD", "pod")
    return message


def test_two_pods_exchange_objects_and_leave_none(server: Server, environment: Path) -> None:
    codes: list[int] = []
    other = threading.Thread(target=lambda: codes.append(exchange.main(["read", "write"])))
    other.start()
    codes.append(exchange.main(["write", "read"]))
    other.join(timeout=10)
    assert codes == [0, 0]
    assert environment.read_text() == "exchanged"
    assert list(server.store().list(exchange.FOLDER)) == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [("AWS_SECRET_ACCESS_KEY", "wrong"), ("KRT_STORE_BUCKET", "nowhere")],
)
def test_store_that_refuses_is_told(
    environment: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setattr(exchange, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setenv(variable, value)
    assert exchange.main(["write", "read"]) == exchange.REFUSED
    assert "Check that it runs" in environment.read_text()


@pytest.mark.usefixtures("environment")
def test_pod_waits_for_a_store_that_starts(server: Server) -> None:
    server.kill()
    codes: list[int] = []
    pods = [
        threading.Thread(target=lambda names=names: codes.append(exchange.main(names)))
        for names in (["write", "read"], ["read", "write"])
    ]
    for pod in pods:
        pod.start()
    server.start()
    for pod in pods:
        pod.join(timeout=30)
    assert codes == [0, 0]
