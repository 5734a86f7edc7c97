"""An array module with its own class of arrays, for machines without a GPU."""

from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["FakeDevice", "OnFakeDevice"]


class OnFakeDevice(np.ndarray):  # type: ignore[type-arg]
    """Arrays of a module that is not NumPy."""


class FakeDevice:
    """NumPy under another name, with the parts of CuPy that the executor asks for."""

    ndarray = OnFakeDevice
    asnumpy = staticmethod(lambda x: np.array(x).view(np.ndarray))

    def __init__(self) -> None:
        self.waited = 0
        stream = SimpleNamespace(synchronize=self._wait)
        runtime = SimpleNamespace(getDevice=lambda: 0)
        self.cuda = SimpleNamespace(is_available=lambda: True, get_current_stream=lambda: stream, runtime=runtime)

    def _wait(self) -> None:
        self.waited += 1

    def __getattr__(self, name: str) -> Any:
        f = getattr(np, name)
        made = {"array", "asarray", "empty", "full_like", "ascontiguousarray"}
        return (lambda *a, **k: f(*a, **k).view(OnFakeDevice)) if name in made else f
