"""Columns as formulas of a number, computed by Arrow without a Python object a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LATENCY_SPREAD = 2_047
"""Greatest jitter, µs."""

_GOLDEN = 2_654_435_761
"""Knuth's multiplier: neighbouring numbers are spread over all bits."""


class Numbers:
    """An integer column with the arithmetic of Python's operators."""

    def __init__(self, values: Any) -> None:
        self.values: Any = values

    @classmethod
    def range(cls, first: int, last: int) -> Numbers:
        """Return first, first + 1 … last - 1."""
        return cls(pa.array(range(first, last), pa.int64()))

    def __add__(self, other: Numbers | int) -> Numbers:
        """Return the sum."""
        return Numbers(pc.add(self.values, _plain(other)))

    def __sub__(self, other: Numbers | int) -> Numbers:
        """Return the difference."""
        return Numbers(pc.subtract(self.values, _plain(other)))

    def __mul__(self, other: int) -> Numbers:
        """Return the product."""
        return Numbers(pc.multiply(self.values, other))

    def __floordiv__(self, other: int) -> Numbers:
        """Return the integer quotient of numbers that are not negative."""
        return Numbers(pc.divide(self.values, other))

    def __mod__(self, other: int) -> Numbers:
        """Return the remainder of numbers that are not negative."""
        return self - (self // other) * other

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.values)

    def between(self, low: int, high: int) -> Any:
        """Return whether each lies from low to high."""
        return pc.and_(pc.greater_equal(self.values, low), pc.less_equal(self.values, high))

    def at_least(self, other: Numbers) -> Numbers:
        """Return the greater of two columns."""
        return Numbers(pc.max_element_wise(self.values, other.values))

    def jitter(self) -> Numbers:
        """Return a latency's deviation for each number, 0 to ``LATENCY_SPREAD``."""
        mixed = pc.shift_right(pc.multiply(self.values, _GOLDEN), 13)
        return Numbers(pc.bit_wise_and(mixed, LATENCY_SPREAD))

    def where(self, condition: Any, other: Numbers | int) -> Numbers:
        """Return ``other`` where the condition holds."""
        return Numbers(pc.if_else(condition, _plain(other), self.values))

    def changed(self, changes: Mapping[int, int], key: Numbers) -> Numbers:
        """Return the values, those whose key is in ``changes`` replaced."""
        if not changes:
            return self
        found = pc.index_in(key.values, pa.array(list(changes), pa.int64()))
        new = pa.array(list(changes.values()), pa.int64()).take(found)
        return Numbers(pc.coalesce(new, self.values))

    def among(self, chosen: Sequence[int]) -> Any:
        """Return whether each is one of those chosen."""
        return pc.is_in(self.values, pa.array(list(chosen), pa.int64()))


def _plain(other: Numbers | int) -> Any:
    return other.values if isinstance(other, Numbers) else other


def column(value: Any, kind: pa.DataType, rows: int) -> pa.Array:
    """Return a column from a constant, ``Numbers`` or an Arrow array."""
    if isinstance(value, Numbers):
        value = value.values
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return value.cast(kind)
    return pa.nulls(rows, kind) if value is None else pa.repeat(pa.scalar(value, kind), rows)


def table(schema: pa.Schema, rows: int, values: Mapping[str, Any]) -> pa.Table:
    """Return a table of a schema; columns not given are null."""
    columns = [column(values.get(field.name), field.type, rows) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def names(numbers: Numbers, texts: Sequence[str]) -> Any:
    """Return the text of each number."""
    return pa.array(list(texts)).take(numbers.values)
