"""Bounds that an expectation sets for a number or a duration."""

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from krt_operator.api.base import ApiModel, Rule
from krt_operator.api.durations import Duration

MAX_COUNT = 1_000_000_000
"""Largest count a bound can name: more records than a run can write."""

GroupName = Annotated[
    str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-zA-Z0-9._-]+$")
]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]


class Bounds(ApiModel):
    """Bounds of a number, both included."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="has(self.min) || has(self.max)",
            message="set min or max: without a bound the expectation is always met",
        ),
        Rule(
            rule="!has(self.min) || !has(self.max) || self.min <= self.max",
            message="min is above max",
        ),
    )

    min: Count | None = Field(default=None, description="Lower bound; unset: none.")
    max: Count | None = Field(default=None, description="Upper bound; unset: none.")


class Span(ApiModel):
    """Bounds of a duration, both included."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="has(self.min) || has(self.max)",
            message="set min or max: without a bound the expectation is always met",
        ),
        Rule(
            rule="!has(self.min) || !has(self.max) || duration(self.min) <= duration(self.max)",
            message="min is above max",
        ),
    )

    min: Duration | None = Field(default=None, description="Lower bound; unset: none.")
    max: Duration | None = Field(default=None, description="Upper bound; unset: none.")
