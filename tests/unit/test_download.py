"""Downloads on CPython, from a host that misbehaves in every way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabgrad import platform
from tabgrad.errors import Cancelled, DownloadError, StorageError, TabgradError
from tabgrad.platform import native_http, native_transfer
from tabgrad.platform.transfer import Cancel, Downloaded
from tests.faulty_host import Fault, FaultyHost
from tests.helpers import run

CHUNK = 2**16
CONTENT = np.random.default_rng(3).bytes(10 * CHUNK + 777)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
FILE = "m/model.safetensors"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pieces and short waits."""
    monkeypatch.setattr(native_http.LIMITS, "chunk_bytes", CHUNK)
    monkeypatch.setattr(native_http.LIMITS, "retry_s", 0.005)
    monkeypatch.setattr(native_http.LIMITS, "stall_s", 0.5)
    monkeypatch.setattr(native_transfer, "POLL_S", 0.002)


@pytest.fixture
def host() -> Iterator[FaultyHost]:
    with FaultyHost({FILE: CONTENT}) as host:
        yield host


class Folder:
    """Downloads FILE of a host into a folder of the disk."""

    def __init__(self, host: FaultyHost, path: Path) -> None:
        self.host, self.path = host, path

    def get(self, **options: Any) -> Downloaded:
        files = platform.current().files(str(self.path))
        return run(platform.current().download(files, self.host.url + FILE, "a/b", **options))

    def names(self) -> list[str]:
        """What lies there, but for the locks."""
        return sorted(str(item.relative_to(self.path)) for item in self.path.rglob("*")
                      if item.is_file() and ".locks" not in item.parts)


@pytest.fixture
def folder(host: FaultyHost, tmp_path: Path) -> Folder:
    return Folder(host, tmp_path)


def check_whole(folder: Folder) -> None:
    assert (folder.path / "a" / "b").read_bytes() == CONTENT
    assert folder.names() == ["a/b"]


@pytest.mark.parametrize("fault", [
    Fault(times=0),
    Fault(ranges=False),
    Fault(status=503, times=3),
    Fault(status=429, retry_after=0, times=1),
    Fault(cut=1000, times=4),
    Fault(cut=CHUNK - 5),
    Fault(short=7, times=2),
    Fault(no_etag=True),
    Fault(piece_s=0.01),
    Fault(ranges=False, cut=2 * CHUNK, times=1),
], ids=str)
def test_a_file_arrives_whole(folder: Folder, fault: Fault) -> None:
    folder.host.faults[FILE] = fault
    came = folder.get(size=len(CONTENT), sha256=SHA256)
    assert (came.size, came.sha256) == (len(CONTENT), SHA256)
    check_whole(folder)


def test_ranges_are_asked_at_once_and_none_twice(folder: Folder) -> None:
    told = []
    folder.get(progress=lambda done, total: told.append((done, total)))
    spans = sorted(each.span for each in folder.host.gets(FILE))
    assert spans == [(at, min(at + CHUNK, len(CONTENT)) if at else CHUNK)
                     for at in range(0, len(CONTENT), CHUNK)]
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_redirects_are_followed_and_the_token_stays_behind(folder: Folder) -> None:
    with FaultyHost({"cdn/x": CONTENT}) as cdn:
        folder.host.faults[FILE] = Fault(redirect=cdn.url + "cdn/x")
        folder.get(headers={"Authorization": "Bearer secret"})
        check_whole(folder)
        assert {each.headers.get("Authorization") for each in folder.host.asked} == {
            "Bearer secret"}
        assert {each.headers.get("Authorization") for each in cdn.asked} == {None}


WRONG = {
    "404": (Fault(status=404), {}, "NotFound", "has no model.safetensors"),
    "401": (Fault(status=401), {}, "Forbidden", "access token"),
    "500": (Fault(status=500), {}, "Status", "could not send"),
    "a web page": (Fault(html="type"), {}, "WebPage", "a web page in place of"),
    "a web page in disguise": (Fault(html="silent"), {}, "WebPage", "a web page in place of"),
    "another length": (Fault(times=0), {"size": 5}, "WrongSize", "does not have the length"),
    "another hash": (Fault(flip=70_000), {"sha256": SHA256}, "WrongHash", "SHA-256"),
    "truncated": (Fault(claim=len(CONTENT) + 3 * CHUNK), {}, "Truncated", "ends before"),
    "changed meanwhile": (Fault(etag='"new"', skip=3), {}, "Changed", "changed on"),
    "elsewhere, plain http": (Fault(redirect="http://a.example/x"), {}, "Address", "https"),
}


@pytest.mark.parametrize("case", WRONG)
def test_each_fault_has_its_words_and_leaves_nothing(folder: Folder, case: str) -> None:
    fault, options, kind, words = WRONG[case]
    folder.host.faults[FILE] = fault
    with pytest.raises(DownloadError, match=words) as caught:
        folder.get(**options)
    assert caught.value.kind == kind
    assert folder.names() == []
    folder.host.faults.clear()
    folder.get(sha256=SHA256)  # and nothing is in the way afterwards
    check_whole(folder)


