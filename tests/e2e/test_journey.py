"""One visit from the first press to an imported run, as a person makes it: by names and keys."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.tab import Tab

PROMPT = "The "
STEPS = 90
SECONDS = 60_000


def button(page: Page, name: str) -> Locator:
    """The button of exactly that name."""
    return page.get_by_role("button", name=name, exact=True)


def number_of(text: str) -> int:
    """The first number in a text; thousands are grouped by thin spaces."""
    found = re.search(r"\d[\d\s\u2009\u202f]*", text)
    assert found is not None, f"no number in {text!r}"
    return int(re.sub(r"\D", "", found[0]))


def shown_step(page: Page) -> int:
    """The step that the facts beside the picture show."""
    return number_of(page.locator("#facts dd").first.inner_text())


def read_curve(page: Page) -> str:
    """What the chart says about its last point, read by keyboard."""
    chart = page.get_by_role("application", name=re.compile("^Loss by step"))
    chart.focus()
    page.keyboard.press("End")
    return page.locator("#chart-readout").inner_text()


def samples(page: Page) -> list[str]:
    """The samples in sight, newest first."""
    return page.locator("#sample-list li").all_inner_texts()


def write_greedily(page: Page, run: str) -> str:
    """Generates 40 bytes at temperature 0 through the Generate place."""
    page.get_by_role("link", name=re.compile("^Generate")).click()
    page.get_by_role("combobox", name="Run").select_option(run)
    page.get_by_role("textbox", name="Prompt").fill(PROMPT)
    page.get_by_role("spinbutton", name="Temperature").fill("0")
    page.get_by_role("spinbutton", name="New tokens").fill("40")
    button(page, "Generate").click()
    expect(page.locator("#generate-speed")).to_contain_text("tokens a second", timeout=SECONDS)
    return page.get_by_role("region", name="Output").inner_text()


@pytest.fixture
def visit(visitor, site_url: str) -> Tab:
    """A page that was just opened, with the settings in its address."""
    tab = Tab(visitor.context, site_url)
    tab.open(f"?preset=tiny&max_steps={STEPS}&per_device_train_batch_size=4&sample_steps=30"
             "&eval_steps=30&save_steps=30")
    return tab


def test_train_reload_generate_export_import(visit: Tab, tmp_path: Path) -> None:
    page = visit.page
    _train_with_a_pause(visit)
    button(page, "Stop").click()
    expect(button(page, "Train")).to_be_enabled(timeout=SECONDS)
    run = page.locator("#runs li").first.get_attribute("data-run")
    assert run

    _resume_to_the_end(visit, run)
    seen = (shown_step(page), read_curve(page), samples(page))
    assert seen[0] == STEPS
    assert len(seen[2]) >= 1

    visit.reload()
    button(page, f"Look {run}").click()
    expect(page.locator("#facts dd").first).to_have_text(re.compile(f"^{STEPS} of"))
    assert (shown_step(page), read_curve(page), samples(page)) == seen

    text = write_greedily(page, run)
    assert len(text) > len(PROMPT)

    page.get_by_role("link", name=re.compile("^Train")).click()
    with page.expect_download() as download:
        button(page, f"Export {run}").click()
    packed = tmp_path / download.value.suggested_filename
    download.value.save_as(packed)

    button(page, f"Delete {run}").click()
    page.get_by_role("group").get_by_role("button", name=f"Delete {run}", exact=True).click()
    expect(page.get_by_text("Runs that you train are listed here.")).to_be_visible()

    page.get_by_label("Import a run (.zip)").set_input_files(packed)
    expect(page.locator("#runs li")).to_have_count(1)
    imported = page.locator("#runs li").first.get_attribute("data-run")
    assert imported
    assert write_greedily(page, imported) == text
    visit.check_failure()
    visit.check_clean()
    visit.close()


def _train_with_a_pause(tab: Tab) -> None:
    """Starts by keyboard alone, pauses, takes one step, and goes on."""
    page = tab.page
    train = page.locator("#train")
    expect(train).to_have_text("Train")
    _tab_to(page, "train")
    page.keyboard.press("Enter")
    tab.wait_for_step(5)
    page.keyboard.press("Enter")
    expect(train).to_have_text("Resume")
    paused = shown_step(page)
    page.wait_for_timeout(200)
    assert shown_step(page) == paused
    _tab_to(page, "step")
    page.keyboard.press("Space")
    expect(page.locator("#facts dd").first).to_have_text(re.compile(f"^{paused + 1} of"))
    expect(page.locator("#train")).to_have_attribute("aria-busy", "false")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(train).to_have_text("Pause")
    tab.wait_for("sample")


def _tab_to(page: Page, identifier: str) -> None:
    """Presses Tab until the element has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement?.id") == identifier:
            return
    raise AssertionError(f"#{identifier} cannot be reached by Tab")


def _resume_to_the_end(tab: Tab, run: str) -> None:
    """Resumes the stopped run from the list."""
    after = tab.mark()
    button(tab.page, f"Resume {run}").click()
    tab.wait_for("done", after=after, run=run, step=STEPS)
    expect(button(tab.page, "Train")).to_be_enabled()
