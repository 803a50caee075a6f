"""Fine-tuning as the page sees it: facts of the data, settings that suit, what a run would cost."""

from __future__ import annotations

from typing import Any

from tabgrad.app.estimate import OTHER_WORK
from tabgrad.app.preparing import ReadData
from tabgrad.gpu.adapter_class import runs_on_cpu
from tabgrad.gpu.device import Device
from tabgrad.lora.targets import targets
from tabgrad.models.decoder import parameter_count
from tabgrad.models.recipe import Recipe
from tabgrad.train.base import Base
from tabgrad.train.finetune import FineTuning, planned, trained_parameters
from tabgrad.train.finetune_settings import FineTuneSettings
from tabgrad.train.memory import BlankRows, Memory, estimate, fit, of_repeats

USUAL_TARGETS = (("q_proj", "v_proj"), ("c_attn",), ("qkv_proj",), ("q_proj",))
"""PEFT's own choices: the first of which all are in a model."""
CONTEXT = 256


def data_facts(data: ReadData, settings: FineTuneSettings, preview_rows: int) -> dict[str, Any]:
    """The `DataFacts` of protocol.json."""
    facts = data.dataset.facts
    rows_per_step = (settings.per_device_train_batch_size
                     * settings.gradient_accumulation_steps)
    return {
        "kind": data.parsed.kind, "documents": facts.documents, "tokens": facts.tokens,
        "trained_tokens": facts.trained_tokens, "rows": facts.rows,
        "bad_lines": [{"line": one.line, "reason": one.reason} for one in data.bad_lines],
        "bad_count": data.bad_count, "truncated_documents": facts.truncated_documents,
        "truncated_tokens": facts.truncated_tokens,
        "held_out_documents": facts.held_out_documents,
        "steps_of_an_epoch": -(-facts.rows // rows_per_step),
        "preview": [{"tokens": [
            {"text": one.text, "id": one.id, "trained": one.trained, "document": one.document}
            for one in row]} for row in data.dataset.preview(preview_rows)]}


def target_names(recipe: Recipe) -> list[str]:
    """Last parts of the names of the modules that can have an adapter, each once.

    Example:
        >>> from tabgrad.models.recipe import preset
        >>> target_names(preset("tiny"))
        ['c_attn', 'c_proj', 'c_fc']
    """
    return list(dict.fromkeys(name.rpartition(".")[2] for name in targets(recipe)))


def default_settings(recipe: Recipe, device: Device) -> FineTuneSettings:
    """The settings that the page starts with: on a CPU short rows and few steps."""
    known = target_names(recipe)
    modules = next((list(names) for names in USUAL_TARGETS if set(names) <= set(known)), known)
    slow = device.info.runtime == "numpy" or runs_on_cpu(device.info)
    return FineTuneSettings.from_dict({
        "context_length": min(CONTEXT // 2 if slow else CONTEXT, recipe.max_position_embeddings),
        "per_device_train_batch_size": 2 if slow else 4, "max_steps": 100 if slow else 300,
        "lora": {"target_modules": modules}})


def estimate_run(settings: FineTuneSettings, base: Base, device: Device, gflops: float,
                 limit: int | None) -> dict[str, Any]:
    """The reply of `estimate_finetune`.

    Args:
        settings: of the run.
        base: what it starts from.
        device: where it would run.
        gflops: measured speed of a matrix product there, in 10^9 operations a second.
        limit: bytes that it may take; None for what the adapter itself allows.
    """
    memory, flops = _counted(settings, base, device)
    step_ms = OTHER_WORK * flops / (gflops * 1e6)
    reply = {"parameters": parameter_count(base.recipe),
             "trained_parameters": trained_parameters(settings, base.recipe),
             "memory": memory.parts(), "total_bytes": memory.total, "step_ms": step_ms,
             "tokens_per_step": settings.tokens_per_step,
             "total_seconds": settings.max_steps * step_ms / 1000.0,
             "fits": memory.fits(limit)}
    if not reply["fits"]:
        found = fit(settings, limit, lambda other: _counted(other, base, device)[0])
        if found is not None:
            reply["suggestion"], reply["suggestion_reason"] = found[0].to_dict(), found[1]
    return reply


def _counted(settings: FineTuneSettings, base: Base, device: Device) -> tuple[Memory, int]:
    """Memory, and operations of one step."""
    of_a_batch = 0

    def recorded(given: FineTuneSettings) -> Memory:
        async def build(counting: Device) -> FineTuning:
            nonlocal of_a_batch
            rows = BlankRows(given, packed=given.packing, held_out=given.held_out > 0)
            engine = await planned(counting, given, base, rows)
            of_a_batch = engine.step.plan.flops // given.gradient_accumulation_steps
            return engine

        return estimate(build, device.info)

    memory = of_repeats(settings, recorded)
    return memory, of_a_batch * settings.gradient_accumulation_steps
