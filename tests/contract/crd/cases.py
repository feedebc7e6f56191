"""Resources the API server must refuse: the change to the sample, and what the message must say."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]
Spec = dict[str, Any]


def manifest(name: str) -> dict[str, Any]:
    body: dict[str, Any] = yaml.safe_load((ROOT / "manifests" / name).read_text())
    return body


def sample() -> Spec:
    spec: Spec = manifest("sample.yaml")["spec"]
    return copy.deepcopy(spec)


@dataclass(frozen=True)
class Refused:
    """A change that makes the sample unacceptable.

    Attributes:
        name: what is wrong.
        change: edits the sample's spec in place.
        says: parts of the message, which must name the element.
    """

    name: str
    change: Callable[[Spec], object]
    says: tuple[str, ...]


def topic(**fields: Any) -> Callable[[Spec], object]:
    return lambda spec: spec["topics"][0].update(fields)


def producer(**fields: Any) -> Callable[[Spec], object]:
    return lambda spec: spec["traffic"]["producers"][1].update(fields)


def consumer(**fields: Any) -> Callable[[Spec], object]:
    return lambda spec: spec["traffic"]["consumers"][0].update(fields)


def kafka_ref(change: Callable[[Spec], object]) -> Callable[[Spec], object]:
    """Change the sample of a cluster that is there already, instead of the sample."""

    def replaced(spec: Spec) -> None:
        spec.clear()
        spec.update(manifest("sample-kafka-ref.yaml")["spec"])
        change(spec)

    return replaced


def of_broker(
    action: str, manager: str = "StatefulSet", duration: str = "0s", **target: str
) -> Callable[[Spec], object]:
    """Let the first fault act on a broker of a cluster that is there."""

    def changed(spec: Spec) -> None:
        pods = {"manager": manager, "selector": {"matchLabels": {"strimzi.io/kind": "Kafka"}}}
        spec["kafkaRef"]["pods"] = pods
        spec["faults"][0].update(
            action=action, duration=duration, target=target or {"role": "Broker"}
        )

    return changed


def object_store(**fields: Any) -> Callable[[Spec], object]:
    """Write the evidence into a bucket."""
    return lambda spec: spec.update(evidence={"objectStore": {"bucket": "b-1", **fields}})


def security(body: dict[str, Any]) -> Callable[[Spec], object]:
    return lambda spec: spec["kafkaRef"].update(security=body)


def output(topic: str = "foo", **fields: Any) -> Callable[[Spec], object]:
    """Make the consumer write what it makes of its input."""
    return consumer(commit="Transactional", output={"topic": topic}, **fields)


def fault(**fields: Any) -> Callable[[Spec], object]:
    return lambda spec: spec["faults"][0].update(fields)


def target(**fields: Any) -> Callable[[Spec], object]:
    return fault(target=fields)


def expect(**fields: Any) -> Callable[[Spec], object]:
    return lambda spec: spec.update(expect=fields)


def expect_fault(**fields: Any) -> Callable[[Spec], object]:
    return expect(faults=[{"name": "leader-down", **fields}])


def again(*path: str) -> Callable[[Spec], object]:
    """Put the first element of a list into it once more."""

    def change(spec: Spec) -> None:
        found: Any = spec
        for key in path:
            found = found[key]
        found.append(copy.deepcopy(found[0]))

    return change


def another_fault(**fields: Any) -> Callable[[Spec], object]:
    return lambda spec: spec["faults"].append(
        {"name": "second", "action": "CrashPod", "target": {"role": "Controller"}, **fields}
    )


def kraft(change: Callable[[Spec], object] = lambda _: None) -> Callable[[Spec], object]:
    """Turn the sample into one of KRaft mode, and change that."""

    def turn(spec: Spec) -> None:
        spec.pop("zookeeper")
        spec["kafka"] |= {"config": {}, "metadata": {"mode": "KRaft"}}
        change(spec)

    return turn


def kraft_target(action: str = "CrashPod", **fields: Any) -> Callable[[Spec], object]:
    return kraft(fault(action=action, target=fields))


def controllers(**fields: Any) -> Callable[[Spec], object]:
    return kraft(lambda spec: spec["kafka"]["metadata"].update(controllers=fields))


def secured(config: dict[str, str] | None = None, **fields: Any) -> Callable[[Spec], object]:
    """Secure the cluster, and give brokers these settings."""
    security = {"tls": {}, **fields}
    return lambda spec: spec["kafka"].update(security=security, config=config or {})


def controllers_secured(config: dict[str, str]) -> Callable[[Spec], object]:
    """Secure the cluster, and give controllers these settings."""

    def change(spec: Spec) -> None:
        secured()(spec)
        spec["kafka"]["metadata"]["controllers"] = {"config": config}

    return kraft(change)


REFUSED = (
    Refused(
        "zookeeper in KRaft mode",
        kraft(lambda spec: spec.update(zookeeper={})),
        ("spec.zookeeper is for ZooKeeper mode", "spec.kafka.metadata.controllers"),
    ),
    Refused(
        "controllers in ZooKeeper mode",
        lambda spec: spec["kafka"].update(metadata={"controllers": {"replicas": 1}}),
        ("spec.kafka.metadata", "mode KRaft", "spec.zookeeper"),
    ),
    Refused(
        "separateZooKeeper in KRaft mode",
        kraft(lambda spec: spec.update(placement={"separateZooKeeper": "Ignored"})),
        ("placement.separateZooKeeper", "placement.separateControllers"),
    ),
    Refused(
        "separateControllers in ZooKeeper mode",
        lambda spec: spec.update(placement={"separateControllers": "Ignored"}),
        ("placement.separateControllers", "placement.separateZooKeeper"),
    ),
    Refused(
        "a ZooKeeper setting in KRaft mode",
        kraft(lambda spec: spec["kafka"].update(config={"zookeeper.session.timeout.ms": "6000"})),
        ("kafka.config", "zookeeper.session.timeout.ms", "broker.session.timeout.ms"),
    ),
    Refused(
        "a KRaft setting in ZooKeeper mode",
        lambda spec: spec["kafka"].update(config={"broker.session.timeout.ms": "6000"}),
        ("kafka.config", "broker.session.timeout.ms", "zookeeper.session.timeout.ms"),
    ),
    Refused(
        "a setting of ZooKeeper that security sets",
        lambda spec: (
            spec["kafka"].update(security={"tls": {}}),
            spec.update(zookeeper={"config": {"ssl.clientAuth": "none"}}),
        ),
        ("zookeeper.config", "ssl.clientAuth", "spec.kafka.security"),
    ),
    Refused(
        "a setting of brokers' way into ZooKeeper that security sets",
        secured({"zookeeper.ssl.client.enable": "false"}),
        ("kafka.config", "zookeeper.ssl.client.enable", "spec.kafka.security"),
    ),
    Refused(
        "security without tls",
        kraft(lambda spec: spec["kafka"].update(security={"sasl": {"mechanism": "PLAIN"}})),
        ("spec.kafka.security.tls", "Required"),
    ),
    Refused(
        "security by an unknown mechanism",
        kraft(secured(sasl={"mechanism": "GSSAPI"})),
        ("spec.kafka.security.sasl.mechanism", "SCRAM-SHA-512"),
    ),
    Refused(
        "a setting of brokers that security sets",
        kraft(secured({"super.users": "User:me"})),
        ("kafka.config", "super.users", "spec.kafka.security"),
    ),
    Refused(
        "a setting of controllers that security sets",
        controllers_secured({"listener.name.controller.ssl.client.auth": "none"}),
        (
            "kafka.metadata.controllers.config",
            "listener.name.controller.ssl.client.auth",
            "spec.kafka.security",
        ),
    ),
    Refused(
        "broker session in words",
        kraft(lambda spec: spec["kafka"].update(config={"broker.session.timeout.ms": "6s"})),
        ("spec.kafka.config", "broker.session.timeout.ms", "milliseconds"),
    ),
    Refused(
        "snapshots of the metadata log",
        kraft(
            lambda spec: spec["kafka"].update(
                config={"metadata.log.max.snapshot.interval.ms": "1000"}
            )
        ),
        ("spec.kafka.config", "metadata.log.max.snapshot.interval.ms", "complete"),
    ),
    Refused(
        "min.insync.replicas of controllers",
        controllers(config={"min.insync.replicas": "1"}),
        ("controllers.config", "min.insync.replicas", "spec.kafka.config"),
    ),
    Refused(
        "voters of controllers",
        controllers(config={"controller.quorum.voters": "100@a:1"}),
        ("controllers.config", "controller.quorum.voters", "is set by the controller"),
    ),
    Refused("too many controllers", controllers(replicas=8), ("controllers.replicas",)),
    Refused(
        "ZooKeeper as target in KRaft mode",
        kraft_target(role="ZooKeeper"),
        ("fault leader-down", "ZooKeeper", "ControllerNode"),
    ),
    Refused(
        "ZooKeeperLeader as target in KRaft mode",
        kraft_target(role="ZooKeeperLeader"),
        ("fault leader-down", "ZooKeeperLeader", "Controller"),
    ),
    Refused(
        "ControllerNode as target in ZooKeeper mode",
        target(role="ControllerNode"),
        ("fault leader-down", "ControllerNode", "KRaft mode"),
    ),
    Refused(
        "ordinal of no controller",
        kraft_target(role="ControllerNode", ordinals=[3]),
        ("fault leader-down", "target.ordinals", "kafka.metadata.controllers.replicas 3"),
    ),
    Refused(
        "more controllers than there are",
        kraft_target(role="ControllerNode", count=4),
        ("fault leader-down", "target.count 4", "kafka.metadata.controllers.replicas 3"),
    ),
    Refused(
        "lost disk of a controller node",
        kraft_target("LoseDisk", role="ControllerNode"),
        ("fault leader-down", "LoseDisk", "CrashPod"),
    ),
    Refused(
        "lost disk of the quorum's leader",
        kraft_target("LoseDisk", role="Controller"),
        ("fault leader-down", "LoseDisk", "CrashPod"),
    ),
    Refused(
        "excludeController in KRaft mode",
        kraft_target(role="PartitionFollower", topic="foo", partition=0, excludeController=True),
        ("fault leader-down", "excludeController", "leave it out"),
    ),
    Refused(
        "expected session expirations in KRaft mode",
        kraft(expect_fault(brokerSessionExpirations={"max": 1})),
        ("leader-down", "brokerSessionExpirations", "ZooKeeper mode"),
    ),
    Refused(
        "expected fenced brokers in ZooKeeper mode",
        expect_fault(brokersFenced={"max": 1}),
        ("leader-down", "brokersFenced", "KRaft mode"),
    ),
    Refused(
        "replication factor above brokers",
        lambda spec: spec["kafka"].update(replicas=2),
        ("topic foo", "replicationFactor 3", "kafka.replicas 2"),
    ),
    Refused(
        "replication factor above zones",
        lambda spec: spec["kafka"].update(rack={"zones": ["a", "b"]}),
        ("topic foo", "replicationFactor 3", "2 zones"),
    ),
    Refused(
        "min.insync above replication factor",
        topic(replicationFactor=1),
        ("topic foo", "min.insync.replicas 2", "replicationFactor 1"),
    ),
    Refused(
        "broker's min.insync above replication factor",
        lambda spec: (
            spec["topics"][0].update(config={}),
            spec["kafka"]["config"].update({"min.insync.replicas": "4"}),
        ),
        ("topic foo", "min.insync.replicas 4", "replicationFactor 3"),
    ),
    Refused(
        "session timeout in words",
        lambda spec: spec["kafka"]["config"].update({"zookeeper.session.timeout.ms": "6s"}),
        ("spec.kafka.config", "zookeeper.session.timeout.ms", "milliseconds"),
    ),
    Refused(
        "tick in words",
        lambda spec: spec["zookeeper"].update(config={"tickTime": "2s"}),
        ("spec.zookeeper.config", "tickTime", "milliseconds"),
    ),
    Refused(
        "min.insync no number",
        topic(config={"min.insync.replicas": "two"}),
        ("spec.topics[0].config", "min.insync.replicas", "number"),
    ),
    Refused("producer of unknown topic", producer(topic="bar"), ("producer plain", "topic bar")),
    Refused(
        "consumer of unknown topic",
        consumer(topics=["foo", "bar"]),
        ("consumer reader", "topic bar"),
    ),
    Refused(
        "output to unknown topic", output("bar"), ("consumer reader", "output.topic bar is not in")
    ),
    Refused(
        "output to its own input",
        output("foo"),
        ("consumer reader", "must not be read by a consumer with an output"),
    ),
    Refused(
        "output without transactions",
        consumer(output={"topic": "foo"}),
        ("consumer reader", "output needs commit: Transactional"),
    ),
    Refused(
        "transactions without output",
        consumer(commit="Transactional"),
        ("consumer reader", "commit: Transactional needs output"),
    ),
    Refused(
        "transactions that read what is not committed",
        output(isolation="read_uncommitted"),
        ("consumer reader", "needs isolation: read_committed"),
    ),
    Refused(
        "output under a producer's name",
        output(name="plain"),
        ("consumer plain has an output", "must not be a producer"),
    ),
    Refused(
        "every transaction aborted",
        consumer(commit="Transactional", output={"topic": "foo", "abortPermille": 1000}),
        ("abortPermille", "less than or equal to 900"),
    ),
    Refused("two topics of a name", again("topics"), ("spec.topics[1]", "Duplicate", "foo")),
    Refused(
        "two producers of a name",
        again("traffic", "producers"),
        ("spec.traffic.producers[2]", "Duplicate", "idem"),
    ),
    Refused(
        "two consumers of a name",
        again("traffic", "consumers"),
        ("spec.traffic.consumers[1]", "Duplicate", "reader"),
    ),
    Refused(
        "two faults of a name", again("faults"), ("spec.faults[1]", "Duplicate", "leader-down")
    ),
    Refused(
        "two consumers of a group",
        lambda spec: spec["traffic"]["consumers"].append(
            {"name": "other", "topics": ["foo"], "group": "readers"}
        ),
        ("group readers", "two consumers"),
    ),
    *(
        Refused(f"duration {text!r}", fault(duration=text), ("spec.faults[0].duration",))
        for text in ("20", "20 s", "-20s", "1.5m", "s", "", "20S", "1d", "5s1m")
    ),
    Refused("delay of an hour", fault(delay="1h"), ("fault leader-down", "30m")),
    Refused("no warm-up", lambda spec: spec.update(warmup="0s"), ("spec.warmup", "5s")),
    Refused(
        "negative rate",
        producer(recordsPerSecond=-1),
        ("spec.traffic.producers[1].recordsPerSecond",),
    ),
    Refused(
        "fractional rate",
        producer(recordsPerSecond=1.5),
        ("spec.traffic.producers[1].recordsPerSecond",),
    ),
    Refused("no room for identity", producer(valueBytes=10), ("producers[1].valueBytes",)),
    Refused("acks in words", producer(acks="quorum"), ("producers[1].acks", "all, 1 or 0")),
    Refused("acks 2", producer(acks=2), ("producers[1].acks", "all, 1 or 0")),
    *(
        Refused(
            f"idempotence with acks {acks}",
            producer(acks=acks, enableIdempotence=True),
            ("producer plain", "enableIdempotence", "acks: all"),
        )
        for acks in (1, "1", 0)
    ),
    Refused(
        "transactions without idempotence",
        producer(transactional={}, enableIdempotence=False),
        ("producer plain", "transactional", "enableIdempotence"),
    ),
    Refused(
        "transactions with acks 1",
        producer(transactional={}, acks=1),
        ("producer plain", "transactional"),
    ),
    *(
        Refused(
            f"broker setting {key}",
            lambda spec, key=key: spec["kafka"]["config"].update({key: "x"}),  # type: ignore[misc]
            ("spec.kafka.config", f"setting {key} ", why),
        )
        for key, why in (
            ("listeners", "controller"),
            ("broker.id", "controller"),
            ("broker.rack", "controller"),
            ("log.dirs", "controller"),
            ("zookeeper.connect", "controller"),
            ("log.retention.ms", "expires"),
        )
    ),
    Refused(
        "compaction",
        topic(config={"cleanup.policy": "compact"}),
        ("spec.topics[0].config", "setting cleanup.policy ", "compacted"),
    ),
    *(
        Refused(
            f"ZooKeeper setting {key}",
            lambda spec, key=key: spec["zookeeper"].update(config={key: "x"}),  # type: ignore[misc]
            ("spec.zookeeper.config", key.split(".")[0], "controller"),
        )
        for key in ("dataDir", "clientPort", "server.1")
    ),
    *(
        Refused(
            f"producer setting {key}",
            producer(config={key: "x"}),
            ("spec.traffic.producers[1].config", f"setting {key} ", "field"),
        )
        for key in ("bootstrap.servers", "acks", "enable.idempotence", "transactional.id")
    ),
    *(
        Refused(
            f"consumer setting {key}",
            consumer(config={key: "x"}),
            ("spec.traffic.consumers[0].config", f"setting {key} ", "field"),
        )
        for key in ("bootstrap.servers", "group.id", "isolation.level", "enable.auto.commit")
    ),
    Refused(
        "output setting transactional.id",
        consumer(
            commit="Transactional", output={"topic": "foo", "config": {"transactional.id": "x"}}
        ),
        ("spec.traffic.consumers[0].output.config", "setting transactional.id ", "field"),
    ),
    *(
        Refused(
            f"{where}: {what}",
            change({key: value}),
            (f"{path}.config", *says),
        )
        for where, path, change in (
            (
                "broker",
                "spec.kafka",
                lambda config: lambda spec: spec["kafka"].update(config=config),
            ),
            (
                "ZooKeeper",
                "spec.zookeeper",
                lambda config: lambda spec: spec["zookeeper"].update(config=config),
            ),
            ("topic", "spec.topics[0]", lambda config: topic(config=config)),
            ("producer", "spec.traffic.producers[1]", lambda config: producer(config=config)),
            ("consumer", "spec.traffic.consumers[0]", lambda config: consumer(config=config)),
            (
                "output",
                "spec.traffic.consumers[0].output",
                lambda config: consumer(
                    commit="Transactional", output={"topic": "foo", "config": config}
                ),
            ),
        )
        for what, key, value, says in (
            ("a blank before a name", " a.b", "1", ("setting  a.b must be the name",)),
            ("a line break in a name", "x\na.b", "1", ("a key must be the name of a setting",)),
            ("a line break in a value", "x.y", "1\na.b=2", ("the value of x.y must be one line",)),
            ("an endless name", "x" * 101, "1", ("must be the name", "at most 100")),
        )
    ),
    Refused(
        "a setting that is no string",
        lambda spec: spec["kafka"]["config"].update({"num.io.threads": 4}),
        ("spec.kafka.config.num.io.threads", "string"),
    ),
    Refused(
        "waits for an unknown fault",
        fault(startsAfter={"fault": "nobody"}),
        ("fault leader-down", "startsAfter.fault nobody"),
    ),
    Refused(
        "waits for itself",
        fault(startsAfter={"fault": "leader-down"}),
        ("fault leader-down", "startsAfter.fault leader-down"),
    ),
    Refused(
        "waits for a later fault",
        lambda spec: (
            another_fault()(spec),
            fault(startsAfter={"fault": "second"})(spec),
        ),
        ("fault leader-down", "startsAfter.fault second", "before"),
    ),
    Refused(
        "leader of no partition",
        target(role="PartitionLeader", topic="foo"),
        ("spec.faults[0].target", "PartitionLeader", "topic and partition"),
    ),
    Refused(
        "controller of a topic",
        target(role="Controller", topic="foo"),
        ("spec.faults[0].target", "Controller", "topic"),
    ),
    Refused(
        "leader by ordinal",
        target(role="PartitionLeader", topic="foo", partition=0, ordinals=[0]),
        ("spec.faults[0].target", "PartitionLeader", "ordinals"),
    ),
    Refused(
        "several leaders",
        target(role="PartitionLeader", topic="foo", partition=0, count=2),
        ("spec.faults[0].target", "PartitionLeader", "count"),
    ),
    Refused("rack of no zone", target(role="Rack"), ("spec.faults[0].target", "Rack", "zone")),
    Refused(
        "broker of a zone",
        target(role="Broker", zone="zone-a"),
        ("spec.faults[0].target", "Broker", "zone"),
    ),
    Refused(
        "coordinator of no group",
        target(role="GroupCoordinator"),
        ("spec.faults[0].target", "GroupCoordinator", "group"),
    ),
    Refused(
        "coordinator of an unknown group",
        target(role="GroupCoordinator", group="nobody"),
        ("fault leader-down", "target.group nobody"),
    ),
    Refused(
        "leader of an unknown topic",
        target(role="PartitionLeader", topic="bar", partition=0),
        ("fault leader-down", "target.topic bar"),
    ),
    Refused(
        "partition out of range",
        target(role="PartitionLeader", topic="foo", partition=3),
        ("fault leader-down", "target.partition 3", "topic foo"),
    ),
    Refused(
        "too many followers",
        target(role="PartitionFollower", topic="foo", partition=0, count=3),
        ("fault leader-down", "target.count 3", "topic foo"),
    ),
    Refused(
        "broker ordinal out of range",
        target(role="Broker", ordinals=[3]),
        ("fault leader-down", "target.ordinals", "kafka.replicas 3"),
    ),
    Refused(
        "ZooKeeper ordinal out of range",
        target(role="ZooKeeper", ordinals=[0, 3]),
        ("fault leader-down", "target.ordinals", "zookeeper.replicas 3"),
    ),
    Refused(
        "too many brokers",
        target(role="Broker", count=4),
        ("fault leader-down", "target.count 4", "kafka.replicas 3"),
    ),
    Refused(
        "ordinals and count",
        target(role="Broker", ordinals=[0], count=1),
        ("spec.faults[0].target", "ordinals or target.count, not both"),
    ),
    Refused(
        "an unknown zone",
        lambda spec: (
            spec["kafka"].update(rack={"zones": ["a", "b", "c"]}),
            target(role="Rack", zone="d")(spec),
        ),
        ("fault leader-down", "target.zone d"),
    ),
    Refused(
        "an unknown producer",
        target(role="Producer", name="nobody"),
        ("fault leader-down", "target.name nobody", "producers"),
    ),
    Refused(
        "a consumer as producer",
        target(role="Producer", name="reader"),
        ("fault leader-down", "target.name reader", "producers"),
    ),
    Refused(
        "consumer ordinal out of range",
        target(role="Consumer", name="reader", ordinals=[2]),
        ("fault leader-down", "target.ordinals", "reader"),
    ),
    Refused(
        "consumer ordinal of no name",
        target(role="Consumer", ordinals=[0]),
        ("spec.faults[0].target", "target.name"),
    ),
    Refused(
        "grace of a crash",
        fault(gracePeriodSeconds=0),
        ("fault leader-down", "gracePeriodSeconds", "CrashPod"),
    ),
    Refused(
        "a freeze of no length",
        fault(action="FreezePod", duration="0s"),
        ("fault leader-down", "FreezePod", "duration"),
    ),
    Refused(
        "an eviction of what has no budget",
        lambda spec: (target(role="Producer")(spec), fault(action="EvictPod")(spec)),
        ("fault leader-down", "EvictPod", "target.role Producer", "disruption budget"),
    ),
    Refused(
        "a disk of what has none",
        lambda spec: (target(role="Consumer")(spec), fault(action="LoseDisk")(spec)),
        ("fault leader-down", "LoseDisk", "target.role Consumer", "volume"),
    ),
    Refused(
        "a rolling restart of one leader",
        fault(action="RollingRestart", duration="0s"),
        ("fault leader-down", "RollingRestart", "target.role", "PartitionLeader"),
    ),
    Refused(
        "a rolling restart that holds",
        lambda spec: (target(role="Broker")(spec), fault(action="RollingRestart")(spec)),
        ("fault leader-down", "RollingRestart", "duration"),
    ),
    Refused(
        "a move to nowhere",
        lambda spec: (
            target(role="Partition", topic="foo")(spec),
            fault(action="Reassign", duration="0s")(spec),
        ),
        ("fault leader-down", "Reassign needs targetReplicas"),
    ),
    Refused(
        "a move of a broker",
        lambda spec: (
            target(role="Broker")(spec),
            fault(action="Reassign", duration="0s", targetReplicas=[0, 1, 2])(spec),
        ),
        ("fault leader-down", "Partition", "Reassign of Broker"),
    ),
    Refused(
        "a move to brokers there are not",
        lambda spec: (
            target(role="Partition", topic="foo")(spec),
            fault(action="Reassign", duration="0s", targetReplicas=[1, 2, 3])(spec),
        ),
        ("fault leader-down", "targetReplicas must be below", "kafka.replicas 3"),
    ),
    Refused(
        "a move to another replication factor",
        lambda spec: (
            target(role="Partition", topic="foo")(spec),
            fault(action="Reassign", duration="0s", targetReplicas=[1, 2])(spec),
        ),
        ("fault leader-down", "targetReplicas has 2 brokers", "topic foo"),
    ),
    Refused(
        "an election for partitions there are not",
        lambda spec: (
            target(role="Partition", topic="foo", partitions=[0, 3])(spec),
            fault(action="ElectPreferredLeaders", duration="0s")(spec),
        ),
        ("fault leader-down", "target.partitions", "topic foo"),
    ),
    Refused(
        "a crash of a partition",
        target(role="Partition", topic="foo"),
        ("fault leader-down", "CrashPod of Partition"),
    ),
    Refused(
        "a rack of a zone and a leader",
        target(role="Rack", zone="zone-a", topic="foo", partition=0),
        ("spec.faults[0].target", "Rack", "zone"),
    ),
    Refused("an unknown action", fault(action="Explode"), ("spec.faults[0].action", "CrashPod")),
    Refused("an unknown role", target(role="Somebody"), ("spec.faults[0].target.role", "Broker")),
    Refused(
        "the controller spared by a role that may be it",
        target(role="Controller", excludeController=True),
        ("spec.faults[0].target", "excludeController"),
    ),
    Refused(
        "an expectation of an unknown fault",
        expect(faults=[{"name": "other", "leaderChanges": {"min": 1}}]),
        ("expect.faults", "other"),
    ),
    Refused(
        "an answer to a question nobody asks",
        expect_fault(adminRequests=[{"request": "CreateTopic", "answer": "TimedOut"}]),
        ("expect.faults leader-down", "adminRequests"),
    ),
    Refused(
        "near reads of a group without a rack",
        expect(closestReplicaFetches=[{"group": "readers", "min": 1}]),
        ("expect.closestReplicaFetches", "readers", "client.rack"),
    ),
    Refused(
        "the ISR membership of a broker there is not",
        expect(inIsr=[{"broker": 3, "max": 0}]),
        ("expect.inIsr", "broker 3", "kafka.replicas 3"),
    ),
    Refused(
        "an expectation without bounds",
        expect_fault(leaderChanges={}),
        ("spec.expect.faults[0].leaderChanges", "min or max"),
    ),
    Refused(
        "an expectation upside down",
        expect_fault(isrShrinkAfter={"min": "20s", "max": "5s"}),
        ("spec.expect.faults[0].isrShrinkAfter", "min is above max"),
    ),
    Refused(
        "an expectation of an unknown group",
        expect(rebalances=[{"group": "others", "max": 1}]),
        ("expect.rebalances", "others"),
    ),
    Refused(
        "an expectation of an unknown topic",
        expect(nonEmptyPartitions=[{"topic": "bar", "max": 1}]),
        ("expect.nonEmptyPartitions", "bar"),
    ),
    Refused(
        "an outage of an unknown topic",
        expect_fault(
            unavailability=[{"of": "Writes", "topic": "bar", "longerThan": "5s", "max": 0}]
        ),
        ("expect.faults leader-down", "topic"),
    ),
    Refused(
        "an outage of an unknown group",
        expect_fault(
            unavailability=[{"of": "Reads", "group": "others", "longerThan": "5s", "max": 0}]
        ),
        ("expect.faults leader-down", "group"),
    ),
    Refused(
        "an outage of writes by a group",
        expect_fault(
            unavailability=[{"of": "Writes", "group": "readers", "longerThan": "5s", "max": 0}]
        ),
        ("unavailability", "group is only for of: Reads"),
    ),
    Refused(
        "a word that is none",
        expect(loss="Sometimes"),
        ("spec.expect.loss", "Required"),
    ),
    Refused(
        "too many topics",
        lambda spec: spec.update(
            topics=spec["topics"] + [{"name": f"t{i}", "replicationFactor": 3} for i in range(16)]
        ),
        ("spec.topics", "16"),
    ),
    Refused(
        "evidence on a claim and in an object store",
        lambda spec: spec.update(evidence={"claimName": "mine", "objectStore": {}}),
        ("spec.evidence", "leave one of them out"),
    ),
    Refused(
        "an object store of one's own without a bucket",
        lambda spec: spec.update(evidence={"objectStore": {"endpoint": "http://minio:9000"}}),
        ("spec.evidence.objectStore", "name its bucket"),
    ),
    Refused(
        "a CA of the chart's store",
        lambda spec: spec.update(evidence={"objectStore": {"ca": {"secretName": "ca"}}}),
        ("spec.evidence.objectStore", "name its bucket"),
    ),
    Refused(
        "a CA in a Secret and in a ConfigMap",
        object_store(ca={"secretName": "ca", "configMapName": "ca"}),
        ("spec.evidence.objectStore.ca", "one of them"),
    ),
    Refused(
        "a CA nowhere",
        object_store(ca={"key": "ca.crt"}),
        ("spec.evidence.objectStore.ca", "one of them"),
    ),
    Refused(
        "a CA of an endpoint without TLS",
        object_store(endpoint="http://minio:9000", ca={"secretName": "ca"}),
        ("spec.evidence.objectStore", "begins with https://"),
    ),
    Refused(
        "an endpoint that is no URL",
        lambda spec: spec.update(evidence={"objectStore": {"bucket": "b-1", "endpoint": "minio"}}),
        ("spec.evidence.objectStore.endpoint", "https?"),
    ),
    Refused(
        "a cluster that is there and one to deploy",
        lambda spec: spec.update(kafkaRef={"bootstrapServers": ["kafka:9092"]}),
        ("spec.kafkaRef", "leave out spec.kafka, spec.zookeeper and spec.placement"),
    ),
    Refused(
        "a cluster that is there and a topic that may not be the test's",
        kafka_ref(topic(name="foo")),
        ("topic foo", "must begin with krt-"),
    ),
    Refused(
        "adopt without a cluster that is there",
        topic(adopt=True, config={}),
        ("topic foo", "adopt takes a topic", "spec.kafkaRef"),
    ),
    Refused(
        "a topic to adopt and settings of it",
        kafka_ref(topic(adopt=True)),
        ("spec.topics[0]", "leave out config"),
    ),
    Refused(
        "a cluster that is there and a group that may not be the test's",
        kafka_ref(consumer(group="readers")),
        ("consumer reader", "group readers", "must begin with krt-"),
    ),
    Refused(
        "a cluster that is there and a fault on a broker",
        kafka_ref(target(role="Broker")),
        (
            "fault consumer-down",
            "target.role Broker",
            "act on Producer or Consumer, or are External",
        ),
    ),
    Refused(
        "pods of a cluster that is there and an action that needs one of the test",
        kafka_ref(of_broker("EvictPod")),
        ("fault consumer-down", "EvictPod", "use CrashPod, DeletePod or FreezePod"),
    ),
    Refused(
        "pods of a cluster that is there and a crash that is to keep them down",
        kafka_ref(of_broker("CrashPod", duration="5s")),
        ("fault consumer-down", "leave duration out of CrashPod"),
    ),
    Refused(
        "pods of a cluster that is there and a freeze without a time",
        kafka_ref(of_broker("FreezePod")),
        ("fault consumer-down", "FreezePod needs a duration"),
    ),
    Refused(
        "pods of a cluster that is there and a freeze after which nobody creates them again",
        kafka_ref(of_broker("FreezePod", manager="None", duration="5s")),
        ("fault consumer-down", "FreezePod", "kafkaRef.pods.manager None"),
    ),
    Refused(
        "pods of a cluster that is there and what cannot be a container",
        kafka_ref(
            lambda spec: spec["kafkaRef"].update(
                pods={"selector": {"matchLabels": {"a": "b"}}, "container": "Kafka"}
            ),
        ),
        ("spec.kafkaRef.pods.container",),
    ),
    Refused(
        "pods of a cluster that is there and a rack",
        kafka_ref(of_broker("DeletePod", role="Rack", zone="a")),
        ("fault consumer-down", "target.role Rack", "name brokers"),
    ),
    Refused(
        "pods of a cluster that is there and a duration",
        kafka_ref(of_broker("DeletePod", duration="5s")),
        ("fault consumer-down", "leave duration out of DeletePod"),
    ),
    Refused(
        "pods of a cluster that is there that nobody creates again",
        kafka_ref(of_broker("DeletePod", manager="None")),
        ("fault consumer-down", "kafkaRef.pods.manager None"),
    ),
    Refused(
        "pods of a cluster that is there without a label",
        kafka_ref(
            lambda spec: spec["kafkaRef"].update(pods={"selector": {"matchLabels": {}}}),
        ),
        ("spec.kafkaRef.pods.selector.matchLabels",),
    ),
    Refused(
        "a cluster that is there and requests that change it",
        kafka_ref(fault(adminRequests=["CreateTopic"])),
        ("fault consumer-down", "adminRequests"),
    ),
    Refused(
        "a cluster that is there and replicas of its brokers",
        kafka_ref(lambda spec: spec.update(evidence={"compareReplicas": True})),
        ("evidence.compareReplicas", "spec.kafkaRef"),
    ),
    Refused(
        "an External fault without a time",
        kafka_ref(
            fault(
                action="External",
                duration="0s",
                target={"role": "Partition", "topic": "krt-foo"},
            )
        ),
        ("fault consumer-down", "External needs a duration"),
    ),
    Refused(
        "a bootstrap server without a port",
        kafka_ref(lambda spec: spec.update(kafkaRef={"bootstrapServers": ["kafka"]})),
        ("spec.kafkaRef.bootstrapServers[0]",),
    ),
    Refused(
        "a security without anything in it",
        kafka_ref(security({})),
        ("spec.kafkaRef.security", "neither tls nor sasl"),
    ),
    Refused(
        "a mechanism that is not supported",
        kafka_ref(security({"sasl": {"mechanism": "GSSAPI", "secretRef": {"name": "user"}}})),
        ("spec.kafkaRef.security.sasl.mechanism", "SCRAM-SHA-512"),
    ),
    Refused(
        "a user without a Secret",
        kafka_ref(security({"sasl": {"mechanism": "PLAIN"}})),
        ("spec.kafkaRef.security.sasl.secretRef", "Required"),
    ),
    Refused(
        "a user whose name leaves its quotes",
        kafka_ref(
            security(
                {
                    "sasl": {
                        "mechanism": "PLAIN",
                        "username": 'a" serviceName="b',
                        "secretRef": {"name": "user"},
                    }
                }
            )
        ),
        ("spec.kafkaRef.security.sasl.username",),
    ),
    Refused(
        "a check of certificates that is turned off",
        kafka_ref(security({"tls": {"verifyHostname": False}})),
        ("spec.kafkaRef.security.tls.verifyHostname",),
    ),
    *(
        Refused(
            f"producer setting {key}",
            producer(config={key: "x"}),
            ("spec.traffic.producers[1].config", f"setting {key} ", "spec.kafkaRef.security"),
        )
        for key in (
            "sasl.password",
            "ssl.ca.location",
            "security.protocol",
            "enable.ssl.certificate.verification",
        )
    ),
    *(
        Refused(
            f"consumer setting {key}",
            consumer(config={key: "x"}),
            ("spec.traffic.consumers[0].config", f"setting {key} ", "spec.kafkaRef.security"),
        )
        for key in ("sasl.username", "ssl.key.pem")
    ),
    Refused("no topics", lambda spec: spec.update(topics=[]), ("spec.topics",)),
    Refused("no producers", lambda spec: spec["traffic"].update(producers=[]), ("producers",)),
    Refused("no traffic", lambda spec: spec.pop("traffic"), ("spec.traffic", "Required")),
)

OLD_NAMES: tuple[Refused, ...] = (
    Refused("downFor", fault(downFor="20s"), ("spec.faults[0].downFor", "downFor is now duration")),
    Refused("to", fault(to=[2, 0, 1]), ("spec.faults[0].to", "to is now targetReplicas")),
    Refused(
        "probes",
        fault(probes=["CreateTopic"]),
        ("spec.faults[0].probes", "probes is now adminRequests"),
    ),
    Refused(
        "spareController",
        target(role="PartitionFollower", topic="foo", partition=0, spareController=True),
        ("spec.faults[0].target.spareController", "spareController is now excludeController"),
    ),
    Refused(
        "comparison",
        lambda spec: spec.update(timeouts={"comparison": "5m"}),
        ("spec.timeouts.comparison", "comparison is now replicaDump"),
    ),
)
"""The sample with a field under its old name, and what the message must say."""

CHANGED: tuple[tuple[str, Spec], ...] = (
    ("kafka", {"kafka": {"replicas": 5}}),
    ("zookeeper", {"zookeeper": {"replicas": 1}}),
    ("placement", {"placement": {"separateZooKeeper": "Ignored"}}),
    ("podTemplate", {"podTemplate": {"nodeSelector": {"a": "b"}}}),
    ("kafkaRef", {"kafkaRef": {"bootstrapServers": ["kafka:9092"]}}),
    ("topics", {"topics": [{"name": "foo", "partitions": 4, "replicationFactor": 3}]}),
    ("traffic", {"traffic": {"producers": [{"name": "idem", "topic": "foo"}]}}),
    ("warmup", {"warmup": "20s"}),
    ("faults", {"faults": []}),
    ("expect", {"expect": {"loss": "None"}}),
    ("timeouts", {"timeouts": {"drain": "3m"}}),
    ("scoring", {"scoring": {"executors": 3}}),
    ("seed", {"seed": 7}),
    ("evidence", {"evidence": {"claimName": "other"}}),
    ("cleanup", {"cleanup": "Retain"}),
    ("ttlSecondsAfterFinished", {"ttlSecondsAfterFinished": 60}),
)
"""Merge patches on a created sample, with the child of spec that they change."""
