"""Every repository path and relative link that the documentation names exists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

GENERATED = ("docs/reference/resource.md",)
"""Rendered from the API, which names no path of the repository."""

FOLDERS = (
    "bench",
    "cli",
    "contract",
    "docs",
    "hack",
    "helm",
    "manifests",
    "operator",
    "spark",
    "tests",
    "traffic",
)
"""Top-level folders: a word that begins with one of them and a slash is a path."""

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(rf"(?<![\w/.:@~$-])((?:{'|'.join(FOLDERS)}|\.github)/[\w./*-]+)")
EXAMPLE = re.compile(r"^ *```diff\n.*?^ *```", re.DOTALL | re.MULTILINE)
"""A diff shows files that a reader is to add."""

HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def documents() -> list[Path]:
    """Return the Markdown files that people write."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = (name for name in listed.splitlines() if not name.startswith(GENERATED))
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    found: set[str] = set()
    for heading in HEADING.findall(CODE.sub("", text)):
        plain = re.sub(r"[^\w\s-]", "", re.sub(r"`", "", heading)).strip().lower()
        found.add(re.sub(r"\s", "-", plain))
    return found


def broken_links(page: Path, text: str) -> list[str]:
    """Return the relative links of a page whose file or heading does not exist."""
    broken = []
    for target in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            broken.append(target)
    return broken


def missing_paths(root: Path, text: str) -> list[str]:
    """Return the repository paths in a text that do not exist; ``*`` stands for any name."""
    words = (word.rstrip(".-") for word in PATH.findall(EXAMPLE.sub("", text)))
    return [word for word in words if not any(root.glob(word.rstrip("/")))]


def test_links_of_every_page_lead_somewhere() -> None:
    found = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in documents()
        for target in broken_links(page, page.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_paths_named_on_every_page_exist() -> None:
    found = [
        f"{page.relative_to(ROOT)}: {path}"
        for page in documents()
        for path in missing_paths(ROOT, page.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_list_of_decisions_names_every_record() -> None:
    folder = ROOT / "docs/decisions"
    listed = set(LINK.findall((folder / "README.md").read_text(encoding="utf-8")))
    assert listed == {record.name for record in folder.glob("[0-9]*.md")}


def test_documents_include_readme_and_concepts() -> None:
    names = {str(page.relative_to(ROOT)) for page in documents()}
    assert {"README.md", "CONTRIBUTING.md", "docs/concepts/scoring.md"} <= names


def test_link_to_a_missing_file_is_broken(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# A title: `x`\n")
    text = "[a](other.md) [b](gone.md) [c](https://example.org) [d](#here)\n## Here\n"
    page.write_text(text)
    assert broken_links(page, text) == ["gone.md"]


def test_link_to_a_missing_heading_is_broken(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# A title: `x`\n")
    text = "[a](other.md#a-title-x) [b](other.md#no-title) [c](#gone)"
    page.write_text(text)
    assert broken_links(page, text) == ["other.md#no-title", "#gone"]


def test_path_that_does_not_exist_is_missing(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/one.md").touch()
    text = "`docs/one.md`, docs/*.md. See docs/two.md, /etc/docs/none and example.org/docs/none"
    assert missing_paths(tmp_path, text) == ["docs/two.md"]


def test_path_in_an_example_diff_may_be_missing(tmp_path: Path) -> None:
    assert missing_paths(tmp_path, "```diff\n+++ docs/new.md\n```\n") == []
