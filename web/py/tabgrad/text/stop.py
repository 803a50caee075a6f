"""Stop strings in a text that arrives in pieces."""

from __future__ import annotations

from collections.abc import Sequence

from tabgrad.errors import SettingsError


class StopStrings:
    """Ends a text before a stop string, and never shows a part of one.

    The text ends as soon as a stop string is complete; of two that are complete at once, the
    longer one is cut off. What could be the beginning of a stop string is held back until more
    text decides. How the text was cut into pieces makes no difference.

    Args:
        stop: strings that end the text; none is fine.

    Raises:
        SettingsError: an empty stop string, which would end every text at once.

    Example:
        >>> stops = StopStrings(["END"])
        >>> stops.feed("The E"), stops.feed("nd is near. EN"), stops.feed("D, really")
        (('The ', False), ('End is near. ', False), ('', True))
    """

    def __init__(self, stop: Sequence[str]) -> None:
        if isinstance(stop, str) or not all(isinstance(one, str) and one for one in stop):
            raise SettingsError("Stop strings must not be empty.", control="stop",
                                expected="a list of strings with at least one character each",
                                received=repr(stop)[:80])
        self._stop = tuple(stop)
        self._held = ""
        self._stopped = False

    def feed(self, piece: str) -> tuple[str, bool]:
        """Takes the next piece.

        Returns:
            the text that can be shown, and whether a stop string was found; then the rest of the
            text does not count, and later calls give ("", True).
        """
        if self._stopped:
            return "", True
        text = self._held + piece
        found = [(text.find(one) + len(one), text.find(one)) for one in self._stop if one in text]
        if found:
            self._held, self._stopped = "", True
            return text[:min(found)[1]], True
        waiting = self._unfinished(text)
        self._held = text[waiting:]
        return text[:waiting], False

    def finish(self) -> str:
        """What is still held back, once no more text comes."""
        text, self._held = self._held, ""
        return text

    def _unfinished(self, text: str) -> int:
        """Where the first beginning of a stop string starts that reaches the end of the text."""
        longest = max(map(len, self._stop), default=0)
        for start in range(max(0, len(text) - longest + 1), len(text)):
            rest = text[start:]
            if any(one.startswith(rest) for one in self._stop):
                return start
        return len(text)
