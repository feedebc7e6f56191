"""Rules between the parts of a specification: names that must exist, numbers that must fit.

Each names the wrong element. The rules belong to `spec`, because a CEL rule sees only the fields
below its own.
"""

from krt_operator.api.base import MAX_ITEMS, Rule
from krt_operator.api.targets import MAX_BROKER_ID

_MIN_INSYNC = (
    "int('min.insync.replicas' in t.config ? t.config['min.insync.replicas'] : "
    "('min.insync.replicas' in self.kafka.config ? self.kafka.config['min.insync.replicas'] : '1'))"
)


def each(items: str, var: str, condition: str, template: tuple[str, ...], message: str) -> Rule:
    """Return a rule on every element of a list, with a message for the first that fails.

    Args:
        items: CEL expression of the list.
        var: name of the element in `condition` and `template`.
        condition: CEL expression that must be true of each element.
        template: a format string and its values as CEL expressions. `format`, since the API server
            cannot bound the length of strings joined with `+` and refuses the rule.
        message: the sentence without names.
    """
    text, *values = template
    return Rule(
        rule=f"{items}.all({var}, {condition})",
        message=message,
        expression=f"{items}.filter({var}, !({condition}))"
        f".map({var}, '{text}'.format([{', '.join(values)}]))[0]",
    )


TOPICS = (
    each(
        "self.topics",
        "t",
        "has(self.kafkaRef) || t.replicationFactor <= self.kafka.replicas",
        (
            "topic %s: replicationFactor %d is above kafka.replicas %d",
            *("t.name", "t.replicationFactor", "self.kafka.replicas"),
        ),
        "a topic's replicationFactor is above kafka.replicas",
    ),
    each(
        "self.topics",
        "t",
        "size(self.kafka.rack.zones) == 0 || t.replicationFactor <= size(self.kafka.rack.zones)",
        (
            "topic %s: replicationFactor %d is above the %d zones of kafka.rack.zones",
            *("t.name", "t.replicationFactor", "size(self.kafka.rack.zones)"),
        ),
        "a topic's replicationFactor is above the number of kafka.rack.zones",
    ),
    each(
        "self.topics",
        "t",
        f"{_MIN_INSYNC} <= t.replicationFactor",
        (
            "topic %s: min.insync.replicas %d is above its replicationFactor %d",
            *("t.name", _MIN_INSYNC, "t.replicationFactor"),
        ),
        "min.insync.replicas is above a topic's replicationFactor",
    ),
)

TRAFFIC = (
    each(
        "self.traffic.producers",
        "p",
        "self.topics.exists(t, t.name == p.topic)",
        ("producer %s: topic %s is not in spec.topics", "p.name", "p.topic"),
        "a producer's topic is not in spec.topics",
    ),
    each(
        "self.traffic.consumers",
        "c",
        "c.topics.all(n, self.topics.exists(t, t.name == n))",
        (
            "consumer %s: topic %s is not in spec.topics",
            *("c.name", "c.topics.filter(n, !self.topics.exists(t, t.name == n))[0]"),
        ),
        "a consumer's topic is not in spec.topics",
    ),
    each(
        "self.traffic.consumers",
        "c",
        "!has(c.output) || self.topics.exists(t, t.name == c.output.topic)",
        ("consumer %s: output.topic %s is not in spec.topics", "c.name", "c.output.topic"),
        "a consumer's output.topic is not in spec.topics",
    ),
)


def _fault(condition: str, template: tuple[str, ...], message: str) -> Rule:
    """Return a rule on every fault; `template` leaves out `fault NAME: `."""
    text, *values = template
    return each(
        "self.faults",
        "f",
        condition,
        (f"fault %s: {text}", "f.name", *values),
        f"a fault's {message}",
    )


def _numbers(role: str, name: str, exists: str = "", default: int = 0) -> tuple[Rule, Rule]:
    """Return the rules that ordinals and count of a role fit a number of replicas.

    Args:
        role: of the targets.
        name: path of the number in spec.
        exists: CEL expression that is true where the resource has the number; empty: it always has.
        default: the number where it has not.
    """
    limit = f"({exists} ? self.{name} : {default})" if exists else f"self.{name}"
    return (
        _fault(
            f"f.target.role != '{role}' || f.target.ordinals.all(o, o < {limit})",
            (f"target.ordinals must be below {name} %d", limit),
            f"target.ordinals must be below {name}",
        ),
        _fault(
            f"f.target.role != '{role}' || !has(f.target.count) || f.target.count <= {limit}",
            (f"target.count %d is above {name} %d", "f.target.count", limit),
            f"target.count is above {name}",
        ),
    )


