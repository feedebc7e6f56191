"""What is permitted to a group that commits its offsets within transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.allowances.consequences import PREFIX
from krt_scoring.allowances.truncations import rule_of
from krt_scoring.history.elections import elections

if TYPE_CHECKING:
    from krt_scoring.history.facts import Facts
    from krt_scoring.history.groups import Group
    from krt_scoring.history.tables import Tables


def undecided_rule(tables: Tables, facts: Facts, group: Group) -> str | None:
    """Return the rule by which input of an undecided transaction may stay unseen, or None.

    Its offsets may have been committed with output that a permitted loss took away; then nothing
    is left that could show it.
    """
    if not group.transactional:
        return None
    outputs = {
        item.output.topic
        for item in facts.run.consumers
        if item.group == group.name and item.output is not None
    }
    rules = [rule_of(item, facts) for item in elections(tables.timeline) if item.topic in outputs]
    permitting = sorted(rule for rule in rules if rule is not None)
    return f"{PREFIX}{permitting[0]}" if permitting else None
