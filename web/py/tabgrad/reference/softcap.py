"""The soft cap on logits: nearly x where it is small, never beyond CAP.

Source: Gemma Team, "Gemma 2: improving open language models at a practical size", 2024.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def softcap_forward(x: Floats, CAP: float) -> Floats:
    """CAP tanh(x / CAP), of any shape.

    Example:
        >>> softcap_forward(np.array([0, 1, 1e9], np.float32), 30.0).round(3).tolist()
        [0.0, 1.0, 30.0]
    """
    return (CAP * np.tanh(x.astype(np.float64) / CAP)).astype(np.float32)


def softcap_backward(out: Floats, dout: Floats, CAP: float, dx: Floats | None = None,
                     ACCUMULATE: int = 0) -> Floats:
    """dout (1 - (out / CAP)²), added to `dx` when ACCUMULATE is 1.

    Args:
        out: what the forward gave, of any shape.
        dout: gradient of it, of the same shape.
        CAP: the cap.
        dx: added to when ACCUMULATE is 1.

    Example:
        >>> softcap_backward(np.array([15.0], np.float32), np.ones(1, np.float32), 30.0).tolist()
        [0.75]
    """
    gradient = dout * (1 - (out.astype(np.float64) / CAP)**2)
    if ACCUMULATE and dx is not None:
        gradient = gradient + dx
    return gradient.astype(np.float32)
