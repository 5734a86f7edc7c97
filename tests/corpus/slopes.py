"""What must hold of the gradients of every smooth program: they are its central differences, however they are run.

Differences and gradients are compared in long double, where both are known to far more than their
rounding in float64; then programs in float64 are compared with the interpreter within rounding.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T
from corpus.compare import near
from corpus.spec import Spec
from corpus.text import Built, built
from scanopt.array.variable import Variable
from scanopt.gradient import Lop, Rop, grad, jacobian
from scanopt.interpreter import _Machine
from scanopt.loops.graph import schedule

__all__ = ["ABSOLUTE", "DOUBLE", "Checked", "Wide", "check_slopes", "slope", "slopes_differ"]

Array = np.ndarray[Any, Any]
Env = dict[Variable, Array]

RELATIVE, ABSOLUTE = 1e-9, 1e-11
"""How far a derivative may be from differences, in parts of itself, and of the largest value."""
DOUBLE = 1e-9
"""How far a derivative may be from differences in programs whose operators compute in doubles, as LAPACK does."""
STEPS = (2.0**-10, 2.0**-14, 2.0**-18, 2.0**-22)
"""Steps for extrapolated differences, tried in turn."""


class Wide:
    """Some variables as functions of others, in long double."""

    def __init__(self, outputs: Sequence[Variable], values: Mapping[Variable, Array]) -> None:
        self.machine, self.outputs = _Machine(True), list(outputs)
        self.values: Env = {v: self.machine.widen(x) for v, x in values.items()}
        self.order = schedule(self.outputs, self.values, lazy=True)

    def __call__(self, moved: Mapping[Variable, Array]) -> list[Array]:
        """The values of the outputs with some of the inputs elsewhere."""
        with np.errstate(all="ignore"):
            return [np.asarray(x) for x in self.machine.run(self.outputs, self.values | dict(moved), self.order)]


class RoughError(Exception):
    """Differences do not settle: the program is not smooth at this point."""


def _quotients(f: Wide, x: Variable, along: Array, step: float) -> list[Array]:
    """Central differences of all outputs."""
    ends = [f({x: f.values[x] + sign * np.longdouble(step) * along}) for sign in (1, -1)]
    if any(a.shape != b.shape for a, b in zip(*ends, strict=True)):
        raise RoughError("the shape of an output changes")
    return [(a - b) / (2 * np.longdouble(step)) for a, b in zip(*ends, strict=True)]


def slope(f: Wide, x: Variable, along: Array) -> list[Array]:
    """The derivatives of all outputs as x moves, by differences extrapolated to a step of 0.

    Raises RoughError where extrapolations from different steps differ.
    """
    for step in STEPS:
        try:
            first, second, third = (_quotients(f, x, along, step / k) for k in (1, 2, 4))
        except RoughError:
            continue
        found, error = list[Array](), 0.0
        for a, b, c in zip(first, second, third, strict=True):
            coarse, fine = (4 * b - a) / 3, (4 * c - b) / 3
            found.append((16 * fine - coarse) / 15)
            scale = max(1.0, float(abs(fine).max(initial=0.0)))
            error = max(error, float(abs(fine - coarse).max(initial=0.0)) / scale)
        if error < RELATIVE:
            return found
    raise RoughError(f"differences with respect to {x} do not settle")


@dataclass
class Checked:
    """What was found of one program.  outcome: "smooth", "flat" (no derivative but 0), "rough" or the name of an error.

    entries: how many derivatives were compared with differences.
    """

    spec: Spec
    outcome: str = "smooth"
    failures: list[str] = field(default_factory=list[str])
    entries: int = 0


def check_slopes(spec: Spec, entries: bool, compiled: bool, orders: int = 1, jacobians: bool = False) -> Checked:
    """Check the gradients of a program.

    entries: each entry of each input is moved by itself, else each input in one random direction.
    compiled: the optimized program is run, too.  orders: 2 for gradients of gradients.
    """
    out = Checked(spec)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "every call will draw the same random numbers", UserWarning)
        checker = _Checker(spec, built(spec), out, entries)
        try:
            checker.first(compiled)
            checker.arrays()
            if jacobians:
                checker.jacobians(compiled)
            if orders > 1 and not out.failures:
                checker.second(compiled)
        except RoughError as error:
            out.outcome = "rough"
            out.failures.append(str(error))
    return out


class _Checker:
    def __init__(self, spec: Spec, made: Built, out: Checked, entries: bool) -> None:
        self.spec, self.made, self.out, self.entries = spec, made, out, entries
        self.rng = np.random.default_rng(spec.seed)
        self.cost, self.outputs = made.outputs[0], made.outputs[1:]
        self.wrt = [x for x in (*made.values, *made.shared) if x.dtype == "float64"]
        self.values: Env = {**made.values, **{s: s.get_value() for s in made.shared}}
        self.known: dict[Variable, Array] = dict(made.values)
        self.weights = [self._random(x) for x in self.wrt]
        self.gradients: list[Variable] = grad(self.cost, self.wrt, disconnected_inputs="ignore")

    def _random(self, x: Variable) -> Array:
        return np.asarray(self.rng.normal(size=self.values[x].shape))

    # Gradients of the cost

    def first(self, compiled: bool) -> None:
        """By differences, in float64, optimized, forwards, and with respect to computed values."""
        found = self._by_differences("the gradient", self.cost, self.gradients)
        if not any(g.any() for g in found):
            self.out.outcome = "flat"
        for x, g in zip(self.wrt, found, strict=True):
            if g.shape != self.values[x].shape:
                self.out.failures.append(f"the gradient with respect to {x} has shape {g.shape}")
        if compiled:
            self._compiled("the gradient", [self.cost, *self.gradients])
        tangents = [T.constant(w) for w in self.weights]
        forwards = Wide([Rop(self.cost, self.wrt, tangents, "ignore")], self.values)({})
        total = sum(((g * w).sum() for g, w in zip(found, self.weights, strict=True)), np.longdouble(0))
        self._compare("the derivative forwards", forwards[0], np.asarray(total), found)
        self._computed(found)

    def _computed(self, found: Sequence[Array]) -> None:
        """z5 is added to v5: the gradients with respect to them are the same."""
        names = dict(zip(self.spec.outputs, self.made.outputs, strict=True))
        for x, g in zip(self.wrt, found, strict=True):
            v = names.get(f"v{str(x.name)[1:]}") if str(x.name)[0] == "z" else None
            if v is not None:
                other = Wide([grad(self.cost, v, disconnected_inputs="ignore")], self.values)({})[0]
                self._compare(f"the gradient with respect to {v}", other, g, found)

    def second(self, compiled: bool) -> None:
        """Gradients of a sum of the first ones: by differences, optimized, and forwards of the first ones."""
        pairs = zip(self.gradients, self.weights, strict=True)
        total = sum(((g * T.constant(w)).sum() for g, w in pairs), T.constant(0.0, dtype="float64"))
        second: list[Variable] = grad(total, self.wrt, disconnected_inputs="ignore")
        found = self._by_differences("the second derivative", total, second)
        if compiled:
            self._compiled("the second derivative", second)
        forwards = Wide(Rop(self.gradients, self.wrt, [T.constant(w) for w in self.weights], "ignore"), self.values)({})
        for x, a, b in zip(self.wrt, forwards, found, strict=True):
            self._compare(f"the gradient moved along, {x}", a, b, found)

    # Derivatives of arrays

    def arrays(self) -> None:
        """Pushforward by differences, and as a pullback of the pullback."""
        outputs = [f for f in self.outputs if f.dtype == "float64"]
        if not outputs:
            return
        tangents = [T.constant(w) for w in self.weights]
        forwards: list[Variable] = Rop(outputs, self.wrt, tangents, "ignore")
        duals = [Variable(f.type, f"u{i}") for i, f in enumerate(outputs)]
        back = Lop(outputs, self.wrt, duals, disconnected_inputs="ignore")
        sums = ((g * t).sum() for g, t in zip(back, tangents, strict=True))
        twice: list[Variable] = grad(sum(sums, T.constant(0.0)), duals, disconnected_inputs="ignore")
        points = Wide(outputs, self.values)({})
        known = self.values | {u: self.rng.normal(size=p.shape) for u, p in zip(duals, points, strict=True)}
        found = Wide([*forwards, *twice], known)({})
        a, b = found[: len(outputs)], found[len(outputs) :]
        f = Wide(outputs, self.values)
        moved = [slope(f, x, w) for x, w in zip(self.wrt, self.weights, strict=True)]
        for i, output in enumerate(outputs):
            total = np.asarray(sum((m[i] for m in moved), np.longdouble(0)))
            self._compare(f"{output}, pushed forward", a[i], total + np.zeros_like(points[i]), a)
            self._compare(f"{output}, pulled back twice", b[i], a[i], a)

    def jacobians(self, compiled: bool) -> None:
        """Every entry of every output by every entry of every input."""
        for output in dict.fromkeys(f for f in self.outputs if f.dtype == "float64"):
            rows: list[Variable] = jacobian(output, self.wrt, disconnected_inputs="ignore")
            f = Wide([output], self.values)
            shape = f({})[0].shape
            found = Wide(rows, self.values)({})
            for x, j in zip(self.wrt, found, strict=True):
                expected = np.zeros((*shape, *self.values[x].shape), np.longdouble)
                for index in np.ndindex(*self.values[x].shape):
                    expected[(..., *index)] = slope(f, x, _unit(self.values[x], index))[0]
                self._compare(f"the Jacobian of {output} with respect to {x}", j, expected, found)
                self.out.entries += expected.size
            if compiled:
                self._compiled(f"the Jacobian of {output}", rows)

    # Comparing

    def _by_differences(self, what: str, cost: Variable, gradients: Sequence[Variable]) -> list[Array]:
        """The gradients in long double, each compared with differences."""
        found = Wide(gradients, self.values)({})
        f = Wide([cost], self.values)
        self.out.entries += sum(g.size for g in found) if self.entries else 0
        for x, g in zip(self.wrt, found, strict=True):
            for along in self._directions(x):
                product = np.asarray((g * along).sum())
                quick = _quick(f, x, along)
                if quick is None or not _near(product, quick, [*found, quick]):
                    self._compare(f"{what} with respect to {x}", product, slope(f, x, along)[0], found)
        return found

    def _directions(self, x: Variable) -> Iterator[Array]:
        value = self.values[x]
        if not value.size:
            return
        if not self.entries:
            yield self._random(x)
            return
        for index in np.ndindex(*value.shape):
            yield _unit(value, index)

    def _compare(self, what: str, found: Array, expected: Array, others: Sequence[Array]) -> None:
        if found.shape != expected.shape:
            self.out.failures.append(f"{what}: shape {found.shape}, expected {expected.shape}")
        elif not _near(found, expected, [*others, expected]):
            self.out.failures.append(f"{what}: found\n{found!r}\nexpected\n{expected!r}")

    def _compiled(self, what: str, results: list[Variable]) -> None:
        """The optimized program against the interpreter, within rounding."""
        plain = scanopt.interpret(results, self.known)
        inputs = list(self.made.values)
        try:
            compiled: Callable[..., list[Array]] = scanopt.function(inputs, results, on_unused_input="ignore")
            found = [np.asarray(x) for x in compiled(*self.made.values.values())]
        except Exception as error:
            self.out.failures.append(f"{what}, optimized: {type(error).__name__}: {error}")
            return
        if text := near(True, results, self.known, plain, found):
            self.out.failures.append(f"{what}, optimized: {text}")


def slopes_differ(spec: Spec, made: Built, absolute: float = ABSOLUTE) -> str:
    """ "" where the gradient with respect to one input, along one direction, is that by differences; else what differs.

    made: a program whose outputs are a cost and its gradients with respect to all inputs of floats.  Where the program
    is not smooth nothing can be said.  absolute: how far it may be off, in parts of the largest value.
    """
    wrt = [x for x in made.values if x.dtype.startswith("float")]
    places = [i for i, x in enumerate(wrt) if made.values[x].size]
    if not places:
        return ""
    rng = np.random.default_rng(spec.seed)
    i = int(rng.choice(places))
    x, along = wrt[i], rng.normal(size=made.values[wrt[i]].shape)
    cost, gradients = Wide(made.outputs[:1], made.values), Wide(made.outputs[1:], made.values)
    try:
        expected, found = slope(cost, x, along)[0], gradients({})
    except (RoughError, ArithmeticError, ValueError, IndexError):
        return ""
    product = np.asarray((found[i] * along).sum())
    if not np.isfinite(expected) or _near(product, expected, [*found, expected], absolute):
        return ""
    return f"with respect to {x}: {product}, by differences {expected}"


def _quick(f: Wide, x: Variable, along: Array) -> Array | None:
    """The difference over a step so short that nothing needs extrapolation."""
    try:
        return _quotients(f, x, along, 1e-6)[0]
    except RoughError:
        return None


def _near(found: Array, expected: Array, all_values: Sequence[Array], absolute: float = ABSOLUTE) -> bool:
    largest = max((float(abs(v).max(initial=0.0)) for v in all_values), default=0.0)
    return bool((abs(found - expected) <= RELATIVE * abs(expected) + absolute * max(largest, 1e-3)).all())


def _unit(like: Array, index: tuple[int, ...]) -> Array:
    out = np.zeros(like.shape)
    out[index] = 1
    return out
