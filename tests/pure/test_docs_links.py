"""A reader who starts at the README gets to every page of docs/, and no link of ours is dead."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links(page: Path) -> list[tuple[Path, str]]:
    """The file and the heading that each link of a page to a file of ours leads to."""
    found = []
    for address in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in address:
            name, _, anchor = address.partition("#")
            found.append(((page.parent / name).resolve() if name else page, anchor))
    return found


def anchors(page: Path) -> set[str]:
    """What a heading is called in an address."""
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in HEADING.findall(page.read_text(encoding="utf-8"))}


def test_every_link_leads_somewhere() -> None:
    dead = [f"{page.name}: {target.name}#{anchor}"
            for page in (README, *PAGES) for target, anchor in links(page)
            if not target.exists() or (anchor and anchor not in anchors(target))]
    assert not dead, "\n".join(dead)


def test_the_readme_names_every_page() -> None:
    named = {target for target, _ in links(README)}
    assert [page.name for page in PAGES if page not in named] == []
