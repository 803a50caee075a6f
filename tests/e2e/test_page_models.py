"""Layout and manners of the places Chat and Models, over the test double of the worker."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.fake_page import Opened
from tests.e2e.page_audit import CONTRAST, UNNAMED

SMOL = "SmolLM2 135M Instruct"
DROP = """(files) => {
  const data = new DataTransfer();
  for (const [name, content] of files) data.items.add(new File([content], name));
  for (const type of ["dragover", "drop"]) {
    window.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true }));
  }
}"""
# Where the end of the conversation is, and the box below it, at each frame of a while.
WATCH = """async () => {
  const log = document.getElementById("chat-log");
  const box = document.getElementById("chat-prompt");
  const seen = [];
  for (let i = 0; i < 30; i += 1) {
    await new Promise(requestAnimationFrame);
    const first = document.querySelector("#chat-messages li");
    seen.push([log.offsetTop, log.offsetHeight, box.getBoundingClientRect().top,
      first.getBoundingClientRect().top + log.scrollTop]);
  }
  return seen;
}"""


def say(page: Page, words: str) -> None:
    """Sends a message as a person does."""
    page.fill("#chat-prompt", words)
    page.focus("#chat-prompt")
    page.keyboard.press("Enter")


def answered(page: Page) -> None:
    """Waits until nothing is being written."""
    expect(page.locator("#chat-stop")).to_be_hidden()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 768, 1440])
def test_a_conversation_and_facts_fit_and_are_readable(opened: Opened, width: int,
                                                       dark: bool) -> None:
    page = opened({"models": 1, "step_ms": 0}, width=width, dark=dark, address="#/models")
    page.click("#get-1")
    expect(page.locator("#sheet-agree")).to_be_visible()

    def audit() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CONTRAST) == []
        assert page.evaluate(UNNAMED) == []

    audit()
    page.click("#model-delete-smollm2")
    page.goto(f"{page.url.split('#')[0]}#/chat")
    say(page, "Why is the sky blue?\n" + "verylongword" * 30)
    expect(page.locator("#chat-facts")).to_contain_text("KB/s")
    page.click("#chat-all-settings summary")
    page.click("#edit-0")
    expect(page.locator("#chat-edit")).to_be_focused()
    audit()


def test_nothing_is_downloaded_before_the_facts_were_agreed_to(opened: Opened) -> None:
    page = opened({"piece_ms": 60}, address="#/models")
    page.evaluate("""() => {
      window.said = [];
      tabgrad.onMessage((message) => window.said.push(message.name));
    }""")
    page.click("#get-0")
    sheet = page.locator("#sheet")
    for fact in ("271\u202fMB", "apache-2.0", "GPU memory", "269\u202fMB", "Free in this browser",
                 "20\u202fGB", "BF16", "134\u202f515\u202f008", "8\u202f192 tokens"):
        expect(sheet).to_contain_text(fact)
    assert "transfer" not in page.evaluate("window.said")
    page.click("#sheet-no")
    expect(sheet).to_be_hidden()
    expect(page.locator("#get-0")).to_be_focused()
    page.click("#get-0")
    page.click("#sheet-agree")
    expect(page.locator("#transfer-amount")).to_have_text(
        re.compile(r"\d+\s.?B of 271\sMB"))
    expect(page.locator("#transfer-left")).to_contain_text("left")
    page.click("#transfer-cancel")
    expect(page.locator("#library-live")).to_contain_text("What came is kept")
    expect(page.locator("#here")).to_contain_text("cut off at 5.0\u202fMB of 271\u202fMB")
    page.click("#model-go-on-smollm2")
    expect(page.locator("#library-live")).to_have_text(f"{SMOL} is here.", timeout=10_000)
    expect(page.locator("#get-0")).to_have_text("Chat")


def test_what_speaks_against_a_download_is_said_before_it(opened: Opened) -> None:
    page = opened({"free": 100_000_000}, address="#/models")
    page.click("#get-0")
    expect(page.locator("#sheet")).to_contain_text("not enough room: 171\u202fMB are missing")
    expect(page.locator("#sheet-agree")).to_be_disabled()
    page = opened({"hindrance": {"code": "checkpoint", "message": "It is a vision model."}},
                  address="#/models")
    page.fill("#own-source", "someone/vision")
    page.keyboard.press("Enter")
    expect(page.locator("#own-sheet #sheet")).to_contain_text("It is a vision model.")
    expect(page.locator("#sheet-agree")).to_be_disabled()


def test_a_wrong_address_is_said_at_its_field(opened: Opened) -> None:
    page = opened({"fail": {"model_facts": {
        "code": "download", "message": "models.test has no config.json."}}}, address="#/models")
    page.click("#own-look")
    expect(page.locator("#own-form .problem")).to_contain_text("Write an address first.")
    page.fill("#own-source", "https://models.test/nothing/")
    page.click("#own-look")
    expect(page.locator("#own-problem")).to_contain_text("models.test has no config.json.")
    expect(page.locator("#sheet")).to_be_hidden()


@pytest.mark.parametrize(("width", "dark"), [(360, True), (1440, False)])
def test_a_host_that_wants_a_token_is_told_it_once(opened: Opened, width: int,
                                                   dark: bool) -> None:
    page = opened({"gated": "hf_secret"}, width=width, dark=dark, address="#/models")
    page.fill("#own-source", "google/gemma-3-270m")
    page.keyboard.press("Enter")
    sheet, form = page.locator("#own-sheet #sheet"), page.locator("#token-form")
    expect(sheet).to_contain_text("google/gemma-3-270m asks for an access token")
    expect(sheet.locator("#sheet-heading")).to_be_focused()
    for part, href in (("model's page", "google/gemma-3-270m"), ("settings", "settings/tokens")):
        expect(sheet.get_by_role("link", name=part)).to_have_attribute(
            "href", f"https://huggingface.co/{href}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == [] and page.evaluate(UNNAMED) == []
    for odd in ("", "hf_n\u00f6"):
        page.get_by_label("Access token", exact=True).and_(page.locator("#access-token")).fill(odd)
        page.keyboard.press("Enter")
        expect(form.locator(".problem")).to_contain_text("no access token")
    page.fill("#access-token", "hf_wrong")
    page.keyboard.press("Enter")
    expect(sheet).to_contain_text("was not enough")
    page.fill("#access-token", " hf_secret ")
    page.keyboard.press("Enter")
    expect(page.locator("#sheet-agree")).to_be_visible()
    expect(form).to_be_hidden()
    held = "Your access token for huggingface.co is held for this visit."
    expect(sheet).to_contain_text(held)
    expect(page.locator("#own-held")).to_contain_text(held)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == [] and page.evaluate(UNNAMED) == []
    assert page.evaluate("document.documentElement.outerHTML + location.href"
                         " + JSON.stringify(localStorage)").count("hf_secret") == 0
    assert page.eval_on_selector_all("input", "(all) => all.map((one) => one.value).join()"
                                     ).count("hf_secret") == 0

    page.click("#get-2")  # of another host: the token is not for it
    expect(page.locator("#slot-2 #sheet")).to_contain_text("Ask whoever runs models.test")
    page.click("#token-no")
    expect(page.locator("#get-2")).to_be_focused()
    page.click("#own-forget")
    expect(page.locator("#library-live")).to_have_text("The access token is forgotten.")
    expect(page.locator("#own-held")).to_be_empty()
    page.click("#own-look")
    expect(sheet).to_contain_text("asks for an access token")
    page.click("#token-no")
    page.click("#own-access summary")
    page.fill("#own-token", "hf_secret")
    page.keyboard.press("Enter")
    expect(page.locator("#own-sheet #sheet-agree")).to_be_visible()
    expect(page.locator("#own-token")).to_have_value("")


def test_deleting_names_the_model_and_keeping_protects_it(opened: Opened) -> None:
    page = opened({"models": 2}, address="#/models")
    page.click("#model-delete-smollm2")
    expect(page.locator("#model-delete-yes-smollm2")).to_be_focused()
    expect(page.locator("#here .confirm")).to_contain_text(f"Delete {SMOL} (271\u202fMB)?")
    page.click("#model-delete-no-smollm2")
    expect(page.locator("#model-delete-smollm2")).to_be_focused()
    page.check("#model-keep-smollm2")
    expect(page.locator("#model-delete-smollm2")).to_have_count(0)
    page.uncheck("#model-keep-smollm2")
    page.click("#model-delete-smollm2")
    page.click("#model-delete-yes-smollm2")
    expect(page.locator("#here li")).to_have_count(1)
    expect(page.locator("#get-0")).to_have_text("Get")
    expect(page.locator("#library-used")).to_contain_text("of 21\u202fGB used")


def test_dropped_models_go_to_models_and_texts_to_train(opened: Opened) -> None:
    page = opened()
    page.evaluate(DROP, [["config.json", "{}"], ["model.safetensors", "x" * 100]])
    expect(page.locator("#place-models")).to_be_visible()
    expect(page.locator("#here")).to_contain_text("dropped model")
    page.evaluate(DROP, [["mine.txt", "A text of my own. " * 20]])
    expect(page.locator("#place-train")).to_be_visible()
    expect(page.locator("#corpus-list")).to_contain_text("mine.txt")


def test_sending_loads_first_then_streams_as_text_and_stops(opened: Opened) -> None:
    page = opened({"models": 1, "step_ms": 20, "piece_ms": 20}, address="#/chat")
    expect(page.locator("#chat-model-state")).to_contain_text("not loaded")
    page.fill("#chat-max_new_tokens", "4000")
    say(page, "<i>Why</i> is the sky blue?")
    expect(page.locator("#chat-model-state")).to_contain_text("Weights to your GPU")
    expect(page.locator("#chat-messages li").last).to_contain_text("The sky looks <b>blue</b>")
    assert page.locator("#chat-messages b, #chat-messages i").count() == 0
    assert page.locator("#chat-live").text_content() == ""
    steady = page.evaluate(WATCH)
    assert steady == [steady[0]] * len(steady), "nothing moves while text comes"
    page.keyboard.press("Escape")
    answered(page)
    expect(page.locator("#chat-live")).to_contain_text("Answer: The sky looks")
    expect(page.locator("#chat-facts")).to_contain_text("stopped by you")
    assert page.locator("#chat-messages li").count() == 2


def test_regenerating_editing_and_a_new_line(opened: Opened) -> None:
    page = opened({"models": 1, "step_ms": 0}, address="#/chat")
    page.focus("#chat-prompt")
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    page.keyboard.press("Enter")
    expect(page.locator("#chat-facts")).to_contain_text("by the model")
    expect(page.locator("#chat-messages .user .words")).to_have_text("one\ntwo")
    seed = page.locator("#chat-facts div:has-text('Seed')").inner_text()
    page.click("#chat-regenerate")
    expect(page.locator("#chat-facts div:has-text('Seed')")).not_to_have_text(seed)
    answered(page)
    say(page, "and then?")
    expect(page.locator("#chat-messages li")).to_have_count(4)
    answered(page)
    page.click("#edit-0")
    expect(page.locator(".edit")).to_contain_text("removes what came after it")
    page.fill("#chat-edit", "three")
    page.keyboard.press("Enter")
    expect(page.locator("#chat-messages .user .words")).to_have_text("three")
    answered(page)
    expect(page.locator("#chat-messages li")).to_have_count(2)
    expect(page.locator("#chat-count")).to_have_text(re.compile(r"\d+ of 4\s096 tokens"))


def test_settings_say_the_models_own_and_refuse_what_cannot_be(opened: Opened) -> None:
    page = opened({"models": 1, "greedy": True}, address="#/chat")
    page.click("#chat-load")
    expect(page.locator("#chat-temperature-own")).to_have_text("Model's own: 0.")
    page.fill("#chat-top_p", "7")
    expect(page.locator("#chat-top_p-wrong")).to_have_text("Top-p needs a number from 0 to 1.")
    say(page, "hello")
    assert page.evaluate("document.activeElement.id") == "chat-top_p"
    expect(page.locator("#chat-prompt")).to_have_value("hello")
    page.click("#chat-top_p-reset")
    page.click("#chat-send")
    expect(page.locator("#chat-messages li").last).to_contain_text("the same answer comes again")


def test_a_model_without_a_template_goes_on_from_the_text(opened: Opened) -> None:
    page = opened({"models": 2, "step_ms": 0}, address="#/chat")
    page.select_option("#chat-model", "tinystories")
    expect(page.locator("#chat-model-state")).to_contain_text("it goes on from what you write")
    say(page, "Once upon a time")
    expect(page.locator("#chat-facts")).to_contain_text("by the model")
    expect(page.locator("#chat-send")).to_have_text("Go on")
    page.click("#chat-send")
    expect(page.locator("#chat-messages li")).to_have_count(3)
    answered(page)


def test_kept_conversations_come_back_and_go(opened: Opened) -> None:
    page = opened({"kept": 2, "models": 2}, address="#/chat")
    expect(page.locator("#chat-messages .user .words")).to_have_text(
        "Why is the sky blue, part 1?")
    page.click("#open-chat-1")
    expect(page.locator("#chat-messages .user .words")).to_have_text(
        "Why is the sky blue, part 2?")
    page.click("#forget-chat-1")
    expect(page.locator("#yes-chat-1")).to_be_focused()
    page.click("#yes-chat-1")
    expect(page.locator("#chat-list li")).to_have_count(1)
    expect(page.locator("#chat-messages li")).to_have_count(0)
    page.click("#chat-new")
    expect(page.locator("#chat-prompt")).to_be_focused()


def test_problems_stand_where_they_are_mended(opened: Opened) -> None:
    long = {"code": "settings", "message": "The text is longer than the model's window.",
            "control": "prompt"}
    page = opened({"models": 1, "fail": {"chat": long}}, address="#/chat")
    say(page, "hello")
    expect(page.locator("#chat-form .problem")).to_contain_text("longer than the model's window")
    expect(page.locator("#chat-messages li")).to_have_count(1)
    page.click("#chat-answer")
    expect(page.locator("#chat-form .problem")).to_have_count(1)
    none: dict[str, Any] = {}
    page = opened(none, address="#/chat")
    expect(page.locator("#chat-none")).to_contain_text("No model is here yet.")
    expect(page.locator("#chat-send")).to_be_disabled()
