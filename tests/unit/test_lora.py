"""Adapters at work: what they add, switching and scaling, dropout, merging; and their kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tabgrad import ops
from tabgrad.errors import SettingsError, ShapeError
from tabgrad.gpu.device import Device
from tabgrad.lora import Adapter, LoraConfig
from tabgrad.lora import merge as lora_merge
from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import preset
from tabgrad.reference.dropout import keeps
from tabgrad.reference.pack_halves import pack_halves
from tabgrad.reference.stored import unpack
from tabgrad.tensor import Tensor
from tests.checkpoints import FAMILIES, PROMPT, save
from tests.helpers import run
from tests.parity.test_checkpoints import in_chunks, loaded, whole
from tests.unit.check_op import check_op

pytestmark = pytest.mark.usefixtures("device")
IDS = np.arange(3, 19)
EVERYTHING = LoraConfig(r=4, target_modules="all-linear")


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


# --- operations -----------------------------------------------------------------------------------

@pytest.mark.parametrize(("shape", "columns", "first"), [
    ((1, 1), 1, 0), ((2, 3, 31), 13, 18), ((33, 67), 67, 0), ((257,), 30, 64)])
def test_add_columns(shape: tuple[int, ...], columns: int, first: int) -> None:
    scale = Tensor.from_numpy(np.array([-1.5], np.float32))

    def oracle(y: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        sides = (first, shape[-1] - first - columns)
        return y - 1.5 * torch.nn.functional.pad(delta, sides)

    check_op(lambda y, delta: ops.add_columns(y, delta, first, scale), oracle, draw(*shape),
             draw(*shape[:-1], columns, seed=1))


def test_add_columns_refuses() -> None:
    y, delta, one = (Tensor.from_numpy(draw(*shape)) for shape in ((2, 5), (2, 3), (1,)))
    with pytest.raises(ShapeError, match="among those of y"):
        ops.add_columns(y, delta, 3, one)
    with pytest.raises(ShapeError, match="same rows"):
        ops.add_columns(y, Tensor.from_numpy(draw(3, 3)), 0, one)
    with pytest.raises(ShapeError, match="not trained"):
        ops.add_columns(y, delta, 0, Tensor.from_numpy(draw(1), requires_grad=True))


@pytest.mark.parametrize(("p", "stream"), [(0.0, 0), (0.25, 3), (0.9, 2**32 - 1)])
def test_dropout(p: float, stream: int) -> None:
    words = np.array([7, 9], np.uint32)
    seed = Tensor.from_numpy(words)
    mask = torch.tensor(keeps(words, p, stream, 3 * 37).reshape(3, 37))
    check_op(lambda x: ops.dropout(x, seed, p, stream), lambda x: x * mask / (1 - p), draw(3, 37))
    assert bool(mask.all()) == (p == 0.0)


def test_masks_differ_by_seed_and_stream() -> None:
    x = Tensor.from_numpy(np.ones(4000, np.float32))

    def kept(seed: tuple[int, int], stream: int) -> np.ndarray:
        return ops.dropout(x, Tensor.from_numpy(np.array(seed, np.uint32)), 0.5,
                           stream).numpy() > 0

    masks = [kept((1, 0), 0), kept((2, 0), 0), kept((1, 1), 0), kept((1, 0), 1)]
    for one in masks:
        assert 0.45 < one.mean() < 0.55
        assert sum(0.45 < (one == other).mean() < 0.55 for other in masks) == 3
    with pytest.raises(ShapeError, match="two words"):
        ops.dropout(x, Tensor.from_numpy(np.zeros(1, np.uint32)), 0.5, 0)
    with pytest.raises(ShapeError, match="out of range"):
        ops.dropout(x, Tensor.from_numpy(np.zeros(2, np.uint32)), 1.0, 0)


@pytest.mark.parametrize(("code", "dtype"), [(1, torch.bfloat16), (2, torch.float16)])
def test_rounding_to_sixteen_bits_is_pytorchs(device: Device, code: int,
                                              dtype: torch.dtype) -> None:
    """Ties, subnormals, what becomes infinity, what is infinite, and numbers of every size."""
    bits = np.random.default_rng(code).integers(0, 2**32, 4000, np.uint64).astype(np.uint32)
    sizes = bits.view(np.float32)[np.isfinite(bits.view(np.float32))]
    edges = np.array([0.0, -0.0, np.inf, -np.inf, 65504, 65519.996, 65520, 2**-14, 2**-24, 2**-25,
                      2**-25 * 1.0001, 3 * 2**-25, -(2**-26), 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11,
                      1 + 3 * 2**-11, 3.4e38, 1e-40], np.float32)
    x = np.concatenate([edges, draw(501), sizes])
    out = device.temporary((x.size + 1) // 2 * 4, "halves")
    device.launch("pack_halves", {"COUNT": x.size}, {"FORMAT": code}, out=out,
                  x=Tensor.from_numpy(x).region)
    found = np.frombuffer(run(device.read(out)), np.uint16)[:x.size]
    expected = torch.tensor(x).to(dtype).view(torch.int16).numpy().view(np.uint16)
    wrong = found != expected
    assert not wrong.any(), f"{x[wrong][:5]}: {found[wrong][:5]}, not {expected[wrong][:5]}"
    assert (pack_halves(x, code).view(np.uint16)[:x.size] == expected).all()


# --- adapters -------------------------------------------------------------------------------------

@pytest.fixture
def decoder(device: Device) -> Decoder:
    return Decoder(preset("tiny"), trainable=False)


def random_state(adapter: Adapter, seed: int) -> dict[str, np.ndarray]:
    return {name: 0.3 * draw(*array.shape, seed=seed)
            for name, array in run(adapter.state()).items()}


def adapter_of(decoder: Decoder, seed: int, config: LoraConfig = EVERYTHING) -> Adapter:
    """An adapter that changes something."""
    adapter = Adapter(decoder, config, name=f"a{seed}", trainable=False)
    adapter.write(random_state(adapter, seed))
    return adapter


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fresh_adapter_changes_no_bit(device: Device, tmp_path: Path, family: str) -> None:
    """Whole texts, chunks, and one row at a time, where activations are fused without adapters."""
    base = loaded(device, save(family, tmp_path, "bfloat16"))
    chunks = [(16, 16), (1, 1), (1, 1)]
    before = whole(base, PROMPT[:16]), in_chunks(base, PROMPT, chunks)
    adapter = Adapter(base, EVERYTHING)
    adapter.attach()
    after = whole(base, PROMPT[:16]), in_chunks(base, PROMPT, chunks)
    for one, other in zip(before, after, strict=True):
        assert one.tobytes() == other.tobytes()
    adapter.write(random_state(adapter, 1))
    assert np.abs(in_chunks(base, PROMPT, chunks) - before[1]).max() > 0.01


def test_the_start_is_that_of_the_paper(decoder: Decoder) -> None:
    adapter = Adapter(decoder, LoraConfig(r=16, target_modules=("c_attn", "c_proj")), seed=5)
    state = run(adapter.state())
    for name, array in state.items():
        if "lora_B" in name:
            assert not array.any()
        else:
            bound = 1 / np.sqrt(array.shape[1])
            assert 0.9 * bound < np.abs(array).max() <= bound
            assert abs(array.mean()) < 0.1 * bound
    assert adapter.parameter_count() == sum(array.size for array in state.values())
    other = run(Adapter(decoder, adapter.config, seed=6).state())
    again = run(Adapter(decoder, adapter.config, seed=5).state())
    a = next(name for name in state if "lora_A" in name)
    assert (again[a] == state[a]).all() and (other[a] != state[a]).any()


def test_one_plan_serves_every_weight_of_two_adapters(device: Device, decoder: Decoder) -> None:
    ids = Tensor.from_numpy(IDS[None].astype(np.uint32))
    base = whole(decoder, IDS)
    one, two = adapter_of(decoder, 1), adapter_of(decoder, 2)
    one.attach()
    alone = whole(decoder, IDS)
    one.set_weight(-0.5)
    half = whole(decoder, IDS)
    two.attach()
    with device.recording() as tape:
        logits = decoder(ids)
    plan = run(tape.compile(outputs=[logits.region], label="two adapters"))
    made = device.gpu.counters()

    def replayed(first: float, second: float) -> np.ndarray:
        one.set_weight(first)
        two.set_weight(second)
        run(device.replay([plan]))
        return np.frombuffer(run(device.read(plan.outputs[0])), np.float32).reshape(base.shape)

    assert replayed(0, 0).tobytes() == base.tobytes()
    assert replayed(1, 0).tobytes() == alone.tobytes()
    assert replayed(-0.5, 0).tobytes() == half.tobytes()
    both = replayed(1, 1)
    assert min(np.abs(both - other).max() for other in (base, alone, half)) > 0.01
    assert replayed(0, 0).tobytes() == base.tobytes()
    after = device.gpu.counters()
    assert all(after[kind] == made[kind] for kind in ("pipelines", "bind_groups"))
    one.detach()
    two.detach()
    assert whole(decoder, IDS).tobytes() == base.tobytes()
    with pytest.raises(SettingsError, match="finite"):
        one.set_weight(float("nan"))


def test_dropout_only_while_a_seed_is_set(decoder: Decoder) -> None:
    plain = adapter_of(decoder, 1)
    plain.attach()
    expected = whole(decoder, IDS)
    plain.detach()
    config = LoraConfig(r=4, target_modules="all-linear", lora_dropout=0.5)
    dropping = adapter_of(decoder, 1, config)
    dropping.attach()
    assert whole(decoder, IDS).tobytes() == expected.tobytes()
    texts = []
    for seed in (1, 1, 2):
        dropping.dropout_seed = Tensor.from_numpy(np.array([seed, 0], np.uint32))
        texts.append(whole(decoder, IDS).tobytes())
    assert texts[0] == texts[1] and len({expected.tobytes(), *texts}) == 3
    dropping.dropout_seed = None
    assert whole(decoder, IDS).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_merge_and_unmerge(device: Device, tmp_path: Path, dtype: str,
                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lora_merge, "ROWS", 64)  # so that the head of 199 rows takes four pieces
    base = loaded(device, save("llama", tmp_path, dtype))
    config = LoraConfig(r=4, lora_alpha=2, target_modules=("k_proj", "down_proj", "lm_head"),
                        alpha_pattern={"down_proj": 6})
    adapter = adapter_of(base, 3, config)
    adapter.attach()
    attached = whole(base, IDS)
    before = stored_bytes(base)
    adapter.set_weight(0.5)
    run(adapter.merge())
    check_merged(base, adapter, before, dtype)
    with pytest.raises(SettingsError, match="is merged"):
        adapter.set_weight(1.0)
    second = adapter_of(base, 4, config)
    run(second.merge())
    with pytest.raises(SettingsError, match="merged last"):
        run(adapter.unmerge())
    run(second.unmerge())
    run(adapter.unmerge())
    assert stored_bytes(base) == before
    adapter.set_weight(1.0)
    assert whole(base, IDS).tobytes() == attached.tobytes()
    if dtype == "float32":
        run(adapter.merge())
        assert np.abs(whole(base, IDS) - attached).max() < 1e-4
    with pytest.raises(SettingsError, match="frozen"):
        Adapter(Decoder(preset("tiny")), EVERYTHING)


def stored_bytes(decoder: Decoder) -> dict[str, bytes]:
    return {name: run(decoder.device.read(one.region)) for name, one in decoder.named_parameters()}


def check_merged(decoder: Decoder, adapter: Adapter, before: dict[str, bytes],
                 dtype: str) -> None:
    """Each weight is the sum, rounded once; and no other weight has changed."""
    state = run(adapter.state())
    for name, data in stored_bytes(decoder).items():
        module = name.removesuffix(".weight")
        a, b = (state.get(f"base_model.model.{module}.lora_{one}.weight") for one in "AB")
        if a is None or b is None:
            assert data == before[name], name
            continue
        scale = 0.5 * adapter.config.scaling_of(module)
        exact = (unpack(before[name], dtype).astype(np.float64)
                 + (scale * b.astype(np.float64) @ a).ravel())
        step = {"float32": 2.0**-21, "bfloat16": 2.0**-8, "float16": 2.0**-11}[dtype]
        error = np.abs(unpack(data, dtype) - exact)
        assert (error <= 1.001 * step * np.abs(exact) + 2e-6).all(), f"{name}: {error.max()}"
        assert data != before[name]
