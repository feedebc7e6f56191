"""Amounts of CPU, memory and storage."""

from decimal import Decimal
from typing import Annotated, Final, Self

from pydantic import Field, StringConstraints

from krt_operator.api.base import ApiModel, SettingKey

Quantity = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=20, pattern=r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$"
    ),
]
"""A Kubernetes quantity, as a string."""

MemoryMi = Annotated[
    str, StringConstraints(min_length=3, max_length=10, pattern=r"^[1-9][0-9]{0,6}(Mi|Gi)$")
]
"""Memory in whole Mi or Gi."""

QuantityMap = Annotated[dict[SettingKey, Quantity], Field(max_length=8)]


def mebibytes(amount: str) -> int:
    """Return a `MemoryMi` in MiB."""
    return int(amount[:-2]) * (1024 if amount.endswith("Gi") else 1)


_UNITS: Final[dict[str, int | Decimal]] = {
    "": 1,
    "m": Decimal("0.001"),
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}


def number_of(amount: str) -> int:
    """Return a `Quantity` as a whole number, such as the bytes of an amount of memory."""
    digits = amount.rstrip("mkKMGTi")
    return int(Decimal(digits) * _UNITS[amount[len(digits) :]])


class Resources(ApiModel):
    """Resources of one container, as in a pod."""

    requests: QuantityMap = Field(
        default={}, description="Amounts that the scheduler reserves, by resource."
    )
    limits: QuantityMap = Field(
        default={}, description="Amounts that the container may use, by resource."
    )

    @property
    def memory_limit_mib(self) -> int | None:
        """MiB that the container may use; None where it has no limit."""
        limit = self.limits.get("memory")
        return None if limit is None else number_of(limit) // 2**20

    @classmethod
    def of(cls, cpu: str, memory: str, limit: str) -> Self:
        """Return requests of CPU and memory with a memory limit.

        No CPU limit by default: a throttled broker looks like a failing one.
        """
        return cls(requests={"cpu": cpu, "memory": memory}, limits={"memory": limit})
