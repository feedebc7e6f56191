"""What the members are told beyond what the resource says."""

from __future__ import annotations

import pytest

from krt_operator.api.spec import Spec
from krt_operator.plan.planning import with_pull_secrets, zookeeper_config


@pytest.mark.parametrize(
    ("asked", "own", "bounds"),
    [
        (None, {}, {}),
        ("4000", {}, {}),
        ("40000", {}, {}),
        ("60000", {}, {"maxSessionTimeout": "60000"}),
        ("2000", {}, {"minSessionTimeout": "2000"}),
        ("2000", {"tickTime": "1000"}, {}),
        ("30000", {"tickTime": "1000"}, {"maxSessionTimeout": "30000"}),
        (None, {"tickTime": "500"}, {"maxSessionTimeout": "18000"}),
        ("60000", {"maxSessionTimeout": "50000"}, {"maxSessionTimeout": "50000"}),
    ],
)
def test_zookeeper_config_includes_the_requested_session_timeout(
    asked: str | None, own: dict[str, str], bounds: dict[str, str]
) -> None:
    """ZooKeeper grants 2 to 20 ticks and tells nobody, unless it is told otherwise."""
    spec = Spec.model_validate(
        {
            "kafka": {
                "replicas": 1,
                "config": {} if asked is None else {"zookeeper.session.timeout.ms": asked},
            },
            "zookeeper": {"replicas": 1, "config": own},
            "topics": [{"name": "foo", "replicationFactor": 1}],
            "traffic": {
                "producers": [{"name": "a", "topic": "foo"}],
                "consumers": [{"name": "c", "topics": ["foo"], "group": "g"}],
            },
        }
    )
    found = zookeeper_config(spec)
    assert {name: value for name, value in found.items() if "SessionTimeout" in name} == bounds


@pytest.mark.parametrize(
    ("own", "installation", "expected"),
    [((), (), []), ((), ("one", "two"), ["one", "two"]), (("mine",), ("one",), ["mine"])],
)
def test_with_pull_secrets_uses_those_of_the_installation_where_the_spec_has_none(
    own: tuple[str, ...], installation: tuple[str, ...], expected: list[str]
) -> None:
    template = {"imagePullSecrets": [{"name": name} for name in own]}
    spec = Spec.model_validate(
        {
            "kafka": {"replicas": 1},
            "zookeeper": {"replicas": 1},
            "podTemplate": template,
            "topics": [{"name": "foo", "replicationFactor": 1}],
            "traffic": {
                "producers": [{"name": "a", "topic": "foo"}],
                "consumers": [{"name": "c", "topics": ["foo"], "group": "g"}],
            },
        }
    )
    found = with_pull_secrets(spec, installation).dump()
    secrets = found["podTemplate"].get("imagePullSecrets", [])
    assert [secret["name"] for secret in secrets] == expected
