"""glass-en learns Shakespeare in Chromium: it learns, a reload costs no bit, and peft opens it."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from playwright.sync_api import expect
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests import real_models
from tests.e2e.chromium import Chromium
from tests.e2e.tab import Tab
from tools import corpora, environment

STEPS, HALF, ENOUGH = 30, 8, 14
NATS = 0.5
PROMPT, NEW = "My lord,", 16
LAMP = "The lamp was lit at dusk, and the keeper read the weather by it. "
SETTINGS: dict[str, Any] = {
    "context_length": 64, "per_device_train_batch_size": 4, "max_steps": STEPS,
    "learning_rate": 1e-2, "warmup_steps": 2, "eval_steps": STEPS, "save_steps": HALF,
    "prompts": [PROMPT], "max_new_tokens": NEW,
    "lora": {"r": 16, "lora_alpha": 32, "lora_dropout": 0.05, "use_rslora": False,
             "target_modules": ["all-linear"]}}


@pytest.fixture(scope="module")
def tab(visitor: Chromium, built_site: Path, site_url: str) -> Iterator[Tab]:
    """The page, with glass-en on its own host."""
    shutil.copytree(real_models.glass_en(), built_site / "glass-en", dirs_exist_ok=True)
    yield Tab(visitor.context, site_url).open()


@pytest.fixture(scope="module")
def fields(tab: Tab, site_url: str) -> dict[str, Any]:
    """What `finetune` is asked."""
    model = tab.command("download_model", source=f"{site_url}glass-en/")["model"]["model"]
    text = corpora.shakespeare(environment.python("build"))[:60_000]
    defaults = tab.command("finetune_defaults", model=model)
    assert defaults["targets"][:2] == ["q_proj", "k_proj"] and not defaults["chat"]
    return {"model": model, "corpus": tab.add_text(text, "Shakespeare"),
            "settings": {**defaults["settings"], **SETTINGS}, "skip_bad_lines": False}


@pytest.fixture(scope="module")
def unbroken(tab: Tab, fields: dict[str, Any]) -> tuple[str, dict[int, float]]:
    """A run that nothing interrupts: its name, and its losses by step."""
    run = tab.command("finetune", **fields)["run"]["run"]
    tab.wait_for("done", run=run)
    return str(run), tab.losses()


def test_it_learns_text_of_another_kind(tab: Tab, unbroken: tuple[str, dict[int, float]]) -> None:
    _, losses = unbroken
    before, after = (message["point"]["loss"] for message in tab.messages("validation"))
    print(f"validation loss {before:.3f} -> {after:.3f}")
    assert sorted(losses) == list(range(1, STEPS + 1))
    assert after <= before - NATS
    first, last = (message["answers"]["answers"][0] for message in tab.messages("answers"))
    assert first["prompt"] == last["prompt"] == PROMPT and first["text"] != last["text"]


def test_the_adapter_opens_in_peft_and_writes_the_same(
        tab: Tab, fields: dict[str, Any], unbroken: tuple[str, dict[int, float]],
        tmp_path: Path) -> None:
    run, _ = unbroken
    exported = tab.command("export", run=run)
    with zipfile.ZipFile(io.BytesIO(exported["zip"])) as archive:
        archive.extractall(tmp_path)
    tab.command("load_model", model=fields["model"])
    greedy = {"temperature": 0, "max_new_tokens": NEW}
    alone = tab.command("complete", prompt=PROMPT, settings=greedy)["text"]
    tab.command("use_adapter", adapter=f"run:{run}", weight=1)
    ours = tab.command("complete", prompt=PROMPT, settings=greedy)["text"]
    assert ours == tab.messages("answers")[-1]["answers"]["answers"][0]["text"] != alone
    folder = real_models.glass_en()
    model = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32), tmp_path / run)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(PROMPT, return_tensors="pt", return_token_type_ids=False)
    written = model.generate(**ids, max_new_tokens=NEW, do_sample=False)[0]
    assert tokenizer.decode(written[ids["input_ids"].shape[1]:], skip_special_tokens=True) == ours
    tab.command("unload_model")


def test_a_reload_in_the_middle_costs_no_bit(
        tab: Tab, fields: dict[str, Any], unbroken: tuple[str, dict[int, float]]) -> None:
    _, losses = unbroken
    run = tab.command("finetune", **fields)["run"]["run"]
    tab.wait_for("checkpoint", run=run, step=HALF)
    tab.reload()
    reply = tab.command("restore", run=run, train=True)
    start = reply["run"]["step"]
    points = {point["step"]: point["loss"] for point in reply["history"]["points"]}
    assert HALF <= start < ENOUGH and sorted(points) == list(range(1, start + 1))
    assert [one["step"] for one in reply["history"]["answers"]] == [0]
    tab.wait_for_step(ENOUGH)
    tab.command("stop")
    again = {**points, **tab.losses()}
    assert again == {step: losses[step] for step in again} and len(again) >= ENOUGH
    tab.check_clean()


def test_the_panel_from_a_text_to_a_zip(tab: Tab, fields: dict[str, Any]) -> None:
    """Journey 5 with the mouse: data, cost, answers before and after, the switch in Chat, home."""
    page = tab.page
    page.goto(f"{tab.url}#/finetune")
    page.select_option("#finetune-base", fields["model"])
    page.get_by_role("button", name="Paste a text").click()
    page.fill("#finetune-text", LAMP * 40)
    page.get_by_role("button", name="Use this text").click()
    expect(page.locator("#finetune-data-facts")).to_contain_text("one text")
    expect(page.locator("#finetune-preview-row")).to_contain_text("keeper")
    page.click("#finetune-all-settings summary")
    for name, value in {"max_steps": 4, "learning_rate": 0.01, "context_length": 32,
                        "per_device_train_batch_size": 2, "warmup_steps": 0, "eval_steps": 2,
                        "max_new_tokens": 6}.items():
        page.fill(f"#finetune-{name}", str(value))
    page.fill("#finetune-prompts", "The <b>lamp</b>\nThe keeper")
    expect(page.locator("#finetune-fits")).to_contain_text("It fits")
    page.get_by_role("button", name="Fine-tune", exact=True).click()
    expect(page.locator("#finetune-facts-heading")).to_contain_text("Finished", timeout=120_000)
    table = page.locator("#finetune-answers-table")
    expect(table.locator("tbody th")).to_have_text(["The <b>lamp</b>", "The keeper"])
    expect(table.locator("thead th")).to_have_text(["Question", "Before", "At step 4"])
    run = str(page.locator("#finetune-runs li").first.get_attribute("data-run"))
    with page.expect_download() as waiting:
        page.click(f"#home-{run}")
        page.click(f"#home-zip-{run}")
    with zipfile.ZipFile(waiting.value.path()) as archive:
        names = {Path(name).name for name in archive.namelist()}
    assert {"adapter_config.json", "adapter_model.safetensors"} <= names
    page.get_by_role("button", name=f"Chat with it {run}, step 4").click()
    _switch_in_chat(tab, run)
    tab.check_clean()


def _switch_in_chat(tab: Tab, run: str) -> None:
    """An answer with the adapter and one without it, written beside each."""
    page = tab.page
    page.fill("#chat-max_new_tokens", "6")
    page.fill("#chat-prompt", "The keeper")
    page.click("#chat-send")
    note = page.locator(".message.assistant .note").last
    expect(note).to_contain_text(f"adapter {run}, step 4 at 1.00", timeout=120_000)
    page.get_by_role("switch", name="Adapter on").click()
    page.click("#chat-regenerate")
    expect(note).to_contain_text("without an adapter", timeout=120_000)
