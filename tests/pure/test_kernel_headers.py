"""Kernel headers: every file reads, agrees with its WGSL, and a bad header says where it is bad."""

from __future__ import annotations

import contextlib
import inspect
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabgrad.errors import KernelError
from tabgrad.gpu.expressions import Expression
from tabgrad.gpu.kernels import kernel_folder, kernel_names, load_kernel, parse_kernel
from tabgrad.reference.stored import FORMATS

GOOD = """\
// Doubles every element.
// It is only here to be broken.
// binding 0 out read_write f32 (R, ceil(C / 2)) accumulate  sums
// binding 1 x   read       f32 (R, C) positive  rows
// binding 2 ids read       u32 (R) < C
// size R u32 rows
// size C u32 columns
// size ACCUMULATE u32 1 adds to out
// const BLOCK u32 8 elements of an invocation
// dispatch (ceil(R / BLOCK), 1, 1)  one workgroup per block
// oracle reference.scale.scale rtol 1e-5 atol 1e-6
// check R=1 C=2 ACCUMULATE=0
// check R=5 C=7 ACCUMULATE=1 BLOCK=4
// uses gelu
// needs -
//
// A note.

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> ids: array<u32>;

override R: u32;
override C: u32;
override ACCUMULATE: u32;

@compute @workgroup_size(BLOCK)
fn double(@builtin(global_invocation_id) thread: vec3<u32>) { }
"""


def broken(old: str, new: str) -> str:
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


@pytest.mark.parametrize("name", kernel_names())
def test_every_kernel_reads_and_its_checks_fit(name: str) -> None:
    kernel = load_kernel(name)
    assert kernel.summary.endswith((".", ")")), kernel.summary
    assert len(kernel.checks) >= 2
    for values in kernel.checks:
        assert len(kernel.groups(values)) == 3
        assert set(kernel.shapes(values)) == {binding.name for binding in kernel.bindings}
        sizes, consts = kernel.split(values)
        assert set(sizes) == {size.name for size in kernel.sizes}
        composed = kernel.compose(consts)
        for const in kernel.consts:
            value = consts.get(const.name, const.default)
            assert composed.count(f"const {const.name}: {const.dtype} = {value};") == 1


@pytest.mark.parametrize("name", kernel_names())
def test_every_oracle_takes_what_the_header_gives(name: str) -> None:
    kernel = load_kernel(name)
    parameters = inspect.signature(kernel.oracle_function()).parameters
    inputs = {binding.name for binding in kernel.bindings if binding.is_input}
    numbers = {size.name for size in kernel.sizes} | {const.name for const in kernel.consts}
    required = {p.name for p in parameters.values() if p.default is inspect.Parameter.empty}
    assert inputs <= set(parameters)
    assert required <= inputs | numbers


@pytest.mark.parametrize("name", kernel_names())
def test_one_check_has_a_size_of_one_and_one_has_an_odd_size(name: str) -> None:
    kernel = load_kernel(name)
    whole = {size.name for size in kernel.sizes if size.dtype == "u32"} - {"ACCUMULATE"}
    if not whole or "multiples of four" in kernel.summary:
        return  # nothing to vary, or the general kernel beside it takes the odd sizes
    assert any(values[size] == 1 for values in kernel.checks for size in whole)
    assert any(values[size] % 2 == 1 and values[size] > 1
               for values in kernel.checks for size in whole)


def test_every_library_file_is_used_and_has_no_bindings() -> None:
    used = {name for kernel in kernel_names() for name in load_kernel(kernel).uses}
    used |= {f"stored_{dtype}" for dtype in FORMATS}  # appended by the composer, as STORED says
    files = {path.stem: path.read_text() for path in (kernel_folder() / "lib").glob("*.wgsl")}
    assert used == set(files)
    assert not [name for name, text in files.items() if "@binding" in text or "@compute" in text]


def test_a_good_header_is_read_in_full() -> None:
    kernel = parse_kernel(GOOD, "double.wgsl")
    assert kernel.summary == "Doubles every element. It is only here to be broken."
    out, x, ids = kernel.bindings
    assert out.is_input and out.is_output and out.accumulate and out.meaning == "sums"
    assert x.positive and not x.is_output and x.meaning == "rows"
    assert ids.bound is not None and ids.bound.text == "C" and ids.meaning == ""
    sizes = {"R": 5, "C": 7, "ACCUMULATE": 0}
    assert kernel.shapes(sizes) == {"out": (5, 4), "x": (5, 7), "ids": (5,)}
    assert kernel.groups(sizes) == (1, 1, 1)
    assert kernel.groups(sizes | {"BLOCK": 2}) == (3, 1, 1)
    assert kernel.compose({"BLOCK": 2}).startswith("const BLOCK: u32 = 2;\n")
    assert "fn gelu_slope" in kernel.compose()
    assert (kernel.oracle.rtol, kernel.oracle.atol) == (1e-5, 1e-6)


