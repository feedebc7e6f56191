"""Takes the signatures out of the jars it is given.

Java verifies a signed jar's whole manifest, and each class against it, when it loads from it, and
keeps such classes out of class-data archives. Spark's code generator, Janino, is signed with a key
whose name is DUMMY: every driver and executor verified it for nothing, and loaded it slowly. That
these are the jars that were published is checked by their digests before, by uv and by Maven.
"""

import sys
import zipfile
from pathlib import Path, PurePosixPath

SIGNATURES = {".SF", ".DSA", ".RSA", ".EC"}
# As in class_path.py: Java compares the time of a jar with the one in the archive.
WRITTEN = (2020, 1, 1, 0, 0, 0)


def unsigned(name: str) -> bool:
    """Return whether this entry of a jar is no signature."""
    path = PurePosixPath(name)
    return path.parent.name != "META-INF" or path.suffix.upper() not in SIGNATURES


def main(jars: list[Path]) -> None:
    """Write each jar anew without its signatures.

    Raises:
        SystemExit: a jar was not signed, so somebody has to look whether this is still needed.
    """
    for jar in jars:
        with zipfile.ZipFile(jar) as old:
            entries = [(entry.filename, old.read(entry)) for entry in old.infolist()]
        kept = [entry for entry in entries if unsigned(entry[0])]
        if len(kept) == len(entries):
            sys.exit(f"{jar} is not signed: it need not be named here any more")
        fresh = jar.with_suffix(".unsigned")
        with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as new:
            for name, data in kept:
                entry = zipfile.ZipInfo(name, WRITTEN)
                entry.compress_type = zipfile.ZIP_DEFLATED
                new.writestr(entry, data)
        fresh.chmod(0o644)
        fresh.replace(jar)


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: unsign.py JAR...")
    main([Path(name) for name in sys.argv[1:]])
