"""Every exception of the controller; the type is the retry decision.

Waiting is not an error: a phase that waits returns a delay. What is raised is one of

* `UserError`: the resource asks for what this cluster cannot give. Never retried; the test ends in
  phase Error with a condition naming the field and the remedy.
* `TransientError`: the API server, a broker or the network did not answer as it will later.
  Retried with a growing delay, counted, never ends a test by itself (the phase's deadline does).
* `ConflictError`: somebody else wrote the object since it was read. Read again at once.
* anything else: a defect. Logged with its traceback and retried, for a deployed fix must be able
  to take a running test over.
"""

from __future__ import annotations


class KrtError(Exception):
    """The root of what this package raises on purpose."""


class UserError(KrtError):
    """The resource cannot be run on this cluster as it is written.

    Attributes:
        reason: one CamelCase word for the condition, for example `TooFewZones`.
        field: the path in the resource, for example `spec.kafka.rack.zones`.
        message: what was found and what to do, as a sentence.
    """

    def __init__(self, reason: str, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.reason = reason
        self.field = field
        self.message = message


class TransientError(KrtError):
    """Something outside did not answer; the same call may succeed later."""


class ConflictError(TransientError):
    """An object changed since it was read (HTTP 409); read it again and decide anew."""


class RefusedError(KrtError):
    """The API server refused a call for what it says (HTTP 400, 403, 422).

    A defect or a missing right: repeating the same call does not mend it.
    """


class GoneError(KrtError):
    """The object with that uid is no longer there, so what was to be done to it cannot be."""
