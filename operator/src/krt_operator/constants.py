"""Every number of the controller that is not the user's, with its unit and reason."""

from __future__ import annotations

from typing import Final

OUR_UID: Final = 10001
"""User of our images; any other in group 0 works too (OpenShift assigns one)."""

PEERS_PORT: Final = 9091
"""Where brokers talk to each other, and the controller to them, before clients may."""
QUORUM_PORT: Final = 2888
ELECTION_PORT: Final = 3888
DRIVER_PORT: Final = 7078
BLOCK_MANAGER_PORT: Final = 7079

KAFKA_HEAP_MIB: Final = 384
"""MiB of broker heap: 375 to 420 MiB resident at this project's rates (measured)."""

ZOOKEEPER_HEAP_MIB: Final = 128
"""MiB of ZooKeeper heap: 75 MiB resident with the serial collector (measured)."""

ZOOKEEPER_CONNECT_MILLIS: Final = 60_000
"""Milliseconds a broker waits for the quorum at its start; members start together, and a broker
that gives up (after 18 s by default) would restart and cost a back-off."""

TICK_SETTING: Final = "tickTime"
TICK_MILLIS: Final = 2000
"""Milliseconds of a ZooKeeper tick unless the resource says otherwise: ZooKeeper's own sample."""

INTERNAL_REPLICAS: Final = 3
"""Replicas of __consumer_offsets and __transaction_state, or all brokers where there are fewer."""

BUSY: Final = 1.0
"""Seconds between passes while something is being built, broken or drained."""

CALM: Final = 2.0
"""Seconds between passes while a phase only watches."""

QUEUED: Final = 5.0
"""Seconds between passes of a test that waits for its turn."""

TRAFFIC_GRACE: Final = 10
"""Seconds a traffic pod has to write its close record when it is deleted."""

IMAGE_PATIENCE: Final = 30.0
"""Seconds an image may fail to be pulled before it is called unpullable: a registry's hiccup is
shorter, and kubelet has tried at least twice by then."""

PREFLIGHT_PATIENCE: Final = 90.0
"""Seconds until the evidence claim is bound, and until the preflight pods run once they exist:
a volume is made, pods are scheduled, images pulled."""

SHARING_PATIENCE: Final = 65.0
"""Seconds for two running preflight pods to see each other's file: an NFS client may keep a listing
for a minute (acdirmax)."""

SETTLED_APART: Final = 1.0
"""Seconds at least between two equal readings of the log ends: longer than replica.fetch.wait
(0.5 s), in which a high watermark still moves after the last write."""

RECORDER_PATIENCE: Final = 20.0
"""Seconds the recorder may take to close its files after it was told that all is over."""

COMPARISON_GRACE: Final = 30.0
"""Seconds beyond the dump Jobs' own deadline until the controller goes on without them."""

SCORING_GRACE: Final = 30.0
"""Seconds beyond the Job's own deadline until the controller gives scoring up."""

SCORING_ATTEMPTS: Final = 2
"""Times scoring is tried when the driver's pod was lost with its node; what the driver itself
says, a second attempt would say again."""

CLEANUP_PATIENCE: Final = 60.0
"""Seconds pods may take to go before the run is called over without them; the garbage collector
has their owner when the resource goes."""

FAREWELL: Final = 10.0
"""Seconds traffic and recorder have to close their files when a run is cut short."""
