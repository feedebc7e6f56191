"""By which rule input of an undecided transaction may stay unseen: `allowances.transactions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.scoring.builders import second_event

from krt_contract.plan import Plan
from krt_scoring.allowances.transactions import undecided_rule
from krt_scoring.history.facts import Facts
from krt_scoring.history.groups import groups_of
from krt_scoring.history.positions import Positions

if TYPE_CHECKING:
    from krt_contract.timeline import Event

PERMITTED = "after-unclean-election"


def consumer(name: str, group: str, output: str | None) -> dict[str, Any]:
    """Return a consumer of `orders`; it commits in transactions where it has an output."""
    own = {
        "commit": "Transactional",
        "isolation": "read_committed",
        "output": {"topic": output, "recordsPerTransaction": 2},
    }
    return {"name": name, "topics": ["orders"], "group": group, **(own if output else {})}


RUN = Plan.from_document(
    {
        "schemaVersion": 2,
        "run": {"namespace": "n", "name": "t", "uid": "u", "seed": 1},
        "spec": {
            "traffic": {
                "producers": [],
                "consumers": [
                    consumer("biller", "billers", "invoices"),
                    consumer("packer", "packers", "parcels"),
                    consumer("reader", "readers", None),
                ],
            }
        },
        "topics": [
            {
                "name": name,
                "partitions": 1,
                "replicationFactor": 2,
                "config": {"unclean.leader.election.enable": str(name != "parcels").lower()},
            }
            for name in ("orders", "invoices", "parcels")
        ],
    }
)
GROUPS = {group.name: group for group in groups_of(RUN)}
FACTS = Facts(RUN, Positions.of(RUN), tuple(GROUPS.values()), {}, {}, {})


def moved(topic: str) -> tuple[Event, ...]:
    """Return an election from outside the ISR of a topic's partition."""
    return tuple(
        second_event(
            at,
            "partition",
            "state",
            f"{topic}-0",
            leader=leader,
            leader_epoch=leader,
            isr=[leader],
            version=leader,
        )
        for at, leader in ((1, 0), (16, 1))
    )


@pytest.mark.parametrize(
    ("group", "topics", "expected"),
    [
        ("billers", ("invoices",), PERMITTED),
        # Its input lost what it may: nothing of what it committed.
        ("billers", ("orders",), None),
        ("billers", (), None),
        # Of another group's output, and of one that permits none.
        ("packers", ("invoices",), None),
        ("packers", ("parcels",), None),
        ("billers", ("parcels", "invoices"), PERMITTED),
        # Its commits are no part of a transaction.
        ("readers", ("invoices",), None),
    ],
)
def test_undecided_rule_asks_for_a_permitted_loss_of_the_groups_output(
    group: str, topics: tuple[str, ...], expected: str | None
) -> None:
    events = tuple(event for topic in topics for event in moved(topic))
    tables: Any = type("Tables", (), {"timeline": events})
    assert undecided_rule(tables, FACTS, GROUPS[group]) == expected
