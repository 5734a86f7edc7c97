"""The arguments and results of a compiled function: checking, converting, packing."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from scanopt.array.constants import as_tensor_variable
from scanopt.array.device import CUPY, to_host
from scanopt.array.shown import quoted, shown
from scanopt.array.variable import SharedVariable, Variable, describe
from scanopt.compilation.inputs import In, Out, read_inputs, read_one
from scanopt.forks import lock, once
from scanopt.loops.flat import Flat, flatten
from scanopt.loops.graph import leaves, refuse_stray
from scanopt.loops.rebuild import rebuild, replacements
from scanopt.loops.site import is_bare, is_truth, show, to_keep
from scanopt.modes import Mode
from scanopt.records import dataclass

__all__ = ["Signature", "signature"]

Array = np.ndarray[Any, Any]


class Locked:
    """A context manager that holds locks, which it acquires in order."""

    def __init__(self, locks: Sequence[threading.RLock]) -> None:
        self._locks = locks

    def __enter__(self) -> None:
        taken = 0
        try:
            for x in self._locks:
                x.acquire()
                taken += 1
        except BaseException:
            self._release(taken)
            raise

    def __exit__(self, *_: object) -> None:
        self._release(len(self._locks))

    def _release(self, taken: int) -> None:
        for x in reversed(self._locks[:taken]):
            x.release()


@dataclass(frozen=True, eq=False)
class Signature:
    """Inputs, shared variables read, outputs, updates, and how the outputs are given back.

    form: "list", "single", "none", or "dict", with the keys of the outputs.  slots: each input with
    its options.  defaults: the current default values of inputs, None where there is none.
    """

    slots: tuple[In, ...]
    shared: tuple[SharedVariable, ...]
    outputs: tuple[Variable, ...]
    updates: dict[SharedVariable, Variable]
    form: str
    keys: tuple[str, ...] = ()
    defaults: list[Array | None] = field(default_factory=list[Array | None])
    lock: threading.RLock = field(default_factory=lock)

    @once
    def inputs(self) -> tuple[Variable, ...]:
        """The input variables."""
        return tuple(x.variable for x in self.slots)

    @once
    def results(self) -> list[Variable]:
        """Outputs, then new values of shared variables, then those of default values."""
        return [*self.outputs, *self.updates.values(), *(x.update for x in self.slots if x.update is not None)]

    @once
    def changes(self) -> bool:
        """Whether a call changes a shared variable or a default value."""
        return len(self.results) > len(self.outputs)

    @once
    def _changing(self) -> list[int]:
        """The inputs whose default value a call changes."""
        return [i for i, x in enumerate(self.slots) if x.update is not None]

    @once
    def _locks(self) -> list[threading.RLock]:
        """The locks that a call with changes holds, always in the same order."""
        used = sorted({*self.shared, *self.updates}, key=lambda x: x.serial)
        return [self.lock, *(x.lock for x in used)] if self.changes else []

    @once
    def _held(self) -> Locked:
        return Locked(self._locks)

    def transaction(self) -> Locked:
        """A block in which no other call changes what this one reads, if this one changes anything."""
        return self._held

    def present(self) -> list[Array]:
        """The values of the shared variables at one moment."""
        if not self.shared:
            return []
        with _MOMENT:
            return [x.get_value(borrow=True) for x in self.shared]

    def swapped(self, swap: Mapping[SharedVariable, SharedVariable], delete_updates: bool = False) -> Signature:
        """The signature with some shared variables exchanged, and perhaps without updates."""
        used = {*self.shared, *self.updates}
        for old, new in swap.items():
            if old not in used:
                raise ValueError(f"swap names {show(old)}, which is not a shared variable of {self}")
            if not isinstance(new, SharedVariable):
                raise TypeError(f"swap gives {show(new)} for {describe(old)}: it must be a shared variable")
        replaced = replacements("swap", swap)
        changes = {} if delete_updates else self.updates
        targets = [swap.get(x, x) for x in changes]
        if len(set(targets)) < len(targets):
            raise ValueError("swap leads to two updates of one shared variable")
        states = [] if delete_updates else [x.update for x in self.slots if x.update is not None]
        made = iter(rebuild([*self.outputs, *changes.values(), *states], replaced))
        outputs = tuple(next(made) for _ in self.outputs)
        updates = {x: next(made) for x in targets}
        slots = tuple(
            x if x.update is None else replace(x, update=None if delete_updates else next(made)) for x in self.slots
        )
        found = {*leaves([*outputs, *updates.values()])} if delete_updates else None
        shared = tuple(swap.get(x, x) for x in self.shared)
        kept = tuple(x for x in shared if found is None or x in found)
        return Signature(slots, kept, outputs, updates, self.form, self.keys, [*self.defaults])

    def __reduce__(self) -> tuple[Any, ...]:
        variables = [*self.inputs, *self.shared, *self.updates]
        following = [x.default_update for x in variables if isinstance(x, SharedVariable)]
        flat = flatten([*variables, *self.results, *(x for x in following if x is not None)])
        none: Any = None
        plain = tuple(replace(x, variable=none, update=None if x.update is None else True) for x in self.slots)
        sizes = len(self.shared), len(self.updates), len(self.outputs)
        return _restored, (flat, plain, sizes, self.form, self.keys, self.defaults, [x is not None for x in following])

    def read(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Array]:
        """Values of the inputs and shared variables for one call.

        Raises TypeError for missing, unknown or doubled arguments and wrong dtypes.
        """
        if kwargs or len(args) != len(self.slots):
            args = self.in_order(args, kwargs)
        values = [
            data if (data := _as_it_is(v)) is not None and data.dtype == dtype and data.ndim == ndim and plain
            else read_one(x, v)
            for (x, dtype, ndim, plain), v in zip(self._expected, args, strict=True)
        ]  # fmt: skip
        return [*values, *self.present()]

    @once
    def _expected(self) -> list[tuple[In, np.dtype[Any], int, bool]]:
        """Per input its dtype, number of axes, and whether nothing else has to be checked."""
        return [
            (x, np.dtype(v.dtype), v.ndim, not x.strict and all(n is None for n in v.type.shape))
            for x, v in zip(self.slots, self.inputs, strict=True)
        ]

    def in_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """One value per input, from values by position and by name."""
        if len(args) > len(self.inputs):
            raise TypeError(
                f"{self} takes {len(self.inputs)} argument{'s' * (len(self.inputs) != 1)}, found {len(args)}"
            )
        given: list[Any] = [*args, *[_MISSING] * (len(self.inputs) - len(args))]
        names = [x.name for x in self.slots]
        places = {name: i for i, name in enumerate(names) if name}
        for key, value in kwargs.items():
            if key not in places:
                raise TypeError(f"{self} has no input named {quoted(key)}")
            if names.count(key) > 1:
                raise TypeError(
                    f"{self} has {names.count(key)} inputs named {quoted(key)}: give their values by position"
                )
            if given[places[key]] is not _MISSING:
                raise TypeError(f"{self} got two values for its input {quoted(key)}")
            given[places[key]] = value
        for i, x in enumerate(self.slots):
            if given[i] is not _MISSING:
                continue
            given[i] = self.defaults[i]
            if given[i] is None:
                what = (
                    describe(x.variable) if x.name == x.variable.name else f"{quoted(x.name or '')} {x.variable.type}"
                )
                raise TypeError(f"{self} is missing a value for its input {what}")
        return given

    def read_example(self, example: Sequence[Any]) -> list[Array]:
        """Example values, one per input."""
        if isinstance(example, str | Mapping) or not isinstance(example, Sequence):
            raise TypeError(f"example must be a list with one value per input of {self}, found {example!r}")
        if len(example) != len(self.inputs):
            raise ValueError(f"example has {len(example)} values, but {self} has {len(self.inputs)} inputs")
        return [read_one(x, v) for x, v in zip(self.slots, example, strict=True)]

    def assign(self, values: Sequence[Any]) -> None:
        """Set shared variables, then default values, to their new values, all computed before any is set."""
        if not values:
            return
        new = [to_host(x) if type(x) is not np.ndarray else x for x in values]
        checked = [x.checked(value) for x, value in zip(self.updates, new, strict=False)]
        with _MOMENT:
            for x, value in zip(self.updates, checked, strict=True):
                x._take(value)
            for i, value in zip(self._changing, new[len(self.updates) :], strict=True):
                self.defaults[i] = value

    def pack(self, values: Sequence[Any]) -> Any:
        """The results as the caller asked for them."""
        if self.form == "single":
            return values[0]
        if self.form == "dict":
            return dict(zip(self.keys, values, strict=True))
        return None if self.form == "none" else list(values)

    def called(self, name: str | None = None) -> str:
        """How a function of this name is called: "f(x, n)"."""
        inputs = ", ".join(shown(x.name) if x.name else str(x.variable.type) for x in self.slots)
        return f"{shown(name or 'f')}({inputs})"

    def __str__(self) -> str:
        return self.called()


def _restored(
    flat: Flat,
    plain: Sequence[Any],
    sizes: tuple[int, int, int],
    form: str,
    keys: tuple[str, ...],
    defaults: list[Array | None],
    followed: Sequence[bool],
) -> Signature:
    """Restore a pickled signature."""
    found: Iterator[Any] = iter(flat.restore())
    inputs, shared, changed, outputs = ([next(found) for _ in range(n)] for n in (len(plain), *sizes))
    updates = {x: next(found) for x in changed}
    slots = [
        replace(x, variable=v, update=None if x.update is None else next(found))
        for x, v in zip(plain, inputs, strict=True)
    ]
    for x, follows in zip((*shared, *changed), followed, strict=True):
        if follows:
            x.default_update = next(found)
    return Signature(tuple(slots), tuple(shared), tuple(outputs), updates, form, keys, defaults)


_MISSING = object()
_MOMENT = lock(whole=True)  # while the values of shared variables are read, or replaced


def _as_it_is(value: Any) -> Array | None:
    """The argument as an array, if it needs no conversion except perhaps of its dtype; else None."""
    if type(value) is np.ndarray or isinstance(value, np.generic | float | int):
        return np.asarray(value)
    return value if CUPY.owns(value) else None


def signature(
    inputs: Any,
    outputs: Any,
    updates: Any = None,
    on_unused_input: str = "raise",
    downcast: bool | None = None,
    givens: Any = None,
    no_default_updates: Any = False,
) -> Signature:
    """Check and normalise the arguments of `function` that say what it takes and returns."""
    if on_unused_input not in ("raise", "warn", "ignore"):
        raise ValueError(f'on_unused_input must be "raise", "warn" or "ignore", found {on_unused_input!r}')
    if not (downcast is None or is_truth(downcast)):
        raise TypeError(f"allow_input_downcast must be True, False or None, found {downcast!r}")
    slots, cut = _cut(read_inputs(inputs, downcast))
    form, keys, results = _outputs(outputs)
    changes = _updates(updates)
    replaced = replacements("givens", givens)
    replaced = cut | dict(zip(replaced, rebuild([*replaced.values()], cut), strict=True))
    states = [x.update for x in slots if x.update is not None]
    asked = rebuild([*results, *changes.values(), *states], replaced)
    results, states = asked[: len(results)], asked[len(asked) - len(states) :]
    changes = dict(zip(changes, asked[len(results) :], strict=False))
    fixed_values = _without_defaults(no_default_updates)
    changes = _with_defaults([*results, *states], changes, replaced, fixed_values)
    given = [x.variable for x in slots]
    found = dict.fromkeys(leaves([*results, *changes.values(), *states]))
    shared = tuple(x for x in found if isinstance(x, SharedVariable))
    fixed = {*given, *shared}
    for x in found:
        if x not in fixed:
            refuse_stray([x])
            raise ValueError(f"the outputs need {describe(x)}, which is not among the inputs; add it to them")
    unused = [x for x in given if x not in found and not x.shape_read]
    if unused and on_unused_input != "ignore":
        text = (
            f"the outputs do not use {', '.join(map(describe, unused))}; drop it from the inputs or "
            'pass on_unused_input="ignore"'
        )
        if on_unused_input == "raise":
            raise ValueError(text)
        warnings.warn(text, stacklevel=3)
    following = iter(states)
    slots = tuple(x if x.update is None else replace(x, update=next(following)) for x in slots)
    return Signature(slots, shared, tuple(results), changes, form, keys, [x.value for x in slots])


def _cut(slots: tuple[In, ...]) -> tuple[tuple[In, ...], dict[Variable, Variable]]:
    """The inputs with new variables in place of computed ones, and a map from these to the new ones."""
    cut = {x.variable: Variable(x.variable.type, x.variable.name) for x in slots if x.variable.owner is not None}
    return tuple(replace(x, variable=cut.get(x.variable, x.variable)) for x in slots), cut


def _without_defaults(given: Any) -> Callable[[SharedVariable], bool]:
    """The test whether a shared variable keeps its value unless an update names it."""
    if is_truth(given):
        return lambda x: bool(given)
    if isinstance(given, str | Variable) or not isinstance(given, Iterable):
        raise TypeError(f"no_default_updates must be True, False or a list of shared variables, found {show(given)}")
    listed = list(given)
    return lambda x: x in listed


def _with_defaults(
    results: Sequence[Variable],
    updates: Mapping[SharedVariable, Variable],
    replaced: Mapping[Variable, Variable],
    stays: Callable[[SharedVariable], bool],
) -> dict[SharedVariable, Variable]:
    """The updates, with the default updates of shared variables that are read and not updated."""
    out = dict(updates)
    while True:
        found = [x for x in leaves([*results, *out.values()]) if isinstance(x, SharedVariable) and x not in out]
        new = {x: x.default_update for x in found if x.default_update is not None and not stays(x)}
        if not new:
            return out
        out |= zip(new, rebuild([*new.values()], replaced), strict=True)


def _outputs(outputs: Any) -> tuple[str, tuple[str, ...], list[Variable]]:
    """The form of the results, their keys, and the outputs as variables."""
    if outputs is None:
        return "none", (), []
    if isinstance(outputs, Mapping):
        for key in outputs:
            if not isinstance(key, str):
                raise TypeError(f"the keys of a dict of outputs must be strings, found {show(key)}")
        return "dict", tuple(outputs), [_output(f"outputs[{quoted(key)}]", x) for key, x in outputs.items()]
    if isinstance(outputs, list | tuple):
        return "list", (), [_output(f"outputs[{i}]", x) for i, x in enumerate(outputs)]
    return "single", (), [_output("outputs", outputs)]


def _output(place: str, x: Any) -> Variable:
    try:
        return as_tensor_variable(x.variable if isinstance(x, Out) else x)
    except (TypeError, ValueError):
        raise TypeError(f"{place} must be a symbolic array, found {show(x)}") from None


def _updates(updates: Any) -> dict[SharedVariable, Variable]:
    if updates is not None and (isinstance(updates, str) or not isinstance(updates, Mapping | Iterable)):
        mode = f"; write mode={updates!r} for a mode" if isinstance(updates, str | Mode) else ""
        text = "updates must be a dict or pairs of a shared variable and its new value, found"
        raise TypeError(f"{text} {updates!r}{mode}")
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
        if is_bare(new) and np.can_cast(np.min_scalar_type(new), x.dtype, "same_kind"):
            new = np.asarray(new, dtype=x.dtype)
        value = _output(f"updates[{shown(x.name or 'a shared variable')}]", new)
        if not value.type.compatible(x.type):
            raise TypeError(
                f"updates gives the shared variable {describe(x)} a new value of another type, {describe(value)}: "
                f"{to_keep(x, value)}"
            )
        out[x] = value
    return out
