"""NumPy's random generators as arrays of words, so that PyTensor's random numbers are ordinary values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.bridges.peers import Refused

__all__ = ["WORDS", "generator_of", "words_of"]

WORDS = 16
"""The number of words of a state: the kind of generator, the data that it needs, then zeros."""

_LOW = 2**64 - 1


def _wide(x: int) -> list[int]:
    return [x >> 64, x & _LOW]


def _pcg(state: Any) -> list[int]:
    return [*_wide(state["state"]["state"]), *_wide(state["state"]["inc"]), state["has_uint32"], state["uinteger"]]


def _set_pcg(name: str) -> Callable[[list[int]], dict[str, Any]]:
    def read(w: list[int]) -> dict[str, Any]:
        inner = {"state": w[0] << 64 | w[1], "inc": w[2] << 64 | w[3]}
        return {"bit_generator": name, "state": inner, "has_uint32": w[4], "uinteger": w[5]}

    return read


def _philox(state: Any) -> list[int]:
    inner = state["state"]
    return [*map(int, inner["counter"]), *map(int, inner["key"]), *map(int, state["buffer"]), state["buffer_pos"],
            state["has_uint32"], state["uinteger"]]  # fmt: skip


def _set_philox(w: list[int]) -> dict[str, Any]:
    inner = {"counter": np.array(w[:4], np.uint64), "key": np.array(w[4:6], np.uint64)}
    return {"bit_generator": "Philox", "state": inner, "buffer": np.array(w[6:10], np.uint64), "buffer_pos": w[10],
            "has_uint32": w[11], "uinteger": w[12]}  # fmt: skip


def _sfc(state: Any) -> list[int]:
    return [*map(int, state["state"]["state"]), state["has_uint32"], state["uinteger"]]


def _set_sfc(w: list[int]) -> dict[str, Any]:
    inner = {"state": np.array(w[:4], np.uint64)}
    return {"bit_generator": "SFC64", "state": inner, "has_uint32": w[4], "uinteger": w[5]}


_KINDS: list[tuple[str, Callable[[Any], list[int]], Callable[[list[int]], dict[str, Any]]]] = [
    ("PCG64", _pcg, _set_pcg("PCG64")),
    ("PCG64DXSM", _pcg, _set_pcg("PCG64DXSM")),
    ("Philox", _philox, _set_philox),
    ("SFC64", _sfc, _set_sfc),
]


def words_of(generator: np.random.Generator) -> np.ndarray[Any, Any]:
    """The state of a generator as words.  Raises Refused, which names its kind, for kinds that are not listed here.

    >>> g = np.random.default_rng(3)
    >>> generator_of(words_of(g)).random() == np.random.default_rng(3).random()
    True
    """
    state = generator.bit_generator.state
    for kind, (name, write, _) in enumerate(_KINDS):
        if state["bit_generator"] == name:
            words = [kind, *write(state)]
            return np.array([*words, *[0] * (WORDS - len(words))], np.uint64)
    known = ", ".join(name for name, *_ in _KINDS)
    raise Refused(f"from_pytensor does not know the random generator {state['bit_generator']}: use one of {known}")


def generator_of(words: np.ndarray[Any, Any]) -> np.random.Generator:
    """The generator with this state."""
    kind, *rest = (int(w) for w in words)
    name, _, read = _KINDS[kind]
    bits = getattr(np.random, name)()
    bits.state = read(rest)
    return np.random.Generator(bits)
