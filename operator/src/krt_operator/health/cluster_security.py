"""Whether a broker does what spec.kafka.security asks for, by what it reports itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.cluster_security import FIELD
from krt_operator.build.listeners import AUTHORIZER, AUTHORIZERS, PROTOCOLS, secured_protocols
from krt_operator.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_operator.api.plan import Plan


def check_security(plan: Plan, reported: Mapping[str, str | None]) -> None:
    """Check protocols and authorizer that a broker reports against those that it was given.

    That clients log in needs no check: the report came through a connection that did.

    Args:
        plan: what the broker was given.
        reported: its settings.

    Raises:
        UserError: it has others.
    """
    if plan.spec.kafka.security is None:
        return
    given = {PROTOCOLS: secured_protocols(plan), AUTHORIZER: AUTHORIZERS[plan.metadata.mode]}
    for name, value in given.items():
        if reported.get(name) != value:
            raise UserError(
                "SettingNotEffective",
                FIELD,
                f"the brokers were given {name} {value} and report {reported.get(name) or 'none'}; "
                "use an image that reads /krt/config/server.properties (spec.kafka.image)",
            )
