"""Module: an object whose attributes are parameters and other modules."""

from __future__ import annotations

from collections.abc import Iterator

from tabgrad.nn.parameter import Joined, Parameter


class Module:
    """Holds weights by attribute; attributes, and lists of modules, nest.

    Example:
        >>> import numpy as np
        >>> class Gain(Module):
        ...     def __init__(self):
        ...         self.weight = Parameter(np.ones(3, np.float32), decay=False)
        >>> class Two(Module):
        ...     def __init__(self):
        ...         self.h = [Gain(), Gain()]
        >>> [name for name, _ in Two().named_parameters()]
        ['h.0.weight', 'h.1.weight']
    """

    def named_parameters(self) -> list[tuple[str, Parameter]]:
        """Every parameter once, with its path, in the order of the attributes."""
        seen: set[int] = set()
        result = []
        for path, value in walk(self):
            if isinstance(value, Parameter) and id(value) not in seen:
                seen.add(id(value))
                result.append((path, value))
        return result

    def joined(self) -> list[Joined]:
        """The groups of parameters that want to lie one after the other."""
        return [value for _, value in walk(self) if isinstance(value, Joined)]

    def parameter_count(self) -> int:
        """The number of trained numbers; a shared parameter counts once."""
        return sum(parameter.size for _, parameter in self.named_parameters())


def walk(module: Module, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every value below a module with its path, depth first."""
    for name, value in vars(module).items():
        parts = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, part in parts:
            path = f"{prefix}{name}" if index is None else f"{prefix}{name}.{index}"
            yield path, part
            if isinstance(part, Module):
                yield from walk(part, f"{path}.")
