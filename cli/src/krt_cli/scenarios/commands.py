"""The commands of ``krt scenarios``."""

import typer

app = typer.Typer()
