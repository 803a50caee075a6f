"""Reads the comment block at the top of a kernel: its bindings, sizes, dispatch and oracle.

The header is the source of truth (docs/architecture.md): the recorder takes shapes and usages from
it, the tests take random inputs and oracles from it, and `gpu/kernels.py` checks the WGSL below it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tabgrad.errors import KernelError
from tabgrad.gpu.expressions import Expression

Number = int | float
DTYPES = ("f32", "u32", "i32")
STORED = "stored"  # a binding's dtype: f32, or 16 bits; the const of the same name says which
MAX_BINDINGS = 8  # storage buffers that every WebGPU adapter allows in one stage
NAME = r"[A-Za-z][A-Za-z0-9_]*"
NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
MARK = (rf"(<\s*(\w+|\([^()]*\))|positive\b|within\s+({NUMBER})\s+({NUMBER})|accumulate\b|"
        r"updated\b|sorted\b)\s*")


@dataclass(frozen=True)
class Binding:
    """One storage buffer of a kernel.

    Attributes:
        index: the number in `@binding`.
        access: `read` or `read_write`.
        dtype: `f32`, `u32`, `i32`, or `stored`: weights as the const STORED says.
        shape: one expression per axis.
        bound: random whole numbers stay below this (`< V`), or None.
        positive: random numbers must be above zero.
        within: random numbers lie between these two, or None.
        accumulate: added to when the size ACCUMULATE is 1, written when it is 0.
        updated: always read and written in place.
        sorted: random numbers do not fall along the last axis.
    """

    index: int
    name: str
    access: str
    dtype: str
    shape: tuple[Expression, ...]
    bound: Expression | None
    positive: bool
    within: tuple[float, float] | None
    accumulate: bool
    updated: bool
    sorted: bool
    meaning: str

    @property
    def is_input(self) -> bool:
        """Whether the old contents can matter, so that an oracle gets them."""
        return self.access == "read" or self.accumulate or self.updated

    @property
    def is_output(self) -> bool:
        """Whether the kernel writes it."""
        return self.access == "read_write"


@dataclass(frozen=True)
class Size:
    """A WGSL `override`, given when the pipeline is made."""

    name: str
    dtype: str
    meaning: str


@dataclass(frozen=True)
class Const:
    """A WGSL `const` that the composer writes, because WGSL wants a constant expression."""

    name: str
    dtype: str
    default: Number
    meaning: str


@dataclass(frozen=True)
class Oracle:
    """The NumPy function that says what a kernel computes, and how near it must come."""

    module: str
    function: str
    rtol: float
    atol: float


@dataclass
class Header:
    """What a header says, line by line."""

    file: str
    summary: str = ""
    bindings: list[Binding] = field(default_factory=list)
    sizes: list[Size] = field(default_factory=list)
    consts: list[Const] = field(default_factory=list)
    dispatch: tuple[Expression, ...] = ()
    oracle: Oracle | None = None
    checks: list[dict[str, Number]] = field(default_factory=list)
    uses: tuple[str, ...] = ()
    needs: tuple[str, ...] | None = None
    lines: dict[str, int] = field(default_factory=dict)


def fail(file: str, line: int, problem: str, *, expected: str | None = None,
         received: str | None = None) -> KernelError:
    """A KernelError that names the file and the line."""
    return KernelError(f"{file}:{line}: {problem}", expected=expected, received=received)


def parse_number(text: str) -> Number:
    """A whole number where the text is one, else a float."""
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


def _split(text: str) -> tuple[str, str]:
    """`"(a, ceil(b / c)) rest"` -> `("a, ceil(b / c)", "rest")`."""
    if not text.startswith("("):
        raise ValueError("a tuple in parentheses is missing")
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:position], text[position + 1:].strip()
    raise ValueError("a closing parenthesis is missing")


def _tuple(text: str) -> tuple[Expression, ...]:
    return tuple(Expression(part.strip()) for part in text.split(","))


def _binding(header: Header, text: str) -> None:
    match = re.match(rf"(\d+)\s+({NAME})\s+(read_write|read)\s+(\w+)\s+(?=\()", text)
    if not match:
        raise ValueError("a binding reads `binding I NAME ACCESS DTYPE (SHAPE)  meaning`")
    index, name, access, dtype = match.groups()
    if dtype not in (*DTYPES, STORED):
        raise ValueError(f"the dtype {dtype} is not one of {', '.join((*DTYPES, STORED))}")
    if dtype == STORED and access != "read":
        raise ValueError(f"{name} is stored, so it can only be read")
    shape, rest = _split(text[match.end():])
    bound, within, marks = None, None, set()
    while mark := re.match(MARK, rest):
        if mark[2]:
            bound = Expression(mark[2])
        if mark[3]:
            within = float(mark[3]), float(mark[4])
        marks.add(mark[1])
        rest = rest[mark.end():]
    if access == "read" and marks & {"accumulate", "updated"}:
        raise ValueError(f"{name} is only read, so it cannot be accumulated or updated")
    header.bindings.append(Binding(
        int(index), name, access, dtype, _tuple(shape), bound, "positive" in marks,
        within, "accumulate" in marks, "updated" in marks, "sorted" in marks, rest))


def _size(header: Header, text: str) -> None:
    match = re.fullmatch(rf"({NAME})\s+(\w+)(?:\s+(.*))?", text)
    if not match or match[2] not in DTYPES:
        raise ValueError("a size reads `size NAME DTYPE meaning`")
    header.sizes.append(Size(match[1], match[2], match[3] or ""))


def _const(header: Header, text: str) -> None:
    match = re.fullmatch(rf"({NAME})\s+(\w+)\s+({NUMBER})(?:\s+(.*))?", text)
    if not match or match[2] not in DTYPES:
        raise ValueError("a const reads `const NAME DTYPE DEFAULT meaning`")
    header.consts.append(Const(match[1], match[2], parse_number(match[3]), match[4] or ""))


def _dispatch(header: Header, text: str) -> None:
    inside, _ = _split(text)
    header.dispatch = _tuple(inside)
    if len(header.dispatch) != 3:
        raise ValueError("a dispatch has three numbers of workgroups")


def _oracle(header: Header, text: str) -> None:
    pattern = rf"(reference(?:\.{NAME})+)\.({NAME})\s+rtol\s+({NUMBER})\s+atol\s+({NUMBER})"
    match = re.fullmatch(pattern, text)
    if not match:
        raise ValueError("an oracle reads `oracle reference.MODULE.FUNCTION rtol R atol A`")
    header.oracle = Oracle(match[1], match[2], float(match[3]), float(match[4]))


def _check(header: Header, text: str) -> None:
    values: dict[str, Number] = {}
    for word in text.split():
        match = re.fullmatch(rf"({NAME})=({NUMBER})", word)
        if not match or match[1] in values:
            raise ValueError(f"a check gives each size once as NAME=VALUE, not {word!r}")
        values[match[1]] = parse_number(match[2])
    header.checks.append(values)


def _words(text: str) -> tuple[str, ...]:
    words = tuple(word for word in re.split(r"[,\s]+", text) if word and word != "-")
    for word in words:
        if not re.fullmatch(r"[a-z][a-z0-9_-]*", word):
            raise ValueError(f"{word!r} is not a name")
    return words


def _uses(header: Header, text: str) -> None:
    header.uses += _words(text)


def _needs(header: Header, text: str) -> None:
    header.needs = _words(text)


DIRECTIVES: dict[str, Callable[[Header, str], None]] = {
    "binding": _binding, "size": _size, "const": _const, "dispatch": _dispatch,
    "oracle": _oracle, "check": _check, "uses": _uses, "needs": _needs}
ONCE = ("dispatch", "oracle", "needs")


def parse_header(text: str, file: str) -> Header:
    """The header of a kernel's source.

    Prose comes first, then one directive a line; after a bare `//` there may be notes.

    Args:
        text: the complete WGSL source.
        file: what errors call it.

    Raises:
        KernelError: a line that is not a directive, or not well formed; names file and line.
    """
    header = Header(file)
    prose: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("//"):
            break
        content = line[2:].strip()
        word, _, rest = content.partition(" ")
        if not header.bindings and word != "binding":
            prose.append(content)
            continue
        if not content:
            break
        if word not in DIRECTIVES:
            raise fail(file, number, f"{word!r} is not a header directive.",
                       expected=", ".join(DIRECTIVES), received=content[:80])
        if word in ONCE and word in header.lines:
            raise fail(file, number, f"a second {word} line.")
        try:
            DIRECTIVES[word](header, rest.strip())
        except ValueError as error:
            raise fail(file, number, f"{error}.", received=content[:80]) from error
        header.lines[word] = header.lines.get(word, number)
    header.summary = " ".join(part for part in prose if part)
    return header
