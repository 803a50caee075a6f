"""A run from nothing that recomputes activations: the same bits, also of one begun without."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

from tabgrad.app.runs import settings_of
from tabgrad.checkpoint.folder import read_folder
from tabgrad.gpu.device import Device
from tests.unit.runs import Run, small, trained

NEW = ("gradient_checkpointing", "activation_dtype")


def weights(run: Run, folder: Path, name: str, step: int) -> dict[str, bytes]:
    """The bits of the weights and of the first moment in a checkpoint."""
    here = folder / "runs" / name / f"step-{step}"
    read = read_folder({path.name: path.read_bytes() for path in here.iterdir()})
    assert run.trainer.step == step
    return {part + key: array.tobytes() for part, table in (
        ("w ", read.weights), ("m ", read.first_moment)) for key, array in table.items()}


def test_recomputing_changes_no_bit_of_a_run(tmp_path: Path, device: Device) -> None:
    async def play() -> None:
        # A rate that does not ask how long the run is.
        settings = small(max_steps=8, eval_steps=4, save_steps=4, lr_scheduler_type="constant")
        whole = await trained(tmp_path, settings, "kept", device=device)
        on = replace(settings, gradient_checkpointing=True)
        again = await trained(tmp_path, on, "again", device=device)
        assert again.losses == whole.losses and len(whole.losses) == 8
        assert again.trainer.history.validation == whole.trainer.history.validation
        expected = weights(whole, tmp_path, "kept", 8)
        assert weights(again, tmp_path, "again", 8) == expected

        # A run of before knows neither setting: it opens without them, and goes on with them.
        await trained(tmp_path, replace(settings, max_steps=4), "older", device=device)
        record = tmp_path / "runs" / "older" / "run.json"
        table = json.loads(record.read_text())
        for name in NEW:
            del table["settings"][name]
        record.write_text(json.dumps(table))
        store = whole.store
        opened = settings_of((await store.find("older")).record)
        assert opened == replace(settings, max_steps=4)
        resumed = await trained(tmp_path, on, "older", device=device)
        assert resumed.losses == {step: loss for step, loss in whole.losses.items() if step > 4}
        assert weights(resumed, tmp_path, "older", 8) == expected

        halves = await trained(tmp_path, replace(on, activation_dtype="bfloat16"), "halves",
                               device=device)
        assert halves.losses[1] == whole.losses[1], "the forward rounds nothing"
        assert 0 < abs(halves.losses[8] - whole.losses[8]) < 0.05
    asyncio.run(play())
