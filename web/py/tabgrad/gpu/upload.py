"""A part of a file becomes the content of a region."""

from __future__ import annotations

from tabgrad.errors import KernelError
from tabgrad.gpu.memory import round_up
from tabgrad.gpu.storage import Pool, Region
from tabgrad.platform.files_protocol import Files
from tabgrad.platform.gpu_protocol import Gpu


async def upload(gpu: Gpu, pool: Pool, region: Region, files: Files, path: str,
                 file_offset: int, size: int | None) -> None:
    """Copies a part of a file to the GPU, in pieces of at most 16 MiB.

    In the tab the bytes go from OPFS to the GPU and never through Python's memory. Nothing that
    was launched may still wait for the region's old content; `Device.upload` sees to that.

    Args:
        gpu: of the region.
        pool: that the region's storage comes from.
        region: where the bytes go; `ceil(size / 4) * 4` long, the last of them zeros.
        files: where the file lies.
        path: of the file.
        file_offset: where to begin in it, in bytes.
        size: how many bytes; the region's if None.

    Raises:
        KernelError: a region of another size.
        StorageError: the file ends before, or cannot be read.
    """
    size = region.size if size is None else size
    if size < 1 or file_offset < 0 or round_up(size, 4) != region.size:
        raise KernelError(f"upload to {region.storage.label}: the wrong number of bytes.",
                          expected=f"{region.size}",
                          received=f"{size} bytes from byte {file_offset} of {path}")
    block = region.storage.block
    buffer = pool.materialize(block)
    await gpu.upload(buffer, region.offset, files, path, file_offset, size)
    block.written = True
