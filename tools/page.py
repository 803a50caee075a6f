"""index.html as it is published: real addresses, import map, Content-Security-Policy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tools import policy
from tools.shell import BuildError

_ADDRESS = re.compile(r'(?P<before>\s(?:src|href)=")(?P<name>[^"]*)(?P<after>")')
_OUTSIDE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|#|//|$|\./$)")
_CHARSET = re.compile(r"<meta charset=\"?utf-8\"?\s*/?>", re.IGNORECASE)
_INLINE = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>|<style|\sstyle=\"|\son[a-z]+=\"", re.IGNORECASE)


def publish(source: str, addresses: Mapping[str, str], imports: Mapping[str, str]) -> str:
    """Turns web/index.html into the page of the built site.

    Args:
        source: the page, which names files by their logical names.
        addresses: logical name -> address relative to the page.
        imports: bare name of a module -> its logical name.

    Raises:
        BuildError: the page names a file that is not in the site, or has inline code, which the
            Content-Security-Policy would refuse.
    """
    inline = _INLINE.search(source)
    if inline:
        raise BuildError(f"web/index.html has inline code or style: {inline.group(0)!r}")
    table = {name: "./" + addresses[logical] for name, logical in sorted(imports.items())}
    import_map = json.dumps({"imports": table}, separators=(",", ":"))
    head = (f'\n<meta http-equiv="Content-Security-Policy" content="{policy.page(import_map)}">'
            f'\n<script type="importmap">{import_map}</script>')
    page, count = _CHARSET.subn(lambda found: found.group(0) + head, _readdress(source, addresses))
    if count != 1:
        raise BuildError('web/index.html should have exactly one <meta charset="utf-8">.')
    return page


def policy_of(page: str) -> str:
    """The policy that a published page carries, for servers that can send it as a header."""
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    if found is None:
        raise BuildError("The page carries no Content-Security-Policy.")
    return found.group(1)


def _readdress(source: str, addresses: Mapping[str, str]) -> str:
    def address(found: re.Match[str]) -> str:
        name = found["name"]
        if _OUTSIDE.match(name):
            return found.group(0)
        plain = name.removeprefix("./")
        if plain not in addresses:
            raise BuildError(f"web/index.html names '{name}', which is not in the site.")
        return found["before"] + addresses[plain] + found["after"]

    return _ADDRESS.sub(address, source)
