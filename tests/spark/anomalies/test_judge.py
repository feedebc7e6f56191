from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from krt_scoring.anomalies import judge
from krt_scoring.anomalies.findings import UNITS, Judgement, result

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_scoring.history.tables import Tables

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
def lossy(history_of: Callable[..., Tables]) -> tuple[Judgement, Judgement]:
    """The same history twice, its rows in another order and number of files."""
    return judge(history_of(LOSSY)), judge(history_of(LOSSY, shuffled=True))


def test_the_same_evidence_gives_the_same_judgement(lossy: tuple[Judgement, Judgement]) -> None:
    assert lossy[0] == lossy[1]


def test_every_anomaly_is_answered(lossy: tuple[Judgement, Judgement]) -> None:
    assert [item.name for item in lossy[0].anomalies] == list(UNITS)


def test_a_permitted_loss_is_told_with_what_took_its_place(
    lossy: tuple[Judgement, Judgement],
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


def test_the_ledger_says_what_was_lost(lossy: tuple[Judgement, Judgement]) -> None:
    terms = lossy[0].ledger
    assert terms["balanced"] == 1
    picked = {name: terms[name] for name in ("attempted", "acked", "lost", "delivered")}
    assert picked == {"attempted": 3, "acked": 3, "lost": 1, "delivered": 2}


def test_the_truncation_is_told(lossy: tuple[Judgement, Judgement]) -> None:
    (cut,) = lossy[0].truncations
    assert (cut["partition"], cut["firstOffsetCut"], cut["unclean"]) == (0, 1, 0)


def test_what_the_evidence_lacks_is_said(history_of: Callable[[str], Tables]) -> None:
    judgement = judge(
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
    codes = [reason.code for reason in judgement.reasons]
    assert codes == ["GroupNeverStarted", "GroupNotDrained", "ForeignRecords"]
    assert judgement.ledger["foreign"] == 1
    assert all(item.cls == "NotObserved" for item in judgement.anomalies)


def test_a_leader_change_may_cut_a_place_of_a_record_that_is_not_missing(
    history_of: Callable[[str], Tables],
) -> None:
    judgement = judge(
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
    found = judgement.anomaly("inconsistent-offsets")
    assert (found.cls, found.rules) == ("AllowedByConfig", {"acks-1-leader-change": 1})


def test_nothing_at_all(history_of: Callable[[str], Tables]) -> None:
    judgement = judge(history_of("topic x=y"))
    assert judgement.ledger["attempted"] == 0
    assert judgement.ledger["balanced"] == 1
    assert not judgement.reasons


def test_a_class_follows_from_the_counts() -> None:
    none = result("unseen", {}, {}, ())
    allowed = result("unseen", {"r": 2}, {}, ())
    broken = result("unseen", {"r": 2, None: 1}, {}, ())
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


def test_of_a_lost_record_it_is_told_who_still_holds_it(
    history_of: Callable[[str], Tables],
) -> None:
    (lost,) = judge(history_of(GONE)).anomaly("lost-write").examples
    assert (lost["seq"], lost["presentOnBrokers"], lost["dumped"]) == (1, [1], [0, 1, 2])
    (nowhere,) = judge(history_of(GONE + "undumped 1 0")).anomaly("lost-write").examples
    assert (nowhere["presentOnBrokers"], nowhere["dumped"]) == ([1], [0, 2])
    held_by_nobody = GONE.replace("replica 1 0@1 p/1#1", "")
    (nowhere,) = judge(history_of(held_by_nobody)).anomaly("lost-write").examples
    assert (nowhere["presentOnBrokers"], nowhere["dumped"]) == ([], [0, 1, 2])


def test_where_nothing_was_dumped_nobody_is_said_to_hold_it(
    lossy: tuple[Judgement, Judgement],
) -> None:
    assert "presentOnBrokers" not in lossy[0].anomaly("lost-write").examples[0]


def test_replicas_that_differ_are_shown_side_by_side(
    history_of: Callable[[str], Tables],
) -> None:
    found = judge(
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


def test_an_offset_a_replica_lacks_is_told_with_its_broker(
    history_of: Callable[[str], Tables],
) -> None:
    text = "bounds 0 0..2\nreplica 0 0@0\nreplica 0 0@1\nreplica 1 0@0"
    found = judge(history_of(text)).anomaly("replica-divergence")
    assert found.detail == {"lacking": 1}
    assert [one["lacking"] for one in found.examples] == [[1]]
