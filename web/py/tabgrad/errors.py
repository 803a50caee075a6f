"""Every error that can reach a person: what was expected, what came, and what to do."""

from __future__ import annotations


class TabgradError(Exception):
    """An error with a remedy.

    Args:
        message: one sentence that says what went wrong.
        expected: what would have been right.
        received: what came instead.
        remedy: what the reader can do about it.
        control: id of the page's control that mends it, if there is one.

    Example:
        >>> print(ShapeError("linear: the inner axes differ.", expected="8", received="7"))
        linear: the inner axes differ. Expected: 8. Received: 7.
    """

    code = "error"

    def __init__(self, message: str, *, expected: str | None = None, received: str | None = None,
                 remedy: str | None = None, control: str | None = None) -> None:
        self.message = message
        self.expected = expected
        self.received = received
        self.remedy = remedy
        self.control = control
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        parts = [self.message]
        if self.expected is not None:
            parts.append(f"Expected: {self.expected}.")
        if self.received is not None:
            parts.append(f"Received: {self.received}.")
        if self.remedy is not None:
            parts.append(self.remedy)
        return " ".join(parts)

    def problem(self) -> dict[str, str]:
        """The error as the `Problem` of protocol.json."""
        fields = {"code": self.code, "message": self.message, "expected": self.expected,
                  "received": self.received, "remedy": self.remedy, "control": self.control}
        return {name: value for name, value in fields.items() if value is not None}


class ShapeError(TabgradError):
    """Shapes or dtypes that do not fit together."""

    code = "shape"


class KernelError(TabgradError):
    """A kernel header, a pipeline or a launch that is not valid."""

    code = "kernel"


class NoAdapter(TabgradError):
    """No WebGPU adapter can be had here."""

    code = "no-adapter"


class DeviceLost(TabgradError):
    """The GPU device went away; buffers and pipelines with it."""

    code = "device-lost"


class OutOfMemory(TabgradError):
    """More than the GPU has, or than it allows of one buffer or one kernel."""

    code = "out-of-memory"


class StorageError(TabgradError):
    """Files that cannot be read or written: full disk, another tab, a broken store."""

    code = "storage"


class DownloadError(TabgradError):
    """A file that a host does not give, or gives otherwise than it should.

    Attributes:
        kind: what happened, in one word; see `platform/transfer.py`.
    """

    code = "download"

    def __init__(self, message: str, *, kind: str, expected: str | None = None,
                 received: str | None = None, remedy: str | None = None,
                 control: str | None = None) -> None:
        self.kind = kind
        super().__init__(message, expected=expected, received=received, remedy=remedy,
                         control=control)


class Cancelled(TabgradError):
    """What a person has cancelled."""

    code = "cancelled"


class CheckpointError(TabgradError):
    """A checkpoint or safetensors file that is not what it says."""

    code = "checkpoint"


class DataError(TabgradError):
    """A text that cannot be trained on."""

    code = "data"


class SettingsError(TabgradError):
    """A setting out of its range, or an unknown name."""

    code = "settings"


class ProtocolError(TabgradError):
    """A message that is not in protocol.json, or not as it says."""

    code = "protocol"
