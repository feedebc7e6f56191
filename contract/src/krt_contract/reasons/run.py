"""Reasons of the run itself: progress, what happened during it, and how it ended."""

from __future__ import annotations

from typing import Final

from krt_contract.reasons.reason import COVERAGE, EITHER, EVIDENCE, Reason

_DRAIN: Final = (
    "look at the consumers' logs in the evidence, or allow more time in spec.timeouts.drain"
)
_DUMP: Final = (
    "look at the broker's log in the evidence, or allow more time in spec.timeouts.replicaDump; "
    "the rest of the evidence is scored"
)
_NOT_INJECTED: Final = (
    "check the fault's target and schedule, and run the test again when the cluster is less busy"
)

RUN: Final = (
    Reason(
        "CleanupIncomplete",
        "objects of the test could not be deleted",
        "delete the test to delete its objects",
    ),
    Reason(
        "DrainTimedOut",
        "a consumer group did not read to the end of its topics in time",
        _DRAIN,
        appended=True,
    ),
    Reason(
        "ExpiryFailed",
        "a finished test could not be deleted after spec.ttlSecondsAfterFinished",
        "the controller tries again; to delete it yourself: kubectl delete krt NAME",
    ),
    Reason(
        "FaultSkipped",
        "a planned fault was not injected",
        _NOT_INJECTED,
        kind=COVERAGE,
        appended=True,
    ),
    Reason(
        "FaultNotVerified",
        "nothing shows that a fault took effect. A consumer that was gone for longer than its "
        "session must have left its group, so that others were assigned its partitions",
        _NOT_INJECTED,
        kind=COVERAGE,
        appended=True,
    ),
    Reason(
        "KafkaObjectsRemain",
        "topics or groups of a deleted test could not be deleted from the cluster of spec.kafkaRef",
        "the controller tries for two minutes, and then deletes the test without them: make the "
        "cluster reachable, or delete what begins with the prefix of the test yourself",
        appended=True,
    ),
    Reason(
        "LogNotStable",
        "the log of a partition did not settle after producers had stopped",
        "look at the brokers' logs in the evidence, or allow more time in spec.timeouts.drain",
        kind=EVIDENCE,
        void="that partition",
        appended=True,
    ),
    Reason(
        "MembersNotRunning",
        "members of the cluster did not run after the faults, for a reason of the Kubernetes "
        "cluster, such as a lost node",
        "fix the Kubernetes cluster and run the test again",
        kind=COVERAGE,
        appended=True,
    ),
    Reason(
        "NotAllDumped",
        "offsets of some replicas are not in the evidence",
        _DUMP,
        appended=True,
    ),
    Reason(
        "NotDrained",
        "consumers did not read to the end of the log within spec.timeouts.drain",
        _DRAIN,
        kind=EVIDENCE,
        void="nothing: each partition has a reason of its own",
        appended=True,
    ),
    Reason(
        "NotEvaluated",
        "an expectation could not be evaluated, and no other is known not to be met",
        "the scorecard and status.inconclusiveReasons give the cause of each",
        appended=True,
    ),
    Reason(
        "NotMet",
        "an expectation of spec.expect is not met",
        "the scorecard gives for each what was observed",
        appended=True,
    ),
    Reason(
        "OperatorInterrupted",
        "the controller did not run, or was too slow, when a fault was to be injected or reverted",
        "run the test again, on a cluster that is less busy; the controller's log says where the "
        "time of a slow pass went",
        kind=COVERAGE,
    ),
    Reason(
        "ProduceLatencyHigh",
        "writes are so slow that the outages the test is about could not be seen; the warm-up "
        "waits",
        "end other work on the nodes, or lower recordsPerSecond",
        appended=True,
    ),
    Reason(
        "ReasonsOmitted",
        "the controller recorded more inconclusive reasons than the status can hold; the message "
        "says how many more, by code",
        "the first reasons say what to do; the controller's log has all of them",
        kind=EITHER,
        void="as those it stands for",
    ),
    Reason(
        "RecoveryTimedOut",
        "after a fault was reverted, the Kafka cluster or a consumer group did not recover in time",
        "look at the members' logs in the evidence; if they were recovering still, allow more "
        "time in spec.timeouts.recovery",
        appended=True,
    ),
    Reason(
        "ReplicasNotDumped",
        "the controller could not dump the replicas of a broker",
        _DUMP,
        kind=COVERAGE,
        appended=True,
    ),
    Reason(
        "RevertFailed",
        "a fault could not be reverted",
        "look at the pod and its node, and run the test again",
        kind=COVERAGE,
        appended=True,
    ),
    Reason(
        "ScorecardNotPublished",
        "the scorecard is in the evidence, and not in its ConfigMap",
        "read it there; the verdict does not depend on the ConfigMap",
        appended=True,
    ),
    Reason(
        "ScoringFailed",
        "the scoring Job gave no result",
        "the evidence is kept: copy it with krt evidence and score it with krt score",
        kind=EVIDENCE,
        void="everything: there is no scorecard",
    ),
    Reason(
        "TrafficPodLost",
        "a traffic pod ended without a termination message, and no fault was aimed at it",
        "look at the pod's log in the evidence and at its node, and run the test again",
        kind=COVERAGE,
        appended=True,
    ),
)

