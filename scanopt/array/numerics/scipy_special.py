"""The ufuncs of scipy.special, or of cupyx.scipy.special on a device: imported when one is first used."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from scanopt.array.device import Device, device_of, to_host
from scanopt.libraries import library

__all__ = ["special_dtypes", "special_function"]

_LIKE = {"zeta": "rel_entr"}
"""For functions that are no ufuncs in SciPy: a ufunc that takes the same dtypes."""


@cache
def special_function(module: str, name: str) -> Any:
    """A function of scipy.special for arrays of a module, "numpy" or "cupy".

    >>> special_function("numpy", "erf")(0.0)
    np.float64(0.0)
    """
    device = device_of(module)
    home = library("scipy.special", "", name) if device is None else device.load(device.special)
    found = getattr(home, name, None)
    return _by_host(name, device) if found is None and device is not None else found


def _by_host(name: str, device: Device) -> Any:
    """SciPy's function `name` for a device that lacks it: copies arguments to the host and the result back."""
    known = special_function("numpy", name)

    def run(*args: Any) -> Any:
        *given, out = args if len(args) > known.nin else (*args, None)
        value = device.load().asarray(known(*(to_host(x) for x in given)))
        if out is None:
            return value
        out[...] = value
        return out

    return run


@cache
def special_dtypes(name: str, dtypes: tuple[Any, ...]) -> tuple[str, ...]:
    """SciPy's dtypes of the operands and the result, as `ufunc_dtypes` gives NumPy's.

    >>> special_dtypes("erf", ("float32",)), special_dtypes("xlogy", ("float64", float))
    (('float32', 'float32'), ('float64', 'float64', 'float64'))
    """
    ufunc = special_function("numpy", _LIKE.get(name, name))
    try:
        found = ufunc.resolve_dtypes((*(np.dtype(d) if isinstance(d, str) else d for d in dtypes), None))
    except TypeError:
        text = ", ".join(d if isinstance(d, str) else f"a Python {d.__name__}" for d in dtypes)
        raise TypeError(f"{name} is not defined for {text}") from None
    return tuple(d.name for d in found)
