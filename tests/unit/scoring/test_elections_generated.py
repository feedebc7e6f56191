"""Elections of a KRaft cluster, generated: what the rules say of each against what was done.

The model is a controller with eligible leader replicas (KIP-966) and one partition. It writes the
records that Kafka writes, which name only what changed, and keeps for itself where each leader came
from, and whether what was committed can still be there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.unit.contract.metadata_records import Log

from krt_contract.metadata_log.fold import events_of
from krt_contract.timeline import Event
from krt_scoring.history.elections import NO_LEADER, Electorate, elections
from krt_scoring.inputs import broker_session

REPLICAS = (0, 1, 2)
MIN_INSYNC = 2


@dataclass
class Controller:
    """One partition, its brokers, and the truth about each election.

    Attributes:
        unclean: unclean.leader.election.enable.
        wiped: brokers whose disk was lost and not filled again.
        truth: (electorate, storage lost) of each election.
    """

    unclean: bool
    log: Log = field(default_factory=Log)
    live: set[int] = field(default_factory=lambda: set(REPLICAS))
    isr: list[int] = field(default_factory=lambda: list(REPLICAS))
    elr: list[int] = field(default_factory=list)
    last_known: list[int] = field(default_factory=list)
    leader: int = 0
    recovering: bool = False
    wiped: set[int] = field(default_factory=set)
    eligible: set[int] = field(default_factory=lambda: set(REPLICAS))
    faults: list[Event] = field(default_factory=list)
    truth: list[tuple[Electorate, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.log.elect(100, 1)
        self.log.topic(list(REPLICAS))

    def leave(self, broker: int) -> None:
        """Fence a broker that died, stopped, or, a bystander, was not heard."""
        if broker not in self.live:
            return
        self.live.discard(broker)
        self.log.broker(broker, 7, fenced=1)
        if broker in self.isr:
            self._change(isr=[item for item in self.isr if item != broker])

    def come_back(self, broker: int, *, killed: bool) -> None:
        """Unfence a broker; one that was killed may have lost its tail, and is not eligible."""
        if broker in self.live:
            return
        if killed and broker in self.elr:
            self._change(elr=[item for item in self.elr if item != broker])
        self.live.add(broker)
        self.log.broker(broker, 9, fenced=-1)
        if self.leader == NO_LEADER:
            self._change(isr=self.isr)

    def catch_up(self, broker: int) -> None:
        """A follower that has all of the leader joins the ISR."""
        if self.leader == NO_LEADER or broker not in self.live or broker in self.isr:
            return
        self.wiped.discard(broker)
        self._change(isr=sorted([*self.isr, broker]))

    def confirm(self) -> None:
        """A leader that was recovering says that it is done."""
        if self.recovering and self.leader != NO_LEADER:
            self.recovering = False
            self.log.change(0, leaderRecoveryState=0)

    def wipe(self, broker: int) -> None:
        """Take the disk of a broker that is away."""
        if broker in self.live:
            return
        self.wiped.add(broker)
        detail = {"action": "LoseDisk", "targets": [{"member": f"kafka-{broker}"}]}
        self.faults.append(Event(self.log.at, 0, "fault", "injected", "disk", detail))
        self.log.at += 1000

    def new_controller(self) -> None:
        """Elect another controller; partitions stay as they are."""
        self.log.elect(100 + self.log.epoch % 3, self.log.epoch + 2)

    def _change(self, isr: list[int] | None = None, elr: list[int] | None = None) -> None:
        """Write one record: a new ISR, what follows for the ELR, and a leader if need be."""
        before = (self.isr, self.elr, self.last_known)
        eligible = {*self.isr, *self.elr} or self.eligible
        members = list(self.isr if isr is None else isr)
        reserve = list(self.elr if elr is None else elr)
        if len(members) < MIN_INSYNC:
            reserve = sorted({*reserve, *self.isr} - set(members) if isr is not None else reserve)
        else:
            reserve = []
        self.eligible = eligible
        data: dict[str, Any] = {}
        if self.leader not in members or self.leader not in self.live:
            members, reserve = self._elect(members, reserve, data, before)
        if before[0] != members:
            data["isr"] = members
        if before[1] != reserve:
            data["eligibleLeaderReplicas"] = reserve
        self.isr, self.elr = members, reserve
        if not data:
            return
        if "leader" in data and data["leader"] == NO_LEADER:
            data["lastKnownElr"] = self.last_known
        self.log.change(0, **data)

    def _elect(
        self, members: list[int], reserve: list[int], data: dict[str, Any], before: Any
    ) -> tuple[list[int], list[int]]:
        clean = [item for item in (*members, *reserve) if item in self.live]
        last = self.last_known or [self.leader]
        known = [item for item in last if item in self.live]
        if clean:
            leader = clean[0]
            electorate = Electorate.ISR if leader in before[0] else Electorate.ELR
        elif not members and not reserve and known:
            leader, electorate = known[0], Electorate.LAST_KNOWN_LEADER
        elif self.unclean and self.live:
            leader, electorate = min(self.live), Electorate.OUTSIDE
            if leader in last:
                electorate = Electorate.LAST_KNOWN_LEADER
        else:
            if self.leader != NO_LEADER:
                self.last_known = [self.leader]
                self.leader = data["leader"] = NO_LEADER
            return members, reserve
        gone = leader in self.wiped or self.eligible <= self.wiped
        self.truth.append((electorate, gone))
        self.wiped.discard(leader)
        self.leader = data["leader"] = leader
        if self.last_known:
            self.last_known = data["lastKnownElr"] = []
        if electorate in {Electorate.OUTSIDE, Electorate.LAST_KNOWN_LEADER}:
            self.recovering, data["leaderRecoveryState"] = True, 1
            return [leader], []
        return sorted({*members, leader}), [item for item in reserve if item != leader]


STEPS = st.one_of(
    st.tuples(st.just("leave"), st.sampled_from(REPLICAS)),
    st.tuples(st.just("killed"), st.sampled_from(REPLICAS)),
    st.tuples(st.just("stopped"), st.sampled_from(REPLICAS)),
    st.tuples(st.just("catch up"), st.sampled_from(REPLICAS)),
    st.tuples(st.just("wipe"), st.sampled_from(REPLICAS)),
    # Rare by chance, and what makes leaders from elsewhere than the ISR.
    st.tuples(st.just("outage"), st.sampled_from(REPLICAS)),
    st.tuples(st.just("confirm"), st.just(0)),
    st.tuples(st.just("controller"), st.just(0)),
)


def run(steps: list[tuple[str, int]], *, unclean: bool) -> Controller:
    found = Controller(unclean)
    for step, broker in steps:
        match step:
            case "leave":
                found.leave(broker)
            case "outage":
                for following in range(len(REPLICAS)):
                    found.leave((broker + following) % len(REPLICAS))
            case "killed" | "stopped":
                found.come_back(broker, killed=step == "killed")
            case "catch up":
                found.catch_up(broker)
            case "wipe":
                found.wipe(broker)
            case "confirm":
                found.confirm()
            case _:
                found.new_controller()
    return found


@settings(deadline=None, max_examples=300)
@given(st.lists(STEPS, min_size=5, max_size=60), st.booleans())
def test_elections_of_any_history_are_what_the_controller_did(
    steps: list[tuple[str, int]], unclean: bool
) -> None:
    controller = run(steps, unclean=unclean)
    timeline = sorted(
        [*events_of(controller.log.records), *controller.faults], key=lambda item: item.at
    )
    found = elections(timeline)
    assert [(item.electorate, item.storage_lost) for item in found] == controller.truth
    assert len(broker_session.controller_elections(timeline)) == 1 + sum(
        step == "controller" for step, _ in steps
    )
    for electorate, _ in controller.truth:
        event(str(electorate))


def test_elections_generated_reach_every_electorate() -> None:
    """The generator can do what it is to test: one history of each kind."""
    everybody = [("leave", broker) for broker in REPLICAS]
    one = {
        Electorate.ISR: [("leave", 0)],
        Electorate.ELR: [*everybody, ("stopped", 1)],
        Electorate.LAST_KNOWN_LEADER: [*everybody, *(("killed", item) for item in REPLICAS)],
        Electorate.OUTSIDE: [*everybody, ("killed", 0)],
    }
    for electorate, steps in one.items():
        controller = run(steps, unclean=electorate is Electorate.OUTSIDE)
        assert electorate in [item for item, _ in controller.truth], electorate
