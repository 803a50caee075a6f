"""Every kernel's header must match its code: a kernel that does not fails the build."""

from __future__ import annotations

import sys

from tools.shell import WEB, BuildError

# The two modules below need the standard library alone, so the build itself can run them.
sys.path.insert(0, str(WEB / "py"))

from tabgrad.errors import KernelError
from tabgrad.gpu.header_checks import check_header
from tabgrad.gpu.headers import parse_header


def check() -> int:
    """Checks all of web/wgsl and returns how many kernels there are.

    Raises:
        BuildError: one line for each kernel that is wrong.
    """
    paths = sorted((WEB / "wgsl").glob("*.wgsl"))
    wrong = []
    for path in paths:
        text = path.read_text()
        try:
            check_header(parse_header(text, path.name), text, path.stem)
        except KernelError as error:
            wrong.append(str(error))
    if wrong:
        raise BuildError("\n".join(["Kernel headers do not match their code:", *wrong]))
    return len(paths)
