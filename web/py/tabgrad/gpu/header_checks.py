"""Checks a kernel's header for sense, and against the WGSL declarations below it."""

from __future__ import annotations

import re

from tabgrad.gpu.expressions import Expression
from tabgrad.gpu.headers import MAX_BINDINGS, STORED, Header, fail

BINDING = re.compile(
    r"@group\(\s*(\d+)\s*\)\s*@binding\(\s*(\d+)\s*\)\s*var\s*<\s*(\w+)\s*(?:,\s*(\w+)\s*)?>"
    r"\s*(\w+)\s*:\s*([^;]+);")
OVERRIDE = re.compile(r"(?:@id\(\d+\)\s*)?\boverride\s+(\w+)\s*:\s*(\w+)")
CONST = re.compile(r"^\s*const\s+(\w+)", re.MULTILINE)
ENTRY = re.compile(r"@compute[^{]*?\bfn\s+(\w+)", re.DOTALL)
ELEMENTS = {"f": "f32", "u": "u32", "i": "i32"}


def _line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _without_comments(text: str) -> str:
    """The code with comments blanked, so that positions and lines stay."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text,
                  flags=re.DOTALL)


def _element(declared: str) -> str:
    """The scalar type in `array<vec4<f32>>`, `array<vec4f, 8>`, `array<atomic<u32>>`.

    It is `stored` in `array<stored4>`, `array<stored_word>` and `array<stored_block>`.
    """
    if re.search(r"\bstored(4|_word|_block)\b", declared):
        return STORED
    short = re.search(r"\bvec[234]([fui])\b", declared)
    if short:
        return ELEMENTS[short[1]]
    plain = re.search(r"\b(f32|u32|i32)\b", declared)
    return plain[1] if plain else declared.strip()


def check_header(header: Header, text: str, name: str) -> None:
    """Checks everything that can be known without a GPU.

    Args:
        header: the parsed header.
        text: the file's whole text.
        name: the file's stem.

    Raises:
        KernelError: names the file, the line, and both sides of the contradiction.
    """
    code = _without_comments(text)
    _check_complete(header)
    _check_bindings(header)
    _check_expressions(header)
    _check_checks(header)
    _check_declared_bindings(header, code)
    _check_declared_sizes(header, code)
    entries = [(match[1], _line_of(code, match.start(1))) for match in ENTRY.finditer(code)]
    if [entry for entry, _ in entries] != [name]:
        raise fail(header.file, entries[0][1] if entries else 1,
                   "one entry point, named like the file, is needed.", expected=name,
                   received=", ".join(entry for entry, _ in entries) or "none")


def _check_complete(header: Header) -> None:
    if not header.summary:
        raise fail(header.file, 1, "the first line must say what the kernel computes.")
    for word in ("binding", "dispatch", "oracle", "check", "needs"):
        if word not in header.lines:
            raise fail(header.file, 1, f"the header has no {word} line.")


def _check_bindings(header: Header) -> None:
    line = header.lines["binding"]
    if [binding.index for binding in header.bindings] != list(range(len(header.bindings))):
        raise fail(header.file, line, "bindings are numbered 0, 1, 2, ... in order.",
                   received=str([binding.index for binding in header.bindings]))
    if len(header.bindings) > MAX_BINDINGS:
        raise fail(header.file, line, "too many storage buffers.",
                   expected=f"at most {MAX_BINDINGS}", received=str(len(header.bindings)))
    access = [binding.access for binding in header.bindings]
    if access != sorted(access, reverse=True) or access[0] == "read":
        raise fail(header.file, line, "outputs come first, and there is at least one.",
                   received=", ".join(access))
    names = [*(b.name for b in header.bindings), *(s.name for s in header.sizes),
             *(c.name for c in header.consts)]
    for name in names:
        if names.count(name) > 1:
            raise fail(header.file, line, f"{name} is named twice.")
    accumulates = any(binding.accumulate for binding in header.bindings)
    if accumulates != any(size.name == "ACCUMULATE" for size in header.sizes):
        raise fail(header.file, line,
                   "a binding marked accumulate and the size ACCUMULATE belong together.")
    stored = [const.default for const in header.consts if const.name == "STORED"]
    if stored != ([0] if any(binding.dtype == STORED for binding in header.bindings) else []):
        raise fail(header.file, line, "a stored binding and the const STORED belong together.",
                   expected="const STORED u32 0", received=str(stored))


def _check_expressions(header: Header) -> None:
    known = {size.name for size in header.sizes} | {const.name for const in header.consts}
    used: list[tuple[str, Expression]] = [("dispatch", extent) for extent in header.dispatch]
    for binding in header.bindings:
        used += [("binding", axis) for axis in binding.shape]
        if binding.bound is not None:
            used.append(("binding", binding.bound))
    for word, expression in used:
        unknown = sorted(expression.names - known)
        if unknown:
            raise fail(header.file, header.lines[word],
                       f"{expression.text} uses a size that the header does not have.",
                       expected=", ".join(sorted(known)), received=", ".join(unknown))


def _check_checks(header: Header) -> None:
    needed = {size.name for size in header.sizes}
    known = needed | {const.name for const in header.consts}
    for check in header.checks:
        if not needed <= set(check) <= known:
            raise fail(header.file, header.lines["check"],
                       "a check gives every size, and else only consts.",
                       expected=", ".join(sorted(needed)), received=", ".join(check))


def _check_declared_bindings(header: Header, code: str) -> None:
    expected = {b.index: (b.name, b.access, b.dtype) for b in header.bindings}
    found = set()
    for match in BINDING.finditer(code):
        group, index, space, access, name, declared = match.groups()
        line = _line_of(code, match.start())
        if group != "0" or space != "storage":
            raise fail(header.file, line, "every binding is a storage buffer of group 0.",
                       received=f"@group({group}) var<{space}>")
        received = (name, access or "read", _element(declared))
        if expected.get(int(index)) != received:
            said = expected.get(int(index))
            raise fail(header.file, line, f"@binding({index}) is not what the header says.",
                       expected=" ".join(said) if said else "no such binding",
                       received=" ".join(received))
        found.add(int(index))
    if code.count("@binding") != len(expected) or found != set(expected):
        raise fail(header.file, header.lines["binding"],
                   "header and @binding declarations differ.",
                   expected=f"{len(expected)} declarations", received=f"{code.count('@binding')}")


def _check_declared_sizes(header: Header, code: str) -> None:
    expected = {size.name: size.dtype for size in header.sizes}
    received = {match[1]: match[2] for match in OVERRIDE.finditer(code)}
    line = header.lines.get("size", header.lines["binding"])
    if expected != received:
        raise fail(header.file, line, "sizes and overrides differ.",
                   expected=f"override {expected}", received=f"{received}")
    written = {match[1]: _line_of(code, match.start(1)) for match in CONST.finditer(code)}
    for const in header.consts:
        if const.name in written:
            raise fail(header.file, written[const.name],
                       f"{const.name} is written by the composer; do not declare it.")
