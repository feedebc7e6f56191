"""The plan as the controller uses it, with the spec as the resource's own types."""

from __future__ import annotations

from functools import cached_property
from typing import Self

from krt_contract import plan as contract
from krt_operator.api.spec import Spec


class Plan(contract.Plan):
    """A plan whose spec is typed.

    It lies in the ConfigMap `T-plan`, which is created (never replaced) and immutable, so whatever
    controller takes the run over builds the same objects from it.
    """

    @cached_property
    def spec(self) -> Spec:
        """The resolved spec."""
        return Spec.model_validate(self.resolved_spec)

    @classmethod
    def from_json(cls, text: str, where: str = contract.PLAN_FILE) -> Self:
        """Read what `to_json` wrote.

        Raises:
            ContractError: the text is not a plan of this schema version.
            pydantic.ValidationError: the spec does not fit this controller's models.
        """
        plan = super().from_json(text, where)
        _ = plan.spec
        return plan
