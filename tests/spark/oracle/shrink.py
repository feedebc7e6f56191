"""Shrinking a history on which two checkers differ, by delta debugging over its lines.

A judgement by Spark costs seconds whatever it judges, so each round judges all its candidates side
by side: the history without each half, each quarter, down to each line. The smallest candidate on
which the checkers still differ, about the same thing, goes into the next round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.oracle.compare import BATCH, batches, differences, parse

if TYPE_CHECKING:
    from tests.spark.oracle.compare import Scorer

ROUNDS = 12


def subject(line: str) -> str:
    """Return what a line of a difference is about, without its counts."""
    return line.partition(":")[0]


def candidates(lines: list[str]) -> list[list[str]]:
    """Return the history without each of its parts, the largest parts first."""
    found: list[list[str]] = []
    size = len(lines) // 2
    while size:
        found += [lines[:first] + lines[first + size :] for first in range(0, len(lines), size)]
        size //= 2
    return found[-BATCH:]


def readable(lines: list[str]) -> bool:
    """Whether lines are still a history: what one of them needs may be gone."""
    try:
        parse("tried", "\n".join(lines), 1)
    except (KeyError, ValueError, IndexError):
        return False
    return True


def shrink(texts: dict[str, str], score: Scorer, about: dict[str, str]) -> dict[str, str]:
    """Return smaller histories on which the checkers still differ about the same.

    All histories shrink together: a round judges the candidates of each in the same runs.
    """
    current = {name: text.splitlines() for name, text in texts.items()}
    active = set(current)
    for _ in range(ROUNDS):
        tries: list[tuple[str, list[str]]] = []
        for name in sorted(active):
            tries += [(name, lines) for lines in candidates(current[name])]
        smaller: dict[str, list[str]] = {}
        lines_of = {f"t{place}": each for place, each in enumerate(tries) if readable(each[1])}
        texts_of = ((tried, "\n".join(lines)) for tried, (_, lines) in lines_of.items())
        for batch in batches(texts_of):
            for tried, found in differences(batch, score).items():
                name, lines = lines_of[tried]
                same = about[name] in map(subject, found)
                if same and len(lines) < len(smaller.get(name, current[name])):
                    smaller[name] = lines
        current |= smaller
        active = set(smaller)
        if not active:
            break
    return {name: "\n".join(lines) for name, lines in current.items()}
