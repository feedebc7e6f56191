"""What a seed makes of a history: settings, clients and faults."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.spark.model.engine import MS, SECOND, Engine

WARMUP = 8 * SECOND
TRAFFIC_END = 38 * SECOND
DRAIN = 60 * SECOND
"""µs: first fault, last send, and by when everything is read."""

KINDS = ("plain", "idempotent", "transactional", "lonely", "unclean", "storage")
"""What a history is mostly about; by turns of the seed."""
KEEPING = KINDS[:4]
"""Those in which no election permits the loss of what was acknowledged with acks=all."""


@dataclass(frozen=True, slots=True)
class ProducerPlan:
    """Settings of a producer. ``transactional`` is records to a transaction, 0 for none.

    Attributes:
        full, aborts: chance of a full queue at a send, of a transaction being aborted.
        timeout, request_timeout: message.timeout.ms and how long an answer is waited for, µs.
    """

    name: str
    acks: str = "all"
    idempotent: bool = False
    retries: bool = True
    in_flight: int = 5
    transactional: int = 0
    rate: int = 5
    full: float = 0.0
    aborts: float = 0.3
    timeout: int = 120 * SECOND
    request_timeout: int = 5 * SECOND


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """Settings of a consumer group."""

    name: str
    committed: bool
    cooperative: bool
    members: int


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: what, on whom, from when for how long (µs)."""

    kind: str
    target: int
    at: int
    lasts: int = 0


@dataclass(slots=True)
class Scenario:
    """Everything a history starts from.

    Attributes:
        mute: chance that a commit's answer is lost.
        cuts: times at which a producer's connection breaks: (µs, producer, broker).
    """

    seed: int
    kind: str
    partitions: int
    keys: int
    min_insync: int
    unclean: bool
    slowness: float
    mute: float
    producers: list[ProducerPlan]
    groups: list[GroupPlan]
    faults: list[Fault] = field(default_factory=list)
    cuts: list[tuple[int, int, int]] = field(default_factory=list)


def kind_of(seed: int) -> str:
    """Return what the history of a seed is mostly about."""
    return KINDS[seed % len(KINDS)]


def draw(seed: int, kind: str = "") -> Scenario:
    """Return the scenario of a seed, of another kind than its own if one is given."""
    dice = Engine(seed)
    kind = kind or kind_of(seed)
    lonely = kind in ("lonely", "unclean", "storage")
    losing = kind in ("unclean", "storage")
    partitions = dice.between(1, 4, "partitions")
    scenario = Scenario(
        seed=seed,
        kind=kind,
        partitions=partitions,
        keys=partitions + dice.between(0, 2, "keys"),
        min_insync=1 if losing else dice.choose([1, 2, 2], "min-insync"),
        unclean=kind == "unclean",
        slowness=dice.choose([0.1, 0.5, 0.8], "slowness"),
        mute=dice.choose([0.0, 0.1], "mute"),
        producers=_producers(dice, kind),
        groups=_groups(dice),
    )
    scenario.faults = _lonely(dice, kind) if lonely else _faults(dice, kind)
    scenario.cuts = [
        (
            dice.between(WARMUP // 2, TRAFFIC_END, "cut", number),
            dice.between(0, len(scenario.producers) - 1, "cut-producer", number),
            dice.between(0, 2, "cut-broker", number),
        )
        for number in range(dice.between(0, 6, "cuts"))
    ]
    return scenario


def _producers(dice: Engine, kind: str) -> list[ProducerPlan]:
    return [_producer(dice, kind, number) for number in range(2)]


def _producer(dice: Engine, kind: str, number: int) -> ProducerPlan:
    def of(name: str, *items: object) -> object:
        return dice.choose(list(items), "producer", number, name)

    name = f"p{number}"
    patience = dice.choose([3 * SECOND, 40 * SECOND], "producer", number, "request")
    timeout = dice.choose([6 * SECOND, 120 * SECOND], "producer", number, "timeout")
    if kind == "transactional" and number == 0:
        return ProducerPlan(
            name,
            idempotent=True,
            transactional=dice.between(3, 9, "size"),
            request_timeout=3 * SECOND,
        )
    if kind in ("idempotent", "transactional"):
        return ProducerPlan(
            name, idempotent=True, full=0.02, request_timeout=patience, timeout=timeout
        )
    acks = dice.choose(["all", "1", "0", "all"], "producer", number, "acks")
    retries = dice.draw("producer", number, "retries") < 0.8
    in_flight = dice.choose([1, 5], "producer", number, "in-flight")
    idempotent = acks == "all" and dice.draw("producer", number, "idempotent") < 0.4
    return ProducerPlan(
        name,
        acks,
        idempotent=idempotent,
        retries=retries or idempotent,
        in_flight=in_flight,
        full=0.02,
        timeout=timeout,
        request_timeout=patience,
    )


def _groups(dice: Engine) -> list[GroupPlan]:
    count = dice.between(1, 2, "groups")
    first = dice.draw("isolation") < 0.5
    return [
        GroupPlan(
            f"g{number}",
            committed=first if number == 0 else not first,
            cooperative=dice.draw("cooperative", number) < 0.5,
            members=dice.between(1, 3, "members", number),
        )
        for number in range(count)
    ]


BROKER = ("crash-broker", "crash-broker", "shut-down-broker", "freeze-broker")
CLIENT = ("kill-producer", "kill-consumer", "freeze-consumer", "close-consumer")


def _faults(dice: Engine, kind: str) -> list[Fault]:
    found = []
    at = WARMUP
    for number in range(dice.between(2, 4, "faults")):
        kinds = list(BROKER + CLIENT + ("zookeeper-down", "prefer"))
        what = dice.choose(kinds, "fault", number)
        if kind == "transactional" and what == "freeze-broker":
            what = "crash-broker"
        lasts = dice.between(1 * SECOND, 10 * SECOND, "lasts", number)
        found.append(Fault(what, dice.between(0, 2, "target", number), at, lasts))
        at += dice.between(1 * SECOND, 9 * SECOND, "next", number)
    return found


def _lonely(dice: Engine, kind: str) -> list[Fault]:
    """Two replicas are down, the last one alone writes on, then it falls too."""
    last = dice.between(0, 2, "last")
    others = [number for number in range(3) if number != last]
    lonely = dice.between(12 * SECOND, 15 * SECOND, "lonely")
    end = dice.between(24 * SECOND, 27 * SECOND, "end")
    back = 6 * SECOND
    faults = [
        Fault("crash-broker", others[0], WARMUP, end - WARMUP),
        Fault("crash-broker", others[1], WARMUP + 200 * MS, end - WARMUP + 500 * MS),
    ]
    if kind != "storage":
        faults.append(Fault("crash-broker", last, lonely + 6 * SECOND, back + 4 * SECOND))
    else:
        faults.append(Fault("wipe-broker", last, lonely, back))
    client, target = dice.choose(list(CLIENT), "extra"), dice.between(0, 2, "extra-target")
    return [*faults, Fault(client, target, 18 * SECOND, 3 * SECOND)]
