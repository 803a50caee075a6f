"""The page's layout and manners, in seconds: the built page over a test double of its worker.

`fake_worker.js` speaks protocol.json and replays plausible messages, so that every state of the
page can be had at once: no GPU, a crash, a full disk, a long run. The places Chat and Models are in
test_page_models.py; the real worker is tested by the other files of this folder.
"""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.fake_page import FakeSite, Opened
from tests.e2e.page_audit import CONTRAST, UNNAMED

Box = dict[str, float]

WIDTHS = (360, 768, 1440)
PATIENCE_SECONDS = 60
GO_ON = """async () => {
  while (!globalThis.goOn) await new Promise((resolve) => setTimeout(resolve, 10));
  globalThis.goOn();
}"""
TOO_SHORT = {"code": "data", "message": "This text is too short.", "expected": "129 bytes",
             "received": "12 bytes", "remedy": "Choose a longer one.", "control": "corpus"}


def train_until(page: Page, step: int) -> None:
    """Presses Train and waits until the title shows that step or a later one."""
    page.click("#train")
    late = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < late:
        shown = re.sub(r"\D", "", page.title().split("\u00b7")[0])
        if shown and int(shown) >= step:
            return
        page.wait_for_timeout(25)
    raise AssertionError(f"step {step} did not come; the title is {page.title()!r}")


def box(page: Page, selector: str) -> Box:
    """Where an element is."""
    found = page.locator(selector).bounding_box()
    assert found is not None, selector
    return dict(found)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_place_fits_is_readable_and_named(opened: Opened, width: int, dark: bool) -> None:
    page = opened({"runs": 2, "step_ms": 1, "models": 2, "cut": True, "kept": 2}, width=width,
                  dark=dark)
    train_until(page, 60)
    page.click("#train")
    expect(page.locator("#train")).to_have_text("Resume")
    for place in ("train", "generate", "chat", "finetune", "models", "device"):
        page.goto(f"{page.url.split('#')[0]}#/{place}")
        expect(page.locator(f"#place-{place} h1")).to_be_visible()
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{place} is {wide} px wide in a window of {width}"
        assert page.evaluate(CONTRAST) == []
        assert page.evaluate(UNNAMED) == []


def test_the_order_of_the_layout(opened: Opened) -> None:
    wide = opened({"step_ms": 1}, width=1440)
    assert box(wide, "#train")["y"] + 40 <= 900, "Train is in sight without scrolling"
    train_until(wide, 20)
    rail, picture, facts = (box(wide, f"#place-train .{name}")
                            for name in ("rail", "area-picture", "area-facts"))
    assert rail["x"] < picture["x"] < facts["x"]
    narrow = opened({"step_ms": 1}, width=360, height=740)
    train_until(narrow, 20)
    tops = [box(narrow, f"#place-train .area-{name}")["y"]
            for name in ("picture", "facts", "controls")]
    assert tops == sorted(tops)
    shown = box(narrow, "#train")
    assert 0 <= shown["y"] <= 740 - shown["height"], "the buttons stay in sight"


def test_train_pressed_during_the_start_is_remembered(opened: Opened) -> None:
    page = opened({"hold_boot": True}, wait=False)
    assert page.locator("#schematic svg").is_visible()
    assert page.locator("button.filled:visible").all_inner_texts() == ["Train"]
    expect(page.locator("#boot-stages")).to_contain_text("MB of 12")
    page.click("#train")
    expect(page.locator("#train")).to_have_text("Starts when ready")
    (worker,) = page.workers
    worker.evaluate(GO_ON)
    expect(page.locator("#train")).to_have_text("Pause")
    expect(page.locator("#boot")).to_be_hidden()


def test_the_curve_is_read_by_keyboard_and_as_a_table(opened: Opened) -> None:
    page = opened({"step_ms": 1, "overfit": True}, address="?max_steps=1500")
    train_until(page, 1100)
    page.click("#train")
    expect(page.locator("#train")).to_have_text("Resume")
    page.focus("#chart")
    page.keyboard.press("Home")
    expect(page.locator("#chart-readout")).to_contain_text("step 1: train 5.5")
    page.keyboard.press("ArrowRight")
    first = page.locator("#chart-readout").inner_text()
    page.keyboard.press("End")
    assert page.locator("#chart-readout").inner_text() != first
    expect(page.locator("#verdict")).to_contain_text(re.compile("Since step 8.0 validation has"))
    expect(page.locator("#loss-words")).to_contain_text("equally likely bytes")
    page.click("#chart-table-toggle")
    assert 100 <= page.locator("#chart-table tbody tr").count() <= 210
    with page.expect_download() as waiting:
        page.click("#chart-csv")
    lines = waiting.value.path().read_text().splitlines()
    assert lines[0] == "step,train_loss,learning_rate,grad_norm,validation_loss"
    assert lines[1].startswith("1,5.5") and len(lines) > 1100


