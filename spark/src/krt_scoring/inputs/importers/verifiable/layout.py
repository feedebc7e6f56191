"""Which process a file of the directory belongs to, by its name alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_scoring.errors import NotABundleError
from krt_scoring.inputs.reasons import ALL, Reason

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = "history.json"
"""What the files themselves do not say: settings of clients and topics, who was killed."""

_PRODUCER = re.compile(r"^producer-(?P<name>[A-Za-z0-9._-]+)\.jsonl$")
_CONSUMER = re.compile(r"^consumer-(?P<group>[A-Za-z0-9._-]+)-(?P<member>[A-Za-z0-9._]+)\.jsonl$")


@dataclass(frozen=True, slots=True, order=True)
class Process:
    """One run of a tool: one file.

    Attributes:
        name: NAME of a producer, GROUP-MEMBER of a consumer.
        group: empty for a producer.
    """

    path: Path
    name: str
    group: str = ""

    @property
    def identity(self) -> str:
        """Its name in the evidence, ``<name>-<replica>``."""
        return f"{self.name}-0"

    @property
    def incarnation(self) -> str:
        """The file's name without its ending: one process wrote it."""
        return self.path.name.removesuffix(".jsonl")


@dataclass(frozen=True, slots=True)
class Layout:
    """What lies in a directory."""

    producers: tuple[Process, ...]
    consumers: tuple[Process, ...]
    reasons: tuple[Reason, ...]


def scan(root: Path) -> Layout:
    """Return the processes whose output lies in ``root``, by name.

    Raises:
        NotABundleError: the path is no directory or holds no file of either tool.
    """
    if not root.is_dir():
        raise NotABundleError(
            f"{root}: no such directory; give the one that holds the tools' output"
        )
    producers, consumers, reasons = [], [], []
    for path in sorted(root.glob("*.jsonl")):
        if match := _PRODUCER.match(path.name):
            producers.append(Process(path, match["name"]))
        elif match := _CONSUMER.match(path.name):
            group = match["group"]
            consumers.append(Process(path, f"{group}-{match['member']}", group))
        else:
            message = (
                "its name does not say whose output it is: call it producer-NAME.jsonl or "
                "consumer-GROUP-MEMBER.jsonl; it was not read"
            )
            reasons.append(Reason("evidence", "FileUnknown", path.name, message, ALL))
    if not producers and not consumers:
        raise NotABundleError(
            f"{root}: holds neither producer-NAME.jsonl nor consumer-GROUP-MEMBER.jsonl"
        )
    return Layout(tuple(producers), tuple(consumers), tuple(reasons))
