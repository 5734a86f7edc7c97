"""What a compiled function takes and gives: checking, converting, packing."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from scanopt.array.constants import as_tensor_variable
from scanopt.array.variable import Constant, SharedVariable, Variable, describe
from scanopt.interpreter import read_value
from scanopt.loops.graph import leaves

__all__ = ["Signature", "signature"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Signature:
    """Inputs, shared variables read, outputs, updates, and how the outputs are given back.

    form: "list", "single" or "none".
    """

    inputs: tuple[Variable, ...]
    shared: tuple[SharedVariable, ...]
    outputs: tuple[Variable, ...]
    updates: dict[SharedVariable, Variable]
    form: str
    downcast: bool | None

    @property
    def results(self) -> list[Variable]:
        """Outputs, then new values of shared variables."""
        return [*self.outputs, *self.updates.values()]

    def read(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Array]:
        """Values of the inputs and shared variables for one call.

        Raises TypeError for missing, unknown or doubled arguments and wrong dtypes.
        """
        if kwargs or len(args) != len(self.inputs):
            args = self._in_order(args, kwargs)
        values = [
            data if (data := _as_it_is(v)) is not None and data.dtype == dtype and data.ndim == ndim and not static
            else self._read_one(x, v)
            for (x, dtype, ndim, static), v in zip(self._expected, args, strict=True)
        ]  # fmt: skip
        return [*values, *(x.get_value(borrow=True) for x in self.shared)]

    @cached_property
    def _expected(self) -> list[tuple[Variable, np.dtype[Any], int, bool]]:
        """Per input its dtype, number of axes, and whether the length of some axis is known."""
        return [(x, np.dtype(x.dtype), x.ndim, any(n is not None for n in x.type.shape)) for x in self.inputs]

    def _in_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """One value per input, from values by position and by name."""
        if len(args) > len(self.inputs):
            raise TypeError(f"{self} takes {len(self.inputs)} arguments, found {len(args)}")
        given: list[Any] = [*args, *[_MISSING] * (len(self.inputs) - len(args))]
        names = [x.name for x in self.inputs]
        places = {name: i for i, name in enumerate(names) if name}
        for key, value in kwargs.items():
            if key not in places:
                raise TypeError(f"{self} has no input named {key!r}")
            if names.count(key) > 1:
                raise TypeError(f"{self} has {names.count(key)} inputs named {key!r}: give their values by position")
            if given[places[key]] is not _MISSING:
                raise TypeError(f"{self} got two values for its input {key!r}")
            given[places[key]] = value
        for x, value in zip(self.inputs, given, strict=True):
            if value is _MISSING:
                raise TypeError(f"{self} is missing a value for its input {describe(x)}")
        return given

    def read_example(self, example: Sequence[Any]) -> list[Array]:
        """Example values, one per input."""
        if isinstance(example, str | Mapping) or not isinstance(example, Sequence):
            raise TypeError(f"example must be a list with one value per input, found {example!r}")
        if len(example) != len(self.inputs):
            raise ValueError(f"example has {len(example)} values, but {self} has {len(self.inputs)} inputs")
        return [self._read_one(x, v) for x, v in zip(self.inputs, example, strict=True)]

    def _read_one(self, x: Variable, value: Any) -> Array:
        device = type(value).__module__.partition(".")[0] == "cupy"
        if device and value.dtype == x.dtype and value.ndim == x.ndim:
            return cast(Array, value)
        if self.downcast:
            data = np.asarray(value)
            if data.dtype.kind in "biufc" and np.can_cast(data.dtype, x.dtype, "same_kind"):
                value = data.astype(x.dtype)
        return read_value(x, value)

    def assign(self, values: Sequence[Any]) -> None:
        """Set shared variables to their new values, all of them computed before any is set."""
        for x, value in zip(self.updates, values, strict=True):
            x.set_value(value, borrow=True)

    def pack(self, values: Sequence[Any]) -> Any:
        """The results as the caller asked for them."""
        if self.form == "single":
            return values[0]
        return None if self.form == "none" else list(values)

    def __str__(self) -> str:
        return f"f({', '.join(x.name or str(x.type) for x in self.inputs)})"


_MISSING = object()


def _as_it_is(value: Any) -> Array | None:
    """An argument that needs no conversion but, perhaps, by its dtype; else None."""
    return np.asarray(value) if isinstance(value, np.ndarray | np.generic | float) else None


def signature(inputs: Any, outputs: Any, updates: Any, on_unused_input: str, downcast: bool | None) -> Signature:
    """Check and normalise what `function` was given."""
    if on_unused_input not in ("raise", "warn", "ignore"):
        raise ValueError(f'on_unused_input must be "raise", "warn" or "ignore", found {on_unused_input!r}')
    given = _inputs(inputs)
    form, results = _outputs(outputs)
    changes = _updates(updates)
    changes = _with_defaults(results, changes)
    found = leaves([*results, *changes.values()])
    shared = tuple(x for x in found if isinstance(x, SharedVariable) and x not in given)
    fixed = (*given, *shared)
    for x in found:
        if x not in fixed and not isinstance(x, Constant):
            raise ValueError(f"the outputs need {describe(x)}, which is not among the inputs; add it to them")
    unused = [x for x in given if x not in found]
    if unused and on_unused_input != "ignore":
        text = (
            f"the outputs do not use {', '.join(map(describe, unused))}; drop it from the inputs or "
            'pass on_unused_input="ignore"'
        )
        if on_unused_input == "raise":
            raise ValueError(text)
        warnings.warn(text, stacklevel=3)
    return Signature(given, shared, tuple(results), changes, form, downcast)


def _with_defaults(
    results: Sequence[Variable], updates: Mapping[SharedVariable, Variable]
) -> dict[SharedVariable, Variable]:
    """The updates, and the default ones of shared variables that are read and not updated."""
    out = dict(updates)
    while True:
        found = [x for x in leaves([*results, *out.values()]) if isinstance(x, SharedVariable) and x not in out]
        new = {x: x.default_update for x in found if x.default_update is not None}
        if not new:
            return out
        out |= new


def _inputs(inputs: Any) -> tuple[Variable, ...]:
    if isinstance(inputs, Variable) or not isinstance(inputs, list | tuple):
        raise TypeError(f"inputs must be a list of symbolic arrays, found {inputs!r}; write function([x], ...)")
    for i, x in enumerate(inputs):
        if not isinstance(x, Variable):
            raise TypeError(f"inputs[{i}] must be a symbolic array, found {x!r}")
        if isinstance(x, Constant | SharedVariable):
            raise TypeError(f"inputs[{i}] is a {type(x).__name__}, {describe(x)}: it has a value of its own")
        if x.owner is not None:
            raise TypeError(f"inputs[{i}] is {describe(x)}: it is computed, and only variables can be inputs")
    if len(set(inputs)) < len(inputs):
        twice = next(x for x in inputs if list(inputs).count(x) > 1)
        raise ValueError(f"inputs lists {describe(twice)} twice")
    return tuple(inputs)


def _outputs(outputs: Any) -> tuple[str, list[Variable]]:
    if outputs is None:
        return "none", []
    if isinstance(outputs, list | tuple):
        return "list", [_output(f"outputs[{i}]", x) for i, x in enumerate(outputs)]
    return "single", [_output("outputs", outputs)]


def _output(place: str, x: Any) -> Variable:
    try:
        return as_tensor_variable(x)
    except (TypeError, ValueError):
        raise TypeError(f"{place} must be a symbolic array, found {x!r}") from None


def _updates(updates: Any) -> dict[SharedVariable, Variable]:
    pairs = list(updates.items()) if isinstance(updates, Mapping) else list(updates or ())
    out: dict[SharedVariable, Variable] = {}
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"updates must be pairs of a shared variable and its new value, found {pair!r}")
        x, new = pair
        if not isinstance(x, SharedVariable):
            what = describe(x) if isinstance(x, Variable) else repr(x)
            raise TypeError(f"updates changes {what}, which is not a shared variable")
        if x in out:
            raise ValueError(f"updates changes {describe(x)} twice")
        value = _output(f"updates[{x.name or 'a shared variable'}]", new)
        if (value.dtype, value.ndim) != (x.dtype, x.ndim):
            raise TypeError(f"updates gives {describe(x)} a new value of another type: {describe(value)}")
        out[x] = value
    return out
