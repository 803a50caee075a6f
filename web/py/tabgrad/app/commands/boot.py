"""`boot`: opens the device, tests it, and says what there is."""

from __future__ import annotations

from typing import Any

from tabgrad.app.application import Application, Request
from tabgrad.app.commands.runs import list_runs
from tabgrad.app.corpora import list_corpora
from tabgrad.app.selftest import preset_programs
from tabgrad.errors import ProtocolError
from tabgrad.gpu.adapter_class import runs_on_cpu
from tabgrad.gpu.device import Device
from tabgrad.models.decoder import parameter_count
from tabgrad.models.preset_text import preset_text, preset_vocabulary
from tabgrad.models.recipe import PRESETS, Recipe
from tabgrad.train.settings import TrainSettings


async def boot(app: Application, request: Request) -> dict[str, Any]:
    """Opens the device, runs the self-test, and lists presets, texts and runs."""
    if app.device is not None:
        raise ProtocolError("The worker has started already.", expected="one boot")
    app.stage("gpu", 0, 1, "device")
    device = await app.open_device(request.fields["device"])
    app.stage("gpu", 1, 1, "device")
    device = await _tested(app, device)
    await app.store.sweep()
    return {"device": describe_device(device),
            "presets": [describe_preset(name, recipe, device)
                        for name, recipe in PRESETS.items()],
            "corpora": await list_corpora(app), "runs": await list_runs(app),
            "defaults": default_settings(device).to_dict()}


async def _tested(app: Application, device: Device) -> Device:
    """The device, or the CPU when a kernel gives wrong numbers on it."""
    if device.info.runtime == "numpy":
        return device
    programs = preset_programs(device)
    failed = await app.self_test.failed(device, programs)
    if not failed:
        kernels = len({program.name for program in programs})
        app.stage("self-test", kernels, kernels, "kernels")  # all were remembered, it may be
        return device
    device.close()
    slow = await app.open_device("numpy")
    slow.fallback = f"This GPU computes {', '.join(failed)} wrongly."
    app.notice("self-test", f"{slow.fallback} The CPU is used instead, which is much slower.")
    return slow


def describe_device(device: Device) -> dict[str, Any]:
    """The `Device` of protocol.json."""
    info = device.info
    return {"runtime": info.runtime, "name": info.name, "vendor": info.vendor,
            "architecture": info.architecture, "precision": "f32",
            "features": sorted(info.features), "limits": dict(info.limits),
            "fallback": device.fallback}


def describe_preset(name: str, recipe: Recipe, device: Device) -> dict[str, Any]:
    """The `Preset` of protocol.json."""
    summary = (f"{recipe.num_hidden_layers} blocks, width {recipe.hidden_size}, "
               f"{recipe.num_attention_heads} heads{_kind(name, recipe)}")
    text = preset_text(name)
    return {"name": name, "summary": summary, "parameters": parameter_count(recipe),
            "num_hidden_layers": recipe.num_hidden_layers, "hidden_size": recipe.hidden_size,
            "num_attention_heads": recipe.num_attention_heads,
            "context_length": recipe.max_position_embeddings, "vocab_size": recipe.vocab_size,
            "settings": usual_settings(name, device).to_dict(),
            **({"corpus": text.corpus.sha256, "prompt": text.prompt} if text else {})}


def _kind(name: str, recipe: Recipe) -> str:
    """What sets a preset apart, in words."""
    vocabulary, experts = preset_vocabulary(name), recipe.experts
    parts = [f"{experts.num_experts} experts, {experts.num_experts_per_tok} at a time"] \
        if experts else []
    if vocabulary is not None:
        parts.append(f"{vocabulary.vocab_size:,} tokens learned from the text")
    return "".join(f", {part}" for part in parts)


def default_settings(device: Device) -> TrainSettings:
    """The settings that the page starts with: on a CPU, the model that learns in minutes."""
    return usual_settings("tiny" if _is_slow(device) else TrainSettings().preset, device)


def _is_slow(device: Device) -> bool:
    return device.info.runtime == "numpy" or runs_on_cpu(device.info)


def usual_settings(name: str, device: Device) -> TrainSettings:
    """The settings that suit a preset here: on a CPU small batches and fewer steps."""
    if _is_slow(device) and preset_text(name) is None:
        return TrainSettings.for_preset(name, per_device_train_batch_size=4, max_steps=500)
    return TrainSettings.for_preset(name)
