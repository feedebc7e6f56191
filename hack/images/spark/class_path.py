"""Puts one jar into ``jars/`` that names all those in ``all-jars/``.

Spark starts Java with ``jars/*`` as class path, which Java expands in the order the file system
lists the folder: another one on every node. A class-data archive is only used where the class path
is the one it was made with, so there has to be exactly one order.
"""

import zipfile
from pathlib import Path

HOME = Path("/opt/krt/deps/pyspark")
# The longest line a manifest may have, less its line end (Java's jar file specification).
LINE = 70


def manifest(class_path: str) -> str:
    """Return a jar manifest with this class path, its lines folded as the format demands."""
    text = f"Class-Path: {class_path}"
    lines = [text[:LINE]]
    lines += [f" {text[i : i + LINE - 1]}" for i in range(LINE, len(text), LINE - 1)]
    return "\n".join(["Manifest-Version: 1.0", *lines, "", ""])


def main() -> None:
    """Write the jar."""
    jars, beside = HOME / "jars", HOME / "all-jars"
    jars.mkdir()
    class_path = " ".join(f"../{beside.name}/{jar.name}" for jar in sorted(beside.glob("*.jar")))
    with zipfile.ZipFile(jars / "classpath.jar", "w") as jar:
        # A fixed time: Java compares it with the one in the archive.
        entry = zipfile.ZipInfo("META-INF/MANIFEST.MF", (2020, 1, 1, 0, 0, 0))
        jar.writestr(entry, manifest(class_path))


if __name__ == "__main__":
    main()
