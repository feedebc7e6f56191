"""The numbers of the controller that users cannot set, each with its unit and reason."""

from __future__ import annotations

from typing import Final

OUR_UID: Final = 10001
"""User of our images; any other user in group 0 works, too (OpenShift assigns its own)."""

CLIENT_ID: Final = "krt-operator"
"""What brokers and KRaft controllers call the controller in their logs and quotas."""

PEERS_PORT: Final = 9091
"""Port of traffic between brokers, open before the port for clients is."""
PROBE_PORT: Final = 9094
"""Port of a secured broker that only its own pod reaches, for its startup probe."""
QUORUM_PORT: Final = 2888
ELECTION_PORT: Final = 3888
DRIVER_PORT: Final = 7078
BLOCK_MANAGER_PORT: Final = 7079

HEAP_SHARE: Final = 0.5
"""Share of a member's memory limit that its JVM may use as heap; the rest is for its own memory and
for the page cache. At 768 MiB, a broker has 375 to 420 MiB resident at this project's rates, at 384
MiB a KRaft controller 185 MiB, at 320 MiB a ZooKeeper server 75 MiB (measured)."""

UNLIMITED_HEAP_MIB: Final = 384
"""MiB of heap of a member whose container has no memory limit: a broker's by default."""

ZOOKEEPER_CONNECT_MILLIS: Final = 60_000
"""Milliseconds a broker waits for ZooKeeper at its start. Members start together, and a broker that
gives up (after 18 s by default) is restarted with a back-off."""

TICK_SETTING: Final = "tickTime"
TICK_MILLIS: Final = 2000
"""Default tick in milliseconds, as in ZooKeeper's sample configuration."""

INTERNAL_REPLICAS: Final = 3
"""Replicas of __consumer_offsets and __transaction_state; all brokers where there are fewer."""

BUSY: Final = 1.0
"""Seconds between passes while objects are created, faults are open or consumers drain."""

CALM: Final = 2.0
"""Seconds between passes while a phase only waits."""

QUEUED_PAUSE: Final = 5.0
"""Seconds between passes of the test that is next in the queue, or is held back."""

QUEUED_FAR_BACK: Final = 15.0
"""Seconds between passes of a test further back, at most: within that time it sees spec.abort."""

TRAFFIC_GRACE: Final = 10
"""Grace period of a traffic pod in seconds, in which it writes its summary."""

IMAGE_PATIENCE: Final = 30.0
"""Seconds for which pulling an image may fail before the run ends with ImageUnpullable: most
failures of a registry are shorter, and kubelet has tried at least twice by then."""

PREFLIGHT_PATIENCE: Final = 90.0
"""Seconds until the evidence claim is bound, and from there until the preflight pods run:
a volume is provisioned, pods are scheduled, images are pulled."""

UNKNOWN_CLASS_PATIENCE: Final = 30.0
"""Seconds until a claim counts as waiting for its first consumer where the controller may not read
its class. A class that binds at once has mostly done so by then: a third of PREFLIGHT_PATIENCE."""

SHARING_PATIENCE: Final = 65.0
"""Seconds for two running preflight pods to see each other's file: an NFS client may cache a
directory listing for a minute (acdirmax)."""

SETTLED_APART: Final = 1.0
"""Least seconds between two equal readings of the log ends: longer than replica.fetch.wait.max.ms
(0.5 s), during which a high watermark still advances after the last write."""

RECORDER_PATIENCE: Final = 20.0
"""Seconds the recorder may take to close its files once the control state is Done."""

REPLICA_DUMP_GRACE: Final = 30.0
"""Seconds beyond the deadline of the dump Jobs until the controller goes on without them."""

SCORING_GRACE: Final = 30.0
"""Seconds beyond the deadline of the scoring Job until the controller gives it up."""

SCORING_ATTEMPTS: Final = 2
"""Attempts at scoring when the driver's pod was lost with its node. A failure of the driver itself
would happen again, so it is not retried."""

CLEANUP_PATIENCE: Final = 60.0
"""Seconds pods may take to terminate before the run finishes without them; the garbage collector
deletes them with the resource."""

RETRY_PATIENCE: Final = 30.0
"""Seconds for which requests may fail before the test reports it: an API server that is restarted,
or a webhook whose pod moves, is back within that time."""

REFERENCE_PATIENCE: Final = 30.0
"""Seconds in which a broker of a cluster that somebody else runs must answer. A failover takes less
(a ZooKeeper session of 18 s at most by default, 9 s in KRaft mode)."""

REFUSAL_PATIENCE: Final = 90.0
"""Seconds for which requests may be refused, or the resource be unreadable, before the run ends: a
test that ends frees its quota after CLEANUP_PATIENCE, and a change of rights, policies or of the
controller's release is effective sooner."""

CLEANUP_FAILURE_PATIENCE: Final = 600.0
"""Seconds for which the cleanup may fail before the run finishes without it: longer than an upgrade
of the API server, because what is left then stays until the test is deleted."""

CLOSING_PATIENCE: Final = 10.0
"""Seconds traffic and recorder have to close their files when a run ends early."""
