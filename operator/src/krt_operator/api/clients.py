"""What producers and consumers have in common."""

from enum import StrEnum

from krt_operator.api.resources import Resources

MAX_REPLICAS = 8
"""Pods of one producer or consumer entry."""

TRAFFIC_RESOURCES = Resources.of(cpu="50m", memory="128Mi", limit="256Mi")
"""A traffic pod must not use more than 256 MiB."""


class Compression(StrEnum):
    """Compression of record batches."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"
