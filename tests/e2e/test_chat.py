"""Journey 4 in Chromium: a model from an address or a folder, and a chat that outlives a reload."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests import talking_model
from tests.e2e.chromium import Chromium
from tests.e2e.tab import Tab
from tests.faulty_host import Fault, FaultyHost

MODEL = "someone/talks"
SLOW = "model-00009-of-00017.safetensors"
SAMPLING = {"do_sample": True, "temperature": 0.75, "top_p": 0.5, "bos_token_id": 0,
            "eos_token_id": 2}
LOADED_MS = 60_000
# How many files are stored; throws where one of them has the token.
STORED = """async () => {
  let count = 0;
  const read = async (folder) => {
    for await (const one of folder.values()) {
      if (one.kind === "directory") { await read(one); continue; }
      count += 1;
      if ((await (await one.getFile()).text()).includes("hf_secret")) throw new Error(one.name);
    }
  };
  await read(await navigator.storage.getDirectory());
  return count;
}"""
QUESTION = "Why is the <b>sky</b> blue?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a few megabytes in many shards, with settings of its own."""
    path = talking_model.save(tmp_path_factory.mktemp("chat"), hidden_size=96, head_dim=16,
                              intermediate_size=1024)
    (path / "generation_config.json").write_text(json.dumps(SAMPLING))
    return path


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[FaultyHost]:
    """Serves the model to any page."""
    files: dict[str, bytes] = {f"{MODEL}/{path.name}": path.read_bytes()
                               for path in folder.iterdir()}
    with FaultyHost(dict(files)) as host:
        yield host


@pytest.fixture(scope="module")
def open_tab(visitor: Chromium, site_url: str) -> Iterator[Tab]:
    """The page, for all tests of this file: one journey."""
    tab = Tab(visitor.context, site_url)
    tab.open("#/models")
    yield tab


@pytest.fixture
def tab(open_tab: Tab, host: FaultyHost) -> Iterator[Tab]:
    """The page; afterwards it must have said nothing, and asked the chosen host alone."""
    open_tab.problems.clear()
    yield open_tab
    open_tab.page.wait_for_timeout(50)
    wrong = [one for one in open_tab.problems if not one.startswith(f"asked {host.url}")]
    assert not wrong, "\n".join(wrong)


def answered(page: Page, messages: int) -> str:
    """Waits for the end of an answer, and gives its words."""
    expect(page.locator("#chat-messages li")).to_have_count(messages, timeout=LOADED_MS)
    expect(page.locator("#chat-stop")).to_be_hidden(timeout=LOADED_MS)
    return page.locator("#chat-messages li .words").last.inner_text()


def say(page: Page, words: str) -> None:
    """Sends a message as a person does."""
    page.fill("#chat-prompt", words)
    page.focus("#chat-prompt")
    page.keyboard.press("Enter")


def test_an_address_gives_facts_then_progress_and_can_be_cancelled(
        tab: Tab, host: FaultyHost, folder: Path) -> None:
    page = tab.page
    host.faults[f"{MODEL}/{SLOW}"] = Fault(piece_s=1.5)
    page.fill("#own-source", host.url + MODEL)
    page.click("#own-look")
    sheet = page.locator("#sheet")
    expect(sheet).to_contain_text("apache-2.0")
    expect(sheet).to_contain_text("2\u202f048 tokens")
    expect(sheet).to_contain_text("GPU memory for its weights")
    asked = [one.span for one in host.asked if one.path.endswith(".safetensors")]
    assert asked and all(span and span[1] - span[0] <= 2**16 for span in asked), "only headers"
    page.click("#sheet-agree")
    expect(page.locator("#transfer-file")).to_have_text(SLOW, timeout=20_000)
    expect(page.locator("#transfer-amount")).to_contain_text(re.compile(r"MB of 4\.\d\sMB"))
    assert 0.1 < float(page.get_attribute("#transfer-bar", "value") or 0) < 0.9
    page.click("#transfer-cancel")
    expect(page.locator("#library-live")).to_contain_text("What came is kept")
    expect(page.locator("#here")).to_contain_text("cut off at")


def test_a_cancelled_download_goes_on_where_it_was(tab: Tab, host: FaultyHost) -> None:
    page = tab.page
    host.faults.clear()
    first, last = (host.gets(f"{MODEL}/model-{i:05}-of-00017.safetensors") for i in (1, 17))
    page.locator("#here").get_by_role("button", name="Go on").click()
    expect(page.locator("#library-live")).to_contain_text("is here.", timeout=20_000)
    expect(page.locator("#here")).to_contain_text("llama")
    again = [host.gets(f"{MODEL}/model-{i:05}-of-00017.safetensors") for i in (1, 17)]
    # Headers are read anew for the facts; the whole first shard is not.
    whole = [one for one in again[0][len(first):] if one.span is None]
    assert whole == [] and len(again[1]) > len(last)


