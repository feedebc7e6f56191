"""Settings that a `config` must not contain, and why."""

from typing import Any

from krt_contract.settings import (
    BROKER_SESSION,
    MIN_INSYNC_REPLICAS,
    UNCLEAN_ELECTION,
    ZOOKEEPER_SESSION,
)
from krt_operator.api.base import (
    SETTING_NAME,
    SETTING_NAME_FORM,
    SETTING_TEXT,
    SETTING_TEXT_FORM,
    Rule,
    rules,
)
from krt_operator.constants import TICK_SETTING

BROKER = (
    "advertised.listeners",
    "broker.id",
    "broker.id.generation.enable",
    "broker.rack",
    "control.plane.listener.name",
    "controller.listener.names",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
    "node.id",
    "process.roles",
    "security.inter.broker.protocol",
    "zookeeper.connect",
)
"""Settings that form the cluster: the controller writes them."""

METADATA_LOG = (
    "metadata.log.max.record.bytes.between.snapshots",
    "metadata.log.max.snapshot.interval.ms",
    "metadata.max.retention.bytes",
    "metadata.max.retention.ms",
)
"""Once there is a snapshot, the metadata log is no longer served from its start: the history of
leaders and ISRs would begin in the middle of a run."""

SHARED = (MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION, BROKER_SESSION)
"""Settings that brokers and KRaft controllers must agree in: what a broker reports is not what the
controllers do otherwise."""

EXPIRY = (
    "log.cleanup.policy",
    "log.retention.bytes",
    "log.retention.hours",
    "log.retention.minutes",
    "log.retention.ms",
)
TOPIC_EXPIRY = ("cleanup.policy", "retention.bytes", "retention.ms")
"""A record that Kafka deletes during a run could not be distinguished from a lost one."""

ZOOKEEPER = (
    "4lw.commands.whitelist",
    "admin.enableServer",
    "clientPort",
    "clientPortAddress",
    "dataDir",
    "dataLogDir",
    "dynamicConfigFile",
    "secureClientPort",
)

_CLIENT = ("bootstrap.servers", "client.id", "metadata.broker.list")
PRODUCER = (
    *_CLIENT,
    "acks",
    "compression.codec",
    "compression.type",
    "enable.idempotence",
    "request.required.acks",
    "transactional.id",
)
CONSUMER = (
    *_CLIENT,
    "auto.offset.reset",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.partition.eof",
    "group.id",
    "group.instance.id",
    "isolation.level",
)

_SECURITY_PREFIXES = ("sasl.", "ssl.")
_SECURITY = (
    "enable.sasl.oauthbearer.unsecure.jwt",
    "enable.ssl.certificate.verification",
    "security.protocol",
)
"""Settings that say how a client gets in, which is the same for all clients of a test. A config is
part of the evidence, so it is no place for a secret."""

OWN = "is set by the controller"
FIELD = "is set by a field of the resource or by the controller"
WHOLE_LOG = "is set by the controller, so that the metadata log is complete"
AT_BROKERS = "belongs into spec.kafka.config, from which controllers have it, too"
SECURITY = "says how clients log in; set spec.kafka.security or spec.kafkaRef.security"
KEEP = "must keep its default, so that no record expires or is compacted during a run"


def _list(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(f"'{name}'" for name in names) + "]"


def starts_with(prefixes: tuple[str, ...]) -> str:
    """Return the CEL condition that the key k of a settings map starts with one of these."""
    return " || ".join(f"k.startsWith('{prefix}')" for prefix in prefixes)


def refused(names: tuple[str, ...], reason: str) -> Rule:
    """Return the rule, for a settings map, that none of these settings is in it."""
    found = f"self.filter(k, k in {_list(names)})"
    return Rule(
        rule=f"self.all(k, !(k in {_list(names)}))",
        message=f"contains a setting that {reason}",
        expression=f"'setting ' + {found}[0] + ' {reason}'",
    )


def _cel(pattern: str) -> str:
    """Return a pattern as a CEL string."""
    return "'" + pattern.replace("\\", "\\\\") + "'"


# The API server falls back to the message where the expression has a line break in it.
NAMES = Rule(
    rule=f"self.all(k, k.matches({_cel(SETTING_NAME)}))",
    message=f"a key {SETTING_NAME_FORM}",
    expression=f"'setting ' + self.filter(k, !k.matches({_cel(SETTING_NAME)}))[0] + "
    f"' {SETTING_NAME_FORM}'",
)
"""The rule, for a settings map, that its keys are names of settings; see `base.SETTING_NAME`."""

TEXTS = Rule(
    rule=f"self.all(k, self[k].matches({_cel(SETTING_TEXT)}))",
    message=f"a value {SETTING_TEXT_FORM}",
    expression=f"'the value of ' + self.filter(k, !self[k].matches({_cel(SETTING_TEXT)}))[0] + "
    f"' {SETTING_TEXT_FORM}'",
)
"""The rule, for a settings map, that each value is one line of text."""

SERVERS = Rule(
    rule="self.all(k, !k.startsWith('server.'))",
    message="settings server.N are set by the controller",
)


def _login() -> Rule:
    """Return the rule, for a settings map, that no setting says how a client logs in."""
    found = f"{starts_with(_SECURITY_PREFIXES)} || k in {_list(_SECURITY)}"
    return Rule(
        rule=f"self.all(k, !({found}))",
        message=f"contains a setting that {SECURITY}",
        expression=f"'setting ' + self.filter(k, {found})[0] + ' {SECURITY}'",
    )


LOGIN = _login()


def matching(name: str, pattern: str, form: str) -> Rule:
    """Return the rule, for a settings map, that this setting matches, where it is in it."""
    return Rule(
        rule=f"!('{name}' in self) || self['{name}'].matches('{pattern}')",
        message=f"{name} must be {form}, in quotes",
    )


def milliseconds(name: str) -> Rule:
    """Return the rule, for a settings map, that this setting is a number of milliseconds."""
    return matching(name, "^[1-9][0-9]{0,8}$", "an integer number of milliseconds")


MIN_INSYNC = matching(MIN_INSYNC_REPLICAS, "^[1-9]$", "a number from 1 to 9")


def broker_config() -> dict[str, Any]:
    """Return the rules of spec.kafka.config."""
    return rules(
        *(NAMES, TEXTS, refused(BROKER, OWN), refused(EXPIRY, KEEP)),
        refused(METADATA_LOG, WHOLE_LOG),
        *(MIN_INSYNC, milliseconds(ZOOKEEPER_SESSION), milliseconds(BROKER_SESSION)),
    )


def controller_config() -> dict[str, Any]:
    """Return the rules of spec.kafka.metadata.controllers.config."""
    return rules(
        *(NAMES, TEXTS, refused(BROKER, OWN), refused(METADATA_LOG, WHOLE_LOG)),
        refused(SHARED, AT_BROKERS),
    )


def topic_config() -> dict[str, Any]:
    """Return the rules of spec.topics[].config."""
    return rules(NAMES, TEXTS, refused(TOPIC_EXPIRY, KEEP), MIN_INSYNC)


def zookeeper_config() -> dict[str, Any]:
    """Return the rules of spec.zookeeper.config."""
    return rules(NAMES, TEXTS, refused(ZOOKEEPER, OWN), SERVERS, milliseconds(TICK_SETTING))


def client_config(names: tuple[str, ...]) -> dict[str, Any]:
    """Return the rules of a producer's or consumer's config."""
    return rules(NAMES, TEXTS, refused(names, FIELD), LOGIN)