def test_more_bytes_than_asked_are_refused(folder: Folder) -> None:
    folder.host.faults[FILE] = Fault(longer=9)
    with pytest.raises(DownloadError, match="does not have the length"):
        folder.get()
    assert folder.names() == []


def test_a_host_that_is_not_there(tmp_path: Path) -> None:
    with FaultyHost({}) as gone:
        pass
    with pytest.raises(DownloadError, match="cannot be reached") as caught:
        Folder(gone, tmp_path).get()
    assert caught.value.kind == "Network"


def cancel_after(folder: Folder, size: int, **options: Any) -> None:
    """Downloads until `size` bytes are there."""
    cancel = Cancel()
    with pytest.raises(Cancelled):
        folder.get(cancel=cancel, progress=lambda done, _: done >= size and cancel.cancel(),
                   **options)


def test_a_cancelled_download_goes_on(folder: Folder) -> None:
    folder.host.faults[FILE] = Fault(piece_s=0.02)
    cancel_after(folder, 5 * CHUNK)
    assert folder.names() == ["a/b.part", "a/b.part.journal"]
    before = len(folder.host.asked)
    folder.host.faults.clear()
    folder.get()
    check_whole(folder)
    again = [each.span for each in folder.host.asked[before:]]
    assert (0, CHUNK) not in again and len(again) <= 8


def test_another_version_begins_anew(folder: Folder) -> None:
    folder.host.faults[FILE] = Fault(piece_s=0.02)
    cancel_after(folder, 5 * CHUNK)
    folder.host.faults.clear()
    folder.host.files[FILE] = CONTENT[::-1]
    folder.get()
    assert (folder.path / "a" / "b").read_bytes() == CONTENT[::-1]


def test_a_hash_is_enough_to_go_on_from_another_host(folder: Folder) -> None:
    folder.host.faults[FILE] = Fault(piece_s=0.02, no_etag=True)
    cancel_after(folder, 5 * CHUNK, sha256=SHA256)
    with FaultyHost({FILE: CONTENT}) as mirror:
        Folder(mirror, folder.path).get(sha256=SHA256)
        assert len(mirror.asked) <= 8
    check_whole(folder)


@pytest.mark.parametrize("journal", [b"", b"{", b'{"url": 3}\n', b"\xff\xfe\n1\n2\n"])
def test_a_broken_journal_begins_anew(folder: Folder, journal: bytes) -> None:
    folder.host.faults[FILE] = Fault(piece_s=0.02)
    cancel_after(folder, 5 * CHUNK)
    folder.host.faults.clear()
    (folder.path / "a" / "b.part.journal").write_bytes(journal)
    folder.get(sha256=SHA256)
    check_whole(folder)


def test_a_line_that_was_cut_off_is_passed_over(folder: Folder) -> None:
    folder.host.faults[FILE] = Fault(piece_s=0.02)
    cancel_after(folder, 5 * CHUNK)
    folder.host.faults.clear()
    with (folder.path / "a" / "b.part.journal").open("ab") as journal:
        journal.write(b"9")
    folder.get(sha256=SHA256)
    check_whole(folder)


def test_two_downloads_of_one_file_do_not_meet(folder: Folder) -> None:
    files = platform.current().files(str(folder.path))
    lock = run(files.lock("a/b.part"))
    assert lock is not None
    with pytest.raises(DownloadError, match="another tab"):
        folder.get()
    lock.release()


def test_small_files(host: FaultyHost) -> None:
    here = platform.current()
    assert run(here.fetch_small(host.url + FILE, len(CONTENT))) == CONTENT
    with pytest.raises(DownloadError, match="length"):
        run(here.fetch_small(host.url + FILE, 100))
    start = run(here.fetch_start(host.url + FILE, 100))
    assert (start.data, start.size) == (CONTENT[:100], len(CONTENT))
    host.faults[FILE] = Fault(ranges=False)
    assert run(here.fetch_start(host.url + FILE, 100)).data == CONTENT[:100]
    host.faults[FILE] = Fault(html="silent")
    for fetch in (here.fetch_small(host.url + FILE, 1000), here.fetch_start(host.url + FILE, 9)):
        with pytest.raises(DownloadError, match="web page"):
            run(fetch)


@pytest.mark.parametrize("url", ["http://a.example/x", "ftp://a.example/x", "file:///etc/passwd",
                                 "https://me:secret@a.example/x", "data:,x"])
def test_other_addresses_are_not_asked(url: str) -> None:
    with pytest.raises(DownloadError, match="cannot be downloaded from"):
        run(platform.current().fetch_small(url, 10))


def test_a_dropped_file_is_copied(tmp_path: Path) -> None:
    (tmp_path / "here").write_bytes(CONTENT)
    here, files = platform.current(), platform.current().files(str(tmp_path / "store"))
    came = run(here.adopt(files, tmp_path / "here", "m/x"))
    assert came == Downloaded(len(CONTENT), None, SHA256)
    assert run(files.read("m/x")) == CONTENT
    with pytest.raises(StorageError):
        run(here.adopt(files, tmp_path / "gone", "m/y"))
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(TabgradError):
        run(here.adopt(files, tmp_path / "here", "m/z", cancel=cancel))
    assert [entry.name for entry in run(files.list("m"))] == ["x"]
