"""Arbitrary edits to the lines of a history."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.spark.anomalies.language import CONSUMER_EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

FIXED = ("topic", "second-topic", "producer", "group", "polled", "fault", "reverted")
"""Lines that say what the run is, and faults: those are one for all cases that run side by side."""
WORDS = {
    "acked": ("acked", "failed", "unknown"),
    "failed": ("acked", "failed", "unknown"),
    "unknown": ("acked", "failed", "unknown"),
    "state=committed": ("state=aborted", ""),
    "state=aborted": ("state=committed", ""),
    "outcome=failed": ("", "outcome=unknown"),
    "outcome=unknown": ("", "outcome=failed"),
}
IN_PODS = ("got", *CONSUMER_EVENTS)
"""Lines of a consumer, whose pod may also produce."""
EVENTS = ("assigned", "revoked", "lost", "seek", "reset", "committed", "commit_unknown")


def edit(random: Random, lines: list[str]) -> list[str]:
    """Return the lines with one edit."""
    free = [index for index, line in enumerate(lines) if line.split()[0] not in FIXED]
    if not free:
        return lines
    edits: list[Callable[[Random, list[str], int], None]] = [
        drop, drop, repeat, swap, number, number, number, word, word, corrupt, event,
    ]  # fmt: skip
    lines = list(lines)
    # Every kind of line is as likely as any other: there are many deliveries and few elections.
    kinds = sorted({lines[index].split()[0] for index in free})
    kind = random.choice(kinds)
    alike = [index for index in free if lines[index].split()[0] == kind]
    if kind == "replica":
        edits.append(differ)
    before = list(lines)
    random.choice(edits)(random, lines, random.choice(alike))
    return with_pods(lines, before)


def with_pods(lines: list[str], before: list[str]) -> list[str]:
    """Return edited lines with each consumer in the pod that it had: a pod is one process.

    A pod that two consumers share is in no evidence: its uid names the incarnation of one.
    """
    pods = {
        line.split()[1]: found.group() for line in before if (found := re.search(r" as=\S+", line))
    }
    return [
        re.sub(r" as=\S+", "", line) + pods.get(line.split()[1], "")
        if line.split()[0] in IN_PODS
        else line
        for line in lines
    ]


def drop(_: Random, lines: list[str], index: int) -> None:
    """Remove a line."""
    del lines[index]


def repeat(random: Random, lines: list[str], index: int) -> None:
    """Write a line twice; a send has one row, so another is made of it."""
    line = lines[index]
    if line.startswith("send"):
        line = re.sub(r"#\d+", f"#{random.randint(0, 6)}", line)
        if any(other.split()[:2] == line.split()[:2] for other in lines):
            return
    lines.insert(random.randint(0, len(lines)), line)


def swap(random: Random, lines: list[str], index: int) -> None:
    """Exchange a word of two lines of a kind, or the lines themselves."""
    kind = lines[index].split()[0]
    alike = [other for other, line in enumerate(lines) if line.split()[0] == kind]
    other = random.choice(alike)
    first, second = lines[index].split(), lines[other].split()
    place = random.randrange(1, min(len(first), len(second)))
    if kind == "send" and place == 1:
        place = 2
    if random.random() < 0.3:
        lines[index], lines[other] = lines[other], lines[index]
        return
    first[place], second[place] = second[place], first[place]
    lines[index], lines[other] = " ".join(first), " ".join(second)


def number(random: Random, lines: list[str], index: int) -> None:
    """Change a number; a send keeps its identity."""
    line = lines[index]
    found = list(re.finditer(r"(?<=[@#= .,])\d+", line))
    if line.startswith(("send", "killed")):
        found = [item for item in found if item.start() > line.index("/") + 4]
    if not found:
        return
    item = random.choice(found)
    old = int(item.group())
    new = max(0, old + random.choice([-2, -1, 1, 2, random.randint(-30, 30)]))
    if line[: item.start()].endswith((" ", "..")) or old < 4:
        new = min(new, 3) if re.search(r" $", line[: item.start()]) else new
    lines[index] = f"{line[: item.start()]}{new}{line[item.end() :]}"


def word(random: Random, lines: list[str], index: int) -> None:
    """Change or leave out a word that has few values."""
    words = lines[index].split()
    places = [place for place, one in enumerate(words) if one in WORDS]
    if not places:
        options = [
            place
            for place, one in enumerate(words)
            if "=" in one and not one.startswith(("at=", "as="))
        ]
        if not options:
            return
        del words[random.choice(options)]
    else:
        place = random.choice(places)
        words[place] = random.choice(WORDS[words[place]])
    lines[index] = " ".join(one for one in words if one)


def corrupt(random: Random, lines: list[str], index: int) -> None:
    """Damage a record of the log or of a delivery, or take its name away."""
    words = lines[index].split()
    if words[0] == "log":
        words[2:3] = ["foreign"] if random.random() < 0.5 else [words[2], "bad=1"]
    elif words[0] == "got":
        words[3:4] = ["foreign"] if random.random() < 0.5 else [words[3], "bad=1"]
    if words[0] in ("log", "got"):
        lines[index] = " ".join(dict.fromkeys(words))


def differ(random: Random, lines: list[str], index: int) -> None:
    """Have a replica hold something else."""
    lines[index] += random.choice([" crc=9", " bad=1", " epoch=1"])


def event(random: Random, lines: list[str], index: int) -> None:
    """Turn an event of a consumer into another."""
    words = lines[index].split()
    if words[0] in EVENTS:
        words[0] = random.choice(EVENTS)
    lines[index] = " ".join(words)
