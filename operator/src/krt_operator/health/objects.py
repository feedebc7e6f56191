"""What Kubernetes objects say about themselves, read the same way by phases and faults. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krt_operator.engine.ports import Json


def condition(obj: Json, type_: str, status: str = "True") -> Json | None:
    """The object's condition of this type, such as Ready, where its status is this."""
    for one in obj.get("status", {}).get("conditions") or []:
        if one["type"] == type_ and one["status"] == status:
            found: Json = one
            return found
    return None
