"""Kernels: one WGSL file each, read with its header, checked against it, and composed."""

from __future__ import annotations

import difflib
import importlib
import inspect
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tabgrad.errors import KernelError
from tabgrad.gpu.expressions import Expression
from tabgrad.gpu.header_checks import check_header
from tabgrad.gpu.headers import STORED, Binding, Const, Number, Oracle, Size, parse_header
from tabgrad.reference.stored import FORMATS, byte_count, pack

NUMPY_DTYPES = {"f32": np.float32, "u32": np.uint32, "i32": np.int32, STORED: np.float32}
"""Of the arrays that oracles take and give; how stored bytes lie is another matter."""
STORED_CONST = "STORED"
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Kernel:
    """A kernel as its header describes it.

    Attributes:
        name: the file's stem, which is also the entry point.
        summary: what it computes, in words.
        bindings: the storage buffers, outputs first.
        sizes: the WGSL `override`s.
        consts: the constants that `compose` writes.
        dispatch: three expressions over sizes and consts, in workgroups.
        checks: sizes (and consts) to test it with.
        uses: names of files in `wgsl/lib`.
        needs: WebGPU features.
        source: the file's text.
    """

    name: str
    summary: str
    bindings: tuple[Binding, ...]
    sizes: tuple[Size, ...]
    consts: tuple[Const, ...]
    dispatch: tuple[Expression, ...]
    oracle: Oracle
    checks: tuple[dict[str, Number], ...]
    uses: tuple[str, ...]
    needs: tuple[str, ...]
    source: str

    def compose(self, consts: Mapping[str, Number] | None = None) -> str:
        """The complete WGSL: consts, the file, and the library functions that it uses.

        Raises:
            KernelError: a const that the header does not name, or a library file that is missing.
        """
        given = dict(consts or {})
        lines = []
        for const in self.consts:
            value = given.pop(const.name, const.default)
            number = float(value) if const.dtype == "f32" else int(value)
            lines.append(f"const {const.name}: {const.dtype} = {number};")
        if given:
            raise KernelError(f"{self.name}: no such const.", received=", ".join(given),
                              expected=", ".join(c.name for c in self.consts) or "none")
        # `enable` must come before everything else in a WGSL module.
        enables = re.findall(r"^enable [^;]+;", self.source, re.MULTILINE)
        body = re.sub(r"^enable [^;]+;", "", self.source, flags=re.MULTILINE)
        uses = (*self.uses, *self._unpacking(consts or {}))
        return "\n".join([*enables, *lines, body, *(read_library(name) for name in uses)])

    def stored_dtype(self, sizes: Mapping[str, Number]) -> str:
        """How the stored bindings lie in memory: "float32", "bfloat16" or "float16".

        Args:
            sizes: with the const STORED, where it is not 0.

        Raises:
            KernelError: STORED is none of the known formats.
        """
        index = sizes.get(STORED_CONST, 0)
        if index not in range(len(FORMATS)):
            raise KernelError(f"{self.name}: there is no such format of stored weights.",
                              expected=f"STORED from 0 to {len(FORMATS) - 1}", received=f"{index}")
        return FORMATS[int(index)]

    def _unpacking(self, consts: Mapping[str, Number]) -> tuple[str, ...]:
        """The library that reads stored bindings, if there are any."""
        if not any(binding.dtype == STORED for binding in self.bindings):
            return ()
        return (f"stored_{self.stored_dtype(consts)}",)

    def binding_bytes(self, sizes: Mapping[str, Number]) -> dict[str, int]:
        """The bytes that each binding needs for these sizes and consts."""
        shapes, stored = self.shapes(sizes), self.stored_dtype(sizes)
        return {binding.name: byte_count(math.prod(shapes[binding.name]),
                                         stored if binding.dtype == STORED else "float32")
                for binding in self.bindings}

    def encode(self, name: str, array: Array, sizes: Mapping[str, Number]) -> bytes:
        """What the binding `name` holds for an array: stored ones are rounded to their format."""
        binding = next(binding for binding in self.bindings if binding.name == name)
        if binding.dtype == STORED:
            return pack(array, self.stored_dtype(sizes))
        return np.ascontiguousarray(array).tobytes()

    def _values(self, sizes: Mapping[str, Number]) -> dict[str, Number]:
        known = {size.name for size in self.sizes} | {const.name for const in self.consts}
        unknown = sorted(set(sizes) - known)
        if unknown:
            raise KernelError(f"{self.name}: no such size.", received=", ".join(unknown),
                              expected=", ".join(sorted(known)))
        return {const.name: const.default for const in self.consts} | dict(sizes)

    def _evaluate(self, expression: Expression, values: Mapping[str, Number]) -> int:
        try:
            result = expression.evaluate(values)
        except ValueError as error:
            raise KernelError(f"{self.name}: {error}.", received=f"{dict(values)}") from error
        if result < 1:
            raise KernelError(f"{self.name}: {expression.text} must be at least 1.",
                              received=f"{result} for {dict(values)}")
        return result

    def shapes(self, sizes: Mapping[str, Number]) -> dict[str, tuple[int, ...]]:
        """Each binding's shape for these sizes (and consts; the defaults where not given).

        Raises:
            KernelError: an unknown or missing size, or an axis shorter than 1.
        """
        values = self._values(sizes)
        return {binding.name: tuple(self._evaluate(axis, values) for axis in binding.shape)
                for binding in self.bindings}

    def groups(self, sizes: Mapping[str, Number]) -> tuple[int, int, int]:
        """The number of workgroups in x, y and z for these sizes (and consts)."""
        values = self._values(sizes)
        x, y, z = (self._evaluate(extent, values) for extent in self.dispatch)
        return x, y, z

    def split(self, values: Mapping[str, Number]) -> tuple[dict[str, Number], dict[str, Number]]:
        """Sizes and consts apart, from one dict that mixes them (a check line)."""
        names = {const.name for const in self.consts}
        return ({name: value for name, value in values.items() if name not in names},
                {name: value for name, value in values.items() if name in names})

    def reference(self, arrays: Mapping[str, Array],
                  sizes: Mapping[str, Number]) -> dict[str, Array]:
        """Runs the oracle.

        Args:
            arrays: every input by name, shaped as the header says (accumulated outputs too).
            sizes: the sizes, with or without consts.

        Returns:
            The outputs by name, in the header's dtypes and shapes.

        Raises:
            KernelError: an input is missing, or the oracle's outputs are not as the header says.
        """
        function = self.oracle_function()
        values = self._values(sizes)
        parameters = inspect.signature(function).parameters
        offered: dict[str, Any] = {name: value for name, value in values.items()
                                   if name in parameters}
        for binding in self.bindings:
            if binding.is_input:
                if binding.name not in arrays:
                    raise KernelError(f"{self.name}: the input {binding.name} is missing.")
                offered[binding.name] = arrays[binding.name]
        result = function(**offered)
        results = result if isinstance(result, tuple) else (result,)
        outputs = [binding for binding in self.bindings if binding.is_output]
        shapes = self.shapes(sizes)
        expected = [shapes[binding.name] for binding in outputs]
        received = [np.shape(array) for array in results]
        if expected != received:
            raise KernelError(f"{self.name}: its oracle's outputs do not fit the header.",
                              expected=f"{expected}", received=f"{received}")
        return {binding.name: np.ascontiguousarray(array, NUMPY_DTYPES[binding.dtype])
                for binding, array in zip(outputs, results, strict=True)}

    def oracle_function(self) -> Any:
        """The NumPy function that the header names.

        Raises:
            KernelError: there is no such function.
        """
        try:
            module = importlib.import_module(f"tabgrad.{self.oracle.module}")
            return getattr(module, self.oracle.function)
        except (ImportError, AttributeError) as error:
            raise KernelError(f"{self.name}: its oracle cannot be found ({error}).",
                              expected=f"{self.oracle.module}.{self.oracle.function}") from error


