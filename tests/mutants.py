"""Saved programs with something changed in them, as a stranger might, and what must hold of each.

A changed program is refused with ValueError, or it is a program: then it gives, in the memory that its
storage says, what a plain evaluation of it gives step by step, or raises where that raises.  All that is
known of its types is true of the values.
"""

from __future__ import annotations

import copy
import json
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from programs import Array, assert_separate

from scanopt.array.types import TensorType
from scanopt.backends import executor
from scanopt.backends.empty_loops import no_steps
from scanopt.compilation.saved import from_text
from scanopt.compilation.saving import digest
from scanopt.program.ir import Branch, CarriedState, Compute, Keep, Loop, Program, Step
from scanopt.program.serial import from_json
from scanopt.program.text import names_read

Json = Any
Path = tuple[Any, ...]

WILD: list[Json] = [
    -1, 0, 1, 2, 3, 7, 100, 2**31, 2**40, 2**62, 2**63 - 1, 2**63, -(2**63), 10**30, 1.5, -0.0, 1e300,
    float("nan"), True, False, None, "", "x", "²", "\x1b[2J", "__import__('os')", "v0", "add",
    "float32", "object", "\ud800", "a" * 300,
    [], {}, [[]], [1], [None], [-1], ["slice", None, None, None], {"a": 1}, [0] * 70,
]  # fmt: skip

# Changing


