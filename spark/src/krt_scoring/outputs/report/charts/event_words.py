"""What the events of brokers, controllers and processes are called in the report."""

from __future__ import annotations

from krt_contract.members import CONTROLLER_ID_BASE, MemberKind, member_name
from krt_contract.timeline import EventName, Source

WORDS = {
    (Source.BROKER, EventName.REGISTERED): "registered",
    (Source.BROKER, EventName.UNREGISTERED): "session ended",
    (Source.BROKER, EventName.FENCED): "fenced",
    (Source.BROKER, EventName.UNFENCED): "unfenced",
    (Source.BROKER, EventName.SHUTTING_DOWN): "shutting down",
    (Source.CONTROLLER, EventName.ELECTED): "{controller} elected",
    (Source.CONTROLLER, EventName.VACANT): "no controller",
    (Source.CONTROLLER, EventName.QUORUM_LOST): "quorum lost",
    (Source.ZOOKEEPER, EventName.LEADER): "{subject} leads",
    (Source.ZOOKEEPER, EventName.QUORUM_LOST): "quorum lost",
    (Source.MEMBER, EventName.STARTED): "process started",
    (Source.MEMBER, EventName.KILLED): "killed",
    (Source.MEMBER, EventName.EXITED): "process ended",
    (Source.MEMBER, EventName.FROZEN): "frozen",
    (Source.MEMBER, EventName.THAWED): "thawed",
}
"""What an event is called."""


def event_word(source: str, event: str, subject: str) -> str:
    """Return what an event of a subject is called."""
    word = WORDS[Source(source), EventName(event)]
    return word.format(subject=subject, controller=_controller(subject))


def _controller(subject: str) -> str:
    """Return who was elected: a broker, or in KRaft one of the controllers."""
    ordinal = int(subject) - CONTROLLER_ID_BASE if subject.isdigit() else -1
    return member_name(MemberKind.CONTROLLER, ordinal) if ordinal >= 0 else f"broker {subject}"
