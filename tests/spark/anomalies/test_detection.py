from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from krt_scoring.anomalies.detection import detect
from krt_scoring.anomalies.registry import UNITS
from krt_scoring.anomalies.results import Detection, summarize

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_scoring.history.tables import Tables

pytestmark = pytest.mark.usefixtures("interpreting")

LOSSY = """
producer p acks=1 idempotent=false
leader 0 1 0 0,1,2
send p/1#0 0@0 acked
fault leader CrashPod
send p/1#1 0@1 acked
leader 0 2 1 0,2
send p/1#2 0@1 acked
log 0@0 p/1#0
log 0@1 p/1#2
assigned c1 0@0
got c1 0@0 p/1#0
got c1 0@1 p/1#2
drained c1 0
"""


@pytest.fixture(scope="module")
def lossy(history_of: Callable[..., Tables]) -> tuple[Detection, Detection]:
    """The same history twice, its rows in another order and number of files."""
    return detect(history_of(LOSSY)), detect(history_of(LOSSY, shuffled=True))


def detect_in_any_order(history_of: Callable[..., Tables], text: str) -> Detection:
    """Detect twice, the rows the second time in another order and number of files."""
    detection = detect(history_of(text))
    assert detection == detect(history_of(text, shuffled=True))
    return detection


def test_detect_of_shuffled_evidence_gives_the_same_result(
    lossy: tuple[Detection, Detection],
) -> None:
    assert lossy[0] == lossy[1]


def test_detect_reports_every_anomaly(lossy: tuple[Detection, Detection]) -> None:
    assert [item.name for item in lossy[0].anomalies] == list(UNITS)


def test_detect_of_a_permitted_loss_shows_what_took_its_place(
    lossy: tuple[Detection, Detection],
) -> None:
    lost = lossy[0].anomaly("lost-write")
    assert (lost.count, lost.permitted, lost.violations) == (1, 1, 0)
    assert lost.cls == "AllowedByConfig"
    assert lost.rules == {"acks-1-leader-change": 1}
    example: dict[str, Any] = lost.examples[0]
    assert (example["partition"], example["offset"], example["seq"]) == (0, 1, 1)
    assert example["faults"] == ["leader"]
    shown = {(row["what"], row["seq"]) for row in example["history"]}
    assert shown == {
        ("sent", 0),
        ("sent", 1),
        ("sent", 2),
        ("log", 0),
        ("log", 2),
        ("delivered", 0),
        ("delivered", 2),
    }


def test_detect_of_a_loss_counts_it_in_the_ledger(lossy: tuple[Detection, Detection]) -> None:
    terms = lossy[0].ledger
    assert terms["balanced"] == 1
    picked = {name: terms[name] for name in ("attempted", "acked", "lost", "delivered")}
    assert picked == {"attempted": 3, "acked": 3, "lost": 1, "delivered": 2}


def test_detect_of_a_loss_reports_the_truncation(lossy: tuple[Detection, Detection]) -> None:
    (cut,) = lossy[0].truncations
    assert (cut["partition"], cut["firstOffsetCut"], cut["unclean"]) == (0, 1, 0)


def test_detect_of_incomplete_evidence_gives_reasons(history_of: Callable[[str], Tables]) -> None:
    detection = detect(
        history_of(
            """
            send p/1#0 0@0 acked
            send p/1#1 1@0 acked
            log 0@0 p/1#0
            log 1@0 p/1#1
            log 1@1 foreign
            assigned c1 0@0
            """
        )
    )
    codes = [reason.code for reason in detection.reasons]
    assert codes == ["GroupNeverStarted", "GroupNotDrained", "ForeignRecords"]
    assert detection.ledger["foreign"] == 1
    assert all(item.cls == "NotObserved" for item in detection.anomalies)


def test_detect_of_unreadable_bytes_at_an_acked_place_counts_them_as_corrupt(
    history_of: Callable[..., Tables],
) -> None:
    text = """
        send p/1#0 0@0 acked
        send p/1#1 0@1 acked
        log 0@0 p/1#0
        log 0@1 foreign
        assigned c1 0@0
        got c1 0@0 p/1#0
        got c1 0@1 foreign
        drained c1 0
        """
    detection = detect_in_any_order(history_of, text)
    assert detection.violations["corrupt-payload"] == 1
    picked = {name: detection.ledger[name] for name in ("lost", "delivered", "corrupt", "foreign")}
    assert picked == {"lost": 0, "delivered": 2, "corrupt": 1, "foreign": 0}
    assert not detection.reasons


def test_detect_of_offsets_outside_the_log_counts_them_and_uses_none(
    history_of: Callable[..., Tables],
) -> None:
    text = """
        producer p acks=1 idempotent=false
        send p/1#0 0@7 acked
        send p/1#1 0@7 acked
        send p/1#2 1@7 acked
        log 0@0 p/1#0
        log 0@1 p/1#1
        leader 1 0 0 0,1 at=1
        leader 1 2 1 0,2 at=9
        """
    detection = detect(history_of(text))
    assert detection.ledger["offsetUnusable"] == 2
    found = {item.name: item.rules for item in detection.anomalies if item.count}
    assert found == {"lost-write": {"acks-1-leader-change": 1}}


