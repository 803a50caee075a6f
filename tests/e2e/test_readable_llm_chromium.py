"""readable-llm in Chromium: trained by a press, asked; and the one that comes with the page."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.tab import Tab

PROMPT, ANSWER = "What is 1+1?", " It's 2."


def test_choosing_it_chooses_its_text_and_it_learns_its_answer(tab: Tab) -> None:
    page = tab.page
    page.locator("#prompt").evaluate("area => { area.value = ''; }")  # as at a first visit
    page.get_by_role("link", name="Train").first.click()
    page.get_by_role("combobox", name="Preset").select_option("readable-llm")
    sentence = page.get_by_role("radio", name="One question, for readable-llm")
    expect(sentence).to_be_checked()
    expect(page.locator("#preset-summary")).to_contain_text("4\u2009596")
    page.get_by_role("combobox", name="Preset").select_option("tiny")
    expect(sentence).not_to_be_checked()
    page.get_by_role("combobox", name="Preset").select_option("readable-llm")
    after = tab.mark()
    page.get_by_role("button", name="Train", exact=True).click()
    done = tab.wait_for("done", after=after)
    assert done["step"] == 101 and done["loss"] < 0.03 and done["validation_loss"] is None
    assert [m["sample"]["text"] for m in tab.messages("sample")][-1] == ANSWER
    expect(page.locator("#baseline-words")).to_contain_text("guessing among 12 words")
    expect(page.locator("#loss-words")).to_contain_text("equally likely words")
    reply = tab.command("generate", run=done["run"], prompt=PROMPT, max_new_tokens=50,
                        temperature=0.0, top_k=0, seed=0)
    assert (reply["text"], reply["tokens"]) == (ANSWER, 4)
    page.get_by_role("link", name="Generate").first.click()
    page.locator("#generate-run").select_option(done["run"])
    expect(page.locator("#prompt")).to_have_value(PROMPT)
    tab.command("delete", run=done["run"])


def test_the_one_of_the_page_is_downloaded_and_answers(tab: Tab) -> None:
    offered = tab.command("models")["catalogue"][0]
    assert (offered["title"], offered["parameters"]) == ("readable-llm", 4596)
    assert offered["source"].startswith(tab.url.rsplit("/", 1)[0])
    facts = tab.command("model_facts", source=offered["source"])["facts"]
    assert facts["problem"] is None and facts["licence"] == "apache-2.0"
    assert facts["bytes"] == offered["bytes"]
    model = tab.command("download_model", source=offered["source"])["model"]
    assert (model["model"], model["model_type"]) == ("readable-llm", "mixtral")
    assert tab.command("models")["catalogue"][0]["model"] == "readable-llm"
    tab.command("load_model", model="readable-llm")
    reply = tab.command("complete", prompt=PROMPT, settings={"max_new_tokens": 50})
    assert (reply["text"], reply["finish_reason"]) == (ANSWER, "stop")
    tab.command("delete_model", model="readable-llm")
    # Files that a model may have are asked for; the browser notes each that it has not.
    noise = [said for said in tab.problems if "404" in said]
    assert noise == tab.problems
    tab.problems.clear()
