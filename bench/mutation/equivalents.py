"""The mutants that no history can show, each with its reason, from `equivalent.toml`.

A condition may spare work and decide nothing: whatever it lets through, a later step drops. A
mutant of such a condition is the same rule, so it counts neither as noticed nor as missed.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bench.mutation.mutants import Mutant

LIST = Path(__file__).with_name("equivalent.toml")

Place = tuple[str, str, str]
"""Module without ``krt_scoring.``, function, and the alteration."""


class StaleError(Exception):
    """The list names a mutant that does not exist, or one of several that look alike."""


def listed(path: Path = LIST) -> dict[Place, str]:
    """Return the listed mutants and the reason of each.

    Raises:
        StaleError: an entry lacks its reason, or is there twice.
    """
    found: dict[Place, str] = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutants"]:
        reason = str(entry["reason"]).strip()
        if not reason:
            raise StaleError(f"{path.name}: an entry of {entry['module']} has no reason")
        for alteration in entry["alterations"]:
            place = (entry["module"], entry["function"], alteration)
            if place in found:
                raise StaleError(f"{path.name}: listed twice: {' '.join(place)}")
            found[place] = reason
    return found


def equivalent(
    module: str, mutants: Iterable[Mutant], known: Mapping[Place, str]
) -> dict[int, str]:
    """Return the number of each listed mutant of a module, and the reason.

    Args:
        module: dotted name without ``krt_scoring.``.
        mutants: all mutants of the module.
        known: the list.

    Raises:
        StaleError: the list names a mutant that the module does not have, or that is one of
            several with the same text.
    """
    mutants = list(mutants)
    there = Counter((module, mutant.function, mutant.alteration) for mutant in mutants)
    wrong = [place for place in known if place[0] == module and there[place] != 1]
    if wrong:
        lines = "; ".join(f"{place[1]}: {place[2]} ({there[place]} times)" for place in wrong)
        raise StaleError(f"{LIST.name} lists what {module} does not have exactly once: {lines}")
    return {
        mutant.number: known[module, mutant.function, mutant.alteration]
        for mutant in mutants
        if (module, mutant.function, mutant.alteration) in known
    }