def test_detect_of_a_misplaced_delivery_shows_where_the_log_has_the_record(
    history_of: Callable[..., Tables],
) -> None:
    text = """
        send p/1#0 0@0 acked
        send p/1#1 1@0 acked
        log 0@0 p/1#0
        log 1@0 p/1#1
        bounds 0 0..4
        assigned c1 0@0
        assigned c1 1@0
        got c1 0@3 p/1#1
        got c1 0@0 p/1#0
        drained c1 0
        """
    detection = detect_in_any_order(history_of, text)
    (example,) = detection.anomaly("misplaced-delivery").examples
    picked = {name: example[name] for name in ("partition", "offset", "seq", "logPartition")}
    assert picked == {"partition": 0, "offset": 3, "seq": 1, "logPartition": 1}
    assert example["logOffset"] == 0
    assert detection.ledger["undelivered"] == 1


def test_detect_of_a_leader_change_may_cut_an_offset_of_a_present_record(
    history_of: Callable[[str], Tables],
) -> None:
    detection = detect(
        history_of(
            """
            producer p acks=1 idempotent=false
            leader 0 1 0 0,1
            send p/1#0 0@1 acked
            leader 0 2 1 0,2
            send p/2#0 0@1 acked
            log 0@0 p/1#0
            log 0@1 p/2#0
            """
        )
    )
    found = detection.anomaly("inconsistent-offsets")
    assert (found.cls, found.rules) == ("AllowedByConfig", {"acks-1-leader-change": 1})


def test_detect_of_an_empty_history_finds_nothing(history_of: Callable[[str], Tables]) -> None:
    detection = detect(history_of("topic x=y"))
    assert detection.ledger["attempted"] == 0
    assert detection.ledger["balanced"] == 1
    assert not detection.reasons


def test_summarize_derives_the_class_from_the_counts() -> None:
    none = summarize("unseen", "records", {}, {}, ())
    allowed = summarize("unseen", "records", {"r": 2}, {}, ())
    broken = summarize("unseen", "records", {"r": 2, None: 1}, {}, ())
    assert [none.cls, allowed.cls, broken.cls] == ["NotObserved", "AllowedByConfig", "Violation"]
    assert (broken.count, broken.permitted, broken.violations) == (3, 2, 1)


GONE = """
topic unclean.leader.election.enable=true
leader 0 1 0 1
send p/1#0 0@0 acked
send p/1#1 0@1 acked
leader 0 2 1 2
leader 0 2 1 0,2
isr 0 0,2
log 0@0 p/1#0
replica 0 0@0 p/1#0
replica 1 0@0 p/1#0
replica 1 0@1 p/1#1
replica 2 0@0 p/1#0
"""


def test_detect_of_a_lost_record_names_the_brokers_that_kept_it(
    history_of: Callable[[str], Tables],
) -> None:
    (lost,) = detect(history_of(GONE)).anomaly("lost-write").examples
    assert (lost["seq"], lost["presentOnBrokers"], lost["dumped"]) == (1, [1], [0, 1, 2])
    (nowhere,) = detect(history_of(GONE + "undumped 1 0")).anomaly("lost-write").examples
    assert (nowhere["presentOnBrokers"], nowhere["dumped"]) == ([1], [0, 2])
    held_by_nobody = GONE.replace("replica 1 0@1 p/1#1", "")
    (nowhere,) = detect(history_of(held_by_nobody)).anomaly("lost-write").examples
    assert (nowhere["presentOnBrokers"], nowhere["dumped"]) == ([], [0, 1, 2])


def test_detect_without_dumps_names_no_broker(
    lossy: tuple[Detection, Detection],
) -> None:
    assert "presentOnBrokers" not in lossy[0].anomaly("lost-write").examples[0]


def test_detect_of_diverging_replicas_shows_them_side_by_side(
    history_of: Callable[[str], Tables],
) -> None:
    found = detect(
        history_of(
            """
            isr 0 0,1,2
            bounds 0 0..5
            replica 0 0@0
            replica 0 0@1 epoch=1
            replica 0 0@2
            replica 0 0@3..4
            replica 1 0@0
            replica 1 0@1 epoch=2
            replica 1 0@2 bad=1
            replica 1 0@3..4
            replica 2 0@0
            replica 2 0@1 epoch=1
            replica 2 0@2
            replica 2 0@3..4 crc=7
            replica 2 0@5
            """
        )
    ).anomaly("replica-divergence")
    assert (found.count, found.violations, found.unit) == (4, 4, "offsets")
    assert found.detail == {"leaderEpoch": 1, "damaged": 1, "content": 2}
    first, second, *rest = found.examples
    assert [one["offset"] for one in found.examples] == [1, 2, 3, 4]
    same = {"batch": 1, "batchLast": 1, "size": 100, "crc": 1, "valid": True}
    assert first["replicas"] == [
        {"broker": broker, "leaderEpoch": epoch, **same} for broker, epoch in enumerate((1, 2, 1))
    ]
    assert (first["lacking"], first["tag"]) == ([], "leaderEpoch")
    assert [one["valid"] for one in second["replicas"]] == [True, False, True]
    assert [(one["batch"], one["batchLast"]) for one in rest[0]["replicas"]] == [(3, 4)] * 3


def test_detect_of_a_missing_offset_names_the_broker(
    history_of: Callable[[str], Tables],
) -> None:
    text = "bounds 0 0..2\nreplica 0 0@0\nreplica 0 0@1\nreplica 1 0@0"
    found = detect(history_of(text)).anomaly("replica-divergence")
    assert found.detail == {"lacking": 1}
    assert [one["lacking"] for one in found.examples] == [[1]]