def test_it_chats_stops_regenerates_and_edits(tab: Tab) -> None:
    page = tab.page
    page.locator("#here").get_by_role("button", name="Chat").click()
    expect(page.locator("#chat-model-state")).to_contain_text("is loaded", timeout=LOADED_MS)
    expect(page.locator("#chat-temperature-own")).to_have_text("Model's own: 0.75.")
    page.fill("#chat-max_new_tokens", "24")
    say(page, QUESTION)
    assert answered(page, 2)
    expect(page.locator("#chat-messages .user .words")).to_have_text(QUESTION)
    for fact in ("Tokens written", "tokens/s", "KB/s", "First token after", "Ended"):
        expect(page.locator("#chat-facts")).to_contain_text(fact)
    before = page.locator("#chat-facts").inner_text()
    page.click("#chat-regenerate")
    expect(page.locator("#chat-facts")).not_to_have_text(before, timeout=LOADED_MS)
    answered(page, 2)

    page.fill("#chat-max_new_tokens", "1500")
    say(page, "Say more.")
    growing = page.locator("#chat-messages li[aria-busy] .words")
    expect(growing).not_to_have_text("Reading", timeout=LOADED_MS)
    page.keyboard.press("Escape")
    assert answered(page, 4)
    expect(page.locator("#chat-facts")).to_contain_text("stopped by you")
    # The second turn reads only what is new.
    reused = page.locator("#chat-facts div", has_text="Known from before").inner_text()
    assert int("".join(filter(str.isdigit, reused))) > 0

    page.fill("#chat-max_new_tokens", "16")
    page.click("#edit-2")
    page.fill("#chat-edit", "Say less.")
    page.click("#chat-edit-send")
    answered(page, 4)
    expect(page.locator("#chat-messages .user .words").last).to_have_text("Say less.")
    expect(page.locator("#chat-count")).to_contain_text("of 2\u202f048 tokens")


def test_after_a_reload_it_goes_on_without_the_network(tab: Tab, host: FaultyHost) -> None:
    page = tab.page
    asked = len(host.asked)
    said = page.locator("#chat-messages li .words").all_inner_texts()
    tab.reload()
    expect(page.locator("#chat-messages li")).to_have_count(4)
    assert page.locator("#chat-messages li .words").all_inner_texts() == said
    expect(page.locator("#chat-max_new_tokens")).to_have_value("16")
    page.click("#chat-load")
    expect(page.locator("#chat-model-state")).to_contain_text("is loaded", timeout=LOADED_MS)
    say(page, "And now?")
    assert answered(page, 6)
    assert len(host.asked) == asked, "a model that is here asks nobody"


def test_a_host_that_wants_a_token_gets_it_and_nothing_keeps_it(
        tab: Tab, folder: Path, host: FaultyHost) -> None:
    page = tab.page
    files: dict[str, bytes] = {f"gated/{path.name}": path.read_bytes()
                               for path in folder.iterdir()}
    with FaultyHost(dict(files)) as gated, FaultyHost(dict(files)) as cdn:
        gated.token = "hf_secret"
        for name in files:
            if name.endswith("-of-00017.safetensors"):
                gated.faults[name] = Fault(redirect=cdn.url + name)
        page.click("a[data-place=models]")
        page.fill("#own-source", gated.url + "gated")
        page.click("#own-look")
        expect(page.locator("#sheet")).to_contain_text("Ask whoever runs 127.0.0.1")
        page.fill("#access-token", "hf_secret")
        page.keyboard.press("Enter")
        page.click("#sheet-agree")
        expect(page.locator("#library-live")).to_contain_text("is here.", timeout=20_000)
        assert cdn.asked and "hf_secret" not in str([one.headers for one in cdn.asked])
        assert "hf_secret" not in str([one.headers for one in host.asked])
        assert page.evaluate(STORED) > 0
        page.click("#own-forget")
        page.click("#own-look")
        expect(page.locator("#sheet")).to_contain_text("asks for an access token")
        page.click("#token-no")
        # The refusals are said on the console by the browser itself.
        allowed = (f"asked {gated.url}", f"asked {cdn.url}")
        tab.problems[:] = [one for one in tab.problems if not one.startswith(allowed)
                           and "status of 401" not in one]


def test_a_dropped_folder_without_a_template_goes_on_from_a_text(
        tab: Tab, folder: Path, tmp_path: Path) -> None:
    page = tab.page
    dropped = tmp_path / "plain-words"
    shutil.copytree(folder, dropped)
    (dropped / "tokenizer_config.json").write_text('{"eos_token": "<|im_end|>"}')
    drop(tab, dropped)
    expect(page.locator("#place-models")).to_be_visible()
    expect(page.locator("#library-live")).to_have_text("plain-words is here.", timeout=20_000)
    page.click("#model-chat-plain-words")
    expect(page.locator("#chat-model-state")).to_contain_text("goes on from what you write")
    expect(page.locator("#chat-model-state")).to_contain_text("is loaded", timeout=LOADED_MS)
    page.click("#chat-new")
    say(page, "The lamp was lit at dusk")
    assert answered(page, 2)
    page.click("#chat-send")
    assert answered(page, 3)


def drop(tab: Tab, path: Path) -> None:
    """Drops a folder of this computer on the page, as the browser does it itself."""
    session = tab.context.new_cdp_session(tab.page)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": data})
    session.detach()
