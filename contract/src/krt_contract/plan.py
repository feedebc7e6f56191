"""The plan: what a test was resolved to, written once before anything is built.

The controller writes it as ``plan.json`` into an immutable ConfigMap and builds every object from
it; traffic and recorder read it from there. The recorder copies it to ``run.json`` of the bundle,
with the ids of the images that ran, and the scoring job reads it there. An imported history has a
``run.json`` too. This module is the only place that reads or writes either file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

from krt_contract import plan_document
from krt_contract.clients import ConsumerSpec, ProducerSpec
from krt_contract.durations import Duration
from krt_contract.entries import Fault, Imported, Topic, find_entry
from krt_contract.errors import ContractError
from krt_contract.fields import Fields
from krt_contract.members import Member, MemberKind, join_addresses
from krt_contract.metadata import Metadata, MetadataMode
from krt_contract.settings import (
    BROKER_SESSION,
    BROKER_SESSION_DEFAULT_MS,
    INTERNAL_PARTITIONS_DEFAULT,
    MIN_INSYNC_REPLICAS,
    MIN_INSYNC_REPLICAS_DEFAULT,
    OFFSETS_PARTITIONS,
    UNCLEAN_ELECTION,
    ZOOKEEPER_SESSION,
    ZOOKEEPER_SESSION_DEFAULT_MS,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAN_FILE: Final = "plan.json"
"""Key of the plan's ConfigMap, and the file's name where pods mount it."""


@dataclass(frozen=True)
class Plan:
    """Everything a run was resolved to.

    Attributes:
        namespace, name, uid: of the test.
        seed: seed of every random choice.
        resolved_spec: the spec with every default set, as JSON.
        topics: topics of the run.
        bootstrap: ``host:port`` of every broker, comma-joined; of a referenced cluster the user's
            bootstrap servers; empty for an imported history.
        zookeeper: ``host:port`` of every ZooKeeper server, comma-joined.
        members: brokers, then ZooKeeper servers or KRaft controllers; none of a referenced
            cluster.
        metadata: where the cluster keeps its metadata.
        broker_config, zookeeper_config, controller_config: settings that the product or the user
            set; of a referenced cluster, ``broker_config`` is what its brokers reported.
        images: by ``operator``, ``traffic``, ``scoring``, ``kafka``.
        versions: of ``operator`` and ``kubernetes``; run.json adds ``kafka`` and ``client``.
        imported: set for a history that another tool recorded.
    """

    namespace: str
    name: str
    uid: str
    seed: int
    resolved_spec: Mapping[str, Any]
    topics: tuple[Topic, ...]
    bootstrap: str = ""
    zookeeper: str = ""
    members: tuple[Member, ...] = ()
    broker_config: Mapping[str, str] = field(default_factory=dict)
    zookeeper_config: Mapping[str, str] = field(default_factory=dict)
    controller_config: Mapping[str, str] = field(default_factory=dict)
    metadata: Metadata = field(default_factory=Metadata)
    images: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    imported: Imported | None = None

    # Where evidence lies, and whom to reach.

    @property
    def bundle(self) -> str:
        """The bundle's folder, relative to the evidence volume."""
        return f"{self.namespace}/{self.name}/{self.uid}"

    @property
    def brokers(self) -> tuple[Member, ...]:
        """The Kafka members."""
        return tuple(item for item in self.members if item.kind is MemberKind.KAFKA)

    @property
    def zookeepers(self) -> tuple[Member, ...]:
        """The ZooKeeper members."""
        return tuple(item for item in self.members if item.kind is MemberKind.ZOOKEEPER)

    @property
    def zookeeper_addresses(self) -> dict[str, str]:
        """ZooKeeper member → its ``host:port``."""
        names = [item.member for item in self.zookeepers]
        return dict(zip(names, self.zookeeper.split(","), strict=False))

    @property
    def controllers(self) -> tuple[Member, ...]:
        """The KRaft controllers."""
        return tuple(item for item in self.members if item.kind is MemberKind.CONTROLLER)

    def bootstrap_but(self, silent: frozenset[str]) -> str:
        """Return ``host:port`` of every broker but these members; of all where none is left.

        A frozen broker's host still accepts connections and answers none: a client that asks it
        first learns nothing before its request times out.
        """
        answering = [item for item in self.brokers if item.member not in silent]
        if not answering or len(answering) == len(self.brokers):
            return self.bootstrap
        return join_addresses(answering)

    def member(self, name: str) -> Member | None:
        """Return the member of this name."""
        return next((item for item in self.members if item.member == name), None)

    # What the run does.

    @cached_property
    def producers(self) -> tuple[ProducerSpec, ...]:
        """Entries of ``spec.traffic.producers``."""
        items = self._spec.child("traffic").items("producers")
        return tuple(ProducerSpec.read(item, self._partitions) for item in items)

    @cached_property
    def consumers(self) -> tuple[ConsumerSpec, ...]:
        """Entries of ``spec.traffic.consumers``."""
        items = self._spec.child("traffic").items("consumers")
        return tuple(ConsumerSpec.read(item, self._partitions) for item in items)

    @cached_property
    def writers(self) -> tuple[ProducerSpec, ...]:
        """The producers, and after them the producer that each Transactional consumer is."""
        outputs = (item.output for item in self.consumers if item.output is not None)
        return (*self.producers, *outputs)

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """Entries of ``spec.faults``."""
        return tuple(Fault.read(item) for item in self._spec.items("faults"))

    @cached_property
    def drain_timeout(self) -> Duration:
        """How long consumers may take to reach the end of the log."""
        return self._spec.child("timeouts").duration("drain")

    @property
    def warmup(self) -> Duration:
        """How long traffic runs before the first fault."""
        return self._spec.duration("warmup", default="0s")

    @property
    def compares_replicas(self) -> bool:
        """Whether each broker's replicas are dumped into the evidence."""
        return self._spec.child("evidence").flag("compareReplicas", default=False)

    @property
    def self_test(self) -> bool:
        """Whether scoring tests its own detection."""
        return self._spec.child("scoring").flag("selfTest", default=False)

    @property
    def transactional(self) -> bool:
        """Whether any producer writes in transactions."""
        return any(item.transactional for item in self.writers)

    @property
    def transactional_identities(self) -> frozenset[str]:
        """Identities of the producers that write in transactions."""
        return frozenset(
            name for item in self.writers if item.transactional for name in item.identities
        )

    def producer(self, name: str) -> ProducerSpec:
        """Return the entry of ``spec.traffic.producers`` of this name.

        Raises:
            ContractError: there is none.
        """
        return find_entry("producers", self.producers, name)

    def consumer(self, name: str) -> ConsumerSpec:
        """Return the entry of ``spec.traffic.consumers`` of this name.

        Raises:
            ContractError: there is none.
        """
        return find_entry("consumers", self.consumers, name)

    def writer(self, identity: str) -> ProducerSpec | None:
        """Return the writer that an identity of the evidence belongs to."""
        return next((item for item in self.writers if identity in item.identities), None)

    # Effective settings.

    def topic(self, name: str) -> Topic | None:
        """Return the topic of this name."""
        return next((item for item in self.topics if item.name == name), None)

    def begin(self, topic: str, partition: int) -> int:
        """Return the first offset of a partition that can be the test's: 0 of a topic it made."""
        found = self.topic(topic)
        return 0 if found is None else found.begin.get(partition, 0)

    def topic_setting(self, topic: str, key: str, default: str) -> str:
        """Return a topic's effective setting: its own, else the brokers', else the default."""
        found = self.topic(topic)
        if found is not None and key in found.config:
            return found.config[key]
        return self.broker_config.get(key, default)

    def min_insync(self, topic: str) -> int:
        """Return the topic's effective min.insync.replicas."""
        default = str(MIN_INSYNC_REPLICAS_DEFAULT)
        return int(self.topic_setting(topic, MIN_INSYNC_REPLICAS, default))

    def unclean_election(self, topic: str) -> bool:
        """Whether a replica from outside the ISR may lead the topic's partitions."""
        return self.topic_setting(topic, UNCLEAN_ELECTION, "false").lower() == "true"

    @property
    def zookeeper_session(self) -> Duration:
        """How long ZooKeeper keeps the session of a broker that is silent."""
        millis = self.broker_config.get(ZOOKEEPER_SESSION, ZOOKEEPER_SESSION_DEFAULT_MS)
        return Duration(int(millis) * 1000)

    @property
    def broker_session(self) -> Duration:
        """How long a silent broker counts as alive: to ZooKeeper, or to the KRaft controllers."""
        if self.metadata.mode is not MetadataMode.KRAFT:
            return self.zookeeper_session
        configs = {**self.broker_config, **self.controller_config}
        return Duration(int(configs.get(BROKER_SESSION, BROKER_SESSION_DEFAULT_MS)) * 1000)

    @property
    def offsets_partitions(self) -> int:
        """Number of partitions of __consumer_offsets."""
        return int(self.broker_config.get(OFFSETS_PARTITIONS, INTERNAL_PARTITIONS_DEFAULT))

    # The file.

    def to_document(self) -> dict[str, Any]:
        """Return the plan as JSON holds it."""
        return plan_document.write(self)

    def to_json(self) -> str:
        """Return the text of plan.json: sorted keys, so the same plan gives the same bytes."""
        return json.dumps(self.to_document(), sort_keys=True, indent=1)

    @classmethod
    def from_json(cls, text: str, where: str = PLAN_FILE) -> Self:
        """Read plan.json or run.json.

        Args:
            text: the file's text.
            where: the file, for messages.

        Raises:
            ContractError: it is not JSON, of another schema version, or a field is missing or of
                another type; the message names file, field and what is expected.
        """
        try:
            document = json.loads(text)
        except ValueError as error:
            raise ContractError(f"{where}: not JSON ({error})") from error
        return cls.from_document(document, where)

    @classmethod
    def from_document(cls, document: Any, where: str = PLAN_FILE) -> Self:
        """Read the plan from parsed JSON; arguments and errors are those of `from_json`."""
        plan_document.check_version(document, where)
        try:
            plan = cls(**plan_document.read(Fields(document)))
            plan.check()
        except ContractError as error:
            raise ContractError(f"{where}: {error}") from error
        return plan

    def check(self) -> None:
        """Read every typed entry of the spec.

        Raises:
            ContractError: a field is missing or of another type.
        """
        _ = self.producers, self.consumers, self.faults
        _ = self.warmup, self.compares_replicas, self.self_test

    @property
    def _spec(self) -> Fields:
        return Fields(self.resolved_spec, "spec")

    @property
    def _partitions(self) -> dict[str, int]:
        return {item.name: item.partitions for item in self.topics}
