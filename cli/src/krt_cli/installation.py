"""The installation of the controller, as its Deployment describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from krt_cli.errors import KubectlError
from krt_contract.labels import LABEL_COMPONENT, PRODUCT

if TYPE_CHECKING:
    from krt_cli.kubectl import Kubectl

SELECTOR: Final = f"app.kubernetes.io/part-of={PRODUCT},{LABEL_COMPONENT}=operator"
"""The labels that the chart gives the controller's Deployment, whatever the release is called."""

VERSION_LABEL: Final = "app.kubernetes.io/version"

OPERATOR: Final = "operator"
"""Component of the controller itself."""

OF_TESTS: Final = ("kafka", "kafka_kraft", "scoring", "traffic")
"""Components of a test whose images the controller has in its settings."""


@dataclass(frozen=True, slots=True)
class Controller:
    """The controller's Deployment.

    Attributes:
        body: the resource.
    """

    body: dict[str, Any]

    @property
    def name(self) -> str:
        """Namespace and name, joined by a slash."""
        meta = self.body["metadata"]
        return f"{meta['namespace']}/{meta['name']}"

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return str(self.body["metadata"]["namespace"])

    @property
    def version(self) -> str:
        """The version of the chart's application; empty if it has no such label."""
        return str((self.body["metadata"].get("labels") or {}).get(VERSION_LABEL, ""))

    @property
    def ready(self) -> bool:
        """Whether it runs."""
        return bool((self.body.get("status") or {}).get("readyReplicas"))

    @property
    def image(self) -> str:
        """Its image."""
        return str(self._container["image"])

    @property
    def pull_policy(self) -> str:
        """When a node pulls its image."""
        return str(self._container.get("imagePullPolicy", ""))

    @property
    def settings(self) -> dict[str, str]:
        """Its environment."""
        variables = self._container.get("env") or ()
        return {item["name"]: str(item.get("value", "")) for item in variables}

    @property
    def images(self) -> dict[str, str]:
        """Component → image of the pods of a test, and of the controller itself."""
        settings = self.settings
        images = {name: settings.get(f"KRT_IMAGE_{name.upper()}", "") for name in OF_TESTS}
        return {name: image for name, image in images.items() if image} | {OPERATOR: self.image}

    @property
    def _container(self) -> dict[str, Any]:
        containers: list[dict[str, Any]] = self.body["spec"]["template"]["spec"]["containers"]
        return containers[0]


def find_controllers(kubectl: Kubectl) -> list[Controller]:
    """Return the Deployments of the controller in the cluster.

    Raises:
        KubectlError: the user may not list them.
    """
    found = kubectl.get("deployments", "--all-namespaces", "--selector", SELECTOR)
    return [Controller(item) for item in found["items"]]


def find_controller(kubectl: Kubectl) -> Controller | None:
    """Return a Deployment of the controller; None where there is none or it cannot be listed."""
    try:
        return next(iter(find_controllers(kubectl)), None)
    except KubectlError:
        return None
