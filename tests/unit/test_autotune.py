"""Autotune: the right and fast one wins, is remembered, and nothing else changes a choice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tabgrad.errors import KernelError, StorageError
from tabgrad.gpu import autotune, variants
from tabgrad.gpu.device import Device
from tabgrad.gpu.kernels import load_kernel, parse_kernel
from tabgrad.platform import current
from tests.helpers import run

PRODUCT = ("matmul_nt", 32, 24, 16)


@pytest.fixture(autouse=True)
def nothing_measured() -> Iterator[None]:
    """Other tests keep their defaults."""
    before = dict(variants.measured)
    variants.measured.clear()
    yield
    variants.measured.clear()
    variants.measured.update(before)


def test_the_fastest_right_candidate_is_chosen_and_remembered(device: Device,
                                                              tmp_path: Path) -> None:
    files = current().files(str(tmp_path))
    rows = run(autotune.measure(device, [PRODUCT], files))
    assert [row.variant for row in rows] == list(variants.candidates(*PRODUCT))
    assert all(row.right and row.milliseconds > 0 and row.gflops > 0 for row in rows)
    winner = min(rows, key=lambda row: row.milliseconds).variant
    assert variants.choose(*PRODUCT, device.info) == winner
    variants.measured.clear()
    run(autotune.load(files))
    assert variants.choose(*PRODUCT, device.info) == winner
    assert run(autotune.measure(device, [PRODUCT], files)) == []


@pytest.mark.parametrize("op", sorted(variants.KERNELS))
def test_every_op_can_be_measured(device: Device, op: str) -> None:
    rows = run(autotune.measure(device, [(op, 12, 8, 20)]))
    assert all(row.right for row in rows)


def test_a_fast_but_wrong_kernel_never_wins(device: Device,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    right = load_kernel("matmul_nt")
    source = right.source.replace("fn matmul_nt(", "fn matmul_nt_lazy(")
    body = source.index("{", source.index("fn matmul_nt_lazy("))
    wrong = parse_kernel(source[:body] + "{ out[0] = a[0][0] + b[0][0] * f32(ACCUMULATE); }",
                         "matmul_nt_lazy.wgsl")
    for module in ("tabgrad.gpu.autotune", "tabgrad.gpu.recorder"):
        monkeypatch.setattr(f"{module}.load_kernel",
                            lambda name: wrong if name == "matmul_nt_lazy" else load_kernel(name))
    lazy = variants.Variant("matmul_nt_lazy", {})
    honest = variants.candidates(*PRODUCT)
    monkeypatch.setattr(autotune, "candidates", lambda *_: (lazy, *honest))
    rows = run(autotune.measure(device, [PRODUCT]))
    assert not rows[0].right
    assert variants.choose(*PRODUCT, device.info).kernel == "matmul_nt"
    variants.measured.clear()
    monkeypatch.setattr(autotune, "candidates", lambda *_: (lazy,))
    with pytest.raises(KernelError, match="No kernel computes matmul_nt right"):
        run(autotune.measure(device, [PRODUCT]))


def test_a_run_records_and_restores_its_choices(device: Device) -> None:
    default = variants.choose(*PRODUCT, device.info)
    assert autotune.choices(device.info) == []
    run(autotune.measure(device, [PRODUCT]))
    recorded = autotune.choices(device.info)
    winner = variants.choose(*PRODUCT, device.info)
    autotune.forget(device.info)
    assert variants.choose(*PRODUCT, device.info) == default
    autotune.restore(recorded)
    assert variants.choose(*PRODUCT, device.info) == winner


@pytest.mark.parametrize("change, said", [
    ({"kernel": "matmul_gone"}, "does not have"),
    ({"consts": {"WIDTH": 3}}, "does not have"),
    ({"m": "many"}, "cannot be read"),
])
def test_what_cannot_be_restored(device: Device, change: dict[str, object], said: str) -> None:
    run(autotune.measure(device, [PRODUCT]))
    row = autotune.choices(device.info)[0]
    with pytest.raises(KernelError, match=said):
        autotune.restore([{**row, **change}])


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    files = current().files(str(tmp_path))
    run(autotune.load(files))
    run(files.write(autotune.FILE, [b"{"]))
    with pytest.raises(StorageError, match=r"autotune\.json is not what tabgrad wrote"):
        run(autotune.load(files))
