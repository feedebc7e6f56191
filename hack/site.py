"""Lays out the documents and everything they link to, so that mkdocs can build the site.

The layout is that of the repository, so every relative link works as it does there. A link to a
folder leads to a page that lists its files. Pages of the scenarios and their reports take the place
of the table in git, which has links to neither.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = Path("docs/scenarios")
BUILT = Path("build/docs/scenarios")
"""Where ``make docs`` writes pages and reports of the scenarios."""

OUT = Path("build/site-source")
START = Path("README.md")

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
EXTERNAL = re.compile(r"^[a-z][a-z0-9+.-]*:|^#")


def links(text: str) -> list[str]:
    """Return the relative links of a page, without anchors."""
    found = [target.partition("#")[0] for target in LINK.findall(CODE.sub("", text))]
    return [target for target in found if target and not EXTERNAL.match(target)]


def reachable(root: Path, start: Path) -> list[Path]:
    """Return every file and folder that can be reached from a page by links, relative to the root.

    Args:
        root: of the repository.
        start: the first page, relative to the root.

    Raises:
        FileNotFoundError: a link leads nowhere.
    """
    found: set[Path] = set()
    waiting = [start]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        if not (root / path).exists():
            raise FileNotFoundError(f"{path} is linked and does not exist")
        found.add(path)
        if (root / path).is_dir():
            waiting += [path / child.name for child in _files(root / path)]
        elif path.suffix == ".md":
            text = (root / path).read_text(encoding="utf-8")
            waiting += [_resolve(path, target) for target in links(text)]
    return sorted(found)


def lay_out(root: Path, out: Path) -> None:
    """Write the pages and files of the site.

    Args:
        root: of the repository, where the pages of the scenarios are built.
        out: folder for them; replaced.
    """
    shutil.rmtree(out, ignore_errors=True)
    for path in reachable(root, START):
        place = out / path
        if (root / path).is_dir():
            if not (root / path / "README.md").exists():
                place.mkdir(parents=True, exist_ok=True)
                (place / "index.md").write_text(_listing(root, path), encoding="utf-8")
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, place)
    for path in sorted((root / BUILT).rglob("*")):
        if path.is_dir():
            continue
        place = out / SCENARIOS / path.relative_to(root / BUILT)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            # One folder less lies above a page here than above the built one.
            text = path.read_text(encoding="utf-8").replace("](../../../", "](../../")
            place.write_text(text, encoding="utf-8")
        else:
            shutil.copyfile(path, place)


def _resolve(page: Path, target: str) -> Path:
    parts: list[str] = []
    for part in (page.parent / target).parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return Path(*parts)


def _files(folder: Path) -> list[Path]:
    return sorted(
        child for child in folder.iterdir() if child.is_file() and not child.name.startswith(".")
    )


def _listing(root: Path, folder: Path) -> str:
    lines = [f"- [{child.name}]({child.name})" for child in _files(root / folder)]
    return f"# {folder}\n\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    try:
        lay_out(ROOT, ROOT / OUT)
    except FileNotFoundError as error:
        sys.exit(f"hack/site.py: {error}")
