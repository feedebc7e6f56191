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
from krt_scoring.history.facts import (
    Bounds,
    Close,
    Facts,
    Incarnation,
    Start,
    groups_of,
)
from krt_scoring.history.ownership import FOREVER, Interval
from krt_scoring.history.positions import Places
from krt_scoring.selftest import mutation_points, outcome, packing
from krt_scoring.selftest.baseline import STRIDE, Ground, Site
from krt_scoring.selftest.corruptions import KINDS
from krt_scoring.selftest.difference import Difference, Finding
from krt_scoring.selftest.outcome import DetectorScore

if TYPE_CHECKING:
    from krt_scoring.selftest.patch import Row

PARTITIONS = 3


def facts(run: Simulation) -> Facts:
    info = Plan.from_document(histories.plan(PARTITIONS))
    places, groups = Places.of(info), groups_of(info)
    incarnations = {}
    for key, row in enumerate(run.tables["producer_summary"]):
        close = Close(*[row[name] for name in ("attempted", "acked", "failed", "unknown")])
        incarnations[key] = Incarnation(
            key=key,
            producer=row["producer"],
            incarnation=row["producer_incarnation"],
            rows=close.attempted,
            acked=close.acked,
            failed=close.failed,
            unknown=0,
            **dict.fromkeys(("sent", "known", "highest"), close.attempted - 1),
            closes=1,
            close=close,
        )
    return Facts(
        run=info,
        places=places,
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


def ground(seed: int = 1) -> Ground:
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
            first_n=row["event_seq"] * STRIDE,
            last_n=FOREVER,
            begin=row["at"],
            end=FOREVER,
            start=row["offset"],
            generation=None,
        )
        for row in run.tables["consumer_events"]
        if row["event"] == "assigned"
    ]
    owned.sort(key=lambda item: (item.group, item.tp, item.begin))
    return Ground(
        seed=seed,
        facts=known,
        sites=mutation_points.build(windows, rows, mutation_points.Conditions(known, (), ())),
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
        compared={(TOPIC, partition): (0, 1, 2) for partition in run.ends},
        replicas={place: tuple(rows) for place, rows in replicas.items()},
        doubts=frozenset(),
        balanced=True,
    )


@pytest.fixture(scope="module")
def whole() -> Ground:
    return ground()


def test_a_run_with_everything_hosts_every_corruption(whole: Ground) -> None:
    plan = packing.pack(whole)
    assert [kind.name for kind in plan.inapplicable] == []
    names = [item.name for copy in plan.copies for item in copy.corruptions]
    assert sorted(names) == sorted(kind.name for kind in KINDS)
    assert len(plan.copies) <= 2


def test_a_run_without_sites_hosts_what_needs_none(whole: Ground) -> None:
    plan = packing.pack(replace(whole, sites=()))
    names = {item.name for copy in plan.copies for item in copy.corruptions}
    assert names == {"start-below-commit", "two-owners", "rebalance-without-cause"}


def test_each_shows_what_it_says_it_shows(whole: Ground) -> None:
    kinds = {kind.name: kind for kind in KINDS}
    for copy in packing.pack(whole).copies:
        for item in copy.corruptions:
            anomalies = {finding.anomaly for finding in item.expected.findings}
            assert set(kinds[item.name].shows) <= anomalies, item.name
            assert item.expected


def test_corruptions_of_a_copy_leave_each_other_alone(whole: Ground) -> None:
    for copy in packing.pack(whole, each=2).copies:
        for left, right in combinations(copy.corruptions, 2):
            assert not left.holds & right.holds, (left.name, right.name)
        total = Difference()
        for item in copy.corruptions:
            total += item.expected
        assert total == copy.expected


@pytest.mark.parametrize("seed", range(1, 6))
def test_what_a_group_is_not_handed_lies_between_what_it_is(seed: int) -> None:
    """Beside aborted records its next delivery can lie outside the site, and a skip with it."""
    here = ground(seed)
    whose: dict[object, Site] = {
        record.place: site for site in here.sites for record in site.records
    }
    for kind in KINDS:
        for item in kind.attempts(here):
            if item.name not in ("dropped-delivery", "aborted-send-committed"):
                break
            (place,) = item.patch.touches
            site, offset = whose[place], item.at[2] if item.at else None
            assert offset is not None
            groups = [finding.grp for finding in item.expected.findings if finding.grp]
            assert all(site.around(group, offset, offset) for group in set(groups))


def test_only_one_corruption_of_a_copy_unbalances_the_ledger(whole: Ground) -> None:
    for copy in packing.pack(whole, each=3).copies:
        assert -copy.expected.ledger["balanced"] <= 1


def test_the_seed_decides_alone(whole: Ground) -> None:
    assert packing.pack(whole) == packing.pack(ground())
    assert packing.pack(whole) != packing.pack(replace(whole, seed=2))


def test_what_was_found_as_expected_is_found(whole: Ground) -> None:
    for copy in packing.pack(whole).copies:
        assert all(item.found for item in outcome.outcomes(copy, copy.expected))


def test_a_finding_that_is_missing_is_laid_to_its_corruption(whole: Ground) -> None:
    copy = packing.pack(whole).copies[0]
    chosen = next(item for item in copy.corruptions if item.name == "damaged-in-log")
    lacking = Difference(Counter({next(iter(chosen.expected.findings)): 1}))
    told = outcome.outcomes(copy, copy.expected - lacking)
    assert [item.name for item in told if not item.found] == ["damaged-in-log"]
    score = DetectorScore(tuple(told), {"x": "a y"})
    assert (score.found, score.applicable) == (len(told) - 1, len(told))
    card = score.as_dict()
    assert card["inapplicable"] == [{"name": "x", "needs": "a y"}]
    (missed,) = [item for item in card["corruptions"] if not item["detected"]]
    assert missed["unexpected"]["anomalies"] == {"corrupt-payload": -1}


def test_a_difference_beside_a_corruption_is_its_own(whole: Ground) -> None:
    copy = packing.pack(whole).copies[0]
    chosen = next(item for item in copy.corruptions if item.name == "lost-record")
    topic, partition, offset = next(iter(chosen.patch.log))
    near = Finding("unseen", topic=topic, partition=partition, offset=offset + 1, grp="loose")
    told = outcome.outcomes(copy, copy.expected + Difference(Counter({near: 1})))
    assert [item.name for item in told if not item.found] == ["lost-record"]


def test_a_difference_nobody_expects_is_laid_to_all(whole: Ground) -> None:
    copy = packing.pack(whole).copies[0]
    told = outcome.outcomes(copy, copy.expected + Difference(ledger=Counter({"expired": 1})))
    assert not any(item.found for item in told)


def test_a_full_score_gives_no_reason_and_an_empty_one_none_either(whole: Ground) -> None:
    copy = packing.pack(whole).copies[0]
    told = outcome.outcomes(copy, copy.expected)
    assert DetectorScore(tuple(told), {}).reason() is None
    assert DetectorScore((), {}).reason() is None
