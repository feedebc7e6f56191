"""The evidence of a recorded run, installed with the command: something to score at once."""

from __future__ import annotations

import json
import tarfile
from importlib import resources
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from krt_cli.evidence.folder import require_own
from krt_cli.evidence.results import BUNDLE

if TYPE_CHECKING:
    from pathlib import Path

NAME: Final = "leader-crash"
"""The test that was run, and the one folder of the archive."""


def unpack(folder: Path) -> None:
    """Make a bundle of the recorded evidence; what scoring wrote into it before may be there.

    Args:
        folder: becomes the bundle.

    Raises:
        CouldNotRunError: it holds something else.
    """
    packed = resources.files(__name__) / f"{NAME}.tar.gz"
    with packed.open("rb") as stream, tarfile.open(fileobj=stream) as archive:
        run = archive.extractfile(f"{NAME}/{BUNDLE.run_json.name}")
        if run is None:
            raise TypeError(f"{packed} is no archive of evidence")
        require_own(folder, json.load(run)["bundle"])
        for member in archive:
            source = archive.extractfile(member)
            if source is None:
                continue
            # Not `extractall`: Python 3.11.2 does not know its filter, and 3.12 asks for one.
            target = folder / PurePosixPath(member.name).relative_to(NAME)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read())
