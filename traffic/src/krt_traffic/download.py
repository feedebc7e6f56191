"""``python -m krt_traffic.download BUNDLE FOLDER [NAME…]``: a bundle of the object store, as files.

For `krt evidence` and `krt report`: their pod copies the bundle, or the named files of it, into a
folder of its own, and is then read as one that mounts a claim.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from krt_contract.bundle import make_directory
from krt_contract.fetch import fetch
from krt_traffic.errors import UnusableError
from krt_traffic.evidence import require_store


def main(arguments: list[str] | None = None) -> int:
    """Copy the files and return the exit code: 0, or 1 where the store did not give all of them."""
    parser = argparse.ArgumentParser(prog="krt_traffic.download", description=__doc__)
    parser.add_argument("bundle", help="its key, NAMESPACE/NAME/UID")
    parser.add_argument("folder", type=Path, help="where the files go")
    parser.add_argument("names", nargs="*", help="files of the bundle; none: all of them")
    options = parser.parse_args(arguments)
    try:
        store = require_store(os.environ)
        if options.names:
            # A test that was not scored has none of its results, which is no error.
            make_directory(options.folder)
        fetch(store, options.bundle, options.folder, options.names or None)
    except (OSError, UnusableError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
