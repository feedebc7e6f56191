"""plan.json, read for a pod that cannot work without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.errors import ContractError
from krt_contract.plan import Plan
from krt_traffic.errors import UnusableError

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.clients import ConsumerSpec, ProducerSpec


def load(path: Path) -> Plan:
    """Read plan.json.

    Raises:
        UnusableError: it cannot be read, is of another version or lacks a field; the message
            names the field and what is expected.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UnusableError(f"{path}: cannot be read ({error})") from error
    try:
        plan = Plan.from_json(text, str(path))
        # Needed at the end of a run: better to fail at its start.
        _ = plan.drain_timeout
    except ContractError as error:
        raise UnusableError(str(error)) from error
    return plan


def find_producer(plan: Plan, name: str) -> ProducerSpec:
    """Return the producer entry that the environment names.

    Raises:
        UnusableError: there is none.
    """
    try:
        return plan.producer(name)
    except ContractError as error:
        raise UnusableError(f"KRT_NAME: {error}") from error


def find_consumer(plan: Plan, name: str) -> ConsumerSpec:
    """Return the consumer entry that the environment names.

    Raises:
        UnusableError: there is none.
    """
    try:
        return plan.consumer(name)
    except ContractError as error:
        raise UnusableError(f"KRT_NAME: {error}") from error
