"""Rules on the security of a cluster that the test deploys."""

from krt_operator.api.base import Rule
from krt_operator.api.reserved import OWN, starts_with

_SECURED = "has(self.kafka.security)"
_CONTROLLERS = "self.kafka.metadata.controllers"
_PREFIXES = (
    "authorizer.",
    "config.providers",
    "listener.name.",
    "principal.builder.",
    "sasl.",
    "ssl.client.auth",
    "ssl.key.",
    "ssl.keystore.",
    "ssl.principal.",
    "ssl.truststore.",
    "super.users",
    "zookeeper.clientCnxnSocket",
    "zookeeper.set.acl",
    "zookeeper.ssl.",
)
"""How settings begin that say who is let in: the controller writes them. Others of TLS, such as
ssl.cipher.suites and ssl.enabled.protocols, are the user's."""


_ZOOKEEPER_PREFIXES = (
    "authProvider.",
    "client.portUnification",
    "quorum.auth.",
    "secureClientPort",
    "serverCnxnFactory",
    "ssl.",
    "sslQuorum",
)
"""The same of ZooKeeper, all of whose settings of TLS are few and are the controller's."""


def _settings(
    field: str, config: str, condition: str, prefixes: tuple[str, ...] = _PREFIXES
) -> Rule:
    """Return the rule that a config leaves the security of the cluster to spec.kafka.security."""
    key = starts_with(prefixes)
    reason = f"{OWN} where spec.kafka.security is; leave it out"
    return Rule(
        rule=f"!({condition}) || !{config}.exists(k, {key})",
        message=f"{field} has a setting that {reason}",
        expression=f"'{field}: %s {reason}'.format([{config}.filter(k, {key})[0]])",
    )


SECURITY = (
    _settings("kafka.config", "self.kafka.config", _SECURED),
    _settings(
        "kafka.metadata.controllers.config",
        f"{_CONTROLLERS}.config",
        f"{_SECURED} && has({_CONTROLLERS})",
    ),
    _settings(
        "zookeeper.config",
        "self.zookeeper.config",
        f"{_SECURED} && has(self.zookeeper)",
        _ZOOKEEPER_PREFIXES,
    ),
)
