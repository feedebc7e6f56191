"""The one error of the contract; each package turns it into its own."""

from __future__ import annotations


class ContractError(ValueError):
    """A text or document does not follow the contract.

    The message names the field and says what is expected there. It is a ValueError so that
    pydantic reports it as a validation error of the field.
    """
