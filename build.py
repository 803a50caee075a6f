#!/usr/bin/env python3
"""The one entry to tabgrad: `python3 build.py serve`, and `--help` for the rest.

Starts on the standard library of CPython 3.11; what else a verb needs it installs into .venv/,
node_modules/ and the cache. The code is in tools/, one idea a file.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  (this line is what tells an older Python)
    sys.exit(f"build.py needs Python 3.11 or newer; this is {sys.version.split()[0]}.")

from tools.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
