"""Names for runs that a person can say aloud: quiet-otter, amber-finch."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection

from tabgrad.errors import CheckpointError

_FIRST = (
    "amber", "brave", "bright", "calm", "clever", "copper", "coral", "crisp", "curious",
    "dusty", "eager", "early", "fair", "fleet", "fresh", "gentle", "glad", "golden", "green",
    "hazel", "honest", "humble", "ivory", "jolly", "keen", "kind", "lively", "lucky", "mellow",
    "merry", "misty", "neat", "noble", "olive", "patient", "plain", "polite", "proud", "quick",
    "quiet", "rapid", "ready", "rosy", "ruby", "shy", "silver", "sober", "solid", "steady",
    "sunny", "swift", "tidy", "vivid", "warm", "wise", "young",
)
_SECOND = (
    "badger", "beaver", "bison", "crane", "crow", "deer", "dove", "eagle", "falcon", "ferret",
    "finch", "fox", "frog", "goose", "hare", "hawk", "heron", "ibis", "jay", "koala", "lark",
    "lemur", "lion", "lynx", "magpie", "marten", "mole", "moose", "moth", "newt", "otter",
    "owl", "panda", "parrot", "pigeon", "puffin", "quail", "rabbit", "raven", "robin", "seal",
    "shrew", "sloth", "snail", "sparrow", "squid", "stork", "swan", "tapir", "thrush", "tiger",
    "toad", "trout", "turtle", "viper", "vole", "walrus", "weasel", "whale", "wolf", "wren",
    "yak", "zebra",
)
_ALLOWED = re.compile(r"[a-z0-9][a-z0-9-]{0,47}")


def new_name(taken: Collection[str]) -> str:
    """A name that is not in `taken`.

    Example:
        >>> new_name([]).count("-")
        1
    """
    for _ in range(100):
        name = f"{secrets.choice(_FIRST)}-{secrets.choice(_SECOND)}"
        if name not in taken:
            return name
    return free_name(name, taken)


def free_name(name: str, taken: Collection[str]) -> str:
    """`name`, or with the first free number behind it.

    Example:
        >>> free_name("quiet-otter", ["quiet-otter", "quiet-otter-2"])
        'quiet-otter-3'
    """
    number, candidate = 2, name
    while candidate in taken:
        candidate = f"{name}-{number}"
        number += 1
    return candidate


def check_name(name: str) -> str:
    """Returns `name`; raises CheckpointError when it is no name of a run.

    Example:
        >>> check_name("quiet-otter")
        'quiet-otter'
    """
    if not _ALLOWED.fullmatch(name):
        raise CheckpointError("This is not the name of a run.", received=repr(name[:60]),
                              expected="small letters, digits and hyphens, at most 48")
    return name
