"""A preset of learned tokens through the page's form: learns them, trains, writes, leaves."""

from __future__ import annotations

import io
import json
import zipfile

from playwright.sync_api import expect

from tests.e2e.tab import Tab

SETTINGS = {"context_length": "16", "per_device_train_batch_size": "1", "max_steps": "2",
            "eval_steps": "2", "sample_steps": "0", "save_steps": "2", "warmup_steps": "0"}


def test_learned_tokens(tab: Tab) -> None:
    page = tab.page
    page.get_by_role("link", name="Train").first.click()
    page.locator(f'input[name=corpus][value="{tab.shortest_text()}"]').check()
    page.get_by_role("combobox", name="Preset").select_option("bpe-gpt-5m")
    expect(page.locator("#preset-summary")).to_contain_text("4,096 tokens learned from the text")
    expect(page.locator("#context_length-unit")).to_have_text("tokens")
    page.locator("#settings-more").evaluate("more => more.closest('details').open = true")
    expect(page.locator("#momentum")).to_be_hidden()
    page.get_by_role("combobox", name="Optimiser").select_option("sgd")
    expect(page.locator("#momentum")).to_be_visible()
    page.get_by_role("combobox", name="Nesterov").select_option("off")
    for name, value in SETTINGS.items():
        page.locator(f"#{name}").fill(value)
    after = tab.mark()
    page.get_by_role("button", name="Train", exact=True).click()
    done = tab.wait_for("done", after=after, seconds=240)
    stages = [message["stage"] for message in tab.messages("stage")]
    assert stages.index("vocabulary") < stages.index("reading") < stages.index("kernels")
    assert tab.messages("validation")[-1]["point"]["bits_per_byte"] > 1
    expect(page.locator("#facts")).to_contain_text("Bits a byte")
    expect(page.locator("#baseline-words")).to_contain_text("tokens")
    reply = tab.command("generate", run=done["run"], prompt="The market", max_new_tokens=4,
                        temperature=0.0, top_k=0, seed=0)
    assert reply["tokens"] == 4
    packed = tab.command("export", run=done["run"])["zip"]
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        (name,) = [one for one in files.namelist() if one.endswith("/tokenizer.json")]
        assert json.loads(files.read(name))["model"]["merges"]
        (state,) = [one for one in files.namelist() if one.endswith("/state.json")]
        kept = json.loads(files.read(state))["settings"]
    assert (kept["optim"], kept["nesterov"]) == ("sgd", False)
    tab.command("delete", run=done["run"])
