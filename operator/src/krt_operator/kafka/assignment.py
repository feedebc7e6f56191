"""Which brokers hold which replicas: spread over racks, balanced and reproducible.

The controller assigns replicas itself instead of leaving it to the broker. So the plan names them
before the cluster exists, and the running cluster can be compared with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class AssignmentError(ValueError):
    """The brokers cannot hold the requested replicas; the message says what does not fit."""


def alternate_racks(racks: Mapping[int, str]) -> list[int]:
    """Order broker ids so that neighbours are in different racks as far as possible.

    Args:
        racks: broker id to rack name.

    Returns:
        Every broker id once: the first of each rack in rack order, then the second of each.
    """
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    columns = [by_rack[rack] for rack in sorted(by_rack)]
    depth = max((len(column) for column in columns), default=0)
    return [column[row] for row in range(depth) for column in columns if row < len(column)]


def spread(
    racks: Mapping[int, str], partitions: int, replication_factor: int, start: int = 0
) -> dict[int, list[int]]:
    """Assign replicas to brokers so that no rack holds two of a partition if it can be avoided.

    The first replica is the preferred leader; leaders alternate over the racks. A follower is put
    into a rack that the partition does not use yet, then on the broker with the fewest replicas,
    then by distance from the leader. This keeps the load even and the result reproducible.

    Args:
        racks: broker id to rack name, as Kafka will report them.
        partitions: how many partitions the topic has.
        replication_factor: replicas of each partition.
        start: index of the first leader in that order; it differs by topic, so that topics with
            one partition do not all have the same leader.

    Returns:
        Partition number to broker ids, the preferred leader first.

    Raises:
        AssignmentError: fewer brokers than replicas, or a count below one.
    """
    if partitions < 1 or replication_factor < 1:
        raise AssignmentError(
            f"partitions ({partitions}) and replicationFactor ({replication_factor}) "
            "must be at least 1"
        )
    if replication_factor > len(racks):
        raise AssignmentError(
            f"replicationFactor {replication_factor} needs as many brokers; there are {len(racks)}"
        )
    order = alternate_racks(racks)
    load = dict.fromkeys(order, 0)
    assignment: dict[int, list[int]] = {}
    for partition in range(partitions):
        lead = (start + partition) % len(order)
        replicas = [order[lead]]
        load[order[lead]] += 1
        while len(replicas) < replication_factor:
            chosen = _next_replica(order, lead, replicas, racks, load)
            load[chosen] += 1
            replicas.append(chosen)
        assignment[partition] = replicas
    return assignment


def _next_replica(
    order: list[int],
    lead: int,
    replicas: list[int],
    racks: Mapping[int, str],
    load: Mapping[int, int],
) -> int:
    used = [racks[broker] for broker in replicas]
    free = [
        (used.count(racks[broker]), load[broker], (place - lead) % len(order), broker)
        for place, broker in enumerate(order)
        if broker not in replicas
    ]
    return min(free)[-1]
