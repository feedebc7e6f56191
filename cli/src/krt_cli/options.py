"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Name = Annotated[str, typer.Argument(help="Name of the KafkaResilienceTest.")]

Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", help="Namespace; that of the context if not given."),
]

Context = Annotated[str | None, typer.Option(help="Context of the kubeconfig file.")]

Kubeconfig = Annotated[
    Path | None, typer.Option(help="Kubeconfig file; KUBECONFIG as for kubectl if not given.")
]

Evidence = Annotated[
    Path | None,
    typer.Option(
        envvar="KRT_EVIDENCE",
        help="Folder on this machine that holds the evidence volumes, to print the paths of "
        "evidence and report; hack/env sets KRT_EVIDENCE for the kind cluster.",
    ),
]
