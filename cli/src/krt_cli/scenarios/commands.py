"""The commands of ``krt scenarios``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from krt_cli.errors import ExitWithCode
from krt_cli.options import new_console
from krt_cli.scenarios import pages
from krt_cli.scenarios.catalogue import Mode, Modes, Scenario, in_modes, scenarios
from krt_cli.scenarios.check import Selection
from krt_cli.scenarios.check import check as check_runs
from krt_cli.scenarios.matrix import is_of_matrix
from krt_cli.scenarios.places import Places, default_state
from krt_cli.scenarios.results import read, stored_count
from krt_cli.scenarios.runner import Runner, tasks

app = typer.Typer(
    no_args_is_help=True,
    help="Run the scenarios of manifests/scenarios and read their results.",
)
results = typer.Typer(no_args_is_help=True, help="Read, check and keep results of scenarios.")
app.add_typer(results, name="results")

Names = Annotated[
    list[str] | None, typer.Argument(metavar="NAME", help="Scenarios; all if none is given.")
]
ModesOption = Annotated[
    Modes,
    typer.Option(
        "--mode",
        help="Where the clusters keep their metadata. A scenario of ZooKeeper mode that does not "
        "speak of ZooKeeper is turned into one of KRaft mode.",
    ),
]


@app.callback()
def _places(
    context: typer.Context,
    manifests: Annotated[Path, typer.Option(help="Folder of the scenarios.")] = Path(
        "manifests/scenarios"
    ),
    docs: Annotated[
        Path, typer.Option(help="Folder of the table of results and of results/, its data.")
    ] = Path("docs/scenarios"),
    state: Annotated[
        Path | None,
        typer.Option(
            help="State folder of the cluster, with the stored runs; if not given, that of the "
            "cluster KRT_CLUSTER below KRT_STATE (~/.local/state/krt)."
        ),
    ] = None,
) -> None:
    context.obj = Places(manifests, docs, state or default_state())


@app.command()
def run(  # noqa: PLR0913 - the options of a command
    context: typer.Context,
    names: Names = None,
    *,
    mode: ModesOption = Modes.ZOOKEEPER,
    repeat: Annotated[int, typer.Option(min=1, help="Results to have of each scenario.")] = 1,
    rerun: Annotated[
        bool, typer.Option("--rerun", help="Do that many runs more, whatever is stored.")
    ] = False,
    parallel: Annotated[
        int,
        typer.Option(
            min=1,
            help="Scenarios to run in parallel, each in its own namespace. The next one starts "
            "when the one before has injected its first fault.",
        ),
    ] = 1,
    minutes: Annotated[
        float, typer.Option(envvar="KRT_SCENARIO_MINUTES", help="How long one run may take.")
    ] = 20.0,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Write no results into the documents; end with exit code 1 unless every stored "
            "run (with --rerun: every run made now) met what is expected.",
        ),
    ] = False,
    matrix: Annotated[
        bool,
        typer.Option("--matrix", help="Only the scenarios that fill the durability matrix."),
    ] = False,
    list_only: Annotated[
        bool, typer.Option("--list", help="Print what is stored and requested; run nothing.")
    ] = False,
) -> None:
    """Run scenarios on the cluster of the current context, and keep their results.

    A run that is stored with the same manifest and the same images is not done again, so an
    interrupted command continues where it stopped. Exit code: 0, with --check 1 where an
    expectation was not met, 4 where the command could not run.
    """
    places: Places = context.obj
    console = new_console(stderr=not (check or list_only))
    written = scenarios(places.manifests, names or ())
    if matrix:
        written = [item for item in written if is_of_matrix(item)]
    chosen = in_modes(written, mode, named=bool(names))
    if list_only:
        for item in chosen:
            stored = stored_count(places.store, item.id, item.key(places.images))
            requested = stored + repeat if rerun else repeat
            modes = ", ".join(one.mode for one in item.in_every_mode())
            console.print(f"{item.id} {stored} stored, {requested} requested; modes: {modes}")
        return
    todo = tasks(chosen, places, repeat=repeat, rerun=rerun)
    progress = new_console(stderr=True)
    progress.print(f"{len(todo)} runs to do; results are stored in {places.store.folder}")
    runner = Runner(places, progress, minutes)
    runner.run(todo, parallel)
    if not check:
        _keep(places, progress)
        return
    if rerun:
        selections = [_selection(places, task.scenario, runner.stored[task]) for task in todo]
    else:
        selections = [_selection(places, item) for item in chosen]
    _check(places, selections, console)


@app.command()
def manifest(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The scenario.")],
    *,
    mode: Annotated[Mode, typer.Option(help="The metadata mode of the cluster.")] = Mode.ZOOKEEPER,
) -> None:
    """Print the resource of a scenario in one mode, for kubectl apply --filename -."""
    places: Places = context.obj
    (item,) = in_modes(scenarios(places.manifests, [name]), Modes(mode), named=True)
    typer.echo(item.manifest(), nl=False)


@results.command("check")
def check_results(
    context: typer.Context, names: Names = None, *, mode: ModesOption = Modes.ZOOKEEPER
) -> None:
    """Print the stored runs of scenarios; exit code 1 unless every one met what is expected.

    Stored runs of the manifest as it is now and with the images as they are now.
    """
    places: Places = context.obj
    chosen = in_modes(scenarios(places.manifests, names or ()), mode, named=bool(names))
    _check(places, [_selection(places, item) for item in chosen], new_console())


@results.command()
def outcome(
    folder: Annotated[Path, typer.Argument(exists=True, help="Folder of one stored run.")],
) -> None:
    """Print one stored run in a line."""
    new_console().print(read(folder).summary(), markup=False)


@results.command()
def keep(context: typer.Context) -> None:
    """Take stored runs into docs/scenarios/results and write the table of all scenarios."""
    _keep(context.obj, new_console(stderr=True))


@results.command("pages")
def write_pages(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option(help="Folder for the page of each scenario; its pages are replaced.")
    ] = Path("build/docs/scenarios"),
) -> None:
    """Write the table and the page of each scenario from docs/scenarios/results alone."""
    places: Places = context.obj
    every = scenarios(places.manifests)
    count = pages.write(every, places.archive, out)
    _write(places, every)
    new_console(stderr=True).print(f"{count} of {len(every)} scenarios written to {out}")


def _selection(places: Places, scenario: Scenario, uid: str | None = None) -> Selection:
    return Selection(scenario.id, scenario.key(places.images), uid)


def _check(places: Places, selections: list[Selection], console: Console) -> None:
    if not check_runs(places.store, selections, console):
        console.print(f"not every run met what is expected; see {places.store.folder}")
        raise ExitWithCode(1)


def _write(places: Places, every: list[Scenario]) -> None:
    places.table.write_text(pages.table(every, places.archive), encoding="utf-8")
    places.matrix.write_text(pages.matrix(every, places.archive), encoding="utf-8")
    places.modes.write_text(pages.modes(every, places.archive), encoding="utf-8")


def _keep(places: Places, console: Console) -> None:
    every = scenarios(places.manifests)
    variants = [variant for item in every for variant in item.in_every_mode()]
    runs = {item.id: places.archive.merge(item, places.store) for item in variants}
    outdated = sum(places.store.outdated(item.id) for item in variants)
    if outdated:
        console.print(
            f"{outdated} stored runs left out: their scorecards are of an earlier schemaVersion; "
            "run the scenarios again"
        )
    ids = {item for item, found in runs.items() if found}
    if not ids:
        console.print(f"no scenario has been run; nothing written to {places.docs}")
        return
    places.archive.prune(ids)
    _write(places, every)
    count = len({item.name for item in variants if item.id in ids})
    console.print(f"{count} of {len(every)} scenarios written to {places.docs}")
