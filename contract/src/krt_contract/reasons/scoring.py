"""Inconclusive reasons of scoring: what is missing or damaged, and what the run did not test."""

from __future__ import annotations

from typing import Final

from krt_contract.reasons.reason import COVERAGE, EVIDENCE, Reason

_FILE: Final = (
    "copy the evidence again, or compare the file with the volume's; if it is damaged there, look "
    "at the volume and at the log of the pod that wrote it, and run the test again"
)
_ROWS: Final = (
    "what rests on the rows of the incarnation that wrote it: a producer's own records, the group "
    "of a consumer. A file of `log/`: the partitions of which fewer records are there than were "
    "read"
)
_RECORDER: Final = (
    "look at the recorder's log in the evidence and at the load of its node, and run the test again"
)
_BUSY: Final = "lower recordsPerSecond, run fewer tests at once, or lengthen spec.warmup"
_FOREIGN: Final = "record again as the page on histories of Kafka's own tools describes"

SCORING: Final = (
    Reason(
        "PlanUnusable",
        "`run.json` is missing, damaged or of another schema version",
        "score the bundle with the release that recorded it, or copy it again",
        EVIDENCE,
        "everything",
    ),
    Reason(
        "FileMissing",
        "a ledger or timeline file is missing; the subject names it",
        _FILE,
        EVIDENCE,
        _ROWS,
    ),
    Reason(
        "FileUnreadable",
        "a ledger or timeline file cannot be read, and is not used; the subject names it",
        _FILE,
        EVIDENCE,
        _ROWS,
    ),
    Reason(
        "MetadataLogIncomplete",
        "with KRaft: records of the [metadata log](cluster-history.md) are missing between others, "
        "or at its beginning",
        _FILE,
        EVIDENCE,
        "as for a missing timeline",
    ),
    Reason(
        "FileDuplicated",
        "a ledger file is there twice, and is not used; the subject names it",
        _FILE,
        EVIDENCE,
        _ROWS,
    ),
    Reason(
        "SchemaDiffers",
        "a ledger file has other columns than this release writes, and is not used",
        "score the bundle with the release that recorded it",
        EVIDENCE,
        _ROWS,
    ),
    Reason(
        "RowInvalid",
        "a row that no writer records, named with its file and number (from 0): a negative "
        "number, a consumer group that is not in the plan, a poll number that goes back, a time "
        "more than 5 minutes before the recorder started or 31 days after. The row is not used",
        _FILE,
        EVIDENCE,
        "as for a file that cannot be read; of `log/` the partitions of the rows",
    ),
    Reason(
        "MixedRuns",
        "rows of a producer or consumer that the plan does not name, or of a pod that did not "
        "belong to this run",
        "keep the folder of each run apart, and copy the evidence into an empty folder",
        EVIDENCE,
        "as for a file that cannot be read",
    ),
    Reason(
        "LedgerDoesNotBalance",
        "the numbers of sends and of their outcomes [do not agree]"
        "(../concepts/anomalies.md#the-ledger-identity)",
        "report it as a defect, with the bundle",
        EVIDENCE,
        "the incarnations whose counts differ; every producer if only the sums do",
    ),
    Reason(
        "ForeignRecords",
        "another client wrote to a tested topic",
        "let no other client write to the topics of a test",
        EVIDENCE,
        "those partitions",
    ),
    Reason(
        "DuplicateLogRows",
        "records are listed twice at one offset",
        "score the run again; if the reason stays, report it as a defect, with the bundle",
        EVIDENCE,
        "those partitions",
    ),
    Reason(
        "GroupNeverStarted",
        "a group was never assigned a partition that has records",
        "look at the consumers' logs in the evidence, or lengthen spec.warmup",
        COVERAGE,
    ),
    Reason(
        "GroupNotDrained",
        "a group did not read a partition to its end, and records that it is owed are missing: "
        "they may only be late",
        "allow more time in spec.timeouts.drain, lower recordsPerSecond, or add consumers",
        COVERAGE,
    ),
    Reason(
        "RowsMissing",
        "a consumer that ended in order counted more deliveries and events than there are, fewer "
        "records are in `log/` than were read, or fewer offsets are in `replica_log/` than were "
        "dumped",
        _FILE,
        EVIDENCE,
        "the consumer's group; those partitions; `replica-divergence`",
    ),
    Reason(
        "ReplicaNotDumped",
        "a replica in sync that was to be [compared](../concepts/replicas.md) is missing from the "
        "evidence or incomplete",
        "look at the broker's log in the evidence, or allow more time in spec.timeouts.replicaDump",
        COVERAGE,
    ),
    Reason(
        "LeadersUnknown",
        "something was found that a leader change may permit, and a leader of the topic's "
        "partitions was not recorded: the timeline has none of their states, an epoch is missing, "
        "or the states were not read to the end",
        _RECORDER,
        EVIDENCE,
        "the partitions whose leader is missing; all of the topic if the timeline has none of "
        "their states",
    ),
    Reason(
        "IsrAtElectionUnknown",
        "something was found that an election permits only if it was unclean, or if storage was "
        "lost, and the cluster is [polled](cluster-history.md#what-polling-can-prove), which does "
        "not show who was in the ISR at the moment of an election that was seen",
        "set unclean.leader.election.enable to false on the tested topics, or run the same test on "
        "a cluster that spec.kafka describes",
        EVIDENCE,
        "the partitions with such an election; the groups whose partition of `__consumer_offsets`, "
        "or output topic, had one",
    ),
    Reason(
        "ProducerSummaryMissing",
        "a producer wrote no summary, and no fault explains its end",
        "look at the producer's log in the evidence and at its node, and run the test again",
        EVIDENCE,
        "that incarnation",
    ),
    Reason(
        "LogNotRead",
        "the log of a partition was not read from its start to its settled end",
        "look at the log of the scoring Job, and score the run again while its brokers exist",
        EVIDENCE,
        "that partition",
    ),
    Reason(
        "LogCutBelowBegin",
        "the log of a topic that the test [adopted](../how-to/existing-kafka.md#existing-topics) "
        "was cut below the offset at which the run began: it ends there, or the test wrote or read "
        "there. Records of the run may lie where nothing is read",
        "set unclean.leader.election.enable to false on the topic, find out why its records were "
        "lost, and run the test again",
        EVIDENCE,
        "that partition",
    ),
    Reason(
        "ClocksDisagree",
        "clocks differ by more than the shortest gap that the test is about",
        "synchronize the clocks of the nodes (chrony, NTP), and run the test again",
        EVIDENCE,
        "what compares clocks",
    ),
    Reason(
        "TooFewOperations",
        "fewer than 100 acknowledged sends in the steady state, 10 attempted during the faults, or "
        "10 acknowledged after them",
        "raise recordsPerSecond, lengthen spec.warmup, or lengthen the faults",
        COVERAGE,
    ),
    Reason(
        "EmptyRun",
        "nothing was attempted",
        "look at the producers' logs in the evidence; the spec may name no producer that sends",
        COVERAGE,
    ),
    Reason(
        "TooManyUnknown",
        "more than 5 % of the sends outside the faults have an unknown outcome",
        "raise delivery.timeout.ms of the producers, lower recordsPerSecond, or use a cluster that "
        "is less busy",
        COVERAGE,
    ),
    Reason(
        "BaselineTooSlow",
        "the [detection limit](../concepts/scoring.md#the-detection-limit) is longer than the "
        "objective, or than an outage that a fault implies, so an outage of that length could not "
        "be seen",
        _BUSY,
        COVERAGE,
    ),
    Reason(
        "MemberOutOfMemory",
        "the JVM of a broker, ZooKeeper server or KRaft controller ran out of memory during the "
        "run, and no fault was aimed at it",
        "raise the memory limit in spec.kafka.resources, spec.zookeeper.resources or "
        "spec.kafka.metadata.controllers.resources, or lower recordsPerSecond",
        COVERAGE,
    ),
    Reason(
        "MemberEnded",
        "a broker, ZooKeeper server or KRaft controller ended during the run, or was started again "
        "and its end was not recorded, and no fault was aimed at it or at ZooKeeper",
        "look at the end of the member's log in the evidence; an eviction is in the pod's events",
        COVERAGE,
    ),
    Reason(
        "TimelineGap",
        "the recorder did not see a part of the run after the first send. A silence of ZooKeeper, "
        "or a moment in which the recorder's process did not run, counts only if a leader went "
        "unseen and it matters who led: unclean election is on, a disk was lost, or not every "
        "producer uses acks=all. A silence of ZooKeeper that lasts until the recorder ends counts "
        "always if operations were still going on: nothing in it was read afterwards. With the "
        "subject evidence, the object store of the evidence was unavailable for more than a "
        "second: no row is missing, but commits waited",
        f"{_RECORDER}; with the subject evidence, see that the store stays available",
        COVERAGE,
    ),
    Reason(
        "TimelineTorn",
        "the end of a timeline file is cut",
        _RECORDER,
        COVERAGE,
    ),
    Reason(
        "DetectorFailed",
        "the [self-test](../concepts/scoring.md#the-self-test) missed a corruption",
        "report it as a defect, with the bundle",
        COVERAGE,
    ),
    Reason(
        "DeliveriesNotListed",
        "only [histories of Kafka's own tools](../how-to/foreign-histories.md): deliveries were "
        "counted and not listed",
        _FOREIGN,
        EVIDENCE,
        "what rests on those deliveries",
    ),
    Reason(
        "ValuesAmbiguous",
        "only histories of Kafka's own tools: two producers send the same values",
        _FOREIGN,
        EVIDENCE,
        "everything",
    ),
    Reason(
        "FileUnknown",
        "only histories of Kafka's own tools: a file of no known name",
        _FOREIGN,
        EVIDENCE,
        "everything",
    ),
    Reason(
        "FileTorn",
        "only histories of Kafka's own tools: the last line of a file is cut",
        _FOREIGN,
        COVERAGE,
    ),
)
