"""From the answers of brokers to events: what changed, and when it was so before.

Brokers learn of a change one after the other, and one that was frozen tells old leaders for a
while. A partition is therefore ordered by its leader epoch, never by arrival. Within an epoch, in
which only the ISR changes, the leader's own word counts; where it gives none, a change counts once
nobody tells the state before it any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krt_contract.metadata import HistorySource, MetadataMode
from krt_contract.timeline import Event, EventName, Source
from krt_traffic.recorder.polling.view import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krt_traffic.recorder.polling.view import Broker, PartitionView, View

FROM = str(HistorySource.POLLING)
"""The value of ``from`` in the detail of each event."""


@dataclass(slots=True)
class Fold:
    """The cluster after the answers that it was given.

    Attributes:
        mode: decides what it means that a broker is alive no more, and who the controller is.
        asked: ids of the brokers that are asked.
        views: broker id → its last answer, as long as it answers.
        partitions: as Kafka writes it, ``foo-0`` → its state.
        live: broker id → who is alive.
        controller: with ZooKeeper; None before it is known.
    """

    mode: MetadataMode
    asked: set[int] = field(default_factory=set)
    views: dict[int, View] = field(default_factory=dict)
    partitions: dict[str, PartitionView] = field(default_factory=dict)
    live: dict[int, Broker] = field(default_factory=dict)
    controller: int | None = None
    _known: set[int] = field(default_factory=set)
    _unchanged: dict[str, int] = field(default_factory=dict)
    _live_unchanged: int | None = None

    def take(self, view: View) -> list[Event]:
        """Take an answer, and return what it changes; the ``mono`` of events is 0."""
        self.views[view.broker] = view
        events = [*self._brokers(view), *self._controller(view)]
        for name in view.partitions:
            events += self._partition(name, view)
        return events

    def drop(self, broker: int) -> None:
        """Forget the last answer of a broker that does not answer: it grows old."""
        self.views.pop(broker, None)

    def _partition(self, name: str, view: View) -> Iterator[Event]:
        before = self.partitions.get(name)
        state = self._state(name, before)
        if state != before:
            self.partitions[name] = state
            detail: dict[str, Any] = {
                "leader": state.leader,
                "leader_epoch": state.epoch,
                "isr": list(state.isr),
                "replicas": list(state.replicas),
                **({"elr": list(state.elr)} if state.elr else {}),
                **({"last_known_elr": list(state.last_known)} if state.last_known else {}),
            }
            unchanged = self._unchanged.get(name)
            yield _event(view, Source.PARTITION, EventName.STATE, name, detail, unchanged)
        self._confirm(name)

    def _state(self, name: str, before: PartitionView | None) -> PartitionView:
        """Return a partition's state by all last answers."""
        told = {
            broker: view.partitions[name]
            for broker, view in sorted(self.views.items())
            if name in view.partitions
        }
        newest = max(state.epoch for state in told.values())
        if before is not None and before.epoch > newest:
            return before
        candidates = {broker: state for broker, state in told.items() if state.epoch == newest}
        for broker, state in candidates.items():
            if broker == state.leader:
                return state
        if before is not None and before in candidates.values():
            return before
        return next(iter(candidates.values()))

    def _confirm(self, name: str) -> None:
        """Note until when the state was certainly as it is: by the word of most brokers asked.

        One broker alone may be cut off from the others and not know better.
        """
        state = self.partitions[name]
        times = sorted(
            (view.asked for view in self.views.values() if view.partitions.get(name) == state),
            reverse=True,
        )
        least = len(self.asked) // 2 + 1
        if len(times) >= least:
            self._unchanged[name] = max(times[least - 1], self._unchanged.get(name, 0))

    def _brokers(self, view: View) -> Iterator[Event]:
        """Yield who is alive again, and who no longer, once all that answer agree."""
        told = [set(item.brokers) for item in self.views.values()]
        unchanged = self._live_unchanged
        for broker in sorted(set[int].intersection(*told) - set(self.live)):
            self.live[broker] = view.brokers[broker]
            detail = {"host": self.live[broker].host, "rack": self.live[broker].rack}
            first = broker not in self._known
            self._known.add(broker)
            event = EventName.REGISTERED if first or not self._kraft else EventName.UNFENCED
            yield _event(view, Source.BROKER, event, str(broker), detail, unchanged)
        for broker in sorted(set(self.live) - set[int].union(*told)):
            del self.live[broker]
            event = EventName.FENCED if self._kraft else EventName.UNREGISTERED
            yield _event(view, Source.BROKER, event, str(broker), {}, unchanged)
        if all(alive == set(self.live) for alive in told):
            self._live_unchanged = min(item.asked for item in self.views.values())

    def _controller(self, view: View) -> Iterator[Event]:
        """Yield who is the controller with ZooKeeper, once all that answer agree."""
        told = {item.controller for item in self.views.values()}
        if self._kraft or len(told) > 1 or told == {self.controller}:
            return
        (controller,) = told
        if controller != UNKNOWN:
            yield _event(view, Source.CONTROLLER, EventName.ELECTED, str(controller), {})
        elif self.controller is not None:
            yield _event(view, Source.CONTROLLER, EventName.VACANT, "", {})
        self.controller = controller

    @property
    def _kraft(self) -> bool:
        return self.mode is MetadataMode.KRAFT


def _event(  # noqa: PLR0913, PLR0917 (the fields of an event)
    view: View,
    source: Source,
    event: EventName,
    subject: str,
    detail: dict[str, Any],
    unchanged: int | None = None,
) -> Event:
    since = {} if unchanged is None else {"unchanged_until": unchanged}
    return Event(view.at, 0, source, event, subject, {**detail, **since, "from": FROM})


def events_of(fold: Fold, views: Iterable[View]) -> list[Event]:
    """Return the events that answers show, in the order in which they came."""
    return [event for view in views for event in fold.take(view)]
