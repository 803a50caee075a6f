"""The store of models natively: facts before a download, hub and folder, damage, drops, GPU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabgrad import platform
from tabgrad.checkpoint.facts import Facts
from tabgrad.checkpoint.hub import Source, resolve
from tabgrad.checkpoint.models import ModelProgress, ModelStore, open_folder
from tabgrad.checkpoint.stored import RunBusy
from tabgrad.errors import (
    Cancelled,
    CheckpointError,
    DownloadError,
    KernelError,
    StorageError,
    TabgradError,
)
from tabgrad.gpu.device import Device
from tabgrad.platform import native_http
from tabgrad.platform.transfer import Cancel
from tests import tiny_model
from tests.faulty_host import Fault, FaultyHost, sharded
from tests.helpers import run

MODEL = "someone/tiny"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_http.LIMITS, "retry_s", 0.005)


@pytest.fixture
def host() -> Iterator[FaultyHost]:
    files = {**tiny_model.at("m/tiny", tiny_model.folder()),
             **tiny_model.at("m/two", tiny_model.folder(2)),
             **tiny_model.on_hub(MODEL, tiny_model.folder(2))}
    with FaultyHost(files) as host:
        yield host


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(platform.current().files(str(tmp_path)))


def on_hub(host: FaultyHost) -> Source:
    return resolve(MODEL, host.url.rstrip("/"))


def left(tmp_path: Path) -> list[str]:
    """Files and folders below models/."""
    return sorted(str(item.relative_to(tmp_path / "models"))
                  for item in (tmp_path / "models").rglob("*"))


def test_facts_of_a_folder_are_known_before_the_weights_come(host: FaultyHost) -> None:
    facts = run(resolve(host.url + "m/two/").facts())
    names = [file.name for file in facts.files]
    assert names[-2:] == ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    assert set(names[:-2]) == {"config.json", "model.safetensors.index.json", "tokenizer.json",
                               "generation_config.json"}
    count = sum(array.size for array in tiny_model.tensors().values())
    assert (facts.parameters, facts.dtypes) == (count, {"float32": count})
    assert facts.memory == 4 * count
    assert facts.bytes == sum(len(host.files[f"m/two/{name}"]) for name in names)
    assert (facts.licence, facts.problem, facts.revision) == ("apache-2.0", None, None)
    assert facts.config["model_type"] == "llama"


def test_facts_of_a_hub_name_the_commit_and_the_hashes(host: FaultyHost) -> None:
    facts = run(on_hub(host).facts())
    assert facts.revision == "c0ffee12" * 5
    assert facts.address.endswith(f"/{MODEL}/resolve/{facts.revision}/")
    assert facts.licence == "mit"
    assert all(file.sha256 for file in facts.files if file.name.endswith(".safetensors"))


def test_a_mirror_without_a_description_is_asked_for_the_files(host: FaultyHost) -> None:
    for fault in (Fault(status=404), Fault(status=500), Fault(html="type")):
        host.faults[f"api/models/{MODEL}/revision/main"] = fault
        facts = run(on_hub(host).facts())
        assert (facts.revision, facts.licence) == (None, "apache-2.0")
        assert facts.address.endswith("/resolve/main/")


@pytest.mark.parametrize("address, tensor_count", [("m/tiny/", 3), ("m/two", 3)])
def test_a_model_comes_and_stays(store: ModelStore, host: FaultyHost, tmp_path: Path,
                                 address: str, tensor_count: int) -> None:
    told: list[ModelProgress] = []
    record = run(store.download(resolve(host.url + address), told.append))
    assert run(store.list()) == [record] and record.bytes == told[-1].total == told[-1].done
    asked = len(host.asked)
    assert run(store.find(resolve(host.url + address))) == record
    assert run(store.find(resolve(host.url + "m/other"))) is None
    model = run(store.open(record.name))
    assert len(host.asked) == asked, "finding and opening ask nobody"
    assert len(model.tensors) == tensor_count and model.config == tiny_model.CONFIG
    assert model.generation_config == {"eos_token_id": 2}
    assert run(model.read("tokenizer.json")) == tiny_model.TOKENIZER
    assert run(model.read("vocab.json")) is None
    for name, array in tiny_model.tensors().items():
        assert np.array_equal(run(model.read_tensor(name)), array)
    run(store.keep(record.name, True))
    assert run(store.list())[0].kept
    run(store.delete(record.name))
    assert run(store.list()) == [] and left(tmp_path) == []


def test_what_is_here_does_not_come_again(store: ModelStore, host: FaultyHost) -> None:
    first = run(store.download(on_hub(host)))
    asked = [each for each in host.asked if each.path.endswith(".safetensors")]
    assert run(store.download(on_hub(host))) == first
    again = [each for each in host.asked if each.path.endswith(".safetensors")][len(asked):]
    assert all(each.span is not None and each.span[1] <= 2**16 for each in again), "headers only"


def test_of_a_new_version_only_what_changed_comes(store: ModelStore, host: FaultyHost) -> None:
    run(store.download(on_hub(host)))
    files = tiny_model.folder(2)
    changed = "model-00002-of-00002.safetensors"
    array = tiny_model.tensors(9)
    header_names = [name for name, where in json.loads(files[tiny_model.INDEX])[
        "weight_map"].items() if where == changed]
    files[changed] = sharded({name: array[name] for name in header_names})
    host.files.update(tiny_model.on_hub(MODEL, files, "feed" * 10))
    host.asked.clear()
    record = run(store.download(on_hub(host)))
    assert record.revision == "feed" * 10 and len(run(store.list())) == 1
    whole = [each.path.rsplit("/", 1)[-1] for each in host.asked
             if each.span is not None and each.span[1] > 2**16]
    assert [name for name in whole if name.endswith(".safetensors")] == [changed]
    got = run(run(store.open(record.name)).read_tensor(header_names[0]))
    assert np.array_equal(got, array[header_names[0]])


def test_a_cancelled_download_goes_on(store: ModelStore, host: FaultyHost,
                                      tmp_path: Path) -> None:
    cancel = Cancel()

    def stop(moment: ModelProgress) -> None:
        if moment.file == "model-00001-of-00002.safetensors":
            cancel.cancel()

    with pytest.raises(Cancelled):
        run(store.download(on_hub(host), stop, cancel))
    assert run(store.list()) == []
    (unfinished,) = run(store.unfinished())
    assert unfinished.bytes > 0
    host.asked.clear()
    record = run(store.download(on_hub(host)))
    assert [each.path for each in host.asked if each.path.endswith("tokenizer.json")] == []
    assert list(run(store.unfinished())) == []
    assert not [name for name in left(tmp_path) if "part" in name or "download.json" in name]
    assert run(store.open(record.name)).name == record.name


def test_two_folders_of_one_name_do_not_meet(store: ModelStore, host: FaultyHost) -> None:
    with FaultyHost(tiny_model.at("m/tiny", tiny_model.folder())) as other:
        first = run(store.download(resolve(host.url + "m/tiny")))
        second = run(store.download(Source(first.title, other.url + "m/tiny/")))
    assert second.name == f"{first.name}-2"
    assert {record.name for record in run(store.list())} == {first.name, second.name}


def broken(files: dict[str, bytes], **changes: bytes | None) -> dict[str, bytes]:
    for name, content in changes.items():
        name = name.replace("__", ".")
        if content is None:
            files.pop(name, None)
        else:
            files[name] = content
    return files


GOOD = tiny_model.folder()
HUGE = (2**60).to_bytes(8, "little") + b"{}"
HOSTILE: dict[str, tuple[dict[str, bytes | None], str]] = {
    "no config": ({"config__json": None}, "has no config.json"),
    "a config that is none": ({"config__json": b"[1]"}, "not a JSON object"),
    "a huge config": ({"config__json": b" " * 2**21}, "does not have the length|too long"),
    "a name twice": ({"config__json": b'{"a": 1, "a": 2}'}, "a name twice"),
    "an unknown kind": ({"config__json": b'{"model_type": "mystery"}'}, "mystery"),
    "no weights": ({"model__safetensors": None}, "Only safetensors"),
    "2^60 header": ({"model__safetensors": HUGE}, "header is too long"),
    "a truncated shard": ({"model__safetensors": GOOD["model.safetensors"][:-3]},
                          "does not have the length its header says"),
    "no tokenizer": ({"tokenizer__json": None}, "no tokenizer.json"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_cannot_run_is_refused_before_its_weights(store: ModelStore, tmp_path: Path,
                                                      case: str) -> None:
    changes, words = HOSTILE[case]
    files = broken(tiny_model.folder(), **changes)
    with FaultyHost(tiny_model.at("m/x", files)) as host, \
            pytest.raises((CheckpointError, DownloadError), match=words):
        run(store.download(resolve(host.url + "m/x/")))
    assert left(tmp_path) == []
    assert run(store.list()) == [] and list(run(store.unfinished())) == []


@pytest.mark.parametrize("fault, words", [
    (Fault(status=404, skip=1), "has no model.safetensors"),
    (Fault(html="type", skip=1), "web page"),
    (Fault(flip=300, skip=1), "SHA-256"),
    (Fault(cut=0, skip=1), "cannot be reached"),
    (Fault(status=401, skip=1), "access token"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_goes_wrong_on_the_way_leaves_no_model(store: ModelStore, tmp_path: Path,
                                                    fault: Fault, words: str) -> None:
    with FaultyHost(tiny_model.on_hub(MODEL, tiny_model.folder())) as host:
        (path,) = [path for path in host.files if path.endswith("12/model.safetensors")]
        host.faults[path] = fault
        with pytest.raises(DownloadError, match=words):
            run(store.download(on_hub(host)))
        assert run(store.list()) == []
        assert not [name for name in left(tmp_path) if name.endswith(".safetensors")]
        host.faults.clear()
        assert run(store.list()) == [] and run(store.download(on_hub(host))).files


def test_no_room_is_said_before_anything_comes(store: ModelStore, host: FaultyHost,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    async def usage() -> tuple[int, int]:
        return 1000, 1500

    monkeypatch.setattr(store._files, "usage", usage)
    facts = run(on_hub(host).facts())
    asked = len(host.asked)
    with pytest.raises(StorageError, match="no room"):
        run(store.download(on_hub(host), facts=facts))
    assert len(host.asked) == asked and list(run(store.unfinished())) == []


def test_a_damaged_file_is_noticed_and_mended(store: ModelStore, host: FaultyHost,
                                              tmp_path: Path) -> None:
    record = run(store.download(on_hub(host)))
    shard = tmp_path / "models" / record.name / "model-00001-of-00002.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="is damaged"):
        run(store.open(record.name))
    run(store.download(on_hub(host)))
    assert len(run(store.open(record.name)).tensors) == 3


def test_one_writer(store: ModelStore, host: FaultyHost) -> None:
    record = run(store.download(on_hub(host)))
    lock = run(store._files.lock(f"models/{record.name}"))
    assert lock is not None
    for action in (store.delete(record.name), store.keep(record.name, True),
                   store.download(on_hub(host))):
        with pytest.raises(RunBusy, match="Another tab"):
            run(action)
    lock.release()


@pytest.mark.parametrize("name", ["../x", "a/b", "", "."])
def test_names_that_leave_the_folder_are_refused(store: ModelStore, name: str) -> None:
    with pytest.raises(StorageError):
        run(store.delete(name))


def dropped(tmp_path: Path, files: dict[str, bytes]) -> dict[str, Path]:
    place = tmp_path / "computer"
    place.mkdir()
    for name, content in files.items():
        (place / name).write_bytes(content)
    return {f"My model/{name}": place / name for name in files}


def test_dropped_files_become_a_model(tmp_path: Path) -> None:
    store = ModelStore(platform.current().files(str(tmp_path / "store")))
    told: list[Any] = []
    files = dropped(tmp_path, {**tiny_model.folder(2), "notes.txt": b"hello"})
    record = run(store.adopt("My model", files, lambda *moment: told.append(moment)))
    assert record.name == "My-model" and "notes.txt" not in record.files and told
    model = run(store.open("My-model"))
    for name, array in tiny_model.tensors().items():
        assert np.array_equal(run(model.read_tensor(name)), array)
    assert run(store.adopt("My model", files)).name == "My-model-2"


@pytest.mark.parametrize("changes, words", [
    ({"config__json": None}, "no model"), ({"model__safetensors": None}, "no model"),
    ({"model__safetensors": HUGE}, "too long"), ({"config__json": b"<html>"}, "web page"),
])
def test_dropped_files_that_are_no_model_leave_nothing(tmp_path: Path, changes: Any,
                                                       words: str) -> None:
    store = ModelStore(platform.current().files(str(tmp_path / "store")))
    with pytest.raises(CheckpointError, match=words):
        run(store.adopt("x", dropped(tmp_path, broken(tiny_model.folder(), **changes))))
    assert run(store.list()) == [] and list(run(store.unfinished())) == []


@pytest.mark.parametrize("kind", ["device", "numpy_device"])
def test_weights_go_to_the_gpu_as_they_are(request: pytest.FixtureRequest, tmp_path: Path,
                                           kind: str) -> None:
    device: Device = request.getfixturevalue(kind)
    files = platform.current().files(str(tmp_path))
    for name, content in tiny_model.folder(2).items():
        run(files.write(f"m/{name}", [content]))
    model = run(open_folder(files, "m"))
    name, array = next(iter(tiny_model.tensors().items()))
    region = device.allocate(array.nbytes, name).region
    run(model.upload(name, region))
    assert run(device.read(region)) == array.tobytes()
    rows = device.allocate(2 * array[0].nbytes, "rows").region
    run(model.upload(model.tensors[name], rows, offset=3 * array[0].nbytes, size=rows.size))
    assert run(device.read(rows)) == array[3:5].tobytes()
    with pytest.raises(CheckpointError, match="beyond"):
        run(model.upload(name, rows, offset=array.nbytes - 4, size=8))
    with pytest.raises(KernelError, match="wrong number of bytes"):
        run(model.upload(name, rows))
    with pytest.raises(CheckpointError, match="no tensor"):
        run(model.upload("gone", rows))
    (tmp_path / "m" / model.tensors[name].file).write_bytes(b"short")
    with pytest.raises(StorageError, match="ends before"):
        run(model.upload(name, region))


def test_facts_can_be_asked_without_a_download(host: FaultyHost, tmp_path: Path) -> None:
    facts = run(on_hub(host).facts({"Authorization": "Bearer secret"}))
    assert isinstance(facts, Facts)
    assert {each.headers.get("Authorization") for each in host.asked} == {"Bearer secret"}
    assert list(tmp_path.iterdir()) == []


def test_every_error_says_what_to_do() -> None:
    with pytest.raises(TabgradError, match="owner/name"):
        resolve("what is this")
