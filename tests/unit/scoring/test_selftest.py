"""Corruptions as plain data: which a run can host, how they are put together, what is missed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from tests.spark.job.bundles import T0
from tests.spark.selftest import histories
from tests.spark.selftest.histories import GROUPS, TOPIC, Simulation

from krt_contract.plan import Plan
from krt_scoring.history.facts import Bounds, Facts, Start
from krt_scoring.history.groups import groups_of
from krt_scoring.history.identity import Incarnation, ProducerSummary
from krt_scoring.history.intervals import Interval
from krt_scoring.history.positions import Positions
from krt_scoring.inputs.timeline import FOREVER
from krt_scoring.selftest import mutation_points, packing
from krt_scoring.selftest import results as selftest_results
from krt_scoring.selftest.baseline import STRIDE, Baseline, MutationPoint
from krt_scoring.selftest.corruptions import KINDS
from krt_scoring.selftest.difference import Difference, Finding
from krt_scoring.selftest.results import SelfTestResult

if TYPE_CHECKING:
    from krt_scoring.selftest.patch import Row

PARTITIONS = 3


def facts(run: Simulation) -> Facts:
    info = Plan.from_document(histories.plan(PARTITIONS))
    positions, groups = Positions.of(info), groups_of(info)
    incarnations = {}
    for key, row in enumerate(run.tables["producer_summary"]):
        close = ProducerSummary(
            *[row[name] for name in ("attempted", "acked", "failed", "unknown")]
        )
        incarnations[key] = Incarnation(
            key=key,
            producer=row["producer"],
            incarnation=row["producer_incarnation"],
            rows=close.attempted,
            acked=close.acked,
            failed=close.failed,
            unknown=0,
            sent=close.attempted - 1,
            known=close.attempted - 1,
            highest=close.attempted - 1,
            repeated=0,
            summaries=1,
            summary=close,
        )
    return Facts(
        run=info,
        positions=positions,
        groups=groups,
        incarnations=incarnations,
        bounds={p: Bounds(0, end, settled=True) for p, end in run.ends.items()},
        starts={(g.index, p): Start(0, drained=True) for g in groups for p in run.ends},
        log_records=len(run.tables["log"]),
        deliveries=len(run.tables["consume"]),
        strays=0,
        stray_deliveries=0,
        reached={},
    )


def strided(row: Row) -> Row:
    return row | {
        name: row[name] * STRIDE for name in ("event_seq", "poll") if row[name] is not None
    }


def baseline(seed: int = 1) -> Baseline:
    run = Simulation(seed, 1_500, PARTITIONS)
    run.run()
    known = facts(run)
    sent = ("producer", "producer_incarnation", "seq")
    rows = mutation_points.Rows(
        log=run.tables["log"],
        consume=[strided(row) for row in run.tables["consume"]],
        produce=run.tables["produce"],
        marks=[strided(r) for r in run.tables["consumer_events"] if r["event"] == "assigned"],
        quiet=frozenset(tuple(row[name] for name in sent) for row in run.tables["log"]),
        dirty=frozenset(),
    )
    windows = [
        mutation_points.Window(TOPIC, partition, max(0, high - 16), high, last=high >= end - 2)
        for partition, end in run.ends.items()
        for high in [*range(20, end - 30, 20), end - 1]
    ]
    replicas: dict[tuple[str, int, int], list[Row]] = {}
    for row in run.tables["replica_log"]:
        replicas.setdefault((TOPIC, row["partition"], row["offset"]), []).append(row)
    commits: dict[tuple[str, str, int], list[Row]] = {}
    for row in run.tables["consumer_events"]:
        if row["event"] == "committed":
            spot = row["group"], TOPIC, row["partition"]
            commits.setdefault(spot, []).append(strided(row))
    owned = [
        Interval(
            number=0,
            group=sorted(GROUPS, reverse=False).index(row["group"]),
            tp=row["partition"],
            consumer=row["consumer"],
            incarnation=row["incarnation"],
            first_seq=row["event_seq"] * STRIDE,
            last_seq=FOREVER,
            begin=row["at"],
            end=FOREVER,
            start=row["offset"],
            generation=None,
        )
        for row in run.tables["consumer_events"]
        if row["event"] == "assigned"
    ]
    owned.sort(key=lambda item: (item.group, item.tp, item.begin))
    return Baseline(
        seed=seed,
        facts=known,
        points=mutation_points.build(windows, rows, mutation_points.Conditions(known, (), ())),
        owned=tuple(owned),
        causes={g.index: (T0,) for g in known.groups},
        commits={spot: tuple(found) for spot, found in commits.items()},
        commits_cut=frozenset(),
        in_flight={
            tuple(row[name] for name in sent): (tuple(row[name] for name in sent),)
            for row in run.tables["produce"]
        },
        troubled=frozenset(),
        lost_commits=frozenset(),
        states={},
        doubts={},
        compared={(TOPIC, partition): (0, 1, 2) for partition in run.ends},
        replicas={position: tuple(rows) for position, rows in replicas.items()},
        reason_codes=frozenset(),
        balanced=True,
    )


@pytest.fixture(scope="module")
def sound() -> Baseline:
    return baseline()


def test_pack_of_a_complete_baseline_hosts_every_corruption(sound: Baseline) -> None:
    plan = packing.pack(sound)
    assert [kind.name for kind in plan.inapplicable] == []
    names = [item.name for copy in plan.copies for item in copy.corruptions]
    assert sorted(names) == sorted(kind.name for kind in KINDS)
    assert len(plan.copies) <= 2


def test_ack_below_min_isr_is_not_planted_where_a_leader_may_not_know_the_isr(
    sound: Baseline,
) -> None:
    always = {(TOPIC, partition): ((0, FOREVER),) for partition in range(PARTITIONS)}
    plan = packing.pack(replace(sound, doubts=always))
    assert [kind.name for kind in plan.inapplicable] == ["ack-below-min-isr"]


def test_pack_without_mutation_points_hosts_what_needs_none(sound: Baseline) -> None:
    plan = packing.pack(replace(sound, points=()))
    names = {item.name for copy in plan.copies for item in copy.corruptions}
    assert names == {"start-below-commit", "two-owners", "rebalance-without-cause"}


def test_pack_gives_corruptions_that_expect_their_anomalies(sound: Baseline) -> None:
    kinds = {kind.name: kind for kind in KINDS}
    for copy in packing.pack(sound).copies:
        for item in copy.corruptions:
            anomalies = {finding.anomaly for finding in item.expected.findings}
            assert set(kinds[item.name].anomalies) <= anomalies, item.name
            assert item.expected


def test_pack_gives_corruptions_that_do_not_overlap(sound: Baseline) -> None:
    for copy in packing.pack(sound, each=2).copies:
        for left, right in combinations(copy.corruptions, 2):
            assert not left.reserved & right.reserved, (left.name, right.name)
        total = Difference()
        for item in copy.corruptions:
            total += item.expected
        assert total == copy.expected


@pytest.mark.parametrize("seed", range(1, 6))
def test_attempts_drop_deliveries_between_others_alone(seed: int) -> None:
    """Beside aborted records its next delivery can lie outside the site, and a skip with it."""
    here = baseline(seed)
    whose: dict[object, MutationPoint] = {
        record.position: point for point in here.points for record in point.records
    }
    for kind in KINDS:
        for item in kind.attempts(here):
            if item.name not in ("dropped-delivery", "aborted-send-committed"):
                break
            (position,) = item.patch.touches
            point, offset = whose[position], item.at[2] if item.at else None
            assert offset is not None
            groups = [finding.grp for finding in item.expected.findings if finding.grp]
            assert all(point.around(group, offset, offset) for group in set(groups))


def test_pack_unbalances_the_ledger_of_a_copy_at_most_once(sound: Baseline) -> None:
    for copy in packing.pack(sound, each=3).copies:
        assert -copy.expected.ledger["balanced"] <= 1


def test_pack_with_the_same_seed_is_the_same_plan(sound: Baseline) -> None:
    assert packing.pack(sound) == packing.pack(baseline())
    assert packing.pack(sound) != packing.pack(replace(sound, seed=2))


def test_results_of_the_expected_difference_are_all_detected(sound: Baseline) -> None:
    for copy in packing.pack(sound).copies:
        assert all(item.detected for item in selftest_results.results_of(copy, copy.expected))


def test_results_of_a_missing_finding_blame_its_corruption(sound: Baseline) -> None:
    copy = packing.pack(sound).copies[0]
    chosen = next(item for item in copy.corruptions if item.name == "damaged-in-log")
    lacking = Difference(Counter({next(iter(chosen.expected.findings)): 1}))
    results = selftest_results.results_of(copy, copy.expected - lacking)
    assert [item.name for item in results if not item.detected] == ["damaged-in-log"]
    score = SelfTestResult(tuple(results), {"x": "a y"})
    assert (score.detected, score.total) == (len(results) - 1, len(results))
    card = score.as_dict()
    assert card["inapplicable"] == [{"name": "x", "needs": "a y"}]
    (missed,) = [item for item in card["corruptions"] if not item["detected"]]
    assert missed["unexpected"]["anomalies"] == {"corrupt-payload": -1}


def test_results_of_a_difference_near_a_corruption_blame_it(sound: Baseline) -> None:
    copy = packing.pack(sound).copies[0]
    chosen = next(item for item in copy.corruptions if item.name == "lost-record")
    topic, partition, offset = next(iter(chosen.patch.log))
    near = Finding("unseen", topic=topic, partition=partition, offset=offset + 1, grp="loose")
    results = selftest_results.results_of(copy, copy.expected + Difference(Counter({near: 1})))
    assert [item.name for item in results if not item.detected] == ["lost-record"]


def test_results_of_an_unrelated_difference_blame_every_corruption(sound: Baseline) -> None:
    copy = packing.pack(sound).copies[0]
    results = selftest_results.results_of(
        copy, copy.expected + Difference(ledger=Counter({"expired": 1}))
    )
    assert not any(item.detected for item in results)


def test_self_test_result_without_misses_gives_no_reason(sound: Baseline) -> None:
    copy = packing.pack(sound).copies[0]
    results = selftest_results.results_of(copy, copy.expected)
    assert SelfTestResult(tuple(results), {}).reason() is None
    assert SelfTestResult((), {}).reason() is None
