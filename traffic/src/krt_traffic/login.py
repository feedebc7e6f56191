"""What the clients of this pod log in to Kafka with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract import cluster_security, kafka_security
from krt_contract.cluster_security import security_of
from krt_contract.errors import ContractError
from krt_contract.kafka_login import Login
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
        return Login.mounted(security_of(plan), environment.kafka_secrets)
    except ContractError as error:
        referenced = plan.metadata.referenced
        field = kafka_security.FIELD if referenced else cluster_security.FIELD
        raise UnusableError(str(error), field=field) from error