def test_thinning_keeps_every_peak(opened: Opened) -> None:
    page = opened()
    module = page.evaluate("""async () => {
      const main = document.querySelector("script[type=module]").src;
      const { thin, align } = await import(new URL("history.js", main).href);
      const points = Array.from({ length: 50_000 }, (_, i) => ({ step: i + 1, loss: 2 }));
      points[31_234].loss = 9;
      points[777].loss = 0.5;
      const kept = thin(points, 1200);
      const rows = align([{ step: 1, loss: 3 }, { step: 3, loss: 2 }], [{ step: 2, loss: 4 }]);
      return { count: kept.length, losses: kept.map((p) => p.loss), last: kept.at(-1).step, rows };
    }""")
    assert module["count"] <= 1300 and module["last"] == 50_000
    assert max(module["losses"]) == 9 and min(module["losses"]) == 0.5
    assert module["rows"] == [[1, 2, 3], [3, None, 2], [None, 4, None]]


def test_settings_are_checked_reset_and_kept_in_the_address(opened: Opened) -> None:
    page = opened(address="?preset=tiny&max_steps=500&seed=7")
    expect(page.locator("#seed")).to_have_value("7")
    expect(page.locator("#learning_rate")).to_have_value("0.003")
    page.fill("#max_steps", "0")
    expect(page.locator("#max_steps-wrong")).to_contain_text("a whole number from 1")
    page.click("#train")
    assert page.evaluate("document.activeElement.id") == "max_steps"
    page.fill("#max_steps", "700")
    expect(page).to_have_url(re.compile(r"\?preset=tiny&max_steps=700&seed=7"))
    page.click("#preset-reset")
    page.click("#max_steps-reset")
    expect(page).to_have_url(re.compile(r"/\?seed=7"))
    expect(page.locator("#learning_rate")).to_have_value("0.001")
    page.click("#all-settings summary")
    page.locator("#place-train").get_by_label("Recompute activations", exact=True).select_option(
        "true")
    page.locator("#place-train").get_by_label("Saved activations", exact=True).select_option(
        "float16")
    expect(page).to_have_url(re.compile(
        "seed=7&gradient_checkpointing=true&activation_dtype=float16"))


def test_digits_change_places_but_not_while_typing(opened: Opened) -> None:
    page = opened({"runs": 1})
    page.keyboard.press("2")
    expect(page.locator("#place-chat")).to_be_visible()
    page.focus("#chat-prompt")
    page.keyboard.type("1 2 6")
    expect(page.locator("#chat-prompt")).to_have_value("1 2 6")
    page.locator("#chat-prompt").blur()
    page.keyboard.press("6")
    expect(page.locator("#place-models")).to_be_visible()
    page.keyboard.press("1")
    expect(page.locator("#place-train")).to_be_visible()


def test_come_back_and_delete_with_a_named_question(opened: Opened) -> None:
    page = opened({"runs": 2})
    expect(page.locator("#come-back")).to_contain_text("Your run quiet-otter stopped at step")
    page.click("#come-back-delete")
    expect(page.locator("#delete-yes-quiet-otter")).to_be_focused()
    page.click("#delete-no-quiet-otter")
    expect(page.locator("#runs li")).to_have_count(2)
    page.click("#come-back-look")
    expect(page.locator("#chart-figure")).to_be_visible()
    expect(page.locator("#sample-list li").first).to_contain_text("step 1\u202f200")
    page.click("#delete-quiet-otter")
    page.click("#delete-yes-quiet-otter")
    expect(page.locator("#runs li")).to_have_count(1)
    expect(page.locator("#chart-figure")).to_be_hidden()


def test_a_problem_stands_at_the_control_that_mends_it(opened: Opened) -> None:
    page = opened({"fail": {"train": TOO_SHORT}})
    page.click("#train")
    problem = page.locator("#corpus .problem")
    expect(problem).to_contain_text("This text is too short. Expected: 129 bytes.")
    expect(page.locator("#corpus")).to_have_attribute("aria-invalid", "true")
    page.wait_for_timeout(300)
    expect(problem).to_be_visible()
    problem.get_by_role("button", name="Dismiss").click()
    expect(problem).to_have_count(0)


