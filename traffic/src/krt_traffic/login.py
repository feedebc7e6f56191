"""What the clients of this pod log in to Kafka with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.errors import ContractError
from krt_contract.kafka_login import Login
from krt_contract.kafka_security import FIELD, Security
from krt_traffic.errors import UnusableError

if TYPE_CHECKING:
    from krt_contract.plan import Plan
    from krt_traffic.environment import Environment


def read_login(environment: Environment, plan: Plan) -> Login:
    """Read the files that this pod mounts; none for a cluster in plaintext.

    Raises:
        UnusableError: the plan names a file that is not there.
    """
    try:
        return Login.mounted(Security.of(plan.resolved_spec), environment.kafka_secrets)
    except ContractError as error:
        raise UnusableError(str(error), field=FIELD) from error
