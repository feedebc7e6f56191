"""Rules on where the cluster keeps its metadata: what one mode has and the other has not."""

from krt_operator.api.base import Rule
from krt_operator.api.crossrefs import each

_KRAFT = "self.kafka.metadata.mode == 'KRaft'"
_EXPECTED = {
    "brokerSessionExpirations": "ZooKeeper",
    "zookeeperLeaderChanges": "ZooKeeper",
    "brokersFenced": "KRaft",
}
"""Expectation of a fault to the mode in which there is such a thing."""


def _is(mode: str) -> str:
    """Return the CEL expression that is true in a mode."""
    return f"!({_KRAFT})" if mode == "ZooKeeper" else _KRAFT


def _role(role: str, mode: str, remedy: str) -> Rule:
    """Return the rule that a role is the target of faults in one mode only."""
    return each(
        "self.faults",
        "f",
        f"{_is(mode)} || f.target.role != '{role}'",
        (f"fault %s: target.role {role} is for {mode} mode; {remedy}", "f.name"),
        f"target.role {role} is for {mode} mode; {remedy}",
    )


def _setting(condition: str, key: str, remedy: str) -> Rule:
    """Return a rule on spec.kafka.config in one mode; `key` is a condition on the setting `k`."""
    wrong = f"self.kafka.config.filter(k, {key})"
    return Rule(
        rule=f"{condition} || !self.kafka.config.exists(k, {key})",
        message=f"kafka.config has a setting of the other metadata mode; {remedy}",
        expression=f"'kafka.config: %s is for the other metadata mode; {remedy}'"
        f".format([{wrong}[0]])",
    )


METADATA = (
    Rule(
        rule=f"!({_KRAFT}) || !has(self.zookeeper)",
        message="spec.zookeeper is for ZooKeeper mode; leave it out, and describe the servers of "
        "the metadata in spec.kafka.metadata.controllers",
    ),
    Rule(
        rule="has(self.zookeeper) == has(oldSelf.zookeeper)",
        message="spec.zookeeper cannot be set or removed once the test exists; delete it and "
        "create a new one",
    ),
    Rule(
        rule=f"!({_KRAFT}) || self.placement.separateZooKeeper == 'Required'",
        message="placement.separateZooKeeper is for ZooKeeper mode; set "
        "placement.separateControllers",
    ),
    Rule(
        rule=f"{_KRAFT} || self.placement.separateControllers == 'Required'",
        message="placement.separateControllers is for KRaft mode; set placement.separateZooKeeper",
    ),
    _setting(
        f"!({_KRAFT})",
        "k.startsWith('zookeeper.')",
        "in KRaft mode, broker.session.timeout.ms is how long a silent broker counts as alive",
    ),
    _setting(
        _KRAFT,
        "k.startsWith('broker.session.') || k.startsWith('broker.heartbeat.') || "
        "k.startsWith('controller.quorum.')",
        "in ZooKeeper mode, zookeeper.session.timeout.ms is how long a silent broker counts as "
        "alive",
    ),
    *(
        _role(role, "ZooKeeper", "use Controller or ControllerNode")
        for role in ("ZooKeeper", "ZooKeeperLeader")
    ),
    _role("ControllerNode", "KRaft", "use Controller, ZooKeeper or ZooKeeperLeader"),
    each(
        "self.faults",
        "f",
        f"!({_KRAFT}) || f.action != 'LoseDisk' || f.target.role != 'Controller'",
        (
            (
                "fault %s: LoseDisk takes no KRaft controller, because one that lost its votes may "
                "vote again; use CrashPod"
            ),
            "f.name",
        ),
        "LoseDisk takes no KRaft controller; use CrashPod",
    ),
    each(
        "self.faults",
        "f",
        f"!({_KRAFT}) || !f.target.excludeController",
        (
            (
                "fault %s: target.excludeController is for ZooKeeper mode; leave it out, because "
                "no broker is a KRaft controller"
            ),
            "f.name",
        ),
        "target.excludeController is for ZooKeeper mode; leave it out",
    ),
    *(
        each(
            "self.expect.faults",
            "e",
            f"{_is(mode)} || !has(e.{name})",
            (f"expect.faults %s: {name} is for {mode} mode; leave it out", "e.name"),
            f"expect.faults: {name} is for {mode} mode; leave it out",
        )
        for name, mode in _EXPECTED.items()
    ),
)
