"""The port that Prometheus scrapes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server

from krt_traffic.metrics.families import Sources

if TYPE_CHECKING:
    from krt_traffic.metrics.families import Source

log = logging.getLogger(__name__)


def serve(port: int, *sources: Source) -> None:
    """Serve the metrics of a pod at ``/metrics``, in threads of their own, until it ends.

    A port that cannot be listened on is logged and nothing else: a member without metrics loses no
    evidence.

    Args:
        port: where; 0: nowhere.
        sources: of the metrics; memory and processor time of the process are added.
    """
    if not port:
        return
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(Sources(*sources))
    try:
        start_http_server(port, registry=registry)
    except OSError as error:
        log.warning(
            "no metrics: port %d cannot be listened on (%s); this pod goes on without them. Find "
            "what else listens there, such as a sidecar of this pod",
            port,
            error.strerror or error,
        )