def _entry(role: str, items: str) -> tuple[Rule, Rule]:
    """Return the rules that a target names an entry of spec.traffic, and pods that it has."""
    name = items.removeprefix("self.")
    mine = f"f.target.role != '{role}' || !has(f.target.name)"
    return (
        _fault(
            f"{mine} || {items}.exists(e, e.name == f.target.name)",
            (f"target.name %s is not in spec.{name}", "f.target.name"),
            f"target.name is not in spec.{name}",
        ),
        _fault(
            f"{mine} || {items}.all(e, e.name != f.target.name || "
            "(f.target.ordinals.all(o, o < e.replicas) && "
            "(!has(f.target.count) || f.target.count <= e.replicas)))",
            (
                f"target.ordinals and target.count must fit the replicas of %s in spec.{name}",
                "f.target.name",
            ),
            f"target.ordinals and target.count must fit the replicas in spec.{name}",
        ),
    )


_INDICES = str(list(range(MAX_ITEMS)))
_WAITS_FOR_EARLIER = (
    "i >= size(self.faults) || !has(self.faults[i].startsAfter.fault) || "
    f"{_INDICES}.exists(j, j < i && self.faults[j].name == self.faults[i].startsAfter.fault)"
)

FAULTS = (
    each(
        _INDICES,
        "i",
        _WAITS_FOR_EARLIER,
        (
            "fault %s: startsAfter.fault %s must come before it in spec.faults",
            *("self.faults[i].name", "self.faults[i].startsAfter.fault"),
        ),
        "a fault's startsAfter.fault must come before it in spec.faults",
    ),
    _fault(
        "!has(f.target.topic) || self.topics.exists(t, t.name == f.target.topic)",
        ("target.topic %s is not in spec.topics", "f.target.topic"),
        "target.topic is not in spec.topics",
    ),
    _fault(
        "!has(f.target.partition) || !has(f.target.topic) || "
        "self.topics.all(t, t.name != f.target.topic || f.target.partition < t.partitions)",
        (
            "target.partition %d is out of range: partitions of topic %s are counted from 0",
            *("f.target.partition", "f.target.topic"),
        ),
        "target.partition is out of range",
    ),
    _fault(
        "!has(f.target.topic) || self.topics.all(t, t.name != f.target.topic || "
        "f.target.partitions.all(p, p < t.partitions))",
        (
            "target.partitions is out of range: partitions of topic %s are counted from 0",
            "f.target.topic",
        ),
        "target.partitions is out of range",
    ),
    _fault(
        # With spec.kafkaRef, another rule refuses the action that takes them.
        "has(self.kafkaRef) || f.targetReplicas.all(b, b < self.kafka.replicas)",
        ("targetReplicas must be below kafka.replicas %d", "self.kafka.replicas"),
        "targetReplicas must be below kafka.replicas",
    ),
    _fault(
        "size(f.targetReplicas) == 0 || !has(f.target.topic) || "
        "self.topics.all(t, t.name != f.target.topic || "
        "size(f.targetReplicas) == t.replicationFactor)",
        (
            "targetReplicas has %d brokers, unlike the replicationFactor of topic %s",
            *("size(f.targetReplicas)", "f.target.topic"),
        ),
        "targetReplicas must have as many brokers as the topic's replicationFactor",
    ),
    _fault(
        "!has(f.target.count) || !has(f.target.topic) || "
        "self.topics.all(t, t.name != f.target.topic || f.target.count <= t.replicationFactor - "
        "(f.target.role == 'PartitionFollower' ? 1 : 0))",
        (
            "target.count %d is above what the replicationFactor of topic %s leaves",
            *("f.target.count", "f.target.topic"),
        ),
        "target.count is above what the topic's replicationFactor leaves",
    ),
    _fault(
        "!has(f.target.group) || self.traffic.consumers.exists(c, c.group == f.target.group)",
        ("target.group %s is not a group of spec.traffic.consumers", "f.target.group"),
        "target.group is not a group of spec.traffic.consumers",
    ),
    _fault(
        "!has(f.target.zone) || size(self.kafka.rack.zones) == 0 || "
        "self.kafka.rack.zones.exists(z, z == f.target.zone)",
        ("target.zone %s is not in kafka.rack.zones", "f.target.zone"),
        "target.zone is not in kafka.rack.zones",
    ),
    # The brokers of somebody else's cluster are named by their ids.
    *_numbers("Broker", "kafka.replicas", "!has(self.kafkaRef)", MAX_BROKER_ID + 1),
    *_numbers("ZooKeeper", "zookeeper.replicas", "has(self.zookeeper)", 3),
    *_numbers(
        "ControllerNode",
        "kafka.metadata.controllers.replicas",
        "has(self.kafka.metadata.controllers)",
        3,
    ),
    *_entry("Producer", "self.traffic.producers"),
    *_entry("Consumer", "self.traffic.consumers"),
)


TTL = Rule(
    rule="has(self.ttlSecondsAfterFinished) == has(oldSelf.ttlSecondsAfterFinished)",
    message="spec.ttlSecondsAfterFinished cannot be set or removed once the test exists; "
    "delete it and create a new one",
)

CROSS_REFERENCES = (*TOPICS, *TRAFFIC, *FAULTS, TTL)