PROGRESS: Final = (
    Reason("Aborted", "the run was ended by spec.abort"),
    Reason("AbortedByUser", "the run was ended by spec.abort"),
    Reason("AllInjected", "every fault was injected and reverted"),
    Reason("AllMet", "every expectation of spec.expect is met"),
    Reason("AllRecognized", "the brokers know every setting of spec.kafka.config"),
    Reason("ClusterReady", "members, racks and topics are as described"),
    Reason("Completed", "the run reached its end"),
    Reason("ConsumersCaughtUp", "every group read and committed up to the settled end"),
    Reason("Degraded", "the verdict: no violation, but an objective was missed"),
    Reason("Draining", "producers stop, and consumers read to the end"),
    Reason("Dumped", "the offsets of all replicas are in the evidence"),
    Reason("Dumping", "the offsets of replicas are being read"),
    Reason("Error", "the run could not be carried out"),
    Reason("EvictionRefused", "a disruption budget refused the eviction of a member"),
    Reason("Failed", "the verdict: a violation on intact evidence"),
    Reason("FaultInjected", "a fault was injected"),
    Reason("FaultReverted", "a fault was reverted"),
    Reason("FullyReplicated", "after every revert, all replicas were in sync and groups caught up"),
    Reason("Inconclusive", "the verdict: the evidence supports none"),
    Reason("MemberUnscheduled", "a pod could not be scheduled and was replaced"),
    Reason("Passed", "the verdict: no violation, every objective met, every fault verified"),
    Reason("Planned", "the controller assigned members to zones and wrote the plan"),
    Reason(
        "PreviousTestTerminating", "objects of an earlier test of the same name are being deleted"
    ),
    Reason("Provisioned", "members and topics are ready"),
    Reason("Provisioning", "members and topics are being created"),
    Reason(
        "Queued",
        "the test waits until fewer tests run (chart values maxConcurrentTests and "
        "maxConcurrentTestsPerNamespace) or start (maxStartingTests)",
    ),
    Reason("Reading", "consumers read to the end"),
    Reason("Reconciled", "the controller takes the run forward again after a failure"),
    Reason(
        "RecorderReplaced",
        "the recorder ended before the run did, such as by an eviction, and was replaced; what it "
        "did not see is a gap in its timeline",
    ),
    Reason("Recovered", "the cluster recovered from every fault"),
    Reason("RunFinished", "the run is over"),
    Reason("Running", "the run is not over"),
    Reason("Scored", "the evidence was scored"),
    Reason("Scoring", "the evidence is being scored"),
    Reason("Settling", "the ends of the log are settling"),
    Reason("SetupFailed", "the test could not be set up; condition Provisioned says why"),
    Reason("Starting", "producers and consumers start"),
    Reason("Stopping", "producers stop"),
    Reason("TrafficEstablished", "every producer writes, every group reads and commits"),
    Reason("TrafficFlowing", "every producer writes, every group reads and commits"),
    Reason("VerdictReached", "the evidence was scored and supports a verdict"),
    Reason("WarmedUp", "records flowed for spec.warmup"),
)
