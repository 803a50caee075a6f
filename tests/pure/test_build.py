"""build.py: one clear line and a bad exit code for bad input; lists that pin everything."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import cli, corpora, environment, system
from tools.shell import BuildError

ROOT = Path(__file__).resolve().parents[2]


def build(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "build.py", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60,
                          check=False)


@pytest.mark.parametrize("words", [(), ("serve",), ("build",), ("test",), ("train",),
                                   ("finetune",), ("generate",), ("bench",)])
def test_help_explains_every_verb(words: tuple[str, ...]) -> None:
    done = build(*words, "--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: build.py")


def one_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 1 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert all(word in line for word in words), line


def test_a_missing_text_is_told(tmp_path: Path) -> None:
    done = build("train", "--text", tmp_path / "gone.txt", "--out", tmp_path / "out")
    one_line(done, "--text", "gone.txt")


def test_an_empty_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    done = build("train", "--text", tmp_path / "empty.txt", "--out", tmp_path / "out")
    one_line(done, "empty.txt", "empty")


def test_a_missing_model_is_told(tmp_path: Path) -> None:
    done = build("generate", "--model", tmp_path, "--prompt", "x")
    one_line(done, "--model", "config.json")


def test_an_unknown_benchmark_is_told() -> None:
    one_line(build("bench", "no-such-benchmark"), "no-such-benchmark")


def job(**options: object) -> subprocess.CompletedProcess[str]:
    """tools.job as launch.py starts it, for what is told before a session starts."""
    defaults = {"job": "train", "preset": "tiny", "context": None, "steps": 1, "batch": None,
                "learning_rate": None, "optim": None, "momentum": None, "schedule": None,
                "gradient_checkpointing": None, "activation_dtype": None,
                "seed": 0, "runtime": "native", "json": None}
    command = [sys.executable, "-m", "tools.job", json.dumps({**defaults, **options})]
    return subprocess.run(command, cwd=ROOT, env=environment.inherited(), capture_output=True,
                          text=True, timeout=60, check=False)


def test_a_text_shorter_than_a_context_is_told(tmp_path: Path) -> None:
    text = tmp_path / "short.txt"
    text.write_text("x" * 64)
    one_line(job(text=str(text), out=str(tmp_path)), "64 bytes", "65 bytes")


def test_16_bits_without_recomputing_are_told(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("x" * 640)
    one_line(job(text=str(text), out=str(tmp_path), activation_dtype="float16"),
             "16 bits need gradient_checkpointing")


def test_an_unknown_preset_is_told(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("x" * 1000)
    one_line(job(text=str(text), out=str(tmp_path), preset="huge"), "huge", "tiny")


def test_no_browser_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABGRAD_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(BuildError, match="No browser.*/nowhere/chromium"):
        system.chromium()


def test_unknown_words_are_refused_except_for_pytest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["build", "--fast"])
    assert "--fast" in capsys.readouterr().err
    options, rest = cli._parser().parse_known_args(["test", "-k", "layernorm"])
    assert rest == ["-k", "layernorm"] and options.takes_more


def requirements(name: str) -> dict[str, str]:
    lines = (environment.LISTS / name).read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def test_every_python_package_is_pinned_and_the_lists_agree() -> None:
    locked = requirements("constraints.txt")
    for name in {name for group in environment.GROUPS.values() for name in group}:
        for package, version in requirements(name).items():
            assert package == "torch" or locked[package] == version
    assert requirements("torch.txt") == {"torch": "2.13.0"}


def test_the_node_lock_names_no_registry() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert len(packages) > 10
    assert all("resolved" not in entry and entry["integrity"] for entry in packages.values())
    wanted = lock["packages"][""]
    for version in {**wanted["dependencies"], **wanted["devDependencies"]}.values():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)


def test_our_own_text_is_plain_and_long_enough_for_every_preset() -> None:
    text = corpora.OWN_TEXT.read_bytes()
    assert 6_000 <= len(text) <= 10_000
    assert text.isascii() and text.endswith(b".\n")
