"""Durations as Kubernetes users write them: `20s`, `1m30s`, `500ms`."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

PATTERN = r"^([0-9]{1,3}h)?([0-9]{1,4}m)?([0-9]{1,5}s)?([0-9]{1,8}ms)?$"
"""Whole numbers, units in falling order; what it admits, CEL's `duration()` can read."""
MIN_LENGTH = 2
MAX_LENGTH = 25

_PARTS = re.compile(r"^(?:(\d{1,3})h)?(?:(\d{1,4})m)?(?:(\d{1,5})s)?(?:(\d{1,8})ms)?$", re.ASCII)
_UNIT_MICROS = (3_600_000_000, 60_000_000, 1_000_000, 1_000)
_UNIT_NAMES = ("h", "m", "s", "ms")


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time, never negative, in whole milliseconds.

    Attributes:
        micros: length in microseconds.
    """

    micros: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `1h2m3s4ms`.

        Raises:
            ValueError: the text is no duration; the message says what is expected.
        """
        match = _PARTS.match(text)
        if match is None or len(text) < MIN_LENGTH:
            raise ValueError(f"{text!r} is no duration; write it like 20s, 1m30s or 500ms")
        values = (int(group or 0) for group in match.groups())
        return cls(sum(n * unit for n, unit in zip(values, _UNIT_MICROS, strict=True)))

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return self.micros / 1_000_000

    @property
    def delta(self) -> timedelta:
        """The same length, to reckon with points in time."""
        return timedelta(microseconds=self.micros)

    def __str__(self) -> str:
        """Return the shortest text that `parse` reads back; `0s` for nothing."""
        rest, parts = self.micros, []
        for unit, name in zip(_UNIT_MICROS, _UNIT_NAMES, strict=True):
            whole, rest = divmod(rest, unit)
            if whole:
                parts.append(f"{whole}{name}")
        return "".join(parts) or "0s"

    @classmethod
    def _from_any(cls, value: object) -> "Duration":
        if isinstance(value, Duration):
            return value
        if isinstance(value, str):
            return cls.parse(value)
        raise ValueError(f"{value!r} is no duration; write it like 20s, 1m30s or 500ms")

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Validate from text or a Duration, serialise to text."""
        return core_schema.no_info_plain_validator_function(
            cls._from_any, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the string schema the API server checks."""
        return {
            "type": "string",
            "pattern": PATTERN,
            "minLength": MIN_LENGTH,
            "maxLength": MAX_LENGTH,
        }
