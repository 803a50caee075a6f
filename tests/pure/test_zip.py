"""Exported archives come back equal; hostile ones are refused before they unpack."""

from __future__ import annotations

import contextlib
import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabgrad.checkpoint.archive import MAX_FILES, pack, unpack
from tabgrad.errors import CheckpointError

FILES = {"run.json": b"{}", "model.safetensors": bytes(range(256)) * 9, "corpus.txt": b""}


def make(entries, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return buffer.getvalue()


def test_round_trip_stored_and_reproducible():
    data = pack("quiet-otter", FILES)
    assert unpack(data) == FILES
    assert data == pack("quiet-otter", FILES)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        assert archive.testzip() is None
        assert archive.namelist()[0] == "quiet-otter/run.json"


def test_a_folder_zipped_again_by_hand_is_read():
    entries = [("my run/", b""), *((f"my run/{name}", data) for name, data in FILES.items())]
    assert unpack(make(entries, zipfile.ZIP_DEFLATED)) == FILES
    assert unpack(make(FILES.items(), zipfile.ZIP_DEFLATED)) == FILES


@pytest.mark.parametrize("name", ["../run.json", "a/../run.json", "/run.json", "a/b/run.json",
                                  "..\\run.json", "C:run.json", "../../etc/passwd", "./run.json",
                                  "..", "a//run.json"])
def test_paths_that_leave_the_folder_are_refused(name):
    with pytest.raises(CheckpointError):
        unpack(make([("run.json", b"{}"), (name, b"x")]))
    with pytest.raises(CheckpointError):
        unpack(make([(name, b"x")]))


def test_size_bomb_is_refused_before_unpacking():
    bomb = make([("a/zeros", bytes(50_000_000))], zipfile.ZIP_DEFLATED)
    assert len(bomb) < 100_000
    with pytest.raises(CheckpointError, match="more than a run may hold"):
        unpack(bomb, max_bytes=10_000_000)


def test_a_size_that_lies_is_noticed():
    data = bytearray(make([("a", bytes(1000))], zipfile.ZIP_DEFLATED))
    central = data.rindex(b"PK\x01\x02")
    data[central + 24:central + 28] = (10).to_bytes(4, "little")
    with pytest.raises(CheckpointError):
        unpack(bytes(data))


def test_too_many_twice_encrypted_and_damaged():
    with pytest.raises(CheckpointError, match="too many"):
        unpack(make([(f"f{i}", b"") for i in range(MAX_FILES + 1)]))
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = make([("a", b"1"), ("a", b"2")])
    with pytest.raises(CheckpointError, match="twice"):
        unpack(twice)
    locked = bytearray(make([("a", b"1")]))
    locked[locked.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(CheckpointError, match="encrypted"):
        unpack(bytes(locked))
    damaged = bytearray(pack("r", FILES))
    damaged[damaged.index(bytes(range(256))) + 5] ^= 1
    with pytest.raises(CheckpointError, match="zip that can be read"):
        unpack(bytes(damaged))


@given(st.binary(max_size=300))
def test_random_bytes_raise_only_our_error(data):
    with pytest.raises(CheckpointError):
        unpack(data)


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6))
def test_damage_raises_only_our_error(changes):
    data = bytearray(pack("quiet-otter", FILES))
    for position, value in changes:
        data[position % len(data)] = value
    with contextlib.suppress(CheckpointError):
        unpack(bytes(data))
