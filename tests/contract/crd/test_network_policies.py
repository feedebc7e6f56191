"""What an API server says of the NetworkPolicies that the controller makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from tests.contract.crd.cases import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.crd.conftest import ApiServer

GOLDEN = sorted((ROOT / "tests/golden/operator").glob("networkpolicy-*.yaml"))


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])
def test_api_server_takes_every_policy_and_all_its_fields(server: ApiServer, path: Path) -> None:
    policy = yaml.safe_load(path.read_text())
    del policy["metadata"]["namespace"]
    answer = server.run(
        "create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-", body=policy
    )
    assert answer.ok, answer.text
    # An empty list is left out of the answer.
    wanted = {key: value for key, value in policy["spec"].items() if value}
    assert answer.json()["spec"] == wanted
