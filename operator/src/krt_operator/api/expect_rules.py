"""Rules that `spec.expect` names what the other parts of the specification have."""

from krt_operator.api.base import Rule
from krt_operator.api.crossrefs import each


def _group_of(field: str) -> Rule:
    """Return the rule that an expectation names an existing group."""
    return each(
        f"self.expect.{field}",
        "e",
        "self.traffic.consumers.exists(c, c.group == e.group)",
        (f"expect.{field}: group %s is not a group of spec.traffic.consumers", "e.group"),
        f"expect.{field} names a group that is not a group of spec.traffic.consumers",
    )


def _gaps(condition: str, problem: str) -> Rule:
    """Return a rule on every gap that a fault's expectation names."""
    return each(
        "self.expect.faults",
        "e",
        f"e.unavailability.all(u, {condition})",
        (f"expect.faults %s: unavailability names a {problem}", "e.name"),
        f"an unavailability of expect.faults names a {problem}",
    )


EXPECT = (
    each(
        "self.expect.faults",
        "e",
        "self.faults.exists(f, f.name == e.name)",
        ("expect.faults: %s is not a fault of spec.faults", "e.name"),
        "expect.faults names a fault that is not in spec.faults",
    ),
    each(
        "self.expect.faults",
        "e",
        "e.adminRequests.all(p, self.faults.exists(f, f.name == e.name && "
        "f.adminRequests.exists(q, q == p.request)))",
        ("expect.faults %s: adminRequests names one that the fault does not have", "e.name"),
        "expect.faults names an admin request that its fault does not have",
    ),
    _group_of("rebalances"),
    _group_of("unassignedConsumers"),
    each(
        "self.expect.closestReplicaFetches",
        "e",
        "self.traffic.consumers.exists(c, c.group == e.group && 'client.rack' in c.config)",
        ("expect.closestReplicaFetches: no consumer of group %s has config client.rack", "e.group"),
        "expect.closestReplicaFetches names a group whose consumer has no config client.rack",
    ),
    each(
        "self.expect.inIsr",
        "e",
        # The brokers of somebody else's cluster are known once it has been asked for them.
        "has(self.kafkaRef) || e.broker < self.kafka.replicas",
        (
            "expect.inIsr: broker %d must be below kafka.replicas %d",
            *("e.broker", "self.kafka.replicas"),
        ),
        "a broker of expect.inIsr must be below kafka.replicas",
    ),
    each(
        "self.expect.nonEmptyPartitions",
        "e",
        "self.topics.exists(t, t.name == e.topic)",
        ("expect.nonEmptyPartitions: topic %s is not in spec.topics", "e.topic"),
        "expect.nonEmptyPartitions names a topic that is not in spec.topics",
    ),
    _gaps(
        "!has(u.topic) || self.topics.exists(t, t.name == u.topic)",
        "topic that is not in spec.topics",
    ),
    _gaps(
        "!has(u.group) || self.traffic.consumers.exists(c, c.group == u.group)",
        "group that is not a group of spec.traffic.consumers",
    ),
)
