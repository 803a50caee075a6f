"""Models that a host gives only with an access token: who is asked with it, and where it stays."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tabgrad import platform
from tabgrad.checkpoint.hub import resolve
from tabgrad.checkpoint.models import ModelStore
from tabgrad.errors import DownloadError
from tests import tiny_model
from tests.faulty_host import Fault, FaultyHost
from tests.unit.test_application import Page

TOKEN = "hf_of-nobody-else"
GATED = {"Authorization": f"Bearer {TOKEN}"}
# What `http.client` and some browsers repeat in the error of a header that they will not send.
ODD = {"Authorization": f"Bearer {TOKEN}\nX: 1"}


@pytest.fixture
def cdn() -> Iterator[FaultyHost]:
    with FaultyHost({"w": tiny_model.folder()[tiny_model.WEIGHTS]}) as cdn:
        yield cdn


@pytest.fixture
def hub(cdn: FaultyHost) -> Iterator[FaultyHost]:
    """A hub that wants the token, and sends whoever has it to another origin for the weights."""
    with FaultyHost(tiny_model.on_hub("some/gated", tiny_model.folder())) as hub:
        hub.token = TOKEN
        for path in [path for path in hub.files if path.endswith(tiny_model.WEIGHTS)]:
            hub.faults[path] = Fault(redirect=cdn.url + "w")
        yield hub


def sent(host: FaultyHost) -> set[str | None]:
    return {each.headers.get("Authorization") for each in host.asked}


def test_a_gated_model_comes_with_its_token_and_the_token_goes_nowhere_else(
        hub: FaultyHost, cdn: FaultyHost, tmp_path: Path) -> None:
    source = resolve("some/gated", hub.url.rstrip("/"))
    store = ModelStore(platform.current().files(str(tmp_path)))
    for headers in (None, {"Authorization": "Bearer of-another"}):
        with pytest.raises(DownloadError, match="Accept the model's licence") as failed:
            asyncio.run(store.download(source, headers=headers))
        assert (failed.value.kind, failed.value.control) == ("Forbidden", "access-token")
        assert "of-another" not in str(failed.value)
    assert cdn.asked == []
    record = asyncio.run(store.download(source, headers=GATED))
    assert asyncio.run(store.open(record.name)).tensors
    assert f"Bearer {TOKEN}" in sent(hub) and sent(cdn) == {None}
    assert not [path for path in tmp_path.rglob("*") if path.is_file()
                and TOKEN.encode() in path.read_bytes()]


@pytest.mark.parametrize("headers", [GATED, ODD, {"Authorization": "Bearer of-another"},
                                     f"Bearer {TOKEN}"],
                         ids=["right", "two lines", "wrong", "no object"])
def test_the_application_asks_with_it_and_says_nothing_of_it(
        hub: FaultyHost, tmp_path: Path, headers: Any, caplog: pytest.LogCaptureFixture) -> None:
    address = hub.url + "some/gated/resolve/" + "c0ffee12" * 5

    async def play() -> list[dict[str, Any]]:
        page = Page(tmp_path)
        await page.ask("boot", device="numpy", base="")
        return [await page.send(name, source=address, headers=headers)
                for name in ("model_facts", "download_model")]

    with caplog.at_level(logging.DEBUG):
        answers = asyncio.run(play())
    expected = "reply" if headers is GATED else "failure"
    assert [one["name"] for one in answers] == [expected] * 2, answers
    if expected == "failure" and isinstance(headers, dict):
        assert {one["problem"]["control"] for one in answers} == {"access-token"}
    assert TOKEN not in json.dumps(answers) + caplog.text and "of-another" not in json.dumps(
        answers)
