"""Reasons that Kafka gives, and those of a cluster that somebody else runs."""

from __future__ import annotations

from typing import Final

from krt_contract.reasons.reason import Reason

KAFKA: Final = (
    Reason(
        "BrokerPodNotFound",
        "no pod, or several, of spec.kafkaRef.pods have the address that a broker advertises",
        "correct spec.kafkaRef.pods, or name a listener in spec.kafkaRef.bootstrapServers that "
        "advertises the addresses of the pods",
        appended=True,
    ),
    Reason(
        "BrokerPodsForbidden",
        "the controller has not been granted the pods of spec.kafkaRef.pods",
        "make the Role and the RoleBinding that the message names, or name the namespace in the "
        "chart value kafkaRef.podNamespaces",
        appended=True,
    ),
    Reason(
        "BrokerPodUnusable",
        "a pod of spec.kafkaRef.pods would not come back from a fault, or not with its data: it is "
        "not controlled by the manager that the test names, its container is not restarted, or it "
        "has no PersistentVolumeClaim; or it is not clear which of its containers runs Kafka",
        "name the manager of the pods in spec.kafkaRef.pods.manager or the container in "
        "spec.kafkaRef.pods.container, or use a cluster with persistent storage",
    ),
    Reason(
        "FaultUnsupported",
        "the cluster of spec.kafkaRef does not tell clients who the target of a fault is",
        "target a broker by another role, or use the action External",
    ),
    Reason(
        "GroupExists",
        "a group of the test exists on the cluster of spec.kafkaRef",
        "name another group, or delete it if nobody needs it",
    ),
    Reason(
        "KafkaAuthenticationFailed",
        "the cluster of spec.kafkaRef refuses the user, the password or the certificate of the "
        "clients, or its own certificate is not trusted, has expired or is of another host",
        "correct in spec.kafkaRef.security, or in the Secret, what the message names",
    ),
    Reason(
        "KafkaNotAuthorized",
        "Kafka does not grant the user of the test what it needs",
        "give the user the ACL that the message names; the guide to existing clusters lists all "
        "that a test needs",
    ),
    Reason(
        "KafkaUnreachable",
        "the controller, or a pod of the test, does not reach the brokers of spec.kafkaRef",
        "correct spec.kafkaRef.bootstrapServers: name a listener of the protocol that "
        "spec.kafkaRef.security says, whose addresses, and those that its brokers advertise, are "
        "reached from the namespace of the test and from that of the controller",
        appended=True,
    ),
    Reason(
        "NoSuchBroker",
        "the test expects something of a broker that the cluster of spec.kafkaRef does not have, "
        "or that is down when the test begins",
        "name one of the broker ids that the message lists, or start the broker",
    ),
    Reason(
        "PartitionsRefused",
        "Kafka refuses the number of partitions of a topic",
        "correct spec.topics[].partitions",
    ),
    Reason(
        "ReplicationFactorRefused",
        "Kafka refuses the replication factor of a topic",
        "lower replicationFactor, or raise spec.kafka.replicas",
    ),
    Reason(
        "SecretInvalid",
        "a Secret of spec.kafkaRef.security has a certificate, key, user or password that cannot "
        "be used: it does not parse, has expired, or has characters that clients do not take; or "
        "the Secret of the controller, from which it makes the credentials of spec.kafka.security, "
        "has been changed",
        "correct the key that the message names",
        appended=True,
    ),
    Reason(
        "SecretMissing",
        "a Secret of spec.kafkaRef.security does not exist in the namespace of the test, or lacks "
        "a key",
        "create the Secret, or name another one or another key",
    ),
    Reason(
        "SecretUnreadable",
        "the controller may not read a Secret of spec.kafkaRef.security, or its own Secret, from "
        "which it makes the credentials of spec.kafka.security",
        "add its name to the chart value kafkaRef.secretNames, or grant the controller's service "
        "account the right to get it in the namespace of the test; install chart and controller of "
        "one release for the right on the controller's own",
    ),
    Reason(
        "TooFewBrokers",
        "a topic has more replicas than the cluster of spec.kafkaRef has brokers",
        "lower its replicationFactor",
    ),
    Reason(
        "TopicConfigRefused",
        "Kafka refuses a setting of a topic",
        "correct the setting that the message names in spec.topics[].config",
    ),
    Reason(
        "TopicDeletionDisabled",
        "brokers delete no topics",
        "set delete.topic.enable to true on the brokers, or delete the topics of the test yourself",
    ),
    Reason(
        "TopicExists",
        "a topic of the test exists on the cluster of spec.kafkaRef",
        "name another topic, set adopt to use it as it is, or delete it if nobody needs it",
    ),
    Reason(
        "TopicNameRefused",
        "Kafka refuses the name of a topic",
        "choose another name",
    ),
    Reason(
        "TopicPolicyRefused",
        "the brokers' create.topic.policy forbids a topic",
        "change the topic or the policy",
    ),
    Reason(
        "TopicUnusable",
        "a topic that a test adopts is not there, is not as spec.topics says, or its settings or "
        "state would spoil the verdict",
        "do what the message says, or let the test create a topic of its own",
    ),
)
