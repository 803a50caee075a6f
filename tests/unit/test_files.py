"""Files of a folder: pieces, atomic moves, one writer, errors with names."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tabgrad.errors import StorageError
from tabgrad.platform import Entry, current
from tests.helpers import run


@pytest.fixture
def files(tmp_path: Path):
    return current().files(str(tmp_path / "store"))


def test_write_in_pieces_and_read(files) -> None:
    pieces = [b"one", bytearray(b"two"), memoryview(b"three"), np.arange(2, dtype=np.uint32)]
    assert run(files.write("a/b/c", pieces)) == 19
    assert run(files.read("a/b/c")) == b"onetwothree" + bytes([0] * 4 + [1] + [0] * 3)


def test_a_shorter_text_replaces_a_longer(files) -> None:
    run(files.write("a", [b"long text"]))
    run(files.write("a", [b"short"]))
    assert run(files.read("a")) == b"short"


def test_replace_moves_over_the_target(files) -> None:
    run(files.write("run/old", [b"old"]))
    run(files.write("tmp/new", [b"new"]))
    run(files.replace("tmp/new", "run/old"))
    assert run(files.read("run/old")) == b"new"
    assert not run(files.exists("tmp/new"))


def test_list_by_name(files) -> None:
    run(files.write("run/b", [b"12"]))
    run(files.write("run/a/x", [b"1"]))
    assert run(files.list("run")) == [Entry("a", True, 0), Entry("b", False, 2)]
    assert run(files.list("nowhere")) == []


def test_remove_a_folder_and_what_is_missing(files) -> None:
    run(files.write("run/a/x", [b"1"]))
    run(files.remove("run"))
    run(files.remove("run"))
    assert not run(files.exists("run"))


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "a//b", "a\\b", "a/\0"])
def test_no_path_leaves_the_folder(files, path: str) -> None:
    for call in (files.read, files.list, files.remove, files.exists):
        with pytest.raises(StorageError, match="This path cannot be used"):
            run(call(path))
    with pytest.raises(StorageError, match="This path cannot be used"):
        run(files.write(path, [b""]))


def test_a_missing_file_is_named(files) -> None:
    with pytest.raises(StorageError, match=r"runs/1/model cannot be read.*No such file"):
        run(files.read("runs/1/model"))


def test_a_failing_source_is_not_swallowed(files) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"one"
        raise ValueError("the source broke")
    with pytest.raises(ValueError, match="the source broke"):
        run(files.write("a", pieces()))


def test_one_holder_in_this_process(files) -> None:
    first = run(files.lock("run-1"))
    assert first is not None
    assert run(files.lock("run-1")) is None
    other = run(files.lock("run-2"))
    assert other is not None
    other.release()
    first.release()
    first.release()
    again = run(files.lock("run-1"))
    assert again is not None
    again.release()


def test_another_process_cannot_take_a_held_lock(files, tmp_path: Path) -> None:
    held = run(files.lock("run-1"))
    code = ("import sys; from tabgrad.platform import current; here = current();"
            "lock = here.run_sync(here.files(sys.argv[1]).lock('run-1')); print(lock is None)")

    def ask() -> str:
        words = [sys.executable, "-c", code, str(tmp_path / "store")]
        return subprocess.run(words, capture_output=True, text=True, check=True,
                              env={"PYTHONPATH": ":".join(sys.path)}).stdout.strip()

    assert ask() == "True"
    held.release()
    assert ask() == "False"


def test_usage_counts_bytes(files) -> None:
    assert run(files.usage()) == (0, None)
    run(files.write("a", [bytes(1000)]))
    used, quota = run(files.usage())
    assert used == 1000
    assert quota > 1000


def test_run_sync_refuses_what_waits_for_the_loop() -> None:
    import asyncio

    from tabgrad.errors import TabgradError

    async def sleeps() -> None:
        await asyncio.get_running_loop().create_future()

    async def main() -> None:
        with pytest.raises(TabgradError, match="waits for the event loop"):
            current().run_sync(sleeps())
        await current().pause()

    asyncio.run(main())
