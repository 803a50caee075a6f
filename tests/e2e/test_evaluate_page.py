"""Layout and manners of "What did it learn?", over the test double of the worker."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.fake_page import Opened
from tests.e2e.page_audit import CONTRAST, UNNAMED
from tests.e2e.test_finetune_page import SPY

# Drops a file on the panel, not on the page at large.
DROP_HERE = """([name, content]) => {
  const data = new DataTransfer();
  data.items.add(new File([content], name));
  for (const type of ["dragover", "drop"]) {
    document.querySelector("#evaluate-kinds").dispatchEvent(
      new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  }
}"""
HERE = "#/finetune/evaluate"


def measure(page: Page, kind: str) -> None:
    """Chooses a kind, measures, and waits for the result."""
    page.check(f"#evaluate-kind-{kind}")
    page.click("#evaluate-start")
    expect(page.locator("#evaluate-said")).to_contain_text("Measured and kept")


@pytest.mark.parametrize(("width", "dark"), [(360, True), (768, False), (1440, True)])
def test_it_fits_is_readable_and_named(opened: Opened, width: int, dark: bool) -> None:
    page = opened({"models": 2, "adapters": 2, "judged": 8, "bad": 5}, width=width, dark=dark,
                  address=HERE)

    def audit() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CONTRAST) == []
        assert page.evaluate(UNNAMED) == []

    expect(page.locator("#evaluate-heading")).to_be_focused()
    page.click("#evaluate details summary")
    for name in ("text-2", "tasks-1", "conditions-3", "memorisation-4"):
        page.click(f"#evaluate-open-{name}")
        expect(page.locator("#evaluate-result-heading")).to_be_focused()
        audit()
    page.click("#evaluate-memory-table")
    page.check("#evaluate-kind-tasks")
    page.evaluate(DROP_HERE, ["mine.jsonl", "{}\n"])
    expect(page.locator("#evaluate-bad-list")).to_contain_text("line 2")
    page.click("#evaluate-delete-text-2")
    audit()
    page.select_option("#evaluate-first", "tasks-1")
    page.select_option("#evaluate-second", "tasks-5")
    page.click("#evaluate-compare button")
    expect(page.locator("#evaluate-result")).to_contain_text("B \u2212 A")
    audit()


def test_it_is_found_by_link_and_keyboard_without_a_fine_tune(opened: Opened) -> None:
    page = opened({"models": 1})
    page.keyboard.press("3")
    expect(page.locator("#evaluate-heading")).not_to_be_in_viewport()
    page.focus(".go a")
    page.keyboard.press("Enter")
    expect(page.locator("#evaluate-heading")).to_be_focused()
    expect(page.locator("#evaluate-heading")).to_be_in_viewport()
    expect(page.locator("#evaluate-model")).to_have_value("smollm2")
    expect(page.locator("#evaluate-model-state")).to_contain_text("no adapter here")
    page.click("#evaluate-start")
    expect(page.locator("#evaluate-text-block .problem")).to_contain_text("Choose a text.")
    expect(page.locator("#evaluate-corpus")).to_be_focused()


def test_a_text_is_measured_and_its_terms_are_explained(opened: Opened) -> None:
    page = opened({"models": 1, "adapters": 2}, address=HERE)
    page.evaluate(SPY, "evaluate")
    page.select_option("#evaluate-adapter", "lighthouse")
    page.evaluate(DROP_HERE, ["held-out.txt", "The lamp was lit."])
    expect(page.locator("#evaluate-corpus")).to_have_value("ef" * 32)
    page.select_option("#evaluate-share", "0.1")
    page.click("#evaluate details summary")
    page.fill("#evaluate-context_length", "1.5")
    page.click("#evaluate-start")
    expect(page.locator("#evaluate-options .problem")).to_contain_text("write a whole number")
    page.fill("#evaluate-context_length", "256")
    measure(page, "text")
    sent = page.evaluate("window.sent.at(-1)")
    assert {key: sent[key] for key in ("model", "adapter", "kind", "corpus", "tasks", "options")} \
        == {"model": "smollm2", "adapter": "lighthouse", "kind": "text", "corpus": "ef" * 32,
            "tasks": None, "options": {"share": 0.1, "context_length": 256}}
    result = page.locator("#evaluate-result")
    for words in ("0.9132 bits", "1.900 nats a token", "choosing among 7 equally likely tokens",
                  "e to the loss", "different tokenizers", "6.686", "12\u202f345"):
        expect(result).to_contain_text(words)
    # The text of Train is still that of Train, and nothing was given to the fine-tune.
    expect(page.locator("#corpus-list input:checked")).to_have_value("ab" * 32)
    expect(page.locator("#finetune-corpus-list input:checked")).to_have_count(0)


def test_tasks_show_bad_lines_and_each_answer_as_text(opened: Opened) -> None:
    page = opened({"models": 1, "bad": 5}, address=HERE)
    page.check("#evaluate-kind-tasks")
    expect(page.locator("#evaluate-tasks-found")).to_contain_text("40 multiple-choice")
    expect(page.locator("#evaluate-bad")).to_be_hidden()
    page.evaluate(DROP_HERE, ["mine.jsonl", "{}\n"])
    expect(page.locator("#evaluate-bad-list li")).to_have_text([
        *(f"line {line}: an item has either choices or a cloze" for line in (2, 9, 16)),
        "and 2 more"])
    measure(page, "tasks")
    result = page.locator("#evaluate-result")
    expect(result.locator(".bars").first).to_contain_text("66.7\u202f% \u00b1 8.6\u202f%")
    expect(result).to_contain_text("Guessing would give 33.3\u202f%")
    rows = result.locator(".answers tbody tr")
    expect(rows).to_have_count(10)
    expect(rows.nth(0)).to_contain_text("\u2717 wrong")
    expect(rows.nth(1)).to_contain_text("\u2713 right")
    expect(rows.nth(1).locator("th")).to_contain_text("To open <i>door 2</i>, Anna took out")
    page.click("#evaluate-more")
    expect(rows).to_have_count(40)
    page.check("#evaluate-only-wrong")
    expect(rows).to_have_count(14)
    expect(page.locator("#evaluate-only-wrong")).to_be_focused()
    assert result.locator("i, b, u").count() == 0


def test_conditions_stand_side_by_side(opened: Opened) -> None:
    page = opened({"models": 1, "adapters": 2}, address=HERE)
    page.select_option("#evaluate-adapter", "lighthouse")
    measure(page, "conditions")
    result = page.locator("#evaluate-result")
    expect(result.locator("tbody th").nth(3)).to_have_text("adapter + retrieval")
    first = result.locator(".scroll tbody tr").first
    expect(first.locator("td")).to_have_text(
        ["12.5\u202f%", "0.8375", "0.04167", "23.60", "225\u202fms", "0.1040"])
    expect(result.locator(".bars")).to_have_count(6)
    answer = result.locator(".answers tbody tr").first.locator("td")
    expect(answer.nth(3)).to_contain_text("<u>key</u> of the adapter + retrieval lighthouse")
    expect(answer).to_have_count(4)


def test_a_recital_is_quoted_and_its_place_is_said(opened: Opened) -> None:
    page = opened({"models": 1}, address=HERE)
    page.evaluate(SPY, "evaluate")
    page.check("#evaluate-kind-memorisation")
    page.select_option("#evaluate-corpus", "cd" * 32)
    page.fill("#evaluate-prefixes", "12")
    measure(page, "memorisation")
    assert page.evaluate("window.sent.at(-1).options") == {"prefixes": 12}
    result = page.locator("#evaluate-result")
    expect(result).to_contain_text("124 characters (31 tokens)")
    expect(result).to_contain_text("line 2, character 120")
    # Characters as Python counts them: a moon is one.
    recited = str(result.locator("mark").text_content()).removeprefix("recited word for word: ")
    assert len(recited) == 124 and recited.startswith("\U0001f319very <b>day</b>")
    expect(result.locator(".bars").first.locator("li")).to_contain_text(
        ["0", "1 to 9", "10 to 24", "25 to 49", "50 to 99", "100 to 199", "200 or more"])
    expect(result.locator(".strip rect")).to_have_count(13)
    page.click("#evaluate-memory-table")
    expect(result.locator("tbody tr")).to_have_count(12)


def test_what_takes_long_says_how_long_and_can_be_stopped(opened: Opened) -> None:
    page = opened({"models": 1, "piece_ms": 150}, address=HERE)
    page.check("#evaluate-kind-tasks")
    page.click("#evaluate-start")
    expect(page.locator("#evaluate-at")).to_contain_text("of 20, about")
    page.click("#evaluate-stop")
    expect(page.locator("#evaluate-said")).to_have_text("Stopped. Nothing was kept.")
    expect(page.locator("#evaluate-stop")).to_be_hidden()
    expect(page.locator("#evaluate-kept-none")).to_contain_text("kept here")


def test_kept_ones_are_exported_compared_and_deleted(opened: Opened) -> None:
    page = opened({"models": 1, "adapters": 2, "judged": 5}, address=HERE)
    kept = page.locator("#evaluate-kept > li")
    expect(kept).to_have_count(5)
    for form, name in (("json", "text-2.json"), ("markdown", "text-2.md")):
        with page.expect_download() as waiting:
            page.click(f"#evaluate-kept-{form}-text-2")
        assert waiting.value.suggested_filename == name
    page.click("#evaluate-compare button")
    expect(page.locator("#evaluate-compare .problem")).to_contain_text("Choose two")
    options: Any = page.locator("#evaluate-first option")
    expect(options).to_have_count(3)
    page.select_option("#evaluate-first", "tasks-1")
    page.select_option("#evaluate-second", "tasks-5")
    page.click("#evaluate-compare button")
    result = page.locator("#evaluate-result")
    expect(result.locator(".scroll tbody tr").first.locator("td")).to_have_text(
        ["0.6500", "0.8000", "+0.1500", "B"])
    expect(result.locator(".answers tbody tr")).to_contain_text("door 4")
    page.click("#evaluate-delete-tasks-5")
    expect(page.locator("#evaluate-yes-tasks-5")).to_be_focused()
    expect(kept.first).to_contain_text('Delete "tasks: everyday, smollm2 (5)"?')
    page.click("#evaluate-no-tasks-5")
    expect(page.locator("#evaluate-delete-tasks-5")).to_be_focused()
    page.click("#evaluate-delete-tasks-5")
    page.click("#evaluate-yes-tasks-5")
    expect(kept).to_have_count(4)
    expect(page.locator("#evaluate-compare")).to_be_hidden()


def test_a_problem_stands_at_the_panels_own_control(opened: Opened) -> None:
    page = opened({"models": 1, "fail": {"evaluate": {
        "code": "settings", "message": "There must be more items.", "control": "shots"}}},
        address=HERE)
    page.check("#evaluate-kind-conditions")
    page.click("#evaluate-start")
    expect(page.locator("#evaluate-options-shown .problem")).to_contain_text("more items")
    expect(page.locator("#evaluate-shots")).to_be_focused()
