"""Reasons of the time before the first record: feasibility, preflight, provisioning, requests."""

from __future__ import annotations

from typing import Final

from krt_contract.reasons.kafka import KAFKA
from krt_contract.reasons.reason import Reason

_CLIENT: Final = "correct in the spec what the error names"
_ONE_RELEASE: Final = "install CRD, chart and controller of one release"
_SHARED: Final = (
    "use an object store (spec.evidence.objectStore), or name a claim, or the chart value "
    "evidence.storageClass, of a class that serves ReadWriteMany to all nodes: NFS, CephFS, EFS, "
    "Azure Files, Filestore"
)

SETUP: Final = (
    Reason(
        "ClientCannotStart",
        "a producer or consumer says that starting it again would not help",
        _CLIENT,
        appended=True,
    ),
    Reason(
        "ClientSettingsRefused",
        "the Kafka client refuses the settings of a producer or consumer",
        _CLIENT,
        appended=True,
    ),
    Reason(
        "EvidenceClaimMissing",
        "the claim of spec.evidence.claimName does not exist in the namespace of the test",
        "create the claim (ReadWriteMany), or leave the field out: the controller then creates "
        "krt-evidence",
    ),
    Reason(
        "EvidenceNotBound",
        "the evidence claim has no volume",
        "kubectl describe pvc shows what its storage class or volume lacks; the class must exist "
        "and have a provisioner that runs",
    ),
    Reason(
        "EvidenceNotShared",
        "the evidence claim is not ReadWriteMany, or what one node wrote did not appear on another",
        _SHARED,
    ),
    Reason(
        "EvidenceNotWritable",
        "the pods of the test may not write to the evidence claim, or the object store refuses "
        "them or does not answer",
        "claim: let group 0 write to it, or set spec.podTemplate.securityContext.fsGroup to its "
        "group; object store: check that it runs and that the bucket exists, and endpoint, region, "
        "keys and ca",
    ),
    Reason(
        "EvidenceStorageClassMissing",
        "the evidence claim is missing, and the storage class to create it with does not exist",
        _SHARED,
    ),
    Reason(
        "EvidenceStoreMissing",
        "the test uses the object store of the chart, and the chart has none",
        "set the chart value evidence.objectStore.enabled to true or evidence.objectStore.bucket "
        "to a bucket, or name a bucket or a claim in spec.evidence",
    ),
    Reason(
        "FaultsCollide",
        "two faults of the spec act on the same members at the same time",
        "start the second fault after the first has ended, or give them other targets",
    ),
    Reason(
        "ImageUnpullable",
        "a node cannot pull an image",
        "correct the reference, let the nodes reach the registry, or set "
        "spec.podTemplate.imagePullSecrets",
    ),
    Reason(
        "KafkaImageUnusable",
        "the check of the Kafka image for its jars, Java and bash failed; the message says how",
        "use apache/kafka 3.9 or later, or an image of its layout",
    ),
    Reason(
        "KafkaWithoutZooKeeper",
        "the test is in ZooKeeper mode and the Kafka image has no ZooKeeper, as from Kafka 4 on",
        "set spec.kafka.metadata.mode to KRaft, or spec.kafka.image to Kafka 3.9",
    ),
    Reason(
        "SettingNotEffective",
        "the brokers do not have a setting that the test gave them: min.insync.replicas of a "
        "topic, or the protocols or the authorizer of spec.kafka.security",
        "use an image that reads /krt/config/server.properties; min.insync.replicas can also be "
        "set in the topic's config",
    ),
    Reason(
        "MemberCannotStart",
        "a broker, ZooKeeper server or KRaft controller ended three times in "
        "succession with the same error",
        "correct the setting that the message names; the member's log is in the evidence",
    ),
    Reason(
        "MemberFailing",
        "a broker, ZooKeeper server or KRaft controller ended instead of starting; it is started "
        "again",
        "correct the setting that the message names; the member's log is in the evidence",
    ),
    Reason(
        "MembersShareANode",
        "two brokers run on one node although anti-affinity forbids it",
        "use a scheduler that honours required pod anti-affinity",
    ),
    Reason(
        "NameTaken",
        "an object that does not belong to the test has the name of one that the run needs",
        "delete that object, or run the test under another name or in another namespace",
    ),
    Reason(
        "NodesUnderPressure",
        "the members do not fit without nodes that lack memory, disk or process ids; the test "
        "waits until the nodes are relieved",
        "free memory or disk on the nodes that the message names, or add nodes",
    ),
    Reason(
        "NoSuchZone",
        "the spec names a zone in which no node, or no broker of the test, is",
        "name zones that the nodes have, or leave the list empty for all of them",
    ),
    Reason(
        "NotConfigured",
        "the controller lacks a setting; it does not start",
        "set the chart value that the message names",
    ),
    Reason(
        "OtherTestSlow",
        "another test measures slow writes before its first fault, so the cluster is too busy for "
        "one more test; this test waits until they are faster",
        "lower the chart value maxConcurrentTests, or end other work on the nodes",
    ),
    Reason(
        "PreflightTimedOut",
        "a pod that checks the place of the evidence and the images did not run",
        "provide two schedulable nodes, and an evidence claim that both can mount or the Secret of "
        "the object store",
    ),
    Reason(
        "ProvisioningTimedOut",
        "brokers, ZooKeeper or topics were not ready in time",
        "free resources on the nodes, or allow more time in spec.timeouts.provisioning",
    ),
    Reason(
        "RackNotReported",
        "a broker does not report the rack that it was given",
        "use an image that reads /krt/config/server.properties",
    ),
    Reason(
        "ReplicasShareARack",
        "two replicas of a partition are in one rack",
        "leave the assignment to the controller, and do not reassign partitions during a run",
    ),
    Reason(
        "ScoringImageUnusable",
        "the check of the scoring image for the scoring package failed; the message says how",
        "use the scoring image of this release (chart value images.scoring)",
    ),
    Reason(
        "StorageClassMissing",
        "a storage class that the spec names for the members does not exist",
        "create the storage class, or name another",
    ),
    Reason(
        "TooFewNodes",
        "there are fewer usable nodes than members that need one of their own",
        "add nodes or zones, lower the number of members, or relax spec.placement",
    ),
    Reason(
        "TooFewTargets",
        "a fault asks for more targets than there are",
        "lower its count, or name other targets",
    ),
    Reason(
        "TooFewZones",
        "the nodes have fewer zones than a partition has replicas",
        "label nodes of more zones, name another label in spec.kafka.rack, or lower the "
        "replication factor",
    ),
    Reason(
        "TrafficImageUnusable",
        "the traffic image cannot check the settings of the clients",
        "use the traffic image of this release (chart value images.traffic)",
    ),
    Reason(
        "TrafficNotEstablished",
        "producers or consumers did not work in time",
        "look at the traffic pods' logs, lower recordsPerSecond, or allow more time in "
        "spec.timeouts.warmup",
    ),
    Reason(
        "UnknownSetting",
        "the brokers do not know a setting of spec.kafka.config and ignore it; the run goes on",
        "correct the name of the setting; one that only a plug-in reads may stay",
    ),
    Reason(
        "RequestRefused",
        "the API server refuses a request or a pod: quota, Pod Security, a webhook or policy, a "
        "missing right, an invalid object",
        "correct in the spec what the API server names; if the spec does not hold it, install "
        "CRD, chart and controller of one release, and report a defect if that does not help",
    ),
    Reason(
        "RequestFailed",
        "requests to the API server get no answer, or HTTP 429 or 5xx",
        "the controller tries again; if this lasts, look at the API server, its webhooks and the "
        "network",
    ),
    Reason(
        "KafkaRequestFailed",
        "Kafka answers in a way that the controller does not expect",
        "look at the brokers' logs, and run the test again",
    ),
    Reason(
        "ResourceUnreadable",
        "CRD and controller are of different releases",
        f"{_ONE_RELEASE} and create the test again",
    ),
    Reason(
        "PlanUnreadable",
        "the run was begun by a controller of another release",
        "run the test again",
    ),
    Reason(
        "StatusRefused",
        "the status cannot be written: the CRD is older than the controller",
        _ONE_RELEASE,
    ),
    Reason(
        "ControllerDefect",
        "a defect of the controller",
        "this is a defect of the controller: report it with the controller's log; a fixed release "
        "continues the test",
    ),
    *KAFKA,
)
