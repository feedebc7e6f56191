"""The log of a topic that was there before must not have been cut below where the run began.

What lies below is not read. Records of the run that came to lie there would count as expired, and
what was found of the others rests on a log that lacks them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.inputs.reasons import PARTITION_ANOMALIES, Reason
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.inputs.recording import Recording


def check(recording: Recording) -> Iterator[Reason]:
    """Yield ``LogCutBelowBegin`` for each partition concerned."""
    for topic, partition in recording.below_begin:
        message = (
            f"the log was cut below {recording.run.begin(topic, partition)}, where the run began: "
            "records of others were lost, and records of the run may lie in their place, where "
            "nothing is read. Run the test again"
        )
        yield Reason(
            "evidence",
            "LogCutBelowBegin",
            f"{topic}-{partition}",
            message,
            PARTITION_ANOMALIES,
            Scope(partitions=((topic, partition),)),
        )
