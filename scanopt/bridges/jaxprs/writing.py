"""Writes a loop program as a function of JAX: loops as scan and while_loop, branches as cond, operators by `jax.numpy`.

Values that depend on nothing that JAX traces (lengths, constants, and values computed from them) are computed with
NumPy while JAX traces, since JAX must know shapes then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

import scanopt.bridges.jaxprs.operators_of_matrices  # noqa: F401  # registers operators
from scanopt.array.variable import describe
from scanopt.bridges.jaxprs.operators import Last, Operators
from scanopt.bridges.peers import Refused
from scanopt.compilation.callable import Runnable
from scanopt.compilation.compiled_function import Function
from scanopt.compilation.signature import Signature
from scanopt.libraries import library
from scanopt.program.ir import Branch, CarriedState, Compute, Keep, Loop, Program, Step
from scanopt.records import dataclass

__all__ = ["as_jax", "jax_function", "typed_key"]

Env = dict[str, Any]


def jax_function(f: Runnable) -> Callable[..., list[Any]]:
    """A function of JAX that computes the same as a compiled function: from its inputs to a list of its outputs.

    If XLA cannot run its program, since all shapes must be known before the run, a program optimized by fewer laws is
    used.  Raises ImportError where JAX is not installed; the function raises NotImplementedError if XLA runs neither.
    """
    jax = library("jax", "jax", "to_jax")

    wide = not jax.config.jax_enable_x64
    programs: list[Program] = []

    def run(*values: Any) -> list[Any]:
        first: Refused | None = None
        for i in range(2 if isinstance(f, Function) else 1):
            if len(programs) == i:
                programs.append(_plainer(f).program if i and isinstance(f, Function) else f.program)
            try:
                with jax.enable_x64(True) if wide else nullcontext():
                    return _Tracing(jax).run(programs[i], values)
            except Refused as error:
                first = first or error
        assert first is not None
        raise first

    return run


def as_jax(f: Runnable, signature: Signature) -> Callable[..., Any]:
    """The implementation of `f.to_jax()`: shared variables have their values at the time of each call."""
    if signature.updates:
        names = ", ".join(describe(x) for x in signature.updates)
        raise ValueError(f"to_jax: a function of JAX updates no shared variables, but this one does: {names}")
    run = jax_function(f)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.in_order(args, kwargs)
        return signature.pack(run(*given, *(x.get_value(borrow=True) for x in signature.shared)))

    return call


_KEPT = {"save_mem", "merge", "remove_constants_and_unused_inputs", "push_out_non_seq", "identities", "branches"}
"""Rulesets whose laws keep loops and never make a length depend on a value."""


def _plainer(f: Function) -> Function:
    return f.without(*{law.ruleset for law in f.rules} - _KEPT)


def _untyped(jax: Any, x: Any, dtype: str) -> Any:
    """An argument as an array; a typed key as one uint64, as in our graphs."""
    if hasattr(x, "dtype") and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        words = jax.random.key_data(x).astype("uint64")
        return words[..., 0] << np.uint64(32) | words[..., 1]
    return jax.numpy.asarray(x, dtype)


def typed_key(x: Any) -> Any:
    """A typed key from its uint64, traced or not."""
    jax = library("jax", "jax", "to_jax")
    with jax.enable_x64(True):
        words = jax.numpy.stack([x >> np.uint64(32), x & np.uint64(0xFFFFFFFF)], axis=-1).astype("uint32")
    return jax.random.wrap_key_data(words)


@dataclass(frozen=True)
class _Tracing:
    """One run of a program under JAX's tracing."""

    jax: Any

    @property
    def operators(self) -> Operators:
        """The rules that compute operators."""
        return Operators(self.jax)

    def run(self, program: Program, values: Sequence[Any]) -> list[Any]:
        """The outputs of the program for these inputs."""
        env: Env = {c.name: c.value for c in program.consts}
        for x, value in zip(program.inputs, values, strict=True):
            env[x.name] = _untyped(self.jax, value, x.type.dtype)
        self.steps(program.steps, env)
        return [self.jax.numpy.asarray(self.value(env, name)) for name in program.outputs]

    @staticmethod
    def value(env: Env, name: str) -> Any:
        """The array of this name.  Raises Refused for rows kept by a loop whose number of steps is unknown."""
        found = env[name]
        if isinstance(found, Last):
            raise Refused(f"to_jax: {name} has as many rows as a loop takes steps, which XLA must know before the run")
        return found

    def steps(self, steps: Sequence[Step], env: Env) -> None:
        """Run steps of the program, adding their values to `env`."""
        for step in steps:
            if isinstance(step, Compute):
                env[step.out] = self.operators.apply(step.op, [env[a] for a in step.args], step.type)
            elif isinstance(step, Branch):
                self.branch(step, env)
            else:
                self.loop(step, env)

    # Branches

    def branch(self, step: Branch, env: Env) -> None:
        """Run one of two branches: with cond, or directly if the condition is known."""
        test = self.value(env, step.condition)
        sides = [self._side(steps, values, env) for steps, values in step.sides]
        if isinstance(test, np.ndarray | np.generic):
            found = sides[0 if test else 1]()
        else:
            found = self.jax.lax.cond(test, *sides)
        env.update(zip((r.out for r in step.results), found, strict=True))

    def _side(self, steps: Sequence[Step], values: Sequence[str], env: Env) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            inner = dict(env)
            self.steps(steps, inner)
            return [self.jax.numpy.asarray(self.value(inner, v)) for v in values]

        return run

    # Loops

    def loop(self, step: Loop, env: Env) -> None:
        """Run a loop: with scan if its number of steps is known, else with while_loop."""
        n = self.value(env, step.steps)
        carry = [self._start(s, env) for s in step.states]
        sources = [self.value(env, r.source) for r in step.reads]
        if step.until is None and isinstance(n, np.ndarray | np.generic):
            self._scan(step, env, int(n), carry, sources)
        else:
            self._while(step, env, n, carry, sources)

    def _start(self, state: CarriedState, env: Env) -> tuple[Any, ...]:
        rows = self.jax.numpy.asarray(self.value(env, state.init))
        return tuple(rows[i] for i in range(state.depth))

    def _body(self, step: Loop, env: Env, carry: Sequence[tuple[Any, ...]], reads: Sequence[Any]) -> Env:
        """Run one step; the values of all its names.  carry: the rows of each state, oldest first."""
        inner = dict(env)
        for state, rows in zip(step.states, carry, strict=True):
            inner.update({name: rows[len(rows) - k] for k, name in state.taps})
        inner.update(zip((r.out for r in step.reads), reads, strict=True))
        self.steps(step.body, inner)
        return inner

    def _next(self, step: Loop, carry: Sequence[tuple[Any, ...]], inner: Env) -> list[tuple[Any, ...]]:
        as_array = self.jax.numpy.asarray
        return [(*rows[1:], as_array(inner[s.update])) for s, rows in zip(step.states, carry, strict=True)]

    def _scan(self, step: Loop, env: Env, n: int, carry: Any, sources: list[Any]) -> None:
        rows = [None if isinstance(k.rows, str) else k.rows for k in step.keeps]
        of_state = [self._state_of(step, k, r) for k, r in zip(step.keeps, rows, strict=True)]
        kept = [k for k, i in zip(step.keeps, of_state, strict=True) if i is None]

        def body(carry: Any, reads: Any) -> tuple[Any, Any]:
            inner = self._body(step, env, carry, reads)
            return self._next(step, carry, inner), [self.jax.numpy.asarray(inner[k.value]) for k in kept]

        xs = [self.jax.numpy.asarray(x)[:n] for x in sources]
        last, traces = self.jax.lax.scan(body, carry, xs, length=n)
        found = iter(traces)
        for keep, i in zip(step.keeps, of_state, strict=True):
            trace = next(found) if i is None else self.jax.numpy.stack(last[i])
            count = keep.rows if not isinstance(keep.rows, str) else self._count(env, keep.rows)
            count = n if count is None else min(count, n)
            env[keep.out] = trace[len(trace) - count :]

    def _count(self, env: Env, name: str) -> int:
        found = self.value(env, name)
        if not isinstance(found, np.ndarray | np.generic):
            raise Refused("to_jax: how many rows of a loop are kept is computed: XLA must know it before the run")
        return int(found)

    @staticmethod
    def _state_of(step: Loop, keep: Keep, rows: int | None) -> int | None:
        """The number of the state whose carried rows include all rows kept, so that no trace is needed; else None."""
        for i, s in enumerate(step.states):
            if s.update == keep.value and rows is not None and rows <= s.depth:
                return i
        return None

    def _while(self, step: Loop, env: Env, n: Any, carry: Any, sources: list[Any]) -> None:
        for keep in step.keeps:
            if keep.rows != 1:
                raise Refused(
                    f"to_jax: all rows of a loop are kept whose number of steps is found out when it runs "
                    f"({', '.join(step.sites) or step.label}): XLA must know it before; keep the last value only"
                )
        np_, lax = self.jax.numpy, self.jax.lax
        like = self.jax.eval_shape(lambda: self._kept(step, env, carry, [x[0] for x in map(np_.asarray, sources)]))
        start = [np_.zeros(x.shape, x.dtype) for x in like]
        most = np_.asarray(self._most(n))

        def test(s: Any) -> Any:
            return (s[0] < most) & ~s[1]

        def body(s: Any) -> Any:
            t, _, carry, _ = s
            reads = [lax.dynamic_index_in_dim(np_.asarray(x), t, keepdims=False) for x in sources]
            inner = self._body(step, env, carry, reads)
            end = np_.asarray(False if step.until is None else inner[step.until])
            return t + 1, end, self._next(step, carry, inner), [np_.asarray(inner[k.value]) for k in step.keeps]

        done, _, _, kept = lax.while_loop(test, body, (np_.zeros((), most.dtype), np_.asarray(False), carry, start))
        env.update({k.out: Last(row, done > 0) for k, row in zip(step.keeps, kept, strict=True)})

    def _most(self, n: Any) -> Any:
        """The greatest number of steps, limited to the widest integers that JAX has."""
        if isinstance(n, np.ndarray | np.generic):
            dtype = self.operators.dtype("int64")
            return np.minimum(n, np.iinfo(dtype).max).astype(dtype)
        return n

    def _kept(self, step: Loop, env: Env, carry: Any, reads: list[Any]) -> list[Any]:
        inner = self._body(step, env, carry, reads)
        return [self.jax.numpy.asarray(inner[k.value]) for k in step.keeps]
