"""The engine's page of documentation, the example page, and a GPU that goes away, in Chromium."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Playwright, expect

from tests import talking_model
from tests.e2e import passes
from tests.e2e.chromium import Chromium
from tests.e2e.engine_page import EnginePage, Refused
from tests.faulty_host import FaultyHost

DOCS = Path(__file__).parents[2] / "docs" / "engine.md"
# What docs/engine.md says that a page's policy must allow, and not a word more.
POLICY = "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'"
STRICT = f'''<!doctype html><meta http-equiv="Content-Security-Policy" content="{POLICY}">
<script type="module" src="strict.js"></script>'''


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyHost]:
    folder = talking_model.save(tmp_path_factory.mktemp("talking"))
    with FaultyHost({f"talk/{path.name}": path.read_bytes() for path in folder.iterdir()}) as host:
        yield host


def test_the_page_says_what_the_code_does(visitor: Chromium, site_url: str,
                                          host: FaultyHost) -> None:
    """Every block of docs/engine.md runs, in order, with a tiny model in place of the named one."""
    page = EnginePage(visitor.context, site_url)
    text = DOCS.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```js\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    code, imports = re.subn(r'^import .* from "\./tabgrad\.js";$', "", code, flags=re.MULTILINE)
    code, models = re.subn('"HuggingFaceTB/SmolLM2-135M-Instruct"', "argument", code)
    assert (imports, models) == (1, 1)
    page(code, host.url + "talk/")
    said = [line.removeprefix("debug: ") for line in page.problems]
    assert not [line for line in said if line.startswith(("error", "warning", "page error"))]
    for words in ("download: ", "tokens a second", "settings in temperature", "licence apache-2.0"):
        assert any(words in line for line in said), words
    page.close()


def test_the_example_answers_and_stops(visitor: Chromium, site_url: str,
                                       host: FaultyHost) -> None:
    page = visitor.context.new_page()
    problems: list[str] = []
    page.on("console", lambda line: problems.append(line.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{site_url}examples/engine.html?model={host.url}talk/")
    page.get_by_label("Question").fill("Is it raining?")
    page.get_by_role("button", name="Ask").click()
    status, answer = page.get_by_role("status"), page.locator("#answer")
    expect(status).to_have_text("Done.", timeout=120_000)
    whole = answer.inner_text()
    assert whole
    page.get_by_role("button", name="Ask").click()
    expect(answer).not_to_have_text(whole)
    page.get_by_role("button", name="Stop").click()
    expect(status).to_have_text("Done.")
    assert len(answer.inner_text()) < len(whole)
    assert problems == []
    page.close()


def test_an_example_without_a_model_explains_itself(visitor: Chromium, site_url: str,
                                                    host: FaultyHost) -> None:
    page = visitor.context.new_page()
    page.goto(f"{site_url}examples/engine.html?model={host.url}nothing/")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("status")).to_contain_text("config.json", timeout=60_000)
    page.close()


def test_a_lost_gpu_is_named_and_the_next_request_has_it_again(
        playwright: Playwright, chromium_path: str, site_url: str, host: FaultyHost,
        tmp_path: Path) -> None:
    with Chromium(playwright, chromium_path, tmp_path) as browser:
        passes.give(browser, site_url)
        page = EnginePage(browser.context, site_url)
        text = page("""window.engine = await createEngine({ model: argument });
            window.request = { prompt: "The", max_tokens: 8, temperature: 0 };
            return (await engine.completions.create(request)).choices[0].text;""",
            host.url + "talk/")
        browser.kill_gpu_process()
        with pytest.raises(Refused) as caught:
            page("await engine.completions.create(request);")
        assert caught.value.error["ours"] and caught.value.error["code"] == "device-lost"
        again = page("return (await engine.completions.create(request)).choices[0].text;")
        assert again == text


def test_engines_that_want_the_same_model_at_once_download_it_once(
        visitor: Chromium, site_url: str, host: FaultyHost) -> None:
    host.files.update({f"copy/{path.removeprefix('talk/')}": content
                       for path, content in host.files.items() if path.startswith("talk/")})
    page = EnginePage(visitor.context, site_url)
    ends = page("""
        const engines = await Promise.all([1, 2].map(() => createEngine({ model: argument })));
        const texts = await Promise.all(engines.map((one) => one.completions.create(
          { prompt: "The", max_tokens: 3 })));
        engines.forEach((one) => one.close());
        return texts.map((one) => one.choices[0].finish_reason);""", host.url + "copy/")
    assert ends == ["length", "length"]
    # The header, in two requests where it is longer than the first guess, and then the file.
    asked = Counter(one.path for one in host.asked if one.path.startswith("copy/model-0"))
    assert asked and max(asked.values()) <= 3
    assert page.problems == []
    page.close()


def test_a_page_with_a_strict_policy_has_an_engine(visitor: Chromium, site_url: str,
                                                   host: FaultyHost) -> None:
    script = f'''import {{ createEngine }} from "./tabgrad.js";
        window.answer = createEngine({{ model: "{host.url}talk/" }}).then(async (engine) => {{
          const answer = await engine.completions.create({{ prompt: "The", max_tokens: 3 }});
          engine.close();
          return answer.choices[0].finish_reason;
        }});'''
    page = visitor.context.new_page()
    problems: list[str] = []
    page.on("console", lambda line: problems.append(line.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.route(site_url + "strict.html", lambda route: route.fulfill(
        content_type="text/html", body=STRICT))
    page.route(site_url + "strict.js", lambda route: route.fulfill(
        content_type="text/javascript", body=script))
    page.set_default_timeout(120_000)
    page.goto(site_url + "strict.html")
    assert page.evaluate("() => window.answer") == "length"
    assert [one for one in problems if "favicon" not in one] == []
    page.unroute(site_url + "strict.html")
    page.route(site_url + "strict.html", lambda route: route.fulfill(
        content_type="text/html", body=STRICT.replace("worker-src 'self'", "worker-src 'none'")))
    page.goto(site_url + "strict.html")
    code, message = page.evaluate("() => window.answer.catch((e) => [e.code, e.message])")
    assert code == "start" and "worker-src" in message
    page.close()


def test_a_token_reaches_the_host_and_is_not_kept(visitor: Chromium, site_url: str,
                                                  host: FaultyHost) -> None:
    host.files.update({f"gated/{path.removeprefix('talk/')}": content
                       for path, content in host.files.items() if path.startswith("talk/")})
    page = EnginePage(visitor.context, site_url)
    page("""(await createEngine({ model: argument,
        headers: { Authorization: "Bearer secret-of-mine" } })).close();""", host.url + "gated/")
    gets = [one for one in host.asked if one.method != "OPTIONS" and one.path.startswith("gated/")]
    tokens = {name.lower(): value for one in gets for name, value in one.headers.items()}
    assert tokens["authorization"] == "Bearer secret-of-mine"
    assert all("authorization" in map(str.lower, one.headers) for one in gets)
    stored = page("""
        const texts = [];
        const read = async (folder) => {
          for await (const one of folder.values()) {
            if (one.kind === "directory") await read(one);
            else if (one.name.endsWith(".json")) texts.push(await (await one.getFile()).text());
          }
        };
        await read(await navigator.storage.getDirectory());
        return texts;""")
    assert stored and not [text for text in stored if "secret-of-mine" in text]
    page.close()
