"""``krt evidence`` and ``krt report``: evidence of a test, on this machine."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from krt_cli.browser import show_report
from krt_cli.errors import CouldNotRunError
from krt_cli.evidence import sums
from krt_cli.evidence.folder import remove_stale_ledgers, require_own
from krt_cli.evidence.place import place_of, read_plan
from krt_cli.evidence.reader import Wanted, reading
from krt_cli.evidence.results import REPORT, RESULTS
from krt_cli.evidence.transfer import RemoteBundle, copy, remote_files
from krt_cli.places import local_bundles
from krt_cli.resource import Test
from krt_cli.ticker import Ticker

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rich.console import Console

    from krt_cli.evidence.transfer import RemoteFile
    from krt_cli.kubectl import Kubectl

MEGABYTE: Final = 1_000_000


def evidence(
    kubectl: Kubectl, name: str, folder: Path, console: Console, *, image: str | None
) -> list[str]:
    """Copy all evidence of a test into a folder, verified by checksums.

    Args:
        kubectl: bound to the namespace of the test.
        name: of the test.
        folder: becomes the bundle; what is there already is not copied again. A file of a ledger
            that has another name by now, because it was still written before, is deleted.
        console: where the lines go.
        image: of the pod that reads the evidence; None for one that the test ran.

    Returns:
        The names of the files.

    Raises:
        CouldNotRunError: it could not be copied completely.
    """
    test = Test(kubectl.get("krt", name))
    require_own(folder, "/".join(test.identity))
    files = _fetch(kubectl, test, folder, console, image=image)
    remove_stale_ledgers(folder, {file.name for file in files})
    sums.write(folder, files)
    console.print(
        f"{len(files)} files, {sum(file.size for file in files) / MEGABYTE:.1f} MB, checksums "
        f"verified: {folder}",
        markup=False,
    )
    return [file.name for file in files]


def report(  # noqa: PLR0913 - what the command takes
    kubectl: Kubectl,
    name: str,
    folder: Path,
    console: Console,
    *,
    image: str | None,
    local: Path | None,
    show: bool,
) -> Path:
    """Copy the results of a test into a folder, and return the path of the report.

    Args:
        kubectl: bound to the namespace of the test.
        name: of the test.
        folder: where the files go.
        console: where the lines go.
        image: of the pod that reads the evidence; None for one that the test ran.
        local: the folder on this machine that holds the evidence volumes; None for none.
        show: open the report in a browser.

    Raises:
        CouldNotRunError: the test has no report, or it could not be copied.
    """
    test = Test(kubectl.get("krt", name))
    bundles = local_bundles(test, local)
    if bundles:
        folder.mkdir(parents=True, exist_ok=True)
        there = {result for result in RESULTS if (bundles[0] / result).is_file()}
        for result in there:
            shutil.copyfile(bundles[0] / result, folder / result)
    else:
        files = _fetch(kubectl, test, folder, console, image=image, names=RESULTS)
        there = {file.name for file in files}
    for result in set(RESULTS) - there:
        # Of an earlier run with the same name.
        (folder / result).unlink(missing_ok=True)
    path = folder / REPORT
    if not path.is_file():
        raise CouldNotRunError(
            f"the test {name} has no report (phase {test.status.get('phase', 'Pending')})",
            f"a test has one once it is scored; krt explain {name} says how it ended, and krt "
            "evidence copies what was recorded",
        )
    console.print(str(path), markup=False)
    if show:
        show_report(path, console)
    return path


def _fetch(  # noqa: PLR0913 - what is copied, from where and to where
    kubectl: Kubectl,
    test: Test,
    folder: Path,
    console: Console,
    *,
    image: str | None,
    names: Iterable[str] | None = None,
) -> list[RemoteFile]:
    namespace, name, uid = test.identity
    path = str((test.status.get("report") or {}).get("path") or f"{namespace}/{name}/{uid}")
    plan = read_plan(kubectl, name)
    wanted = Wanted(place_of(test, plan), path, tuple(names or ()), plan.get("images") or {})
    ticker = Ticker(console, f"reading {path} on the {wanted.place}")
    with ticker, reading(kubectl, test, wanted, image) as pod:
        bundle = RemoteBundle(kubectl, pod, path)
        there = remote_files(bundle)
        files = [file for file in there.values() if names is None or file.name in wanted.names]
        total = sum(file.size for file in files) / MEGABYTE
        folder.mkdir(parents=True, exist_ok=True)

        def received(count: int) -> None:
            ticker.show(f"copied {count / MEGABYTE:.1f} of {total:.1f} MB")

        copy(bundle, files, folder, received)
    return files
