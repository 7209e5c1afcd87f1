"""The hyper-parameters of a formulation, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Parameters(Mapping[str, Any]):
    """CVXPY parameters that are built into a problem: their values may change, they themselves may not."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self._parameters = dict(parameters)

    def __getitem__(self, name: str) -> Any:
        if name not in self._parameters:
            raise KeyError(f"no parameter {name!r}; there are {', '.join(self._parameters)}.")
        return self._parameters[name]

    def __contains__(self, name: object) -> bool:
        return name in self._parameters

    def __setitem__(self, name: str, value: Any) -> None:
        raise TypeError(f"a parameter is built into the problem; write parameters[{name!r}].value = {value!r}.")

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def __repr__(self) -> str:
        return f"Parameters({', '.join(f'{name}={p.value!r}' for name, p in self._parameters.items())})"
