"""Layout and manners of the Fine-tune place, over the test double of the worker."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.fake_page import Opened
from tests.e2e.page_audit import CONTRAST, UNNAMED
from tests.e2e.test_page_models import DROP, answered, say

DATA = [["mine.jsonl", '{"messages": []}\n' * 20]]
PEFT = [["adapter_config.json", '{"base_model_name_or_path": "someone/TinyStories-GPT-2"}'],
        ["adapter_model.safetensors", "x" * 100]]
# Keeps the fields of every command of a name that the page sends to its worker.
SPY = """(name) => {
  window.sent = [];
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...rest) {
    if (message.name === name) window.sent.push(message);
    return post.call(this, message, ...rest);
  };
}"""


def bring_data(page: Page) -> None:
    """Drops a file of conversations and waits until it was read."""
    page.evaluate(DROP, DATA)
    expect(page.locator("#finetune-data-facts")).to_contain_text("812")
    expect(page.locator("#place-finetune")).to_be_visible()


def begin(page: Page) -> None:
    """Brings data and starts."""
    bring_data(page)
    page.click("#finetune-start")
    expect(page.locator("#finetune-start")).to_have_text("Pause")


@pytest.mark.parametrize(("width", "dark"), [(360, True), (1440, False)])
def test_it_fits_is_readable_and_named(opened: Opened, width: int, dark: bool) -> None:
    page = opened({"models": 1, "tuned": 2, "adapters": 2, "bad": 5, "fits": False, "step_ms": 0},
                  width=width, dark=dark, address="#/finetune")

    def audit() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CONTRAST) == []
        assert page.evaluate(UNNAMED) == []

    bring_data(page)
    page.check("#finetune-skip_bad_lines")
    expect(page.locator("#finetune-fits")).to_contain_text("does not fit")
    page.click("#finetune-all-settings summary")
    audit()
    page.click("#finetune-start")
    expect(page.locator("#finetune-facts-heading")).to_contain_text("Finished")
    page.click("#home-warm-lantern")
    page.click("#finetune-answers-older summary")
    audit()
    page.goto(f"{page.url.split('#')[0]}#/chat")
    page.check("#chat-adapter-on")
    audit()


def test_what_was_found_in_the_data_and_what_the_model_sees(opened: Opened) -> None:
    page = opened({"models": 1, "bad": 5})
    page.keyboard.press("3")
    expect(page.locator("#finetune-base-state")).to_contain_text("8\u202f192 tokens")
    page.click("#finetune-start")
    expect(page.locator("#finetune-corpus .problem")).to_contain_text("Choose what")
    bring_data(page)
    for fact in ("conversations", "184\u202f212", "61\u202f404 (33 %)", "2 documents, 319 tokens"):
        expect(page.locator("#finetune-data-facts")).to_contain_text(fact)
    expect(page.locator("#finetune-bad-list li")).to_have_text(
        ["line 12: messages is missing", "line 82: messages is missing",
         "line 152: messages is missing", "and 2 more"])
    page.click("#finetune-start")
    expect(page.locator("#finetune-bad .problem")).to_contain_text("or leave them out")
    expect(page.locator("#finetune-skip_bad_lines")).to_be_focused()
    row = page.locator("#finetune-preview-row")
    expect(row.locator(".read .token").first).to_have_text("<|user|>")
    expect(row.locator(".learned")).to_have_count(2)
    assert "learned: To read by." in row.inner_text().replace("\n", " ")
    expect(row.locator(".border")).to_have_count(2)
    assert page.locator("#finetune-preview-back").is_disabled()
    for _ in range(9):
        page.click("#finetune-preview-on")
    expect(page.locator("#finetune-preview-at")).to_have_text("row 10 of 40")
    page.check("#finetune-skip_bad_lines")
    page.click("#finetune-start")
    expect(page.locator("#finetune-start")).to_have_text("Pause")
    # The text of Train is still that of Train.
    expect(page.locator("#corpus-list input:checked")).to_have_value("ab" * 32)


def test_settings_are_checked_and_what_fits_is_one_button(opened: Opened) -> None:
    page = opened({"models": 1, "fits": False}, address="#/finetune")
    bring_data(page)
    expect(page.locator("#finetune-fits")).to_contain_text("770\u202fMB")
    page.fill("#finetune-r", "0")
    expect(page.locator("#finetune-r-wrong")).to_contain_text("a whole number from 1")
    page.click("#finetune-start")
    expect(page.locator("#finetune-r")).to_be_focused()
    page.click("#finetune-r-reset")
    for odd in ("15", "8193", "100.5"):
        page.get_by_label("Context", exact=True).and_(page.locator("#finetune-context_length")
                                                      ).fill(odd)
        expect(page.locator("#finetune-context_length-wrong")).to_have_text(
            "Context needs a whole number from 16 to 8\u202f192.")
    page.fill("#finetune-context_length", "512")
    expect(page.locator("#finetune-context_length-wrong")).to_be_empty()
    expect(page.locator("#finetune-fits")).to_contain_text("1.5\u202fGB")
    page.click("#finetune-all-settings summary")
    page.check("#finetune-target_modules-o_proj")
    expect(page.locator("#finetune-target_modules-usual")).to_contain_text("q_proj, v_proj")
    page.select_option("#finetune-method", "full")
    expect(page.locator("#finetune-r")).to_be_hidden()
    expect(page.locator("#finetune-target_modules")).to_be_hidden()
    page.select_option("#finetune-method", "lora")
    expect(page.locator("#finetune-suggestion")).to_contain_text("batch 1 and recomputed")
    page.click("#finetune-suggestion-use")
    expect(page.locator("#finetune-fits")).to_contain_text("It fits")
    expect(page.locator("#finetune-per_device_train_batch_size")).to_have_value("1")
    expect(page.locator("#finetune-context_length")).to_have_value("256")
    expect(page.locator("#finetune-gradient_checkpointing")).to_be_checked()


def test_answers_before_and_after_are_text_and_can_be_compared(opened: Opened) -> None:
    page = opened({"models": 1, "step_ms": 30}, address="#/finetune")
    page.fill("#finetune-prompts", "What is a lantern for?\n\nWho <i>keeps</i> it?")
    begin(page)
    table = page.locator("#finetune-answers-table")
    expect(table).to_contain_text("At step 10", timeout=10_000)
    expect(table.locator("tbody th")).to_have_text(["What is a lantern for?",
                                                    "Who <i>keeps</i> it?"])
    expect(table.locator("tbody tr").first.locator("td").first).to_have_text(
        "A lantern is a kind of <b>light</b>.")
    assert table.locator("b, i").count() == 0
    expect(table.locator("ins").first).to_have_text(re.compile("^light for the keeper"))
    expect(page.locator("#finetune-baseline-words")).to_contain_text("before")
    expect(page.locator("#finetune-facts-heading")).to_contain_text("Finished", timeout=10_000)
    page.select_option("#finetune-compare", "10")
    expect(table).to_contain_text("At step 10")
    expect(page.locator("#finetune-loss-words")).to_contain_text("equally likely tokens")
    page.keyboard.press("Escape")
    page.goto(f"{page.url.split('#')[0]}#/train")
    page.goto(f"{page.url.split('#')[0]}#/finetune")
    expect(page.locator("#finetune-compare")).to_have_value("10")


def test_pause_step_stop_and_come_back(opened: Opened) -> None:
    page = opened({"models": 1, "runs": 1, "step_ms": 100}, address="#/finetune")
    begin(page)
    page.click("#finetune-start")
    expect(page.locator("#finetune-start")).to_have_text("Resume")
    before = page.locator("#finetune-facts dd").first.inner_text()
    page.click("#finetune-step")
    expect(page.locator("#finetune-facts dd").first).not_to_have_text(before)
    page.keyboard.press("1")
    expect(page.locator("#train")).to_be_disabled()
    expect(page.locator("#train-elsewhere")).to_contain_text("calm-lantern has the GPU")
    expect(page.locator("#runs li")).to_have_count(1)
    page.keyboard.press("3")
    page.click("#finetune-stop")
    card = page.locator("#finetune-come-back")
    expect(card).to_contain_text("Your fine-tune calm-lantern stopped at step")
    page.click("#finetune-come-back-delete")
    expect(page.locator("#delete-yes-calm-lantern")).to_be_focused()
    page.click("#delete-no-calm-lantern")
    page.click("#finetune-come-back-resume")
    expect(page.locator("#finetune-start")).to_have_text("Pause")
    expect(card).to_be_hidden()


def test_a_stopped_fine_tune_is_offered_at_the_next_visit(opened: Opened) -> None:
    page = opened({"models": 1, "tuned": 2, "runs": 1, "fail": {"take_home": {
        "code": "storage", "message": "There is no space left."}}}, address="#/finetune")
    expect(page.locator("#finetune-come-back")).to_contain_text("warm-lantern stopped at step 40")
    page.click("#finetune-come-back-look")
    expect(page.locator("#finetune-answers-table")).to_contain_text("At step 40")
    page.click("#home-old-beacon")
    page.click("#home-zip-old-beacon")
    expect(page.locator("#finetune-runs-problem")).to_contain_text("no space left")


def test_problems_stand_at_the_control_that_mends_them(opened: Opened) -> None:
    page = opened({"models": 1, "fail": {"finetune": {
        "code": "settings", "message": "This rank is too high.", "control": "r"}}},
        address="#/finetune")
    bring_data(page)
    page.click("#finetune-start")
    expect(page.locator("#finetune-r-row .problem")).to_contain_text("This rank is too high.")
    page = opened({"models": 1, "fail": {"read_data": {
        "code": "data", "message": "This is a picture.", "control": "corpus"}}},
        address="#/finetune")
    page.evaluate(DROP, DATA)
    expect(page.locator("#finetune-corpus .problem")).to_contain_text("This is a picture.")


def test_the_adapter_is_one_switch_in_chat(opened: Opened) -> None:
    page = opened({"models": 1, "adapters": 3, "runs": 1, "step_ms": 0}, address="#/finetune")
    page.evaluate(SPY, "use_adapter")

    def last() -> dict[str, Any]:
        sent = page.evaluate("window.sent.at(-1)")
        return {key: sent[key] for key in ("adapter", "weight")}

    page.click("#adapter-chat-shopping-list")
    expect(page.locator("#chat-adapter-on")).to_be_checked()
    say(page, "What is a lantern for?")
    answered(page)
    note = page.locator(".message.assistant .note")
    expect(note.last).to_contain_text("adapter shopping-list at 1.00")
    assert last() == {"adapter": "shopping-list", "weight": 1}
    page.select_option("#chat-adapter-which", "lighthouse")
    page.focus("#chat-adapter-weight")
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("#chat-adapter-number")).to_have_text("0.75")
    expect(page.locator("#chat-adapter-note")).to_have_text("Takes effect at the next answer.")
    assert last()["weight"] == 1
    page.click("#chat-regenerate")
    answered(page)
    expect(note.last).to_contain_text("adapter lighthouse at 0.75")
    assert last() == {"adapter": "lighthouse", "weight": 0.75}
    page.uncheck("#chat-adapter-on")
    page.click("#chat-regenerate")
    answered(page)
    expect(note.last).to_contain_text("without an adapter")
    assert last()["adapter"] is None
    page.goto(f"{page.url.split('#')[0]}#/finetune")
    page.click("#adapter-chat-sonnets")
    expect(page.locator("#chat-model")).to_have_value("quiet-otter")
    expect(page.locator("#chat-model-state")).to_contain_text("is loaded")


def test_a_dropped_peft_folder_becomes_an_adapter(opened: Opened) -> None:
    page = opened({"models": 2})
    page.evaluate(DROP, PEFT[:1])
    expect(page.locator("#adapter-form")).to_contain_text("made for someone/TinyStories-GPT-2")
    expect(page.locator("#adapter-model")).to_have_value("tinystories")
    page.click("#adapter-form button[type=submit]")
    expect(page.locator("#adapter-problem")).to_contain_text("This adapter has no weights.")
    page.evaluate(DROP, PEFT)
    page.click("#adapter-form button[type=submit]")
    page.click("#model-adapters-tinystories")
    page.click("#model-adapter-delete-added")
    expect(page.locator("#model-adapter-delete-yes-added")).to_be_focused()
    page.click("#model-adapter-delete-yes-added")
    expect(page.locator("#model-adapters-tinystories")).to_have_count(0)


def test_a_whole_model_is_taken_home_in_the_numbers_that_were_chosen(opened: Opened) -> None:
    page = opened({"models": 1, "tuned": 2}, address="#/finetune")
    page.click("#home-old-beacon")
    with page.expect_download() as waiting:
        page.click("#home-zip-old-beacon")
    assert waiting.value.suggested_filename == "old-beacon-adapter-float32.zip"
    page.select_option("#home-form-old-beacon", "model")
    page.select_option("#home-dtype-old-beacon", "bfloat16")
    with page.expect_download() as waiting:
        page.click("#home-zip-old-beacon")
    assert waiting.value.suggested_filename == "old-beacon-model-bfloat16.zip"


def test_new_words_are_found_as_a_person_would(opened: Opened) -> None:
    page = opened()
    pieces = page.evaluate("""async () => {
      const main = document.querySelector("script[type=module]").src;
      const { compareWords } = await import(new URL("word_diff.js", main).href);
      const pairs = [["A lamp is a light.", "A lamp is for the keeper."], ["", "Now"],
        ["one two", "one two"], ["a", "a ".repeat(5000)]];
      return pairs.map(([before, after]) => compareWords(before, after)
        .map(({ words, fresh }) => (fresh ? `+${words}` : words)));
    }""")
    assert pieces[:3] == [["A lamp is ", "+for the keeper", "."], ["+Now"], ["one two"]]
    assert "".join(piece.removeprefix("+") for piece in pieces[3]) == "a " * 5000
