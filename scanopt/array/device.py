"""Arrays on a device: the modules that handle them, whether an array lies on one, and how to move it there and back."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import cache
from typing import Any

from scanopt.records import dataclass

__all__ = ["CUPY", "Device", "arrived", "device_of", "on_device", "to_host"]

ON_CUDA = (2, 13)
"""Kinds of devices in DLPack: CUDA memory, and memory that CUDA manages."""


@dataclass(frozen=True)
class Device:
    """An array module whose arrays lie on a device.

    module: its name.  special, linalg: the modules that take the place of SciPy's.  states: the module whose
    `errstate(linalg="raise")` makes singular matrices raise.  stacks: whether its solvers broadcast stacks of matrices.
    hermitian: whether its pseudo-inverse has the option `hermitian`.
    """

    module: str
    special: str
    linalg: str
    states: str
    stacks: bool = False
    hermitian: bool = False

    @property
    def installed(self) -> bool:
        """Whether the module is installed; it is not imported."""
        if self.module in sys.modules:
            return sys.modules[self.module] is not None
        return _findable(self.module)

    def owns(self, x: Any) -> bool:
        """Whether x is an array of the module; it is not imported."""
        xp = sys.modules.get(self.module)
        return xp is not None and isinstance(x, xp.ndarray)

    def load(self, other: str = "") -> Any:
        """Import the module, or `other` of the same library.  Raises ImportError where it is not installed."""
        return importlib.import_module(other or self.module)


@cache
def _findable(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


CUPY = Device("cupy", "cupyx.scipy.special", "cupyx.scipy.linalg", "cupyx")
_KNOWN = {d.module: d for d in (CUPY,)}


def device_of(xp: Any) -> Device | None:
    """The device of an array module, given itself or by name; None for NumPy.

    >>> import numpy
    >>> device_of(numpy) is None, device_of("cupy").special
    (True, 'cupyx.scipy.special')
    """
    return _KNOWN.get(xp if isinstance(xp, str) else xp.__name__)


def on_device(x: Any) -> bool:
    """Whether x is an array on a device, of any library.

    >>> import numpy
    >>> on_device(numpy.zeros(2)), on_device([1.0])
    (False, False)
    """
    kind = type(x)
    if hasattr(kind, "__cuda_array_interface__"):
        try:
            return getattr(x, "__cuda_array_interface__", None) is not None
        except RuntimeError:  # an array that tracks gradients
            pass
    if not (hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__")):
        return False
    return int(x.__dlpack_device__()[0]) in ON_CUDA


def arrived(x: Any) -> Any:
    """An array on a device as a CuPy array in the same memory.  Raises TypeError where CuPy is not installed."""
    try:
        xp = CUPY.load()
    except ImportError as error:
        raise TypeError(f"{type(x).__name__} lies on a device: give a NumPy array, or install CuPy ({error})") from None
    if isinstance(x, xp.ndarray):
        return x
    return xp.asarray(x) if hasattr(type(x), "__cuda_array_interface__") else xp.from_dlpack(x)


def to_host(x: Any) -> Any:
    """x as a NumPy array, copied from the device if it lies there."""
    return arrived(x).get() if on_device(x) else x
