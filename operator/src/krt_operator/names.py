"""The names of a run's objects: deterministic, so that every pass finds what an earlier one made.

The test's name is a DNS label of at most 30 characters, which the CRD enforces.
"""

from __future__ import annotations

from krt_contract.labels import LABEL_TEST_UID


def of_member(test: str, member_name: str) -> str:
    """The StatefulSet, Service and ConfigMap of a member."""
    return f"{test}-{member_name}"


def member_pod(test: str, member_name: str) -> str:
    """The one pod of a member's StatefulSet."""
    return f"{test}-{member_name}-0"


def member_claim(test: str, member_name: str) -> str:
    """A member's volume claim."""
    return f"{test}-{member_name}-data"


def host(test: str, member_name: str, namespace: str) -> str:
    """A member's address inside the cluster, without the cluster's domain."""
    return f"{test}-{member_name}.{namespace}.svc"


def peers(member_name: str) -> str:
    """Name of the Service through which the other brokers reach a broker: `kafka-0-peers`."""
    return f"{member_name}-peers"


def producer_pod(test: str, producer: str, replica: int) -> str:
    """The pod of replica `replica` of the producer with that name."""
    return f"{test}-producer-{producer}-{replica}"


def consumer_pod(test: str, consumer: str, replica: int) -> str:
    """The pod of replica `replica` of the consumer with that name."""
    return f"{test}-consumer-{consumer}-{replica}"


def recorder_pod(test: str) -> str:
    """The recorder's pod."""
    return f"{test}-recorder"


def plan(test: str) -> str:
    """The ConfigMap of the plan."""
    return f"{test}-plan"


def control(test: str) -> str:
    """The ConfigMap whose state traffic and recorder follow."""
    return f"{test}-control"


def store_secret(test: str, uid: str) -> str:
    """The Secret with the keys of the chart's object store; another run has another one."""
    return f"{test}-store-{uid[:8]}"


def store_ca(test: str) -> str:
    """The ConfigMap with the CAs of the chart's bucket."""
    return f"{test}-store-ca"


def member_secret(test: str, uid: str) -> str:
    """The Secret with the certificates of a secured cluster's members."""
    return f"{test}-kafka-members-{uid[:8]}"


def scripts(test: str) -> str:
    """The ConfigMap of the members' scripts and the executors' pod template."""
    return f"{test}-scripts"


def scorecard(test: str) -> str:
    """The ConfigMap the scoring job writes."""
    return f"{test}-scorecard"


def scoring_job(test: str, attempt: int) -> str:
    """The scoring Job of an attempt, counted from 1; also the executors' name prefix."""
    return f"{test}-scoring-{attempt}"


def fault_job(test: str, index: int, attempt: int) -> str:
    """The Job of an attempt at the fault with this index in spec.faults."""
    return f"{test}-fault-{index}-{attempt}"


def dump_job(test: str, member_name: str) -> str:
    """The Job that dumps the offsets of a broker's replicas."""
    return f"{test}-dump-{member_name}"


def network_policy(test: str, subject: str) -> str:
    """A NetworkPolicy: the subject is a component, or `default-deny` for all pods of the run."""
    return f"{test}-{subject}"


def preflight_pod(test: str, role: str) -> str:
    """The preflight's pods: role is `write` or `read`."""
    return f"{test}-preflight-{role}"


def run_labels(uid: str) -> dict[str, str]:
    """The selector of everything a run owns."""
    return {LABEL_TEST_UID: uid}
