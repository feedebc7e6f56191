"""In which order things are measured that are compared, round by round.

Which one ran before has an effect on the next: on caches, on the disk, on how warm a processor is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")


def order(things: Iterable[T], number: int) -> tuple[T, ...]:
    """Return the order of a round, counted from 0.

    Rounds come in pairs: the first of a pair begins with the next thing, the second is the first
    one backwards. Two things have had each order equally often after four rounds, three each of
    the six orders after six.
    """
    own = tuple(things)
    first = number // 2 % len(own)
    forward = own[first:] + own[:first]
    return forward[::-1] if number % 2 else forward
