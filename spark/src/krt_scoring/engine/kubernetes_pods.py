"""A session on Kubernetes: this pod as driver in client mode, and the executors it asks for."""

from __future__ import annotations

from dataclasses import dataclass

from krt_contract.spark_memory import overhead_mib

DRIVER_PORT = 7078
BLOCK_MANAGER_PORT = 7079


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Where the driver Job runs and what executors it asks for.

    Attributes:
        pull_policy: ``imagePullPolicy`` of the executors.
        executor_cpu: request, as Kubernetes writes it.
        driver_memory_mib, executor_memory_mib: heaps.
        registration_s: seconds to wait for every executor before starting with those there.
    """

    namespace: str
    pod: str
    pod_ip: str
    image: str
    pull_policy: str
    executors: int
    pod_template: str
    prefix: str
    executor_cpu: str
    driver_memory_mib: int
    executor_memory_mib: int
    registration_s: int = 120


AUTHENTICATED = {
    # On Kubernetes the driver generates a secret for each session and passes it to its executors in
    # their environment (_SPARK_AUTH_SECRET), in client mode, too.
    "spark.authenticate": "true",
    # The handshake then exchanges keys, and what is sent is encrypted, by AES in counter mode: with
    # AES/GCM of Spark 4.0.0 an executor never got its first answer (SPARK-56227).
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.saslFallback": "false",
}
"""Whoever reaches the driver's ports and does not know the secret is refused: its executors may
write to the evidence."""

PODS_ALONE = {
    # Executors get all of their configuration from the driver when they register.
    "spark.kubernetes.executor.disableConfigMap": "true",
    # In client mode there is no service, and executors have no claims of their own.
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
    "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
    "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
}
"""Spark then touches pods and no other objects, so the driver's role needs no right to others."""


def settings(cluster: ClusterSettings, java_flags: str) -> dict[str, str]:
    """Return the settings of driver and executors; ``java_flags`` are of the executors' JVMs."""
    account = "/var/run/secrets/kubernetes.io/serviceaccount"
    base = "spark.kubernetes"
    return {
        "spark.driver.host": cluster.pod_ip,
        "spark.driver.bindAddress": "0.0.0.0",  # noqa: S104 (a pod's own address is not known to bind)
        "spark.driver.port": str(DRIVER_PORT),
        "spark.driver.blockManager.port": str(BLOCK_MANAGER_PORT),
        "spark.blockManager.port": str(BLOCK_MANAGER_PORT),
        "spark.driver.memory": f"{cluster.driver_memory_mib}m",
        "spark.executor.instances": str(cluster.executors),
        "spark.executor.cores": "1",
        "spark.executor.memory": f"{cluster.executor_memory_mib}m",
        "spark.executor.memoryOverhead": f"{overhead_mib(cluster.executor_memory_mib)}m",
        "spark.executor.extraJavaOptions": java_flags,
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{cluster.registration_s}s",
        "spark.dynamicAllocation.enabled": "false",
        f"{base}.namespace": cluster.namespace,
        f"{base}.container.image": cluster.image,
        f"{base}.container.image.pullPolicy": cluster.pull_policy,
        f"{base}.driver.pod.name": cluster.pod,
        f"{base}.executor.podNamePrefix": cluster.prefix,
        f"{base}.executor.podTemplateFile": cluster.pod_template,
        f"{base}.executor.request.cores": cluster.executor_cpu,
        f"{base}.authenticate.caCertFile": f"{account}/ca.crt",
        f"{base}.authenticate.oauthTokenFile": f"{account}/token",
        # Executors are allocated in one batch without a pause between polls of the API.
        f"{base}.allocation.batch.size": str(cluster.executors),
        f"{base}.executor.deleteOnTermination": "true",
        **AUTHENTICATED,
        **PODS_ALONE,
    }