def test_a_busy_run_and_a_full_disk_say_so(opened: Opened) -> None:
    page = opened({"runs": 1, "fail": {
        "restore": {"code": "busy", "message": "quiet-otter is open in another tab.",
                    "control": "runs"},
        "export": {"code": "storage", "message": "There is no space left."}}})
    page.click("#resume-quiet-otter")
    expect(page.locator("#runs-problem")).to_contain_text("open in another tab")
    page.click("#export-quiet-otter")
    page.get_by_role("button", name="See what takes space").click()
    expect(page.locator("#storage-facts")).to_contain_text("MB")


def test_without_a_gpu_it_says_what_would_bring_one(opened: Opened) -> None:
    page = opened({"fallback": "There is no WebGPU adapter."})
    expect(page.locator("#device-chip")).to_contain_text("times slower")
    expect(page.locator("#no-gpu-train")).to_contain_text(re.compile(r"Chrome \d+ has WebGPU"))
    expect(page.locator("#preset")).to_have_value("tiny")
    assert "?" not in page.url


def test_a_crash_has_one_sentence_and_one_button(opened: Opened) -> None:
    # Slow enough that training is seen between its start and the crash, on a busy machine too.
    page = opened({"runs": 1, "step_ms": 150, "crash_at": 1260})
    page.click("#come-back-resume")
    expect(page.locator("#notices")).to_contain_text("Everything up to the last checkpoint is safe")
    expect(page.locator("#train")).to_be_disabled()
    page.click("#restart")
    expect(page.locator("#train")).to_have_text("Pause")
    expect(page.locator("#facts-heading")).to_contain_text("quiet-otter")
    # The double throws again at that step: that a second crash is told as the first one was.
    expect(page.locator("#restart")).to_be_visible(timeout=10_000)


def test_a_failed_start_can_be_tried_again(opened: Opened, fake_site: FakeSite) -> None:
    page = opened({"fail": {"boot": {"code": "start", "message": "Python could not be started."}}},
                  wait=False)
    problem = page.locator("#boot-problem .problem")
    expect(problem).to_contain_text("Python could not be started.")
    fake_site.play({})
    problem.get_by_role("button", name="Try again").click()
    expect(page.locator("#max_steps")).to_be_enabled()
    expect(problem).to_have_count(0)


def test_messages_outside_the_table_are_refused(opened: Opened) -> None:
    page = opened({"notice": {"code": "strange", "message": 7}})
    expect(page.locator("#notices")).to_contain_text("do not understand each other")
    refused = page.evaluate("""() => tabgrad.command("estimate", { settings: { preset: "tiny" } })
      .then(() => "answered", (error) => error.problem.code)""")
    assert refused == "protocol"
    unknown = page.evaluate('tabgrad.command("fly").catch((error) => error.message)')
    assert unknown == 'There is no command "fly".'


def test_a_dropped_or_pasted_text_is_described(opened: Opened) -> None:
    page = opened()
    page.evaluate("""() => {
      const data = new DataTransfer();
      data.items.add(new File(["A text of my own. ".repeat(20)], "mine.txt"));
      for (const type of ["dragover", "drop"]) {
        window.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true }));
      }
    }""")
    expect(page.locator("#corpus-list")).to_contain_text("mine.txt")
    expect(page.locator("#corpus-preview")).to_contain_text("A text of my own.")
    expect(page.locator("#corpus-facts")).to_contain_text("360")
    expect(page.locator("#place-train")).to_contain_text("Stored only in this browser.")


def test_generated_text_streams_as_text_and_stops(opened: Opened) -> None:
    page = opened({"runs": 1, "step_ms": 20}, address="#/generate")
    page.fill("#prompt", "<b>KING</b>")
    page.fill("#max_new_tokens", "4000")
    page.click("#generate")
    expect(page.locator("#output")).to_contain_text("ROMEO")
    assert page.locator("#output b").count() == 0
    page.click("#generate-stop")
    expect(page.locator("#generate-speed")).to_contain_text("stopped")
    assert len(page.locator("#output").inner_text()) < 4000


def test_there_is_something_to_do_before_the_first_run(opened: Opened) -> None:
    page = opened(address="#/generate")
    expect(page.locator("#generate-empty")).to_contain_text("Train one first")
    expect(page.locator("#generate-form")).to_be_hidden()


def test_a_chosen_theme_is_remembered(opened: Opened) -> None:
    page = opened()
    page.click("#theme")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.alone
def test_a_long_run_makes_no_long_task(opened: Opened) -> None:
    page = opened({"step_ms": 0}, address="?max_steps=20000&sample_steps=500")
    page.evaluate("""() => {
      window.longest = 0;
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) {
          window.longest = Math.max(window.longest, duration);
        }
      }).observe({ entryTypes: ["longtask"] });
    }""")
    page.click("#train")
    expect(page.locator("#facts-heading")).to_contain_text("Finished", timeout=60_000)
    assert page.evaluate("window.longest") <= 200
