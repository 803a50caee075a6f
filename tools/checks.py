"""`build.py test`: lint, types and every test, each step run whatever the one before it said."""

from __future__ import annotations

import functools
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools import environment, node, site, system
from tools.shell import ROOT, BuildError, say

PACKAGE = "web/py/tabgrad"
# Modules that import what only Pyodide or the worker has are tested in the browser, those that
# import PyTorch by the parity tests.
DOCTESTS = ("--doctest-modules", "--ignore-glob=*/platform/browser*.py",
            f"--ignore={PACKAGE}/app/main.py", f"--ignore={PACKAGE}/interop", PACKAGE)
# Two processes: half of a test is Python, pages and compilers, which use one core. Tests that watch
# the clock of a browser are marked `alone`: they have the machine to themselves.
AT_ONCE = ("--numprocesses=2", "--dist=loadfile")
# A driver's compiled programs stay with their process: two runs of the unit tests hold half each.
FLOORS = {
    "pure tests": ("tests/pure", *DOCTESTS),
    "unit tests, a-k": ("tests/unit", "--ignore-glob=*/test_[l-z]*.py", *AT_ONCE),
    "unit tests, l-z": ("tests/unit", "--ignore-glob=*/test_[a-k]*.py", *AT_ONCE),
    "parity tests": ("tests/parity", *AT_ONCE),
    "browser tests": ("tests/e2e", "-m", "not alone", *AT_ONCE),
    "browser, alone": ("tests/e2e", "-m", "alone"),
}
NO_TESTS = 5  # pytest's exit code when a selection left none


@dataclass(frozen=True)
class Outcome:
    """How a step ended: `failed` says why, or is empty."""

    name: str
    seconds: float
    failed: str


def test(arguments: Sequence[str]) -> int:
    """Runs every step and prints a summary.

    Args:
        arguments: go to pytest; with a path among them pytest runs once, on the paths named.
    Returns:
        0 when every step passed, else 1.
    Raises:
        BuildError: the environment cannot be made.
    """
    system.ensure(system.TESTS)
    python = environment.python("test")
    node.modules()
    counts: Counter[str] = Counter()
    outcomes = [_step(name, check) for name, check in _checks(python).items()]
    for name, paths in _pytest_runs(arguments).items():
        run = functools.partial(_pytest, python, paths, arguments, counts)
        outcomes.append(_step(name, run))
    return _summary(outcomes, counts)


def _checks(python: Path) -> dict[str, Callable[[], str]]:
    tsc = node.MODULES / ".bin" / "tsc"
    return {
        "site": _build_site,
        "ruff": lambda: _command([python, "-m", "ruff", "check"]),
        "mypy": lambda: _command([python, "-m", "mypy"]),
        "tsc, page": lambda: _command([tsc, "-p", "tsconfig.json"]),
        "tsc, workers": lambda: _command([tsc, "-p", "tsconfig.worker.json"]),
    }


def _pytest_runs(arguments: Sequence[str]) -> dict[str, Sequence[str]]:
    named = [word for word in arguments if (ROOT / word.split("::")[0]).exists()]
    return {"pytest": ()} if named else dict(FLOORS)


def _build_site() -> str:
    try:
        site.build()
    except BuildError as error:
        say(f"build.py: {error}")
        return str(error)
    return ""


def _pytest(python: Path, paths: Sequence[str], arguments: Sequence[str],
            counts: Counter[str]) -> str:
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        code = _exit_code([python, "-m", "pytest", f"--junitxml={report}", *paths, *arguments])
        if not report.exists():
            return f"pytest ended with exit code {code} and no report"
        found = _count(report)
    counts.update(found)
    selected = bool(arguments)
    if code == NO_TESTS and selected:
        return ""
    return "" if code == 0 else f"{found['failed']} failed (exit code {code})"


def _count(report: Path) -> Counter[str]:
    suite = next(ElementTree.parse(report).getroot().iter("testsuite"))
    number = {name: int(suite.get(name, "0")) for name in
              ("tests", "failures", "errors", "skipped")}
    failed = number["failures"] + number["errors"]
    passed = number["tests"] - failed - number["skipped"]
    return Counter(passed=passed, failed=failed, skipped=number["skipped"])


def _command(command: Sequence[str | Path]) -> str:
    code = _exit_code(command)
    return f"exit code {code}" if code else ""


def _exit_code(command: Sequence[str | Path]) -> int:
    words = [str(word) for word in command]
    shown = [word.removeprefix(f"{ROOT}/") for word in words]
    print("+ " + " ".join(shown), flush=True)
    variables = {**environment.inherited(), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(words, cwd=ROOT, env=variables, check=False).returncode


def _step(name: str, check: Callable[[], str]) -> Outcome:
    print(f"\n=== {name}", flush=True)
    start = time.monotonic()
    failed = check()
    return Outcome(name, time.monotonic() - start, failed)


def _summary(outcomes: Sequence[Outcome], counts: Counter[str]) -> int:
    print("\n=== summary")
    for outcome in outcomes:
        state = f"FAILED: {outcome.failed}" if outcome.failed else "ok"
        print(f"{outcome.name:15} {outcome.seconds:7.1f} s  {state}")
    nothing = counts.total() == 0
    if nothing:
        print("No test ran.")
    print(f"tests: {counts['passed']} passed, {counts['failed']} failed, "
          f"{counts['skipped']} skipped", flush=True)
    return 1 if nothing or any(outcome.failed for outcome in outcomes) else 0
