"""Rows of several documents: where each position's document begins, and what follows from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Begins = NDArray[np.int64]
Starts = NDArray[np.uint32]


def one_document(T: int) -> Begins:
    """The begin of T positions that see all that came before them: (1, T) of -1.

    Example:
        >>> one_document(3).tolist()
        [[-1, -1, -1]]
    """
    return np.full((1, T), -1)


def document_begins(starts: Starts, T: int, PACKED: int) -> Begins:
    """The first position of each one's document, (B, T); (1, T) where no row is packed.

    Args:
        starts: (B, T); not read unless PACKED is 1. One that lies after its position counts as it.

    Example:
        >>> document_begins(np.array([[0, 0, 2, 9]], np.uint32), 4, PACKED=1).tolist()
        [[0, 0, 2, 3]]
    """
    if not PACKED:
        return one_document(T)
    return np.minimum(starts, np.arange(T)).astype(np.int64)


def sees_back(begins: Begins, steps: int) -> NDArray[np.bool_]:
    """Whether the document of each position holds the one that many steps before it.

    Example:
        >>> sees_back(np.array([[0, 0, 2, 2, 2]]), 1).astype(int).tolist()
        [[0, 1, 0, 1, 1]]
    """
    return begins <= np.arange(begins.shape[1]) - steps


def sums_in_documents(x: NDArray[Any], begins: Begins, start: int) -> NDArray[Any]:
    """Sums over the positions up to each one, which begin anew with a document.

    Args:
        x: (B, H, C), the positions from `start` on.
        begins: (B or 1, C), of these positions.

    Example:
        >>> x = np.array([[[1.0, 2.0, 3.0, 4.0]]])
        >>> sums_in_documents(x, np.array([[0, 0, 7, 7]]), start=5).tolist()
        [[[1.0, 3.0, 3.0, 7.0]]]
    """
    sums = x.copy()
    for i in range(1, x.shape[2]):
        goes_on = begins[:, None, i] < start + i                      # (B or 1, 1)
        sums[:, :, i] += np.where(goes_on, sums[:, :, i - 1], 0)
    return sums
