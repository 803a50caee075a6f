"""tabgrad.js in Chromium: requests and answers in OpenAI's shape, aborts, errors, two engines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from tests import checkpoints, talking_model
from tests.e2e.chromium import Chromium
from tests.e2e.engine_page import EnginePage, Refused
from tests.faulty_host import Fault, FaultyHost

MESSAGES = [{"role": "user", "content": "Is it raining on Market Street?"}]
LONG = [{"role": "user", "content": "Rain on the street, and the lamps. " * 60}]
ANSWER_KEYS = {"id", "object", "created", "model", "choices", "usage"}
BATCH = 32


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talking_model.save(tmp_path_factory.mktemp("talking"))


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[FaultyHost]:
    files = {f"talk/{path.name}": path.read_bytes() for path in folder.iterdir()}
    with FaultyHost({**files}) as host:
        yield host


@pytest.fixture(scope="module")
def page(visitor: Chromium, site_url: str, host: FaultyHost) -> Iterator[EnginePage]:
    """A page with one engine, `window.engine`; `window.stages` has its progress."""
    page = EnginePage(visitor.context, site_url)
    page("""window.stages = [];
        window.engine = await createEngine({ model: argument,
          onProgress: (now) => stages.push(now) });""", host.url + "talk/")
    yield page
    page.close()


@pytest.fixture
def engine(page: EnginePage) -> Iterator[EnginePage]:
    page.problems.clear()
    page.wire()
    yield page
    assert page.problems == []


def chat(engine: EnginePage, **request: Any) -> dict[str, Any]:
    answer: dict[str, Any] = engine("return engine.chat.completions.create(argument);",
                                    {"messages": MESSAGES, **request})
    return answer


def refused(engine: EnginePage, code: str, argument: Any = None) -> dict[str, Any]:
    with pytest.raises(Refused) as caught:
        engine(code, argument)
    return caught.value.error


# --- making one -------------------------------------------------------------------------------


def test_progress_names_every_stage_and_ends_full(engine: EnginePage, folder: Path) -> None:
    stages = engine("return stages;")
    last = {one["stage"]: one for one in stages}
    assert {"python", "packages", "tabgrad", "gpu", "download", "weights", "kernels"} <= set(last)
    weights = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    assert last["download"]["total"] >= weights and last["download"]["unit"] == "bytes"
    for one in last.values():
        assert one["done"] == one["total"] > 0, one


def test_the_engine_says_what_it_is(engine: EnginePage) -> None:
    facts = engine("""const { model, contextLength, gpuBytes, canChat } = engine;
        return { model, contextLength, gpuBytes, canChat };""")
    assert facts["contextLength"] == 2048 and facts["gpuBytes"] > 0 and facts["canChat"] is True
    (stored,) = engine("return engine.storedModels();")
    assert stored["name"] == facts["model"] and stored["licence"] == "apache-2.0"


def test_a_model_that_is_stored_is_opened_by_name_and_by_address(
        engine: EnginePage, host: FaultyHost) -> None:
    """Two engines in one page; nothing comes again."""
    host.asked.clear()
    texts = engine("""
        const answer = (one) => one.completions.create(
          { prompt: "The", max_tokens: 8, temperature: 0 });
        const more = await Promise.all([
          createEngine({ model: engine.model, contextLength: 128 }),
          createEngine({ model: argument })]);
        const all = await Promise.all([engine, ...more].map(answer));
        const lengths = more.map((one) => one.contextLength);
        more.forEach((one) => one.close());
        return [all.map((one) => one.choices[0].text), lengths];""", host.url + "talk")
    assert texts[1] == [128, 2048]
    assert len(set(texts[0])) == 1 and texts[0][0]
    assert host.asked == []


# --- answers ----------------------------------------------------------------------------------


def test_a_chat_is_answered_as_transformers_answers(engine: EnginePage, folder: Path) -> None:
    answer = chat(engine, max_tokens=24, temperature=0)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer.apply_chat_template(MESSAGES, add_generation_prompt=True, return_dict=False)
    wanted = tokenizer.decode(checkpoints.greedy(folder, np.array(ids), 24))
    assert set(answer) == ANSWER_KEYS and answer["object"] == "chat.completion"
    assert answer["id"].startswith("chatcmpl-") and answer["created"] > 1.7e9
    message = {"role": "assistant", "content": wanted, "refusal": None}
    assert answer["choices"] == [{"index": 0, "finish_reason": "length", "logprobs": None,
                                  "message": message}]
    usage = answer["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (len(ids), 24)
    assert usage["total_tokens"] == len(ids) + 24
    assert engine("return engine.countTokens(argument);", MESSAGES) == len(ids)


def test_a_stream_gives_the_same_text_in_pieces(engine: EnginePage) -> None:
    whole = chat(engine, max_tokens=40, temperature=0)
    chunks = engine("""
        const stream = await engine.chat.completions.create({ ...argument, stream: true,
          stream_options: { include_usage: true } });
        const chunks = [];
        for await (const chunk of stream) chunks.push(chunk);
        return chunks;""", {"messages": MESSAGES, "max_tokens": 40, "temperature": 0})
    *pieces, end, usage = chunks
    assert pieces[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert len(pieces) > 2  # the role, then text more than once: how often depends on the speed
    assert {one["object"] for one in chunks} == {"chat.completion.chunk"}
    assert len({one["id"] for one in chunks}) == 1
    text = "".join(one["choices"][0]["delta"]["content"] for one in pieces)
    assert text == whole["choices"][0]["message"]["content"]
    assert all(one["usage"] is None for one in (*pieces, end))
    assert end["choices"][0]["delta"] == {} and end["choices"][0]["finish_reason"] == "length"
    assert usage["choices"] == [] and usage["usage"]["completion_tokens"] == 40


def test_chunks_have_no_usage_unless_it_is_asked_for(engine: EnginePage) -> None:
    chunks = engine("""
        const stream = await engine.completions.create(
          { prompt: "The", max_tokens: 6, stream: true });
        const chunks = [];
        for await (const chunk of stream) chunks.push(chunk);
        return chunks;""")
    assert all("usage" not in one and one["object"] == "text_completion" for one in chunks)
    assert chunks[-1]["choices"][0]["finish_reason"] == "length"


def test_a_seed_gives_the_same_text_and_no_seed_another(engine: EnginePage) -> None:
    def text(**request: Any) -> str:
        answer = chat(engine, max_tokens=24, temperature=1.5, **request)
        return str(answer["choices"][0]["message"]["content"])

    assert text(seed=7) == text(seed=7) != text(seed=8)
    assert text() != text()


def test_a_stop_string_ends_the_text_and_is_not_given_out(engine: EnginePage) -> None:
    request = {"max_tokens": 60, "temperature": 1.5, "seed": 3}
    text = chat(engine, **request)["choices"][0]["message"]["content"]
    stop = text[20:24]
    for given in (stop, ["\0", stop]):
        (choice,) = chat(engine, stop=given, **request)["choices"]
        assert choice["finish_reason"] == "stop"
        assert choice["message"]["content"] == text[:text.index(stop)]


def test_logprobs_equal_transformers(engine: EnginePage, folder: Path) -> None:
    answer = chat(engine, max_tokens=12, temperature=1.2, seed=5, logprobs=True, top_logprobs=4)
    content = answer["choices"][0]["logprobs"]["content"]
    assert len(content) == 12
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer.apply_chat_template(MESSAGES, add_generation_prompt=True, return_dict=False)
    drawn = [one["id"] for message in engine.wire() if message["name"] == "token"
             for one in message["logprobs"]]
    logits = checkpoints.logits(folder, np.array(ids + drawn))[len(ids) - 1:-1]
    expected = torch.log_softmax(torch.tensor(logits, dtype=torch.float64), -1).numpy()
    for row, identity, one in zip(expected, drawn, content, strict=True):
        assert abs(one["logprob"] - row[identity]) <= 1e-4
        best = np.argsort(-row, kind="stable")[:4]
        assert [top["token"] for top in one["top_logprobs"]] == [
            tokenizer.decode([i]) for i in best]
        for top, wanted in zip(one["top_logprobs"], row[best], strict=True):
            assert abs(top["logprob"] - wanted) <= 1e-4
        cut = "\ufffd" in one["token"]
        assert one["bytes"] == (None if cut else list(one["token"].encode()))


def test_texts_have_logprobs_in_their_own_shape(engine: EnginePage) -> None:
    answer = engine("""return engine.completions.create(
        { prompt: "The street", max_tokens: 5, logprobs: 2, temperature: 0 });""")
    logprobs = answer["choices"][0]["logprobs"]
    assert len(logprobs["tokens"]) == len(logprobs["token_logprobs"]) == 5
    assert logprobs["text_offset"][0] == 0
    for token, value, top in zip(logprobs["tokens"], logprobs["token_logprobs"],
                                 logprobs["top_logprobs"], strict=True):
        assert len(top) == 2 and top[token] == max(top.values()) == value


def test_tools_and_their_results_reach_the_template(engine: EnginePage, folder: Path) -> None:
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]
    call = {"id": "1", "type": "function", "function": {"name": "weather",
                                                        "arguments": '{"city": "Leeds"}'}}
    messages = [{"role": "developer", "content": [{"type": "text", "text": "Be "},
                                                  {"type": "text", "text": "brief."}]},
                *MESSAGES, {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "content": "rain", "tool_call_id": "1", "name": "weather"}]
    answer = chat(engine, messages=messages, tools=tools, max_tokens=2)
    plain = [{"role": "system", "content": "Be brief."}, *MESSAGES,
             {"role": "assistant", "content": "", "tool_calls": [{**call, "function": {
                 "name": "weather", "arguments": {"city": "Leeds"}}}]},
             {"role": "tool", "content": "rain", "tool_call_id": "1", "name": "weather"}]
    ids = AutoTokenizer.from_pretrained(folder).apply_chat_template(
        plain, tools=tools, add_generation_prompt=True, return_dict=False)
    assert answer["usage"]["prompt_tokens"] == len(ids)


# --- giving up --------------------------------------------------------------------------------


def test_an_aborted_stream_throws_and_ends_the_work_within_a_batch(engine: EnginePage) -> None:
    seen = engine("""
        const controller = new AbortController();
        const stream = await engine.chat.completions.create(
          { ...argument, stream: true, signal: controller.signal });
        let seen = 0;
        try {
          for await (const chunk of stream) {
            seen += 1;
            if (seen === 3) controller.abort();
          }
        } catch (error) {
          if (error.name !== "AbortError") throw error;
          await engine.completions.create({ prompt: "a", max_tokens: 1 });
          return seen;
        }
        throw new Error("it was not aborted");""", {"messages": MESSAGES, "max_tokens": 1500})
    aborted = next(one["result"] for one in engine.wire() if one["name"] == "reply"
                   and "finish_reason" in one["result"])
    assert seen == 3 and aborted["finish_reason"] == "abort"
    assert aborted["usage"]["completion_tokens"] <= 1 + 3 * BATCH


@pytest.mark.parametrize("leave", ["break", "stream.controller.abort()"])
def test_leaving_the_loop_ends_the_work_quietly(engine: EnginePage, leave: str) -> None:
    engine(f"""
        const stream = await engine.chat.completions.create({{ ...argument, stream: true }});
        for await (const chunk of stream) {{
          if (chunk.choices[0].delta.content) {leave};
        }}
        await engine.completions.create({{ prompt: "a", max_tokens: 1 }});""",
           {"messages": MESSAGES, "max_tokens": 1500})
    names = [one["name"] for one in engine.wire() if one.get("sent")]
    assert names == ["chat", "abort", "complete"]


def test_an_abort_during_the_prompt_ends_the_reading(engine: EnginePage) -> None:
    usage = engine("""
        const signal = AbortSignal.timeout(1);
        const aborted = await engine.chat.completions.create(argument, { signal })
          .then(() => "answered", (error) => error.name);
        const after = await engine.chat.completions.create(argument);
        return [aborted, after.usage];""", {"messages": LONG, "max_tokens": 1})
    assert usage[0] == "TimeoutError"
    assert usage[1]["prompt_tokens_details"]["cached_tokens"] < usage[1]["prompt_tokens"] - 1


def test_what_is_aborted_before_or_in_the_queue_never_starts(engine: EnginePage) -> None:
    said = engine("""
        const create = (prompt, signal) => engine.completions.create(
          { prompt, max_tokens: 30 }, { signal }).then(() => "answered", (error) => error.message);
        const before = await create("a", AbortSignal.abort(new Error("before")));
        const controller = new AbortController();
        const first = create("b");
        const queued = create("c", controller.signal);
        const third = create("d");
        controller.abort(new Error("queued"));
        return [before, await queued, await first, await third];""")
    assert said == ["before", "queued", "answered", "answered"]
    prompts = [one["prompt"] for one in engine.wire() if one.get("sent")]
    assert prompts == ["b", "d"]


# --- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("request_", "param"), [
    ({"n": 2}, "n"), ({"response_format": {"type": "json_object"}}, "response_format"),
    ({"max_token": 3}, "max_token"), ({"temperature": -1}, "temperature"),
    ({"max_tokens": 0}, "max_tokens"), ({"messages": []}, "messages"), ({"top_p": 2}, "top_p"),
    ({"top_logprobs": 3}, "top_logprobs"), ({"tool_choice": "required"}, "tool_choice"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages"),
    ({"messages": [{"role": "user", "content": "rain " * 4000}]}, "messages"),
    ({"logprobs": True, "top_logprobs": 99}, "top_logprobs")])
def test_a_wrong_field_is_named(engine: EnginePage, request_: dict[str, Any], param: str) -> None:
    error = refused(engine, "return engine.chat.completions.create(argument);",
                    {"messages": MESSAGES, **request_})
    assert error["ours"] and error["code"] == "settings" and error["param"] == param
    assert error["message"]


def test_a_model_that_is_not_there_is_explained(engine: EnginePage, host: FaultyHost) -> None:
    error = refused(engine, "await createEngine({ model: argument });", host.url + "nothing/")
    assert error["ours"] and error["code"] == "download" and "config.json" in error["message"]
    assert refused(engine, "await createEngine({});")["param"] == "model"
    error = refused(engine, "await createEngine({ model: 'a/b', contextLength: 0 });")
    assert error["param"] == "contextLength"
    engine.problems.clear()  # the browser notes each 404


def test_making_an_engine_can_be_given_up(engine: EnginePage, host: FaultyHost) -> None:
    host.files.update({path.replace("talk/", "slow/"): content
                       for path, content in host.files.items()})
    weights = next(path for path in host.files
                   if path.startswith("slow/") and path.endswith(".safetensors"))
    host.faults[weights] = Fault(piece_s=20)
    error = refused(engine, """
        const controller = new AbortController();
        const onProgress = ({ stage }) => { if (stage === "download") controller.abort(); };
        await createEngine({ model: argument, onProgress, signal: controller.signal });""",
        host.url + "slow/")
    assert error["name"] == "AbortError"
    host.faults.clear()
    text = engine("""const other = await createEngine({ model: argument });
        const answer = await other.completions.create({ prompt: "The", max_tokens: 2 });
        await other.deleteModel(other.model);
        other.close();
        return answer.choices[0].finish_reason;""", host.url + "slow/")
    assert text == "length"


def test_a_closed_engine_says_so(engine: EnginePage) -> None:
    errors = engine("""
        const other = await createEngine({ model: engine.model, contextLength: 64 });
        const told = (error) => [error instanceof EngineError, error.code];
        const under = other.completions.create({ prompt: "a" }).then(() => "answered", told);
        await new Promise((resolve) => setTimeout(resolve, 20));
        other.close();
        const after = other.completions.create({ prompt: "a" }).then(() => "answered", told);
        return [await under, await after];""")
    assert errors == [[True, "closed"], [True, "closed"]]
