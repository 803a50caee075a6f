"""The model that the build makes: whole, described, made once, and its site's address usable."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tabgrad.app.catalogue import Entry, catalogue
from tabgrad.errors import DownloadError
from tabgrad.platform.transfer import check_address
from tools import own_models
from tools.shell import BuildError


def test_the_model_is_made_once_and_always_the_same(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = Path(sys.executable)
    made = []
    for name in ("one", "two"):
        monkeypatch.setattr(own_models, "CACHE", tmp_path / name)
        (model,) = own_models.built_in(python)
        made.append(model)
    assert made[0] == made[1]
    assert set(made[0].files) == {"README.md", "config.json", "model.safetensors",
                                  "tokenizer.json", "tokenizer_config.json",
                                  "generation_config.json"}

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it is here already")
    monkeypatch.setattr(own_models, "run", never)
    assert own_models.built_in(python) == made[:1]
    described = made[0].described()
    assert described["parameters"] == 4596 and described["folder"] == "models/readable-llm"
    sizes = [len(content) for name, content in made[0].files.items() if name != "README.md"]
    assert described["bytes"] == sum(sizes)
    config = json.loads(made[0].files["config.json"])
    assert config["model_type"] == "mixtral"


def test_other_sources_make_it_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_models, "CACHE", tmp_path)
    monkeypatch.setattr(own_models, "_fingerprint", lambda: "0123")
    (tmp_path / "readable-llm-older").mkdir()
    own_models.built_in(Path(sys.executable))
    assert [path.name for path in tmp_path.iterdir()] == ["readable-llm-0123"]


def test_a_training_that_fails_is_told_and_leaves_nothing(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_models, "CACHE", tmp_path)
    with pytest.raises(BuildError, match="Training readable-llm failed"):
        own_models.built_in(Path("/bin/false"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("page", [
    "https://a.example/tabgrad/", "http://127.0.0.1:8000/", "http://localhost:1/",
    "http://[::1]:8000/", "http://tabgrad.localhost:8000/", "http://127.0.0.2/"])
def test_its_address_beside_any_page_that_can_run_is_usable(page: str) -> None:
    source = f"{page}models-0123456789ab/readable-llm/"
    assert check_address(source) == source
    row = catalogue([Entry(source, "readable-llm", "s", 1, 4596, "apache-2.0", False)], [])[0]
    assert (row["source"], row["model"]) == (source, None)


@pytest.mark.parametrize("page", ["http://a.example/", "http://10.0.0.1/", "http://localhost.a/",
                                  "ftp://127.0.0.1/"])
def test_other_hosts_need_https(page: str) -> None:
    with pytest.raises(DownloadError):
        check_address(page)
