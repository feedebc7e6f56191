"""Rules on a cluster that somebody else runs: what the test must leave to its owner."""

from krt_operator.api.base import Rule
from krt_operator.api.crossrefs import each

_DEPLOYED = "!has(self.kafkaRef)"
_NO_PODS = "!has(self.kafkaRef.pods)"
_OWN_ROLES = "['Producer', 'Consumer']"
_BROKER_ROLES = (
    "['Broker', 'PartitionLeader', 'PartitionFollower', 'PartitionReplica', 'GroupCoordinator', "
    "'Controller']"
)
_BROKER_ACTIONS = "['CrashPod', 'DeletePod', 'FreezePod']"
_OF_TEST = f"(f.target.role in {_OWN_ROLES} || f.action == 'External')"
_NOTHING_DEPLOYED = (
    "!has(self.zookeeper) && !has(self.kafka.image) && !has(self.kafka.security) && "
    "self.kafka.replicas == 3 && "
    "self.kafka.metadata.mode == 'ZooKeeper' && size(self.kafka.config) == 0 && "
    "size(self.kafka.rack.zones) == 0 && !has(self.kafka.storage.storageClassName) && "
    "self.placement.separateZooKeeper == 'Required' && "
    "self.placement.separateControllers == 'Required'"
)

KAFKA_REF = (
    Rule(
        rule="has(self.kafkaRef) == has(oldSelf.kafkaRef)",
        message="spec.kafkaRef cannot be set or removed once the test exists; delete it and create "
        "a new one",
    ),
    Rule(
        rule=f"{_DEPLOYED} || ({_NOTHING_DEPLOYED})",
        message="spec.kafkaRef names a cluster that is there already; leave out spec.kafka, "
        "spec.zookeeper and spec.placement, which describe one that the test deploys",
    ),
    Rule(
        rule=f"{_DEPLOYED} || !self.evidence.compareReplicas",
        message="evidence.compareReplicas reads the brokers' volumes, which a test of "
        "spec.kafkaRef has not; leave it out",
    ),
    each(
        "self.topics",
        "t",
        "!t.adopt || has(self.kafkaRef)",
        (
            (
                "topic %s: adopt takes a topic of a cluster that is there already, and this test "
                "deploys its own; leave it out, or name the cluster in spec.kafkaRef"
            ),
            "t.name",
        ),
        "adopt needs spec.kafkaRef",
    ),
    each(
        "self.topics",
        "t",
        f"{_DEPLOYED} || t.adopt || t.name.startsWith(self.kafkaRef.prefix)",
        (
            (
                "topic %s: its name must begin with %s (kafkaRef.prefix), so that no other "
                "topic of the cluster is touched; to use a topic that is there, set adopt"
            ),
            "t.name",
            "self.kafkaRef.prefix",
        ),
        "a topic's name must begin with kafkaRef.prefix unless it is adopted",
    ),
    each(
        "self.traffic.consumers",
        "c",
        f"{_DEPLOYED} || c.group.startsWith(self.kafkaRef.prefix)",
        (
            (
                "consumer %s: group %s must begin with %s (kafkaRef.prefix), so that no other "
                "group of the cluster is touched"
            ),
            "c.name",
            "c.group",
            "self.kafkaRef.prefix",
        ),
        "a consumer's group must begin with kafkaRef.prefix",
    ),
    each(
        "self.faults",
        "f",
        f"{_DEPLOYED} || !({_NO_PODS}) || {_OF_TEST}",
        (
            (
                "fault %s: target.role %s is part of a cluster that the test deploys; with "
                "spec.kafkaRef, faults act on Producer or Consumer, or are External; name the pods "
                "of the brokers in spec.kafkaRef.pods for CrashPod, DeletePod and FreezePod"
            ),
            "f.name",
            "f.target.role",
        ),
        "with spec.kafkaRef, faults act on Producer or Consumer, or are External, unless "
        "spec.kafkaRef.pods names the pods of the brokers",
    ),
    each(
        "self.faults",
        "f",
        f"{_DEPLOYED} || {_NO_PODS} || {_OF_TEST} || f.action in {_BROKER_ACTIONS}",
        (
            (
                "fault %s: %s needs a cluster that the test deploys; with spec.kafkaRef.pods, "
                "use CrashPod, DeletePod or FreezePod"
            ),
            "f.name",
            "f.action",
        ),
        "with spec.kafkaRef.pods, faults on brokers are CrashPod, DeletePod and FreezePod",
    ),
    each(
        "self.faults",
        "f",
        f"{_DEPLOYED} || {_NO_PODS} || {_OF_TEST} || f.target.role in {_BROKER_ROLES}",
        (
            (
                "fault %s: target.role %s is part of a cluster that the test deploys; with "
                "spec.kafkaRef.pods, name brokers: Broker, PartitionLeader, PartitionFollower, "
                "PartitionReplica, GroupCoordinator or, with ZooKeeper, Controller"
            ),
            "f.name",
            "f.target.role",
        ),
        "with spec.kafkaRef.pods, faults act on the roles of brokers",
    ),
    each(
        "self.faults",
        "f",
        f"{_DEPLOYED} || {_NO_PODS} || {_OF_TEST} || f.action == 'FreezePod' || "
        "duration(f.duration) == duration('0s')",
        (
            (
                "fault %s: duration keeps a broker down through a StatefulSet of the test, and "
                "the broker of spec.kafkaRef has none; leave duration out of %s"
            ),
            "f.name",
            "f.action",
        ),
        "with spec.kafkaRef.pods, CrashPod and DeletePod of a broker take no duration",
    ),
    each(
        "self.faults",
        "f",
        f"{_DEPLOYED} || {_NO_PODS} || {_OF_TEST} || f.action == 'CrashPod' || "
        "self.kafkaRef.pods.manager != 'None'",
        (
            (
                "fault %s: %s deletes the pod (FreezePod: only if it cannot be thawed), and nobody "
                "creates it again (kafkaRef.pods.manager None); name the manager of the pods"
            ),
            "f.name",
            "f.action",
        ),
        "DeletePod and FreezePod of a broker need a kafkaRef.pods.manager that creates the pod "
        "again",
    ),
    each(
        "self.faults",
        "f",
        f"{_DEPLOYED} || size(f.adminRequests) == 0",
        (
            (
                "fault %s: adminRequests change a cluster that the test deploys; leave them "
                "out with spec.kafkaRef"
            ),
            "f.name",
        ),
        "adminRequests cannot be used with spec.kafkaRef",
    ),
)
