"""Tables of Markdown, whatever stands in their cells."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 160


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    r"""The lines of a table.

    Example:
        >>> table(["a", "b"], [["1", "x|y"]])
        ['| a | b |', '| --- | --- |', '| 1 | x\\|y |']
    """
    return [_row(columns), _row(["---"] * len(columns)), *(_row(row) for row in rows)]


def quoted(text: str) -> str:
    r"""A text in quotation marks, on one line, and cut where it is long.

    Example:
        >>> quoted(" two\nlines")
        '"two lines"'
    """
    plain = " ".join(text.split())
    return f'"{plain if len(plain) <= LONGEST else plain[:LONGEST] + "..."}"'


def plain_line(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def _row(cells: Sequence[str]) -> str:
    plain = (" ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(plain)} |"
