"""Every exception of the controller; the type is the retry decision.

Waiting is not an error: a phase that waits returns a delay. What is raised is one of

* `UserError`: the resource asks for what this cluster cannot provide. Never retried; the test ends
  in phase Error with a condition naming the field and the remedy.
* `TransientError`: the API server, a broker or the network failed for now.
  Retried with a growing delay, counted, never ends a test by itself (the phase's deadline does).
* `ConflictError`: the object was changed since it was read. It is read again at once; conflicts in
  succession are retried with a growing delay, as any TransientError.
* `KafkaAccessError`: a TransientError, except before a run has begun.
* `KafkaUnreachableError`, `RefusedError`, `NameTakenError`, `KafkaDefectError`,
  `ResourceUnreadableError`: retried, too, because a broker may start, a quota be raised and a right
  be granted. The run ends if it lasts.
* `PlanUnreadableError`: nothing that the controller can wait for; the run ends.
* anything else: a defect. Logged with its traceback and retried, so that a fixed release can
  continue a running test.

Whatever a pass ends with is reported in the condition Reconciling (`krt_operator.phases.failure`).
"""

from __future__ import annotations


class KrtError(Exception):
    """Base of the exceptions that the controller raises on purpose."""


class UserError(KrtError):
    """The resource cannot be run on this cluster as it is written.

    Attributes:
        reason: one CamelCase word for the condition, for example `TooFewZones`.
        field: the path in the resource, for example `spec.kafka.rack.zones`.
        message: what is wrong and what to do about it, as a sentence.
    """

    def __init__(self, reason: str, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.reason = reason
        self.field = field
        self.message = message


class TransientError(KrtError):
    """A call failed; the same call may succeed later.

    Attributes:
        retry_after: seconds after which the server asked to be called again; 0: it did not.
    """

    def __init__(self, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class KafkaAccessError(TransientError):
    """The cluster of `spec.kafkaRef` refuses the controller, or a Secret to log in with is missing.

    In a run it is waited out as any TransientError; before the run has begun, it ends after
    REFERENCE_PATIENCE, so that a Secret that is created right after the test is found.

    Attributes:
        reason: one CamelCase word for the condition.
        field: the path in the resource.
    """

    def __init__(self, reason: str, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.reason = reason
        self.field = field


class KafkaUnreachableError(KrtError):
    """No broker of a cluster that somebody else runs answered before anything was built."""


class ConflictError(TransientError):
    """An object changed since it was read (HTTP 409); read it and decide again."""


class RefusedError(KrtError):
    """The API server refused a call for its content (HTTP 400, 403, 422).

    The cause is a defect or a missing right: repeating the call does not help.
    """


class NameTakenError(KrtError):
    """An object that somebody else has made has the name of one that the run needs."""


class KafkaDefectError(KrtError):
    """The Kafka client or a broker answered with an error that a correct call cannot cause."""


class PlanUnreadableError(KrtError):
    """The run's plan was written by another release of the controller."""


class ResourceUnreadableError(KrtError):
    """The resource does not fit this controller's models: the CRD is of another release."""


class GoneError(KrtError):
    """The object with that uid does not exist any more."""
