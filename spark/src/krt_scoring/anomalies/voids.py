"""Which findings rest on evidence that is missing, and are void.

A reason names the part of the evidence that it is about. Only where it is narrower than all that an
anomaly rests on, and violations of that anomaly were found, are the findings counted again, within
that part and outside of it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.anomalies import lost_write
from krt_scoring.inputs.evidence import EVIDENCE, Dimension, Evidence
from krt_scoring.inputs.reasons import wholly_invalidated
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, DataFrame

    from krt_scoring.inputs.reasons import Reason


def count(
    findings: DataFrame | None,
    whole: Iterable[str],
    scopes: Mapping[str, tuple[Scope, ...]],
    violations: Mapping[str, int],
) -> dict[str, int]:
    """Return anomaly → violations that rest on missing evidence, zeros left out.

    Args:
        findings: of every rule, cached; None where no rule found anything.
        whole: the anomalies of which every finding rests on missing evidence.
        scopes: of others, as ``narrow_scopes`` returns them.
        violations: anomaly → findings that the configuration does not permit.
    """
    found = {name: violations[name] for name in sorted(whole) if violations.get(name)}
    partly = {name: parts for name, parts in scopes.items() if violations.get(name)}
    if findings is None or not partly:
        return found
    rows = (
        findings.filter(sf.col("rule").isNull() & within(partly))
        .groupBy("anomaly")
        .count()
        .collect()
    )
    return found | {row["anomaly"]: row["count"] for row in rows}


def narrow_scopes(reasons: Iterable[Reason]) -> dict[str, tuple[Scope, ...]]:
    """Return anomaly → the parts of its evidence that are missing, where none is all of it."""
    reasons = tuple(reasons)
    whole = wholly_invalidated(reasons)
    found: dict[str, set[Scope]] = defaultdict(set)
    for reason in reasons:
        for name in reason.invalidates:
            if name not in whole:
                found[name].add(_reduced(reason.scope, EVIDENCE[name]))
    return {name: _joined(scopes) for name, scopes in sorted(found.items())}


def within(scopes: Mapping[str, tuple[Scope, ...]]) -> Column:
    """Return whether a finding rests on missing evidence.

    Args:
        scopes: as ``narrow_scopes`` returns them.
    """
    alike: dict[tuple[Scope, ...], list[str]] = defaultdict(list)
    for name, parts in scopes.items():
        alike[parts].append(name)
    condition: Column = sf.lit(col=False)
    for parts, names in alike.items():
        rests: Column = sf.lit(col=False)
        for scope in parts:
            rests = rests | _inside(scope)
        condition = condition | (sf.col("anomaly").isin(names) & rests)
    return condition


def _reduced(scope: Scope, evidence: Evidence) -> Scope:
    """Return a scope without what the findings of an anomaly do not name."""
    return Scope(
        tables=scope.tables if scope.depends_on_log(evidence) else (),
        partitions=scope.partitions if Dimension.PARTITION in evidence.by else (),
        groups=scope.groups if Dimension.GROUP in evidence.by else (),
        incarnations=scope.incarnations if Dimension.INCARNATION in evidence.by else (),
    )


def _joined(scopes: Iterable[Scope]) -> tuple[Scope, ...]:
    """Return as few scopes as mean the same: those that differ in their partitions alone as one.

    Every partition of a run may have a reason of its own.
    """
    partitions: dict[Scope, set[tuple[str, int]]] = defaultdict(set)
    anywhere: set[Scope] = set()
    for scope in scopes:
        rest = replace(scope, partitions=())
        partitions[rest].update(scope.partitions)
        if not scope.partitions:
            anywhere.add(rest)
    return tuple(
        sorted(
            rest if rest in anywhere else replace(rest, partitions=tuple(sorted(found)))
            for rest, found in partitions.items()
        )
    )


def _inside(scope: Scope) -> Column:
    """Return whether a finding lies in a scope; what it does not name may be anything."""
    condition: Column = sf.lit(col=True)
    if scope.tables:
        condition = condition & (sf.col("tag") == lost_write.BASIS_DELIVERIES)
    if scope.partitions:
        names = [f"{topic}-{number}" for topic, number in scope.partitions]
        place = sf.concat(sf.col("topic"), sf.lit("-"), sf.col("partition").cast("string"))
        condition = condition & _named(place, names)
    if scope.groups:
        condition = condition & _named(sf.col("grp"), scope.groups)
    if scope.incarnations:
        condition = condition & _named(sf.col("producer_incarnation"), scope.incarnations)
    return sf.coalesce(condition, sf.lit(col=False))


def _named(column: Column, values: Iterable[str]) -> Column:
    return sf.coalesce(column.isin(*values), sf.lit(col=True))
