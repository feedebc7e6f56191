"""What each service account may do, against a golden table.

The whole table, with the chart's hooks, is compared where helm is: tests/contract/chart. Here are
the accounts of manifests/operator.yaml, which is rendered from the chart.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from tests.unit.chart.access import HEAD, access_table

ROOT = Path(__file__).parents[3]
GOLDEN = (ROOT / "tests/golden/chart/access.txt").read_text().splitlines()
HOOK = "krt-kafka-resilience-remove-finalizers"
CREATE = (
    "krt-kafka-resilience | every namespace | core | secrets | all | create",
    "krt-kafka-resilience | krt-system | core | secrets | all | create",
)
"""Each test gets Secrets with its credentials and the keys of the object store. The right to create
is no right to read."""
OWN_KEY = "krt-kafka-resilience | krt-system | core | secrets | krt-kafka-resilience-key | get"
"""What the controller makes credentials from."""


def test_accounts_may_do_what_the_table_says() -> None:
    objects = yaml.safe_load_all((ROOT / "manifests/operator.yaml").read_text())
    expected = [line for line in GOLDEN[1:] if not line.startswith(HOOK)]
    assert access_table(obj for obj in objects if obj) == expected
    assert GOLDEN[0] == HEAD


def test_table_has_no_wildcard_and_no_right_to_read_a_secret_but_its_own() -> None:
    for line in GOLDEN[1:]:
        account, _, group, resource, names, verbs = line.split(" | ")
        assert "*" not in f"{group}{resource}{names}{verbs}", line
        assert line in {*CREATE, OWN_KEY} or not resource.startswith("secrets"), line
        assert resource not in {"pods/exec", "pods/attach", "pods/portforward", "nodes/proxy"}, line
        if resource in {"clusterroles", "roles"}:
            assert (names, verbs) == ("krt-driver, krt-recorder, krt-traffic", "bind"), line
        if account.startswith("<test>-"):
            changes = set(verbs.split(", ")) - {"get", "list", "watch"}
            assert not changes or account == "<test>-scoring", line
