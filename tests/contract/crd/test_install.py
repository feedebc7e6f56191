from __future__ import annotations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import ApiServer


def test_the_api_server_takes_the_crd(server: ApiServer) -> None:
    answer = server.run(
        "get", "crd", "kafkaresiliencetests.contract.kafkaresilience.dev", "-o", "json"
    )
    conditions = {c["type"]: c["status"] for c in answer.json()["status"]["conditions"]}
    assert conditions.get("NonStructuralSchema") is None
    assert conditions["NamesAccepted"] == "True"
