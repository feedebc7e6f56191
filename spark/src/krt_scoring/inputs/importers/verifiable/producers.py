"""One VerifiableProducer's output as a producer's ledger.

The tool prints one line a send, when it was answered: when it was due or sent is unknown, so
the three times of a row are one. ``tool_data``, printed at the end, counts sends apart from the
lines; without it the process was killed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krt_contract.outcomes import SendOutcome
from krt_scoring.inputs.evidence import PRODUCE
from krt_scoring.inputs.importers.verifiable import lines, outcomes, values
from krt_scoring.inputs.importers.verifiable.sink import Sink
from krt_scoring.inputs.reasons import SEND_ANOMALIES, Reason
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.bundle import Bundle
    from krt_scoring.inputs.importers.verifiable.layout import Process


@dataclass(slots=True)
class Sent:
    """What a producer's file holds.

    Attributes:
        topic, prefix: of its records; None where it holds no send.
        ends: partition → one above the highest offset acked.
        first, last: times of its first and last event, UTC µs.
        ended: it said how it ended.
    """

    process: Process
    topic: str | None = None
    prefix: str = ""
    ends: dict[int, int] = field(default_factory=dict)
    first: int = 0
    last: int = 0
    ended: bool = False
    reasons: list[Reason] = field(default_factory=list)


def read(process: Process, bundle: Bundle, settings: Mapping[str, Any]) -> Sent:
    """Write a producer's ledger into ``bundle`` and return what it holds."""
    return _Reader(process, bundle, settings).run()


class _Reader:
    def __init__(self, process: Process, bundle: Bundle, settings: Mapping[str, Any]) -> None:
        self._sent = Sent(process)
        self._lines = lines.Lines(process.path)
        self._rows = Sink(bundle, "produce", process.incarnation)
        self._closes = Sink(bundle, "producer_summary", process.incarnation)
        self._who = {"producer": process.identity, "producer_incarnation": process.incarnation}
        self._offsets = settings["acks"] != "0"
        self._retries = int(settings["config"]["retries"]) > 0
        self._failed = 0
        self._highest = -1
        self._refused = False
        self._started = False

    def run(self) -> Sent:
        for number, at, event in self._lines:
            try:
                self._take(at, event)
            except ValueError as error:
                self._lines.problem(number, str(error))
        for sink in (self._rows, self._closes):
            sink.flush()
        self._sent.first, self._sent.last = self._lines.first, self._lines.last
        scope = Scope(tables=(PRODUCE,), incarnations=(self._sent.process.incarnation,))
        self._sent.reasons.extend(self._lines.reasons(SEND_ANOMALIES, scope))
        return self._sent

    def _take(self, at: int, event: dict[str, Any]) -> None:
        name = event["name"]
        if name == "producer_send_success":
            self._success(at, event)
        elif name == "producer_send_error":
            self._error(at, event)
        elif name == "tool_data":
            self._close(at, lines.number(event, "sent"), lines.number(event, "acked"))
        elif name == "startup_complete":
            if self._started:
                raise ValueError("begins a second process; give each a file of its own")
            self._started = True
        elif name != "shutdown_complete":
            raise ValueError(f"tells of {name!r}, which VerifiableProducer does not")

    def _success(self, at: int, event: dict[str, Any]) -> None:
        topic, seq = self._record(event)
        partition, offset = lines.number(event, "partition"), lines.number(event, "offset")
        known = offset if self._offsets and offset >= 0 else None
        if known is not None:
            ends = self._sent.ends
            ends[partition] = max(ends.get(partition, 0), known + 1)
        else:
            self._sent.ends.setdefault(partition, 0)
        self._add(at, event, seq, SendOutcome.ACKED, topic=topic, partition=partition, offset=known)

    def _error(self, at: int, event: dict[str, Any]) -> None:
        exception = lines.text(event, "exception")
        if outcomes.short(exception) == outcomes.CLOSED:
            # The producer was closed before it was asked: nothing was attempted.
            self._refused = True
            return
        topic, seq = self._record(event)
        outcome = outcomes.outcome(exception, retries=self._retries)
        self._failed += outcome == SendOutcome.FAILED
        self._add(at, event, seq, outcome, topic=topic, error=outcomes.short(exception))

    def _record(self, event: dict[str, Any]) -> tuple[str, int]:
        topic = lines.text(event, "topic")
        parsed = values.parse(event.get("value"))
        if parsed is None:
            raise ValueError(
                f"has the value {event.get('value')!r}, not one VerifiableProducer sends"
            )
        prefix, seq = parsed
        sent = self._sent
        if sent.topic is None:
            sent.topic, sent.prefix = topic, prefix
        elif (topic, prefix) != (sent.topic, sent.prefix):
            raise ValueError("is of another topic or value prefix than the lines before it")
        self._highest = max(self._highest, seq)
        return topic, seq

    def _add(self, at: int, event: dict[str, Any], seq: int, outcome: str, **more: Any) -> None:
        times = dict.fromkeys(("scheduled_at", "sent_at", "done_at", "sent_mono", "done_mono"), at)
        key = event.get("key")
        self._rows.add(**self._who, **times, **more, key=key, seq=seq, outcome=outcome)

    def _close(self, at: int, sent: int, acked: int) -> None:
        # Once the closed producer refused a send, the tool's count of sends is no longer one of
        # attempts; values are sent in order, so the highest tells.
        attempted = self._highest + 1 if self._refused else sent
        self._closes.add(
            **self._who,
            attempted=attempted,
            acked=acked,
            failed=self._failed,
            unknown=attempted - acked - self._failed,
            at=at,
        )
        self._sent.ended = True
