"""Integer expressions of a kernel header: shapes and dispatch sizes over named sizes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

MAX_LENGTH = 120   # a header line is shorter; keeps a hostile one from nesting deeply
MAX_VALUE = 2**53  # the largest range in which JavaScript's numbers are still exact integers


@dataclass(frozen=True)
class Expression:
    """An expression over named whole numbers: `+`, `-`, `*`, `//` and `ceil(a / b)`.

    Args:
        text: the expression as written in the header.

    Raises:
        ValueError: the text is not such an expression.

    Example:
        >>> Expression("ceil(R / 4) * C").evaluate({"R": 7, "C": 3})
        6
    """

    text: str

    def __post_init__(self) -> None:
        if len(self.text) > MAX_LENGTH:
            raise ValueError(f"an expression longer than {MAX_LENGTH} characters")
        _check(self._tree)

    @cached_property
    def _tree(self) -> ast.expr:
        try:
            return ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"not an expression: {self.text!r}") from error

    @cached_property
    def names(self) -> frozenset[str]:
        """The sizes that the expression reads."""
        found = {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)}
        return frozenset(found - {"ceil"})

    def evaluate(self, values: Mapping[str, int | float]) -> int:
        """The expression's value.

        Raises:
            ValueError: a name has no value, a division by zero, or a number out of range.
        """
        result = _evaluate(self._tree, values)
        if abs(result) > MAX_VALUE:
            raise ValueError(f"{self.text} is {result}, too large to be a size")
        return result


def _is_ceil(node: ast.expr) -> bool:
    return (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            and node.func.id == "ceil" and not node.keywords and len(node.args) == 1
            and isinstance(node.args[0], ast.BinOp) and isinstance(node.args[0].op, ast.Div))


def _check(node: ast.expr) -> None:
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value <= MAX_VALUE:
        return
    if isinstance(node, ast.Name) and node.id != "ceil":
        return
    if _is_ceil(node):
        assert isinstance(node, ast.Call) and isinstance(node.args[0], ast.BinOp)
        node = node.args[0]
    elif not (isinstance(node, ast.BinOp)
              and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv)):
        raise ValueError(f"{ast.unparse(node)!r} is not one of + - * // ceil(a / b)")
    _check(node.left)
    _check(node.right)


def _evaluate(node: ast.expr, values: Mapping[str, int | float]) -> int:
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, int)
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in values:
            raise ValueError(f"{node.id} has no value")
        value = values[node.id]
        if int(value) != value:
            raise ValueError(f"{node.id} is {value}, not a whole number")
        return int(value)
    rounds_up = isinstance(node, ast.Call)
    if isinstance(node, ast.Call):
        node = node.args[0]
    assert isinstance(node, ast.BinOp)
    left, right = _evaluate(node.left, values), _evaluate(node.right, values)
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    if isinstance(node.op, ast.Mult):
        return left * right
    if right == 0:
        raise ValueError(f"{ast.unparse(node)} divides by zero")
    return -(-left // right) if rounds_up else left // right
