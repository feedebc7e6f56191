"""What is void is as small as the evidence that is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.scoring.builders import (
    EVENTS,
    INSPECTION,
    LOG_END,
    RUN,
    WRITERS,
    event,
    guard_inputs,
)

from krt_contract.bundle import Bundle
from krt_contract.ledger import LedgerWriter
from krt_contract.schemas import TABLES
from krt_scoring.anomalies import voids
from krt_scoring.anomalies.registry import UNITS
from krt_scoring.inputs import bundle_files
from krt_scoring.inputs.evidence import EVIDENCE, Dimension
from krt_scoring.inputs.footers import Counted
from krt_scoring.inputs.reasons import (
    DELIVERY_ANOMALIES,
    LOG_ANOMALIES,
    SEND_ANOMALIES,
    Reason,
    wholly_invalidated,
)
from krt_scoring.inputs.scope import Scope
from krt_scoring.verdict import summary, verdict
from krt_scoring.verdict.guards.registry import check_all

if TYPE_CHECKING:
    from pathlib import Path

UNSETTLED = Reason(
    "evidence", "LogNotStable", "foo-0", "m", LOG_ANOMALIES, Scope(("log",), (("foo", 0),))
)
UNSUMMARIZED = Reason(
    "evidence", "ProducerSummaryMissing", "p-0", "m", SEND_ANOMALIES, Scope(incarnations=("p0",))
)
LOST = {"lost-write": 3}


def test_evidence_names_what_every_anomaly_is_judged_by() -> None:
    assert set(EVIDENCE) == set(UNITS)
    assert all(item.tables and item.by for item in EVIDENCE.values())


@pytest.mark.parametrize(
    ("void", "expected", "standing"),
    [
        ({"lost-write": 0}, "Failed", {"lost-write": 3}),
        ({"lost-write": 1}, "Failed", {"lost-write": 2}),
        ({"lost-write": 3}, "Inconclusive", {}),
    ],
)
def test_decide_on_a_narrow_reason_counts_what_lies_outside_of_it(
    void: dict[str, int], expected: str, standing: dict[str, int]
) -> None:
    decision = verdict.decide(LOST, (UNSETTLED,), (), void)
    assert (decision.verdict, decision.standing) == (expected, standing)


def test_decide_on_missing_evidence_of_an_anomaly_as_a_whole_ignores_narrow_scopes() -> None:
    whole = Reason("evidence", "PlanUnusable", "run.json", "m", ("lost-write",))
    decision = verdict.decide(LOST, (UNSETTLED, whole), (), {"lost-write": 1})
    assert (decision.verdict, decision.void) == ("Inconclusive", {"lost-write": 3})


def test_line_of_a_failed_run_says_what_is_void() -> None:
    decision = verdict.decide(LOST, (UNSETTLED,), (), {"lost-write": 1})
    text = summary.line(decision, {}, [])
    assert text.startswith("not permitted by the configuration: lost-write 2; ")
    assert "not judged, since evidence is missing (LogNotStable foo-0): lost-write 1" in text


def test_as_dict_of_a_narrow_reason_has_its_scope() -> None:
    assert UNSETTLED.as_dict()["scope"] == {"tables": ["log"], "partitions": ["foo-0"]}
    assert "scope" not in Reason("evidence", "PlanUnusable", "run.json", "m", ("unseen",)).as_dict()


def test_wholly_invalidated_leaves_out_what_a_scope_narrows_down() -> None:
    # An offset of two values names no producer; a rebalance names no partition.
    assert wholly_invalidated((UNSUMMARIZED,)) == {"inconsistent-offsets"}
    assert wholly_invalidated((UNSETTLED,)) == frozenset()
    log = Reason("evidence", "FileMissing", "log", "m", LOG_ANOMALIES, Scope(("log",)))
    assert wholly_invalidated((log,)) == set(LOG_ANOMALIES)


def test_wholly_invalidated_by_deliveries_spares_losses_that_the_log_shows() -> None:
    scope = Scope(("consume",))
    names = (*DELIVERY_ANOMALIES, "lost-write")
    reason = Reason("evidence", "FileMissing", "consume/x", "m", names, scope)
    assert wholly_invalidated((reason,)) == set(DELIVERY_ANOMALIES)
    assert voids.narrow_scopes((reason,)) == {"lost-write": (scope,)}


def test_narrow_scopes_join_partitions_and_drop_what_findings_do_not_name() -> None:
    other = replace(UNSETTLED, subject="foo-1", scope=Scope(("log",), (("foo", 1),)))
    both = Scope(partitions=(("foo", 0), ("foo", 1)))
    found = voids.narrow_scopes((UNSETTLED, other, UNSUMMARIZED))
    assert found["lost-write"] == (Scope(incarnations=("p0",)), both)
    assert found["vanished-read"] == (both,)
    assert "poll-skip" not in found
    assert "inconsistent-offsets" not in found


def test_narrow_scopes_of_a_scope_without_partitions_keep_it_wide() -> None:
    groups = Scope(("consume",), (), ("g",))
    narrow = replace(groups, partitions=(("foo", 0),))
    reasons = [
        Reason("evidence", "FileMissing", f"consume/{n}", "m", ("unseen",), scope)
        for n, scope in enumerate((groups, narrow))
    ]
    assert voids.narrow_scopes(reasons) == {"unseen": (Scope(groups=("g",)),)}


DELIVERED = replace(INSPECTION, groups={"c0": frozenset({"g"})})
SCOPES = {
    "the log of a partition did not settle": (
        guard_inputs(log_ends=(replace(LOG_END, settled=False),)),
        Scope(("log",), (("foo", 0),)),
    ),
    "the log of a partition was not read": (
        guard_inputs(log_ends=(replace(LOG_END, read_to=8),)),
        Scope(("log",), (("foo", 0),)),
    ),
    "a producer left no summary": (
        guard_inputs(
            inspection=replace(
                INSPECTION, incarnations={**WRITERS, "producer_summary": frozenset()}
            )
        ),
        Scope(("produce",), incarnations=("p0",)),
    ),
    "rows of a consumer are missing": (
        guard_inputs(
            inspection=replace(DELIVERED, counters={("c-0", "c0"): Counted(rows=7, highest=9)})
        ),
        Scope(("consume", "consumer_events"), groups=("g",)),
    ),
    "rows of the log are missing": (
        guard_inputs(
            log_ends=(replace(LOG_END, rows_read=9),),
            inspection=replace(INSPECTION, rows={"log": 8}),
        ),
        Scope(("log",), (("foo", 0),)),
    ),
    "rows of another run's consumer": (
        guard_inputs(
            inspection=replace(
                DELIVERED,
                incarnations={**WRITERS, "consume": frozenset({("c-0", "c0"), ("c-0", "c1")})},
                groups={"c1": frozenset({"h"})},
            )
        ),
        Scope(("consume",), groups=("h",)),
    ),
}


@pytest.mark.parametrize("case", sorted(SCOPES))
def test_check_all_names_the_part_of_the_evidence_that_is_missing(case: str) -> None:
    given, scope = SCOPES[case]
    (reason,) = check_all(given)
    assert reason.scope == scope


def test_controller_reasons_of_an_unstable_log_are_about_the_partitions_that_moved() -> None:
    reported = event(40, "guard", "LogNotStable", kind="evidence")
    topic = replace(RUN.topics[0], partitions=2)
    ends = (LOG_END, replace(LOG_END, partition=1, settled=False))
    run = replace(RUN, topics=(topic,))
    found = check_all(guard_inputs((*EVENTS, reported), run=run, log_ends=ends))
    assert [item.scope.partitions for item in found] == [(("foo", 1),)] * 2


def written(bundle: Bundle, table: str, stem: str, **row: object) -> LedgerWriter:
    writer = LedgerWriter(bundle.table(table), table, stem)
    values = {"outcome": "ok", "event": "closed", "topic": "foo", **row}
    for seq in range(3):
        columns = {
            name: [values.get(name, seq if name in ("seq", "event_seq") else None)]
            for name in TABLES[table].names
        }
        for field in TABLES[table]:
            if columns[field.name] == [None] and not field.nullable:
                columns[field.name] = [False if str(field.type) == "bool" else 0]
        writer.write(columns)
    return writer


def test_inspect_narrows_a_file_that_cannot_be_used_to_its_writer(tmp_path: Path) -> None:
    bundle = Bundle(tmp_path)
    sender = {"producer": "p-0", "producer_incarnation": "uid-p"}
    written(bundle, "produce", "p-0-uid-p", **sender)
    reader = {"consumer": "c-0", "incarnation": "uid-c", "group": "g"}
    written(bundle, "consume", "c-0-uid-c", **reader)
    for file in ("produce/p-0-uid-p-000001", "consume/c-0-uid-c-000001"):
        path = tmp_path / f"{file}.parquet"
        path.write_bytes(path.read_bytes()[:-20])
    (tmp_path / "consume" / "odd.parquet").write_bytes(b"PAR1")
    found = {item.subject: item.scope for item in bundle_files.inspect(bundle, needed=()).reasons}
    assert found == {
        "produce/p-0-uid-p-000001.parquet": Scope(("produce",), incarnations=("uid-p",)),
        "consume/c-0-uid-c-000001.parquet": Scope(("consume",), groups=("g",)),
        "consume/odd.parquet": Scope(("consume",)),
    }


def test_evidence_of_a_rebalance_is_by_group_alone() -> None:
    assert EVIDENCE["unexpected-rebalance"].by == {Dimension.GROUP}


@pytest.mark.parametrize(("epochs", "partitions"), [((), (0, 1)), ((1, 3), (0,))])
def test_unknown_leaders_are_about_the_partitions_whose_leader_was_not_recorded(
    epochs: tuple[int, ...], partitions: tuple[int, ...]
) -> None:
    config = {"unclean.leader.election.enable": "true"}
    run = replace(RUN, topics=(replace(RUN.topics[0], partitions=2, config=config),))
    states = (
        event(
            40 + n,
            "partition",
            "state",
            "foo-0",
            version=n,
            leader_epoch=epoch,
            leader=0,
            isr=[0, 1],
        )
        for n, epoch in enumerate(epochs)
    )
    ends = (LOG_END, replace(LOG_END, partition=1))
    given = guard_inputs((*EVENTS, *states), run=run, log_ends=ends, violations=LOST)
    (reason,) = [item for item in check_all(given) if item.code == "LeadersUnknown"]
    assert reason.scope == Scope(("timeline",), tuple(("foo", number) for number in partitions))