@cache
def kernel_folder() -> Path:
    """Where the .wgsl files are: in the wheel, or beside `web/py` in a checkout.

    Raises:
        KernelError: they are in neither place.
    """
    here = Path(__file__).resolve()
    for folder in (here.parents[1] / "wgsl", here.parents[3] / "wgsl"):
        if folder.is_dir():
            return folder
    raise KernelError("The kernels' .wgsl files are missing.",
                      remedy="Install the tabgrad wheel again.")


@cache
def kernel_names() -> tuple[str, ...]:
    """The names of all kernels, sorted."""
    return tuple(sorted(path.stem for path in kernel_folder().glob("*.wgsl")))


@cache
def read_library(name: str) -> str:
    """The text of `wgsl/lib/NAME.wgsl`: functions only."""
    path = kernel_folder() / "lib" / f"{name}.wgsl"
    if not path.is_file():
        raise KernelError(f"wgsl/lib/{name}.wgsl is missing.")
    return path.read_text(encoding="utf-8")


@cache
def load_kernel(name: str) -> Kernel:
    """The kernel of that name, read and checked once.

    Raises:
        KernelError: there is none, or its file contradicts its header.
    """
    if name not in kernel_names():
        near = difflib.get_close_matches(name, kernel_names())
        raise KernelError(f"There is no kernel {name!r}.",
                          remedy=f"Did you mean {' or '.join(near)}?" if near else None)
    text = (kernel_folder() / f"{name}.wgsl").read_text(encoding="utf-8")
    return parse_kernel(text, f"{name}.wgsl")


def parse_kernel(text: str, file: str) -> Kernel:
    """Parses a kernel's source and checks the header against it.

    Args:
        text: WGSL with a header.
        file: its file name; the stem is the entry point.

    Raises:
        KernelError: with file and line.
    """
    header = parse_header(text, file)
    name = Path(file).stem
    check_header(header, text, name)
    assert header.oracle is not None and header.needs is not None
    return Kernel(name, header.summary, tuple(header.bindings), tuple(header.sizes),
                  tuple(header.consts), header.dispatch, header.oracle, tuple(header.checks),
                  header.uses, header.needs, text)
