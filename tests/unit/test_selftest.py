"""The self-test: what a plan launches was tested here before, once, and nothing wrong gets in."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabgrad import platform
from tabgrad.app.selftest import FILE, SelfTest, fingerprint, needed_programs
from tabgrad.checkpoint.load import load_decoder
from tabgrad.checkpoint.models import open_folder
from tabgrad.errors import KernelError
from tabgrad.generate.sampling import Sampling
from tabgrad.generate.session import Session
from tabgrad.gpu.cases import DEAR
from tabgrad.gpu.device import Device
from tabgrad.gpu.kernels import load_kernel
from tabgrad.models.recipe import PRESETS
from tabgrad.platform.gpu_protocol import Program
from tabgrad.reference import adamw, attention_cached
from tests import checkpoints, talking_model
from tests.helpers import run
from tests.unit.test_chat_application import STORY, Chat, problem, scene, text

Seen = list[tuple[int, int]]


def wrong(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    """Lets an oracle give other numbers: the kernel is then the wrong one of the two."""
    right = getattr(module, name)

    def oracle(*given: Any, **named: Any) -> Any:
        result = right(*given, **named)
        one, *rest = result if isinstance(result, tuple) else (result,)
        return (one + np.float32(0.1), *rest)
    # What an oracle is given depends on the names that it asks for.
    oracle.__signature__ = inspect.signature(right)  # type: ignore[attr-defined]
    monkeypatch.setattr(module, name, oracle)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talking_model.save(tmp_path_factory.mktemp("talking"))


def test_a_pass_is_remembered_and_a_damaged_memory_thrown_away(device: Device, tmp_path: Path,
                                                               ) -> None:
    files = platform.current().files(str(tmp_path))
    programs = needed_programs(device, PRESETS["tiny"])
    kernels = len({program.name for program in programs})

    def tested(among: Iterable[Program] = programs) -> Seen:
        seen: Seen = []
        test = SelfTest(files, lambda *count: seen.append(count))
        assert run(test.failed(device, among)) == []
        assert run(test.failed(device, among)) == []
        return seen

    once = [(done, kernels) for done in range(kernels + 1)]
    assert tested() == once
    assert tested() == []
    table = json.loads((tmp_path / FILE).read_text())
    first = table[device.info.key].pop(0)
    (tmp_path / FILE).write_text(json.dumps(table))
    assert tested() == [(0, 1), (1, 1)], f"only what belongs to {first}"
    for damaged in ("{", "[]", '{"' + device.info.key + '": "abc"}'):
        (tmp_path / FILE).write_text(damaged)
        assert tested(programs[:1]) == [(0, 1), (1, 1)]


def test_a_wrong_kernel_fails_again_and_the_others_pass(device: Device, tmp_path: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    programs = needed_programs(device, PRESETS["tiny"])
    seen: Seen = []
    test = SelfTest(platform.current().files(str(tmp_path)), lambda *count: seen.append(count))
    with monkeypatch.context() as patch:
        wrong(patch, adamw, "adamw")
        for _ in range(2):
            with pytest.raises(KernelError, match="computes adamw wrongly"):
                run(test.require(device, programs))
    assert seen[-1] == (1, 1), "what passed is not tested again"
    run(test.require(device, programs))


@pytest.mark.parametrize(("family", "dtype"), [
    ("llama", "bfloat16"), ("qwen3_5_text", "float16"), ("qwen3_moe", "float32")])
def test_nothing_runs_untested_and_no_dear_pipeline_is_made_twice(
        device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: str,
        dtype: str) -> None:
    files = platform.current().files(str(tmp_path))
    tested: set[str] = set()
    untested: list[str] = []
    planned: set[str] = set()
    made: list[Program] = []
    compile_tape, compile_programs = device.compile_tape, device.gpu.compile

    async def spy(tape: Any, outputs: Any, label: str, *rest: Any) -> Any:
        if label == "self-test":
            tested.update(map(fingerprint, tape.programs()))
        else:
            planned.update(one.key for one in tape.programs())
        untested.extend(one.label for one in tape.programs() if fingerprint(one) not in tested)
        return await compile_tape(tape, outputs, label, *rest)

    async def note(programs: Any, *rest: Any) -> None:
        made.extend(programs)
        await compile_programs(programs, *rest)
    monkeypatch.setattr(device, "compile_tape", spy)
    monkeypatch.setattr(device.gpu, "compile", note)
    monkeypatch.setattr(device, "_compiled", set())
    monkeypatch.setattr(device, "self_test", None)
    SelfTest(files, lambda *_: None).guard(device)
    path = checkpoints.save(family, tmp_path, dtype)

    async def play() -> None:
        model = await open_folder(files, path.name, family)
        session = Session(await load_decoder(device, model), chunks=(16,))
        drawn = [one async for part in session.generate(
            range(3, 40), Sampling(temperature=0.0), 2) for one in part]
        assert len(drawn) == 2
        await session.close()
    run(play())
    dear = {one.key for one in made if set(load_kernel(one.name).uses).intersection(DEAR)}
    assert dear and dear <= planned and not untested


def test_a_load_ends_with_a_wrong_kernel_a_stop_or_a_loss_and_tests_nothing_twice(
        stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(page: Chat) -> None:
        async def stages(expected: str) -> list[str]:
            page.events.clear()
            answer = await page.load()
            assert answer["name"] == "reply" if expected == "reply" else (
                problem(answer)["code"] == expected), answer
            return [one["stage"] for one in page.events if one["name"] == "stage"]

        def stop() -> None:
            page.app.loading.stopped = True  # as unload_model does

        def lose() -> None:
            page.app.device.gpu._state._lose("for the test")
        with monkeypatch.context() as patch:
            wrong(patch, attention_cached, "attention_decode")
            found = problem(await page.load())
            assert found["code"] == "kernel" and "attention_decode" in found["message"]
            assert page.app.device.info.name in found["received"]
            assert page.app.language_model is None
            assert (await stages("kernel"))[-1] == "self-test", "no plan was made"
        told = page.app.self_test._progress
        for expected, end in (("cancelled", stop), ("device-lost", lose)):
            with monkeypatch.context() as patch:
                patch.setattr(page.app.self_test, "_progress",
                              lambda done, total, end=end: (told(done, total), end()))
                assert (await stages(expected))[-1] == "self-test"
        assert "self-test" in await stages("reply")
        assert text(await page.chat(STORY))
        await page.ask("unload_model")
        assert "self-test" not in await stages("reply")
    scene(stored, tmp_path, play)
