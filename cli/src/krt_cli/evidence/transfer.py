"""Copies files out of the reader pod; each is complete and of the right checksum, or not there."""

from __future__ import annotations

import hashlib
import tarfile
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Final

from krt_cli.errors import CouldNotRunError, KubectlError
from krt_cli.evidence.reader import MOUNT
from krt_cli.evidence.results import BUNDLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from krt_cli.kubectl import Kubectl

CHUNK: Final = 1 << 20
ATTEMPTS: Final = 3
"""How often files are asked for whose transfer was cut."""

PARTIAL: Final = ".part"
"""Suffix of a file that is being received."""

LIST: Final = (
    'cd "$1" || exit 3; find . -type f ! -name "*.tmp" -printf "%s\\t%P\\n"; echo; '
    'find . -type f ! -name "*.tmp" -exec sha256sum -- {} +'
)
"""Prints size and name of each file, an empty line, checksum and name of each file."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of the evidence.

    Attributes:
        name: its path below the bundle.
        size: in bytes.
        digest: SHA-256, hexadecimal.
    """

    name: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class RemoteBundle:
    """A bundle as a reader pod sees it.

    Attributes:
        kubectl: bound to the namespace of the pod.
        pod: the reader.
        path: of the bundle on its volume.
    """

    kubectl: Kubectl
    pod: str
    path: str


def remote_files(bundle: RemoteBundle) -> dict[str, RemoteFile]:
    """Return the files of a bundle by name, with checksums that the pod computes.

    Raises:
        CouldNotRunError: the bundle is not on the claim, or no command can be executed.
    """
    try:
        listing = bundle.kubectl(
            *("exec", bundle.pod, "--", "sh", "-c", LIST, "sh", f"{MOUNT}/{bundle.path}")
        )
    except KubectlError as error:
        raise CouldNotRunError(
            f"the evidence {bundle.path} cannot be listed: {error}",
            "check that the claim is the one the test wrote to, and that you may create pods/exec "
            "(kubectl auth can-i create pods/exec)",
        ) from error
    head, _, tail = listing.partition("\n\n")
    sizes = {}
    for line in filter(None, head.splitlines()):
        size, _, name = line.partition("\t")
        sizes[name] = int(size)
    files = {}
    for line in tail.splitlines():
        digest, _, name = line.partition("  ")
        name = name.removeprefix("./")
        if name in sizes:
            files[name] = RemoteFile(name, sizes[name], digest.removeprefix("\\"))
    return files


def copy(
    bundle: RemoteBundle,
    files: Iterable[RemoteFile],
    folder: Path,
    received: Callable[[int], None],
) -> None:
    """Copy files of a bundle into a folder; those that are there already are not copied again.

    Args:
        bundle: to copy from.
        files: to copy.
        folder: where they go.
        received: is called with the number of bytes that are there now.

    Raises:
        CouldNotRunError: a file did not arrive unchanged.
    """
    # First run.json, which says whose evidence the folder holds: an interrupted copy goes on.
    first = BUNDLE.run_json.name
    requested = {file.name: file for file in sorted(files, key=lambda it: it.name != first)}
    missing = dict(requested)
    problem = ""
    for name, file in requested.items():
        target = folder / name
        if target.is_file() and target.stat().st_size == file.size:
            with target.open("rb") as handle:
                if hashlib.file_digest(handle, "sha256").hexdigest() == file.digest:
                    del missing[name]
    for _ in range(ATTEMPTS):
        if not missing:
            return
        done = sum(file.size for name, file in requested.items() if name not in missing)
        names = "".join(f"{name}\n" for name in missing)
        archive = ("tar", "-C", f"{MOUNT}/{bundle.path}", "-cf", "-", "--no-recursion", "-T", "-")
        try:
            command = ("exec", "--stdin", bundle.pod, "--", *archive)
            with bundle.kubectl.pipe(*command, stdin=names) as stream:
                _unpack(stream, missing, folder, done, received)
        except (KubectlError, tarfile.TarError, EOFError) as error:
            problem = f": {error}"
    if missing:
        raise CouldNotRunError(
            f"{len(missing)} files did not arrive with the checksum they have on the volume, "
            f"{min(missing)} first{problem}",
            "run the command again: it copies only what is missing; if the test is still running, "
            "wait for its end",
        )


def _unpack(
    stream: IO[bytes],
    missing: dict[str, RemoteFile],
    folder: Path,
    done: int,
    received: Callable[[int], None],
) -> None:
    """Take from ``missing`` each file that arrives with its checksum."""
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            name = str(PurePosixPath(member.name))
            # Nothing but the files that were asked for: an archive decides no path here.
            file = missing.get(name)
            source = archive.extractfile(member) if file and member.isreg() else None
            if file is None or source is None:
                continue
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_name(target.name + PARTIAL)
            digest = hashlib.sha256()
            with partial.open("wb") as output:
                while block := source.read(CHUNK):
                    output.write(block)
                    digest.update(block)
                    done += len(block)
                    received(done)
            if digest.hexdigest() == file.digest:
                partial.replace(target)
                del missing[name]
            else:
                partial.unlink()
