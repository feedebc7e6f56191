"""What the driver asks Kubernetes for."""

from __future__ import annotations

from krt_scoring.engine.kubernetes_pods import ClusterSettings, settings


def test_executor_pod_with_a_large_heap_may_use_more_beyond_it() -> None:
    cluster = ClusterSettings(
        namespace="ns",
        pod="driver",
        pod_ip="10.0.0.1",
        image="image",
        pull_policy="Never",
        executors=2,
        pod_template="pod.yaml",
        prefix="t",
        executor_cpu="100m",
        driver_memory_mib=512,
        executor_memory_mib=1024,
    )
    asked = settings(cluster, "")
    assert asked["spark.executor.memory"] == "1024m"
    assert asked["spark.executor.memoryOverhead"] == "512m"