def places(data: Json, path: Path = ()) -> Iterator[Path]:
    """The paths of all values inside of data."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def at(data: Json, path: Path) -> Json:
    """The value at a path."""
    for key in path:
        data = data[key]
    return data


@dataclass
class Mutator:
    """Changes of one program.  operators: texts of operators to put in the place of others."""

    data: Json
    pick: random.Random
    operators: list[str]

    def run(self) -> Json:
        """The data with one to three changes."""
        changes: list[tuple[float, Callable[[], None]]] = [
            (3, self.wild), (3, self.nudge), (3, self.exchange), (3, self.take_over), (2, self.rename), (2, self.drop),
            (1, self.repeat), (1, self.shuffle), (3, self.operator), (3, self.parameter), (3, self.shape),
            (4, self.storage), (1, self.nest), (1, self.bytes), (1, self.dtype),
        ]  # fmt: skip
        for _ in range(self.pick.choice((1, 1, 1, 2, 3))):
            (change,) = self.pick.choices([f for _, f in changes], [w for w, _ in changes])
            with suppress(AttributeError, KeyError, TypeError):  # what an earlier change left is of another kind
                change()
        return self.data

    def somewhere(self, *kinds: type, key: str | None = None, under: Path = ()) -> Path | None:
        """A place of a value of some kind (any), of a field of this name (any)."""
        found = [
            (*under, *p)
            for p in places(at(self.data, under))
            if (not kinds or type(at(self.data, (*under, *p))) in kinds) and (key is None or p[-1] == key)
        ]
        return self.pick.choice(found) if found else None

    def put(self, path: Path | None, value: Json) -> None:
        """Change the value at a path."""
        if path:
            at(self.data, path[:-1])[path[-1]] = copy.deepcopy(value)

    def wild(self) -> None:
        self.put(self.somewhere(), self.pick.choice(WILD))

    def nudge(self) -> None:
        path = self.somewhere(int)
        if path:
            n = at(self.data, path)
            self.put(path, self.pick.choice([n + 1, n - 1, -n, n * 2, n + 10**6, float(n), bool(n), str(n)]))

    def exchange(self) -> None:
        """Two values of one kind, perhaps of one field."""
        first = self.somewhere(*self.pick.choice(((str,), (int,), (dict,), (list,))))
        if first:
            key = first[-1] if isinstance(first[-1], str) and self.pick.random() < 0.7 else None
            second = self.somewhere(type(at(self.data, first)), key=key)
            if second and first[: len(second)] != second and second[: len(first)] != first:
                a, b = at(self.data, first), at(self.data, second)
                self.put(first, b)
                self.put(second, a)

    def take_over(self) -> None:
        """A value in the place of another of the same field."""
        first = self.somewhere()
        if first and isinstance(first[-1], str):
            second = self.somewhere(key=first[-1])
            if second:
                self.put(first, at(self.data, second))

    def rename(self) -> None:
        names = [
            p for p in places(self.data) if isinstance(x := at(self.data, p), str) and x[:1] in "vc" and x[1:].isdigit()
        ]
        if names:
            self.put(self.pick.choice(names), at(self.data, self.pick.choice(names)))

    def drop(self) -> None:
        path = self.somewhere()
        if path:
            del at(self.data, path[:-1])[path[-1]]

    def repeat(self) -> None:
        path = self.somewhere(list)
        if path and (some := at(self.data, path)):
            some.insert(self.pick.randrange(len(some) + 1), copy.deepcopy(self.pick.choice(some)))

    def shuffle(self) -> None:
        path = self.somewhere(list)
        if path:
            self.pick.shuffle(at(self.data, path))

    def operator(self) -> None:
        self.put(self.somewhere(key="op"), self.pick.choice(self.operators))

    def parameter(self) -> None:
        """A parameter of an operator: another value, another name, or one more."""
        path = self.somewhere(key="op")
        name, brace, rest = at(self.data, path).partition("{") if path else ("", "", "")
        if not brace:
            return
        try:
            made = Mutator({"p": json.loads(brace + rest)}, self.pick, [])
        except ValueError:  # changed before
            return
        self.pick.choice([made.wild, made.nudge, made.exchange, made.drop, made.repeat, made.shuffle, made.nest])()
        text = json.dumps(made.data.get("p"), separators=(",", ":"), sort_keys=True)
        self.put(path, name + text)

    def shape(self) -> None:
        path = self.somewhere(list, key="shape")
        if path:
            some = at(self.data, path)
            other = [None, 0, 1, 2, 3, 4, 5]
            change = self.pick.choice(["all", "one", "more", "less"])
            if change == "more" or not some:
                some.append(self.pick.choice(other))
            elif change == "less":
                some.pop()
            else:
                wanted = range(len(some)) if change == "all" else [self.pick.randrange(len(some))]
                for i in wanted:
                    some[i] = self.pick.choice(other)

    def dtype(self) -> None:
        self.put(
            self.somewhere(key="dtype"),
            self.pick.choice(["int64", "float32", "bool", "complex128", "uint8", "float64"]),
        )

    def storage(self) -> None:
        """What lives where: a place more or another one, a state copied or not, memory not known of."""
        data = self.data.get("storage")
        if not isinstance(data, dict):
            return
        names = [at(self.data, p) for p in places(self.data) if p[-1] in ("out", "update", "init")]
        made = [at(self.data, p) for p in places(self.data) if p[-1] == "out" and p[-2:-1] != ("results",)]
        lists = [x for key in ("places", "holds", "copied", "spent", "rows") if isinstance(x := data.get(key), list)]
        if not names or len(lists) < 5:
            return
        spots, holds, copied, spent, rows = lists
        state = [self.pick.randrange(3), self.pick.randrange(3)]
        place = {
            "name": self.pick.choice(made or names), "kind": self.pick.choice(["buffer", "onto", "row", "trace"]),
            "other": self.pick.choice(["", *names]), "state": self.pick.choice([-1, 0, 1]),
            "forgotten": self.pick.choice([-1, 0, 1]),
        }  # fmt: skip
        changes: list[Callable[[], Any]] = [
            lambda: spots.append(place), lambda: copied.append(state), lambda: spent.append(state),
            lambda: rows.append([*state, self.pick.choice([0, 1, 2, 9])]),
            lambda: holds.append({"name": self.pick.choice(names), "roots": [self.pick.choice([*names, state])]}),
        ]  # fmt: skip
        if spots:
            changes += [lambda: self.pick.choice(spots).update(other=place["other"]),
                        lambda: self.pick.choice(spots).update(kind=place["kind"], other=place["other"]),
                        lambda: self.pick.choice(spots).update(forgotten=place["forgotten"]),
                        lambda: spots.pop(self.pick.randrange(len(spots)))]  # fmt: skip
        changes += [
            lambda some=some: some.pop(self.pick.randrange(len(some))) for some in (holds, copied, rows) if some
        ]
        self.pick.choice(changes)()

    def nest(self) -> None:
        path = self.somewhere()
        if path:
            value = at(self.data, path)
            for _ in range(self.pick.choice((1, 1, 2, 50, 200))):
                value = [value] if self.pick.random() < 0.8 else {"a": value}
            at(self.data, path[:-1])[path[-1]] = value

    def bytes(self) -> None:
        path = self.somewhere(key="base64")
        if path and isinstance(text := at(self.data, path), str) and text:
            i = self.pick.randrange(len(text))
            self.put(path, text[:i] + self.pick.choice("AB/+9=é") + text[i + 1 :])


# A plain evaluation


def evaluated(program: Program, values: list[Array]) -> list[Array]:
    """The results, step by step, every array a new one.  All types are looked at."""
    env = {x.name: np.array(v) for x, v in zip(program.inputs, values, strict=True)}
    if not all(x.type.accepts(TensorType(env[x.name].dtype.name, env[x.name].shape)) for x in program.inputs):
        raise ValueError("an argument is not of the type of its input")
    env.update((c.name, c.value) for c in program.consts)
    with np.errstate(all="ignore"):
        for step in program.steps:
            _evaluate(step, env)
    return [env[name] for name in program.outputs]


def _typed(name: str, value: Array, type: TensorType) -> Array:
    assert type.accepts(TensorType(value.dtype.name, value.shape)), (name, type, value.dtype, value.shape)
    return value


def _evaluate(step: Step, env: dict[str, Array]) -> None:
    if isinstance(step, Compute):
        value = step.op.bind(np)(*(np.array(env[a]) for a in step.args))
        env[step.out] = _typed(step.out, np.array(value), step.type)
    elif isinstance(step, Branch):
        steps, names = step.sides[0 if env[step.condition] else 1]
        for inner in steps:
            _evaluate(inner, env)
        env.update((r.out, _typed(r.out, env[name], r.type)) for r, name in zip(step.results, names, strict=True))
    else:
        _loop(step, env)


def _loop(loop: Loop, env: dict[str, Array]) -> None:
    n = int(env[loop.steps])
    if n < 0:
        raise ValueError("a negative number of steps")
    if not n:
        outer = [name for name in dict.fromkeys(names_read(loop)) if name in env]
        found = no_steps(np, loop, outer)(*(env[name] for name in outer))
        env.update((k.out, x) for k, x in zip(loop.keeps, found, strict=True))
        return
    if any(len(env[r.source]) < n for r in loop.reads) or any(len(env[s.init]) != s.depth for s in loop.states):
        raise ValueError("too few rows")
    past = [list(env[s.init]) for s in loop.states]
    kept: dict[str, list[Array]] = {k.out: [] for k in loop.keeps}
    for t in range(n):
        env.update((r.out, _typed(r.out, np.asarray(env[r.source][t]), r.type)) for r in loop.reads)
        for s, rows in zip(loop.states, past, strict=True):
            env.update((name, _typed(name, np.asarray(rows[-k]), s.type)) for k, name in s.taps)
        for inner in loop.body:
            _evaluate(inner, env)
        for s, rows in zip(loop.states, past, strict=True):
            rows.append(_new_row(s, env))
        for k in loop.keeps:
            kept[k.out].append(np.array(env[k.value]))
        if loop.until is not None and env[loop.until]:
            break
    env.update((k.out, _kept(k, kept[k.out])) for k in loop.keeps)


def _new_row(s: CarriedState, env: dict[str, Array]) -> Array:
    new = np.array(env[s.update])
    if new.shape != env[s.init].shape[1:]:
        raise ValueError("a state changes its shape")
    return new


def _kept(k: Keep, rows: list[Array]) -> Array:
    if k.rows == 1:
        rows = rows[-1:]
    return _typed(k.out, np.stack(rows)[-(k.rows or len(rows)) :], k.type)


# What must hold


class TooLongError(Exception):
    """A program that does not end in time."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises TooLongError in the block when the time is over."""

    def stop(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def values_for(program: Program, pick: random.Random) -> list[Array]:
    """Arguments of the types of the inputs."""
    rng = np.random.default_rng(pick.randrange(2**32))
    length = pick.choice((2, 3, 3, 3, 4))
    out: list[Array] = []
    for x in program.inputs:
        shape = tuple(min(n, 7) if n is not None else 5 if i == 0 and len(x.type.shape) > 1 else length
                      for i, n in enumerate(x.type.shape))  # fmt: skip
        numbers = rng.integers(0, 5, shape) if np.dtype(x.type.dtype).kind in "biu" else rng.normal(size=shape)
        out.append(np.asarray(numbers).astype(x.type.dtype))
    return out


@dataclass
class Outcome:
    """What became of a changed program.  kind: refused, right, raises, long; wrong is what must not be."""

    kind: str
    text: str = ""
    values: list[Array] = field(default_factory=list[Array])


def outcome(text: str, pick: random.Random, seconds: float = 1.0) -> Outcome:
    """Read a program as a stranger's and run it."""
    try:
        with limited(10 * seconds):
            program = from_json(text)
    except ValueError as error:
        printable = str(error).isprintable() and len(str(error)) < 600
        return Outcome("refused" if printable else "wrong", str(error))
    except BaseException as error:
        return Outcome("wrong", f"reading: {type(error).__name__}: {error}")
    try:
        with limited(10 * seconds):
            run = executor("numpy").compile(program)
    except Exception as error:
        return Outcome("not compiled", f"{type(error).__name__}: {error}")
    values = values_for(program, pick)
    before = [v.copy() for v in values]
    found, failed = _tried(lambda: run(values), seconds)
    expected, failed_too = _tried(lambda: evaluated(program, before), 2 * seconds)
    if isinstance(failed_too, AssertionError):
        return Outcome("wrong", f"types: {failed_too}", values)
    if isinstance(failed, TooLongError | MemoryError) or isinstance(failed_too, TooLongError | MemoryError):
        return Outcome("long")
    if failed or failed_too:
        both = failed is not None and failed_too is not None
        return Outcome("raises" if both else "wrong", f"{failed!r} and plainly {failed_too!r}", values)
    assert found is not None
    assert expected is not None
    wrong = _difference(program, [*zip(values, before, strict=True)], found, expected)
    return Outcome("wrong" if wrong else "right", wrong, values)


def outcome_of_function(text: str, pick: random.Random, seconds: float = 1.0) -> Outcome:
    """Read a saved function as a stranger's, signed anew, and call it."""
    data = json.loads(text)
    data["sha256"] = digest({k: v for k, v in data.items() if k != "sha256"})
    try:
        with limited(10 * seconds):
            f = from_text(json.dumps(data), None)
    except ValueError as error:
        printable = str(error).isprintable() and len(str(error)) < 600
        return Outcome("refused" if printable else "wrong", str(error))
    except BaseException as error:
        return Outcome("wrong", f"reading: {type(error).__name__}: {error}")
    values = values_for(f.program, pick)[: len(f.inputs)]
    _, failed = _tried(lambda: [f(*values)], seconds)
    if isinstance(failed, TooLongError | MemoryError):
        return Outcome("long")
    return Outcome("raises" if failed else "right", repr(failed))


def _tried(run: Callable[[], list[Array]], seconds: float) -> tuple[list[Array] | None, BaseException | None]:
    try:
        with limited(seconds):
            return run(), None
    except (Exception, TooLongError) as error:
        return None, error


def _difference(program: Program, given: list[tuple[Array, Array]], found: list[Array], expected: list[Array]) -> str:
    if any(a.tobytes() != b.tobytes() for a, b in given):
        return "an argument was written to"
    for name, a, b in zip(program.outputs, found, expected, strict=True):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"{name}: {a.dtype}{a.shape} and plainly {b.dtype}{b.shape}"
        exact = a.dtype.kind in "biu"
        tolerance = 0.0 if exact else 1e-2 if a.dtype.itemsize < 8 or a.dtype == "complex64" else 1e-7
        if not np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=not exact):
            return f"{name}: {a} and plainly {b}"
    try:
        assert_separate([*(v for v, _ in given), *(c.value for c in program.consts)], found)
    except AssertionError:
        return "results share memory"
    return ""
