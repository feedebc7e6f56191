"""What was run: the plan, as ``run.json`` of a bundle or ``plan.json`` of a running test holds it.

The rules read settings from the plan and nowhere else, so that what the configuration permits is
derived from what was really applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.errors import ContractError
from krt_contract.plan import Plan
from krt_scoring.errors import PlanError

if TYPE_CHECKING:
    from pathlib import Path


def load(path: Path) -> Plan:
    """Read ``run.json`` or ``plan.json``.

    Raises:
        PlanError: the file is missing, is not JSON, of another schema version or incomplete.
    """
    try:
        return Plan.from_json(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise PlanError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise PlanError(f"{path}: not JSON ({error})") from error
    except ContractError as error:
        raise PlanError(str(error)) from error
