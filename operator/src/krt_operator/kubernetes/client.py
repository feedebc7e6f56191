"""The `Cluster` port on a real API server, and the calls that belong to the resource itself."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import tenacity

from krt_contract.labels import GROUP, KIND, FieldManager
from krt_operator.engine.ownership import has_same_owner, with_uid
from krt_operator.engine.progress import Eviction
from krt_operator.errors import ConflictError, GoneError, NameTakenError, RefusedError
from krt_operator.kubernetes.kinds import KINDS
from krt_operator.kubernetes.rest import NotFoundError, Rest, TooManyRequestsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_operator.engine.progress import Deletion
    from krt_operator.engine.views import Json

list_ = list
"""The builtin, which the method of that name hides inside the class."""

FIELD_MANAGER: Final = str(FieldManager.CONTROLLER)
"""The controller's field manager: server-side apply removes fields that are no longer rendered."""

APPLY: Final = "application/apply-patch+yaml"
STRATEGIC: Final = "application/strategic-merge-patch+json"
MERGE: Final = "application/merge-patch+json"

NO_DRY_RUN: Final = "does not support dry run"
"""In the refusal of a dry run that a webhook with side effects causes: it says nothing else."""

BUDGET: Final = "DisruptionBudget"
"""Cause in the HTTP 429 of an eviction that a disruption budget refused."""

UNDECIDED: Final = "is still being processed by the server."
"""End of that cause's message where the budget's status is outdated: try again."""

FINALIZER_ATTEMPTS: Final = 5
"""Attempts at removing a finalizer that meets a conflict: a controller that still runs writes the
status at most twice a second."""

PAGE: Final = 500
"""Objects per list call; a run has fewer than a hundred, all tests of a cluster may have more."""


