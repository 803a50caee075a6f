"""A run as one .zip file: stored, not deflated, since float weights hardly shrink.

An archive may come from anywhere. Entries are only ever read into memory under their own flat
names, their sizes are bounded before anything is unpacked, and nothing is written outside the
store. A folder that a person zipped again (deflated, under one top folder) is read as well.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping

from tabgrad.errors import CheckpointError

MAX_BYTES = 1 << 30
MAX_FILES = 32
# A fixed date: the same run exported twice is the same file.
_DATE = (2020, 1, 1, 0, 0, 0)


def pack(folder: str, files: Mapping[str, bytes]) -> bytes:
    """One .zip with every file under `folder/`.

    Args:
        folder: name of the top folder.
        files: flat file name -> bytes.

    Example:
        >>> unpack(pack("quiet-otter", {"run.json": b"{}"}))
        {'run.json': b'{}'}
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(f"{folder}/{name}", _DATE), data)
    return buffer.getvalue()


def unpack(data: bytes, max_bytes: int = MAX_BYTES) -> dict[str, bytes]:
    """The files of an archive by flat name, without their common top folder.

    Args:
        data: the .zip.
        max_bytes: most bytes that all files together may unpack to.
    Raises:
        CheckpointError: no zip, a name that leaves the folder or occurs twice, too many or too
            large files, encryption, a damaged entry.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [info for info in archive.infolist() if not info.is_dir()]
            _check_sizes(entries, max_bytes)
            names = _flat_names([info.filename for info in entries])
            return {name: _read(archive, info)
                    for name, info in zip(names, entries, strict=True)}
    except (zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, EOFError, OSError,
            ValueError) as error:
        raise CheckpointError("This file is not a zip that can be read.", received=str(error),
                              remedy="Choose a .zip that tabgrad exported.") from error


def _check_sizes(entries: list[zipfile.ZipInfo], max_bytes: int) -> None:
    if len(entries) > MAX_FILES:
        raise CheckpointError("This zip holds too many files for a run.",
                              expected=f"at most {MAX_FILES}", received=str(len(entries)))
    total = sum(info.file_size for info in entries)
    if total > max_bytes:
        raise CheckpointError("This zip unpacks to more than a run may hold.",
                              expected=f"at most {max_bytes:,} bytes", received=f"{total:,} bytes")
    for info in entries:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise CheckpointError(f"{info.filename} is packed in a way that is not read here.",
                                  expected="stored or deflated")
        if info.flag_bits & 1:
            raise CheckpointError(f"{info.filename} is encrypted.",
                                  remedy="Choose a .zip without a password.")


def _flat_names(paths: list[str]) -> list[str]:
    parts = [path.split("/") for path in paths]
    if parts and all(len(each) == 2 for each in parts) and len({each[0] for each in parts}) == 1:
        _check_name(paths[0], parts[0][0])
        parts = [each[1:] for each in parts]
    names = []
    for path, each in zip(paths, parts, strict=True):
        if len(each) != 1:
            raise CheckpointError("This zip holds folders that a run does not have.",
                                  expected="files in at most one folder", received=path[:100])
        _check_name(path, each[0])
        names.append(each[0])
    if len(set(names)) != len(names):
        raise CheckpointError("This zip holds a file name twice.")
    return names


def _check_name(path: str, name: str) -> None:
    if name in ("", ".", "..") or any(sign in name for sign in "\\:\0"):
        raise CheckpointError("This zip holds a file name that is not allowed.",
                              expected="plain file names", received=path[:100])


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    # zipfile stops at the declared size and checks the CRC, so the bound above holds here.
    data = archive.read(info)
    if len(data) != info.file_size:
        raise CheckpointError(f"{info.filename} in this zip is damaged.",
                              expected=f"{info.file_size} bytes", received=f"{len(data)} bytes")
    return data