BAD = [
    ("// Doubles every element.\n// It is only here to be broken.\n", "", 1, "what the kernel"),
    ("// binding 1 x   read       f32", "// binding 1 x   write      f32", 4, "ACCESS"),
    ("x   read       f32", "x   read       f16", 4, "f16"),
    ("// binding 1 x", "// binding 3 x", 3, "numbered"),
    ("// binding 1 x", "// bindings 1 x", 4, "'bindings' is not a header directive"),
    ("read       f32 (R, C) positive", "read       f32 R, C positive", 4, "ACCESS"),
    ("(R, C) positive", "(R, C positive", 4, "parenthesis"),
    ("(R, C) positive", "(R, __import__('os')) positive", 4, "not one of"),
    ("(R, C) positive", "(R, C ** 9) positive", 4, "not one of"),
    ("(R, C) positive", "(R, Q) positive", 3, "Q"),
    ("(R, C) positive", "(R, C) updated", 4, "only read"),
    ("out read_write f32", "out read_write u32", 19, "read_write f32"),
    ("read_write f32 (R, ceil(C / 2)) accumulate", "read_write f32 (R)", 3, "ACCUMULATE"),
    ("// size R u32 rows", "// size R f64 rows", 6, "size NAME"),
    ("// size C u32 columns", "// size C f32 columns", 6, "differ"),
    ("// size C u32 columns\n", "// size C u32 columns\n// size C u32 again\n", 3, "twice"),
    ("// const BLOCK u32 8", "// const BLOCK u32 eight", 9, "const NAME"),
    ("// dispatch (ceil(R / BLOCK), 1, 1)", "// dispatch (ceil(R / BLOCK), 1)", 10, "three"),
    ("// dispatch (ceil(R / BLOCK), 1, 1)", "// dispatch (ceil(R), 1, 1)", 10, "ceil"),
    ("// dispatch (ceil(R / BLOCK), 1, 1)", "// dispatch (" + "(" * 500 + "R", 10, "parenthesis"),
    ("// needs -\n", "// needs -\n// dispatch (1, 1, 1)\n", 16, "second dispatch"),
    ("reference.scale.scale rtol", "os.system rtol", 11, "oracle reads"),
    ("rtol 1e-5", "rtol nan", 11, "oracle reads"),
    ("// check R=1 C=2 ACCUMULATE=0\n", "// check R=1 C=2\n", 12, "every size"),
    ("// check R=1 C=2 ACCUMULATE=0\n", "// check R=1 C=2 C=3\n", 12, "once"),
    ("ACCUMULATE=1 BLOCK=4", "ACCUMULATE=1 Z=4", 12, "only consts"),
    ("// uses gelu", "// uses ../../secrets", 14, "not a name"),
    ("// needs -\n", "", 1, "no needs line"),
    ("@binding(1) var<storage, read> x", "@binding(1) var<storage, read> y", 20, "y read f32"),
    ("@binding(2) var<storage, read> ids: array<u32>;", "@binding(2) var<uniform> ids: u32;", 21,
     "storage"),
    ("@group(0) @binding(2) var<storage, read> ids: array<u32>;\n", "", 3, "2"),
    ("@group(0) @binding(0)", "@group(1) @binding(0)", 19, "group 0"),
    ("override R: u32;", "override R: u32;\nconst BLOCK = 4u;", 24, "composer"),
    ("override R: u32;", "", 6, "differ"),
    ("fn double(", "fn triple(", 28, "triple"),
    ("@compute @workgroup_size(BLOCK)", "", 1, "none"),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), BAD)
def test_a_bad_header_names_file_and_line(old: str, new: str, line: int, words: str) -> None:
    with pytest.raises(KernelError) as caught:
        parse_kernel(broken(old, new), "double.wgsl")
    assert str(caught.value).startswith(f"double.wgsl:{line}: "), str(caught.value)
    assert words in str(caught.value)


def test_declarations_in_comments_do_not_count() -> None:
    comments = "// @group(0) @binding(3) var<storage> z: array<f32>;\n/* override Z: u32; */\n"
    assert len(parse_kernel(GOOD + comments, "double.wgsl").bindings) == 3


def test_unknown_names_are_refused() -> None:
    kernel = parse_kernel(GOOD, "double.wgsl")
    with pytest.raises(KernelError, match="no such size"):
        kernel.shapes({"R": 1, "C": 1, "ACCUMULATE": 0, "Q": 1})
    with pytest.raises(KernelError, match="C has no value"):
        kernel.shapes({"R": 1, "ACCUMULATE": 0})
    with pytest.raises(KernelError, match="at least 1"):
        kernel.shapes({"R": 0, "C": 1, "ACCUMULATE": 0})
    with pytest.raises(KernelError, match="no such const"):
        kernel.compose({"BLOK": 2})
    with pytest.raises(KernelError, match="Did you mean"):
        load_kernel("matmul_n")
    with pytest.raises(KernelError, match="There is no kernel"):
        load_kernel("../secret")


@given(st.text(max_size=200))
def test_any_text_is_an_expression_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        Expression(text).evaluate({})


@given(st.integers(0, 10**6), st.integers(1, 10**4))
def test_ceil_rounds_up(a: int, b: int) -> None:
    assert Expression("ceil(A / B)").evaluate({"A": a, "B": b}) == -(-a // b)


@given(st.data())
def test_a_mangled_header_is_read_or_refused_with_file_and_line(data: st.DataObject) -> None:
    lines = GOOD.splitlines()
    row = data.draw(st.integers(0, 16))
    start = data.draw(st.integers(0, len(lines[row])))
    stop = data.draw(st.integers(start, len(lines[row])))
    middle = data.draw(st.text(st.characters(codec="utf-8"), max_size=8))
    lines[row] = lines[row][:start] + middle + lines[row][stop:]
    try:
        parse_kernel("\n".join(lines), "double.wgsl")
    except KernelError as error:
        assert re.match(r"double\.wgsl:\d+: ", error.message)


def test_the_kernels_are_where_they_should_be() -> None:
    assert kernel_folder() == Path(__file__).resolve().parents[2] / "web" / "wgsl"