class ApiCluster:
    """The API server bound to one namespace; see `Cluster` in `krt_operator.engine.ports`."""

    def __init__(self, rest: Rest, namespace: str, watched: Sequence[str] = ()) -> None:
        self._rest = rest
        self._namespace = namespace
        self._watched = watched

    def get(self, kind: str, name: str) -> Json | None:
        """The object, or None where there is none."""
        try:
            return self._object(self._rest.call("GET", self._path(kind, name)))
        except NotFoundError:
            return None

    def list(self, kind: str, labels: Mapping[str, str] | None = None) -> Sequence[Json]:
        """All objects of a kind that have the labels."""
        return self._list(self._path(kind), labels)

    def tests(self) -> Sequence[Json]:
        """Every KafkaResilienceTest in the namespaces that the controller watches."""
        kind = KINDS[KIND]
        return [
            test
            for namespace in self._watched or ("",)
            for test in self._list(kind.path(namespace), None)
        ]

    def _list(self, path: str, labels: Mapping[str, str] | None) -> Sequence[Json]:
        query = {"limit": str(PAGE)}
        if labels:
            query["labelSelector"] = ",".join(f"{k}={v}" for k, v in sorted(labels.items()))
        items: list_[Json] = []
        while True:
            page = self._rest.call("GET", path, query=query)
            items.extend(page.get("items") or [])
            token = page.get("metadata", {}).get("continue")
            if not token:
                return items
            query["continue"] = token

    def apply(self, obj: Json) -> Json:
        """Create the object, or change the one that has its uid or, without a uid, its owner.

        What exists is changed by server-side apply, forced: the controller owns every field that it
        renders. An apply would change an object of somebody else, too, so creating is a call of its
        own.
        """
        if "uid" in obj["metadata"]:
            return self._change(obj)
        found, created = self._create_or_get(obj)
        if created:
            return found
        if not has_same_owner(found, obj):
            name = f"{obj['kind']} {obj['metadata']['name']}"
            raise NameTakenError(f"{name} exists already and does not belong to the test")
        if obj["kind"] == "Pod":
            return found
        return self._change(with_uid(obj, found["metadata"]["uid"]))

    def _change(self, obj: Json) -> Json:
        name = obj["metadata"]["name"]
        query = {"fieldManager": FIELD_MANAGER, "force": "true", "fieldValidation": "Strict"}
        return self._object(
            self._rest.call(
                "PATCH", self._path(obj["kind"], name), query=query, body=obj, content_type=APPLY
            )
        )

    def create(self, obj: Json) -> Json:
        """Create; where the name is taken, the object that is there is returned unchanged."""
        found, _ = self._create_or_get(obj)
        return found

    def create_unread(self, obj: Json) -> None:
        """Create; where the name is taken, nothing."""
        query = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
        # Another answer than a conflict says that it is there.
        with contextlib.suppress(ConflictError):
            self._rest.call("POST", self._path(obj["kind"]), query=query, body=obj)

    def _create_or_get(self, obj: Json) -> tuple[Json, bool]:
        """The object, and whether it was created; one that has its name is left as it is."""
        query = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
        try:
            made = self._rest.call("POST", self._path(obj["kind"]), query=query, body=obj)
        except ConflictError:
            found = self.get(obj["kind"], obj["metadata"]["name"])
            if found is None:
                raise
            return found, False
        return self._object(made), True

    def check_create(self, obj: Json) -> None:
        """Ask whether an object would be created: admission runs, nothing is stored."""
        query = {"dryRun": "All", "fieldManager": FIELD_MANAGER}
        try:
            self._rest.call("POST", self._path(obj["kind"]), query=query, body=obj)
        except ConflictError:
            # It exists by now.
            return
        except RefusedError as error:
            if NO_DRY_RUN not in str(error):
                raise

    def delete(self, deletion: Deletion) -> bool:
        """Delete; False where the object was already gone or is not as the preconditions say.

        Raises:
            ConflictError: refused as a conflict, though the preconditions hold.
        """
        options: Json = {"propagationPolicy": "Background"}
        if deletion.uid is not None:
            options["preconditions"] = {"uid": deletion.uid}
            if deletion.resource_version:
                options["preconditions"]["resourceVersion"] = deletion.resource_version
        if deletion.grace_seconds is not None:
            options["gracePeriodSeconds"] = deletion.grace_seconds
        path = self._path(deletion.kind, deletion.name)
        try:
            self._rest.call("DELETE", path, body=options)
        except NotFoundError:
            return False
        except ConflictError:
            # A precondition failed: another object has the name by now, or this one has changed.
            # Where neither is so, it was not deleted: its caller must not take it for gone.
            if not deletion.resource_version and self._is_there(deletion):
                raise
            return False
        return True

    def _is_there(self, deletion: Deletion) -> bool:
        found = self.get(deletion.kind, deletion.name)
        return found is not None and deletion.uid in {None, found["metadata"]["uid"]}

    def evict(self, deletion: Deletion) -> Eviction:
        """Evict a pod by uid; its disruption budget may refuse."""
        options: Json = {"preconditions": {"uid": deletion.uid}}
        if deletion.grace_seconds is not None:
            options["gracePeriodSeconds"] = deletion.grace_seconds
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": deletion.name, "namespace": self._namespace},
            "deleteOptions": options,
        }
        path = KINDS["Pod"].path(self._namespace, deletion.name, "eviction")
        try:
            self._rest.call("POST", path, body=body)
        except NotFoundError:
            return Eviction()
        except ConflictError:
            if self._is_there(deletion):
                raise
            return Eviction()
        except TooManyRequestsError as error:
            refusal = error.causes.get(BUDGET, "")
            if not refusal or refusal.endswith(UNDECIDED):
                raise
            return Eviction(refused=refusal)
        return Eviction(evicted=True)

    def annotate_pod(self, pod: str, uid: str, annotations: Mapping[str, str]) -> None:
        """Annotate the pod with that uid, unless it is gone."""
        body = {"metadata": {"uid": uid, "annotations": dict(annotations)}}
        # Without a resourceVersion, only the uid can be in conflict.
        with contextlib.suppress(NotFoundError, ConflictError):
            self._rest.call("PATCH", self._path("Pod", pod), body=body, content_type=STRATEGIC)

    def add_ephemeral_container(
        self, pod: str, uid: str, container: Json, resource_version: str = ""
    ) -> Json:
        """Add an ephemeral container to the pod with that uid (and version), once by its name."""
        found = self.get("Pod", pod)
        if found is None or found["metadata"]["uid"] != uid:
            raise GoneError(f"pod {pod} with uid {uid} is gone")
        present = found["spec"].get("ephemeralContainers") or []
        if any(other["name"] == container["name"] for other in present):
            return found
        version = {"resourceVersion": resource_version} if resource_version else {}
        body = {"metadata": {"uid": uid} | version, "spec": {"ephemeralContainers": [container]}}
        path = KINDS["Pod"].path(self._namespace, pod, "ephemeralcontainers")
        try:
            return self._object(self._rest.call("PATCH", path, body=body, content_type=STRATEGIC))
        except NotFoundError as error:
            raise GoneError(f"pod {pod} with uid {uid} is gone") from error

    def read_test(self, name: str) -> Json | None:
        """The KafkaResilienceTest, fresh from the API server (quorum read)."""
        return self.get(KIND, name)

    def write_status(self, read: Json, status: Json) -> Json:
        """Replace the status subresource if the resource is still the one that was read.

        A merge patch would keep removed fields, so this is a PUT of the object as it was read,
        including its resourceVersion, with the status replaced.

        Args:
            read: the resource as the API server gave it.
            status: the whole new status.

        Returns:
            The resource as stored.

        Raises:
            ConflictError: the resource was changed since it was read.
            GoneError: the resource was deleted.
        """
        name = read["metadata"]["name"]
        path = KINDS[KIND].path(self._namespace, name, "status")
        query = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
        body = {**read, "status": status}
        try:
            return self._object(self._rest.call("PUT", path, query=query, body=body))
        except NotFoundError as error:
            raise GoneError(f"{KIND} {name} is gone") from error

    @tenacity.retry(
        retry=tenacity.retry_if_exception_type(ConflictError),
        stop=tenacity.stop_after_attempt(FINALIZER_ATTEMPTS),
        reraise=True,
    )
    def remove_finalizers(self, name: str) -> bool:
        """Remove the controller's finalizer from a test; False where there was none.

        Raises:
            ConflictError: the test was changed between reading and writing, each time.
            TransientError, RefusedError: a call failed.
        """
        found = self.get(KIND, name)
        if found is None:
            return False
        before = found["metadata"].get("finalizers") or []
        after = [finalizer for finalizer in before if not finalizer.startswith(f"{GROUP}/")]
        if before == after:
            return False
        version = found["metadata"]["resourceVersion"]
        body = {"metadata": {"resourceVersion": version, "finalizers": after}}
        try:
            self._rest.call("PATCH", self._path(KIND, name), body=body, content_type=MERGE)
        except NotFoundError:
            return False
        return True

    def emit(self, event: Json) -> None:
        """Create a core/v1 Event; one of its name is the same event and is left alone."""
        with contextlib.suppress(ConflictError):
            self._rest.call("POST", self._path("Event"), body=event)

    def _path(self, kind: str, name: str | None = None) -> str:
        return KINDS[kind].path(self._namespace, None if name is None else quote(name, safe=""))

    @staticmethod
    def _object(answer: Any) -> Json:
        if not isinstance(answer, dict):
            raise TypeError(f"the API server answered with {type(answer).__name__}, not an object")
        return answer
