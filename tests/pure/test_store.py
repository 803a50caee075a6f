"""The store of runs: whatever write fails and whenever the writer dies, a run opens complete."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tabgrad.checkpoint.corpora import CorpusStore
from tabgrad.checkpoint.manifest import Manifest, Summary
from tabgrad.checkpoint.store import KEPT, RunStore
from tabgrad.checkpoint.stored import RunBusy
from tabgrad.checkpoint.transfer import export_run, import_run
from tabgrad.errors import CheckpointError, StorageError
from tabgrad.platform.native_files import NativeFiles
from tabgrad.text.corpus import Corpus

CORPUS = Corpus.from_bytes("words", b"the quick brown fox " * 20)
RECORD = {"preset": "tiny", "created_at": 1.0, "corpus": CORPUS.describe(), "settings": {}}


def content(step: int) -> dict[str, list[bytes]]:
    """Files that say which step they belong to, so that a mixture of two steps is noticed."""
    return {"model.safetensors": [b"weights %d " % step * 200, b"end"],
            "config.json": [b"{}"], "optimizer.safetensors": [b"moments %d " % step * 400],
            "state.json": [b'{"step": %d}' % step]}


def joined(step: int) -> dict[str, bytes]:
    return {name: b"".join(pieces) for name, pieces in content(step).items()}


def summary(step: int, validation: float | None = None) -> Summary:
    return Summary(step=step, saved_at=float(step), loss=2.0, validation_loss=validation)


class Refused(Exception):
    """Stands for the death of the tab."""


class FailingFiles(NativeFiles):
    """Fails at change number `at` (write, replace or remove), once half of it is done."""

    def __init__(self, root: Path, at: int = -1) -> None:
        super().__init__(root)
        self.at, self.changes = at, 0

    def _count(self) -> bool:
        self.changes += 1
        return self.changes - 1 == self.at

    async def write(self, path, chunks):
        fail = self._count()
        data = b"".join(bytes(chunk) for chunk in chunks)
        written = await super().write(path, [data[:len(data) // 2] if fail else data])
        if fail:
            raise Refused(path)
        return written

    async def replace(self, source, target):
        if self._count():
            raise Refused(target)
        await super().replace(source, target)

    async def remove(self, path):
        if self._count():
            raise Refused(path)
        await super().remove(path)


def strict(files) -> RunStore:
    def notice(code, message):
        raise AssertionError(f"{code}: {message}")
    return RunStore(files, notice)


async def saved_run(root: Path, steps=(10, 20)) -> str:
    store = strict(NativeFiles(root))
    run = await store.create(RECORD)
    for step in steps:
        await store.save(run, summary(step), content(step))
    store.close(run)
    return run


def test_save_and_load_the_same_bytes(tmp_path):
    async def scenario():
        run = await saved_run(tmp_path)
        store = strict(NativeFiles(tmp_path))
        loaded = await store.load(run)
        assert loaded.summary == summary(20) and loaded.files == joined(20)
        assert (await store.load(run, 10)).files == joined(10)
        found, = await store.list_runs()
        assert found.run == run and found.summary.step == 20 and found.record["preset"] == "tiny"
        assert found.bytes == sum(map(len, [*joined(10).values(), *joined(20).values()]))
    asyncio.run(scenario())


def test_a_new_run_has_no_checkpoint_and_a_missing_one_is_an_error(tmp_path):
    async def scenario():
        store = strict(NativeFiles(tmp_path))
        run = await store.create(RECORD, "quiet-otter")
        assert await store.load(run) is None
        assert (await store.find(run)).summary is None
        with pytest.raises(StorageError, match="already"):
            await store.create(RECORD, "quiet-otter")
        with pytest.raises(StorageError, match="no run named"):
            await store.find("no-such")
        with pytest.raises(CheckpointError, match="name of a run"):
            await store.find("../quiet-otter")
    asyncio.run(scenario())


def test_the_last_three_and_the_best_are_kept(tmp_path):
    async def scenario():
        store = strict(NativeFiles(tmp_path))
        run = await store.create(RECORD)
        for step, loss in [(10, 3.0), (20, 1.5), (30, 2.0), (40, 2.1), (50, 2.2), (60, None)]:
            await store.save(run, summary(step, loss), content(step))
        assert KEPT == 3
        assert await store.steps(run) == [20, 40, 50, 60]
        assert not (tmp_path / "runs" / run / "step-10").exists()
    asyncio.run(scenario())


@pytest.mark.parametrize("change", range(12))
def test_a_failure_at_any_write_leaves_the_last_complete_step(tmp_path, change):
    async def scenario():
        run = await saved_run(tmp_path, (10, 20, 30))
        files = FailingFiles(tmp_path, change)
        store = strict(files)
        await store.open(run)
        failed = False
        try:
            await store.save(run, summary(40), content(40))
        except Refused:
            failed = True
        store.close(run)
        assert failed == (change < 8)     # four files, manifest, move, and two removals
        again = strict(NativeFiles(tmp_path))
        await again.open(run)
        loaded = await again.load(run)
        newest = loaded.summary.step
        assert newest == (40 if change >= 6 else 30)
        assert loaded.files == joined(newest)
        folders = {path.name for path in (tmp_path / "runs" / run).iterdir() if path.is_dir()}
        assert folders == {f"step-{step}" for step in await again.steps(run)}
        await again.save(run, summary(50), content(50))
        assert (await again.load(run)).files == joined(50)
    asyncio.run(scenario())


def damage(path: Path, how: str) -> None:
    if how == "gone":
        path.unlink()
    elif how == "short":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(bytes(data))


@pytest.mark.parametrize("how", ["gone", "short", "flipped"])
@pytest.mark.parametrize("name", [*content(0)])
def test_a_broken_checkpoint_falls_back_with_a_notice(tmp_path, name, how):
    async def scenario():
        run = await saved_run(tmp_path)
        damage(tmp_path / "runs" / run / "step-20" / name, how)
        notices = []
        store = RunStore(NativeFiles(tmp_path), lambda code, message: notices.append(code))
        assert (await store.load(run)).files == joined(10)
        assert notices == ["checkpoint-broken"]
        assert await store.steps(run) == [10, 20], "a reader changes nothing"
        await store.open(run)
        assert (await store.load(run)).files == joined(10)
        assert await store.steps(run) == [10]
        await store.save(run, summary(20), content(20))
        assert (await store.load(run)).files == joined(20)
    asyncio.run(scenario())


def test_all_broken_is_an_error_that_says_so(tmp_path):
    async def scenario():
        run = await saved_run(tmp_path, (10,))
        damage(tmp_path / "runs" / run / "step-10" / "model.safetensors", "flipped")
        with pytest.raises(CheckpointError, match="No checkpoint of"):
            await strict(NativeFiles(tmp_path)).load(run)
    asyncio.run(scenario())


def test_hostile_manifests_raise_only_our_error():
    good = Manifest.of(summary(3, 1.5), {"a": b"b"})
    assert Manifest.decode(good.encode()) == good
    for bad in [b"", b"[]", b"\xff", b"{}", b'{"version": 1}', good.encode()[:-9],
                good.encode().replace(b'"version": 1', b'"version": 9'),
                good.encode().replace(b'"step": 3', b'"step": -3'),
                good.encode().replace(b'"step": 3', b'"step": "3"'),
                good.encode().replace(b'"a"', b'"../a"'),
                good.encode().replace(b'"bytes": 1', b'"bytes": null')]:
        with pytest.raises(CheckpointError):
            Manifest.decode(bad)


def test_one_writer_a_run(tmp_path):
    async def scenario():
        run = await saved_run(tmp_path)
        first, second = strict(NativeFiles(tmp_path)), strict(NativeFiles(tmp_path))
        await first.open(run)
        with pytest.raises(RunBusy, match="another tab") as caught:
            await second.open(run)
        assert caught.value.code == "busy"
        with pytest.raises(RunBusy):
            await second.delete(run)
        with pytest.raises(StorageError, match="not open"):
            await second.save(run, summary(30), content(30))
        assert (await second.load(run)).files == joined(20), "reading needs no lock"
        first.close(run)
        await second.open(run)
        await second.delete(run)
        assert await second.list_runs() == [] and await second.names() == []
    asyncio.run(scenario())


def test_an_unreadable_run_gives_a_notice_and_the_others_are_listed(tmp_path):
    async def scenario():
        run = await saved_run(tmp_path)
        other = await saved_run(tmp_path)
        (tmp_path / "runs" / other / "run.json").write_text("{")
        notices = []
        store = RunStore(NativeFiles(tmp_path), lambda code, message: notices.append(message))
        assert [found.run for found in await store.list_runs()] == [run]
        assert len(notices) == 1 and other in notices[0]
    asyncio.run(scenario())


def test_export_delete_import(tmp_path):
    async def scenario():
        run = await saved_run(tmp_path)
        files = NativeFiles(tmp_path)
        store, corpora = strict(files), CorpusStore(files)
        await corpora.add(CORPUS)
        name, data = await export_run(store, corpora, run)
        assert name == f"{run}-step-20.zip"
        await store.delete(run)
        seen = []

        def keep(record, loaded):
            seen.append(loaded)
            return record

        again = await import_run(store, corpora, data, keep)
        assert again == run and seen[0].files == joined(20) and seen[0].summary.step == 20
        assert (await store.load(run)).files == joined(20)
        assert (await store.find(run)).record["corpus"]["sha256"] == CORPUS.sha256
        twin = await import_run(store, corpora, data, lambda record, loaded: record)
        assert twin == f"{run}-2"
        assert not store.is_open(twin)
        assert (await corpora.load(CORPUS.sha256)).data.tobytes() == CORPUS.data.tobytes()
    asyncio.run(scenario())


@pytest.mark.parametrize("change", range(9))
def test_a_half_imported_run_is_none_and_is_swept(tmp_path, change):
    async def scenario():
        run = await saved_run(tmp_path / "a")
        corpora = CorpusStore(NativeFiles(tmp_path / "a"))
        await corpora.add(CORPUS)
        _, data = await export_run(strict(NativeFiles(tmp_path / "a")), corpora, run)
        files = FailingFiles(tmp_path / "b", change)
        with pytest.raises(Refused):
            await import_run(strict(files), CorpusStore(files), data, lambda record, loaded: record)
        files.at = -1
        assert await strict(files).list_runs() == []
        await strict(files).sweep()
        assert await strict(files).names() == []
        assert await import_run(strict(files), CorpusStore(files), data,
                                lambda record, loaded: record) == run
    asyncio.run(scenario())


@pytest.mark.parametrize("name", ["run.json", "manifest.json", "corpus.txt", "state.json"])
def test_an_import_with_a_missing_or_changed_file_is_refused(tmp_path, name):
    from tabgrad.checkpoint.archive import pack, unpack

    async def scenario():
        run = await saved_run(tmp_path)
        files = NativeFiles(tmp_path)
        store, corpora = strict(files), CorpusStore(files)
        await corpora.add(CORPUS)
        entries = unpack((await export_run(store, corpora, run))[1])
        without = {key: value for key, value in entries.items() if key != name}
        changed = {**entries, name: entries[name][:-2] + b"~"}
        for bad in (without, changed):
            with pytest.raises(CheckpointError):
                await import_run(store, corpora, pack("x", bad), lambda record, loaded: record)
        assert await store.names() == [run]
    asyncio.run(scenario())
