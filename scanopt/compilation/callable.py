"""The common part of compiled and loaded functions: how they are called, saved and written in other forms."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scanopt import features
from scanopt.array.variable import SharedVariable, Variable
from scanopt.backends import executor
from scanopt.backends.placed import Placed
from scanopt.compilation.regions import ProgramForSizes, Regions, kernels_of
from scanopt.compilation.saving import text_of
from scanopt.compilation.signature import Signature
from scanopt.program.graph import graph_of
from scanopt.program.ir import Program

__all__ = ["Runnable", "compiled"]

Values = Sequence[Any]
Others = Callable[[Values], Sequence[Program]]


def compiled(program: Program, backend: str, threads: int | None = None, others: Others | None = None) -> Any:
    """The program made callable by the executor of this name.

    threads: see `function`, None for "auto".  others: see `Placed`.
    """
    chosen = _on_threads(backend, threads)
    made = chosen.compile(program)
    if getattr(chosen, "on_device", False):
        return made
    limit = getattr(chosen, "limit", 1)
    return Placed(program, made, backend == "auto", backend, getattr(chosen, "cost", None), limit, others)


def _on_threads(backend: str, threads: int | None) -> Any:
    """The executor of this name, limited to `threads` threads if it can run on several."""
    chosen = executor(backend)
    return chosen.on_threads(threads) if hasattr(chosen, "on_threads") else chosen


class Runnable:
    """A function of arrays: a program, and the signature that its arguments and results follow.

    Threads may call it at the same time.  A call that updates shared variables reads, computes and
    writes while no other such call touches them; one without updates reads all of them at one moment.
    name: as given, or None.
    """

    is_compiled = True
    _plans: Sequence[Any] = ()
    _rows_fit = False
    _compiled: Any = None
    _entry: Any = None
    _inner: Any = None
    _regions: Regions | None = None
    _threads: int | None = None

    def __init__(self, signature: Signature, name: str | None) -> None:
        self.name = name
        self._signature = signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The outputs for values of the inputs, by position or by name."""
        # Calls like earlier ones do not come here: see `_enter_quickly`.
        s = self._signature
        if not s.changes:
            return s.pack(self._results_for(args, kwargs))
        with s.transaction():
            results = self._results_for(args, kwargs)
            s.assign(results[len(s.outputs) :])
        return s.pack(results[: len(s.outputs)])

    def _enter_quickly(self) -> None:
        """Let calls with arrays like those of an earlier call go straight to the kernel, if the whole program is one.

        Such calls have plans: a function in C takes the place of `__call__`, and calls it where there is no plan.
        """
        s = self._signature
        entry = getattr(self._compiled, "entry", None)
        if entry is None or any(x.strict for x in s.slots):
            return
        inside = s.changes or s.shared or s.form not in ("single", "list")
        made = entry(not inside and s.form == "single")
        if made is not None and self._regions is not None:
            self._regions.share(made)
        self._inner, self._entry = (made, None) if inside else (None, made)
        if made is not None and not inside:
            made.owner, self._plans = Runnable, made.plans

    def _results_for(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The results for arguments, which the kernel may take as they are."""
        s, inner = self._signature, self._inner
        if inner is not None and not kwargs and (quick := inner.function) is not None:
            found: list[Any] | None = quick(*args, *s.present())
            if found is not None:
                return found
        return self._results(s.read(args, kwargs))

    def _results(self, values: Values) -> list[Any]:
        inner = self._inner
        if inner is not None and (quick := inner.function) is not None:
            found: list[Any] | None = quick(*values)
            if found is not None:
                return found
        return self._run(values)

    def _run(self, values: Values) -> list[Any]:
        """All results of the program for values of all its inputs."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Variable, ...]:
        """The symbolic inputs."""
        return self._signature.inputs

    @property
    def outputs(self) -> tuple[Variable, ...]:
        """The symbolic outputs."""
        return self._signature.outputs

    @property
    def updates(self) -> Mapping[SharedVariable, Variable]:
        """New values of shared variables, set after each call."""
        return self._signature.updates

    @property
    def shared(self) -> tuple[SharedVariable, ...]:
        """The shared variables that it reads."""
        return self._signature.shared

    @property
    def program(self) -> Program:
        """The program that runs."""
        raise NotImplementedError

    @property
    def programs(self) -> tuple[ProgramForSizes, ...]:
        """The programs for sizes that were met so far, each with the regions in which it runs; `program` first.

        With `adapt=False`, where costs are not of time, and where types tell all sizes, there is one, for all sizes.

        >>> from scanopt import function, tensor as T
        >>> x = T.dvector("x")
        >>> [p.regions for p in function([x], x + x).programs]
        [({'x': '[64]'},)]
        """
        if self._regions is not None:
            return self._regions.programs()
        return (ProgramForSizes(self.program, (), getattr(self, "cost", None), kernels_of(self._compiled)),)

    @property
    def backend(self) -> str:
        """The executor asked for."""
        raise NotImplementedError

    @property
    def executor(self) -> str:
        """What runs the program, in words.

        >>> from scanopt import function, tensor as T
        >>> x = T.dvector("x")
        >>> function([x], x + x, backend="numpy").executor
        'array steps on NumPy'
        """
        if self._compiled is None:
            return "the interpreter"
        found = _on_threads(self.backend, self._threads)
        told = (x for run in self._runs for x in getattr(run, "told", ()))
        return "; ".join([getattr(found, "description", f"array steps on {found.xp.__name__}"), *told])

    def _for_device(self, values: Values) -> tuple[Program, ...]:
        """Programs that may be faster on a device than the one that runs here."""
        return () if self._regions is None else self._regions.for_device(values)

    @property
    def _runs(self) -> tuple[Any, ...]:
        """The callables of the programs that were made so far."""
        return (self._compiled,) if self._regions is None else self._regions.runs()

    @property
    def kernels(self) -> tuple[Any, ...]:
        """What became of each loop: its kernels as C text, or why it has none.  See docs/kernels.md.

        Those of all of `programs`, one program after the other: each of them has its own `kernels`.

        >>> from scanopt import function, tensor as T
        >>> x = T.dvector("x")
        >>> function([x], x + x).kernels
        ()
        """
        return tuple(x for p in self.programs for x in p.kernels)

    def to_graph(self) -> tuple[list[Variable], dict[Variable, Variable]]:
        """Outputs and updates as graphs of the same inputs and shared variables, as the program computes them.

        updates: new values by shared variable, and by input where it has an update.  The graphs can be printed, cloned,
        and compiled again.  Options that affect only gradients (`truncate_gradient`, `consider_constant`) are not part
        of a program and not in its graph.

        >>> from scanopt import dprint, function, map, tensor as T
        >>> x = T.dvector("x")
        >>> outputs, updates = function([x], map(lambda v: v * v, x)[0]).to_graph()
        >>> dprint(outputs[0])
        multiply [id A]
         ├─ x [id B]
         └─ x [id B]
        """
        s = self._signature
        results = graph_of(self.program, [*s.inputs, *s.shared], self._rows_fit)
        changed = [*s.updates, *(x.variable for x in s.slots if x.update is not None)]
        outputs = results[: len(s.outputs)]
        return outputs, dict(zip(changed, results[len(outputs) :], strict=True))

    def to_jax(self) -> Callable[..., Any]:
        """The optimized program as a function of JAX, which may be transformed and runs under XLA.

        It takes and returns the same as this function.  Raises ImportError without JAX, and ValueError if shared
        variables are updated; when called, it raises NotImplementedError for what XLA cannot run.
        """
        return features.as_jax(self, self._signature)

    def to_onnx(self, name: str = "scanopt") -> Any:
        """The optimized program as an ONNX model, which is checked: an `onnx.ModelProto` with the names of the inputs.

        name: of the graph, if the function has none.  Raises ImportError without onnx, ValueError if shared
        variables are updated, NotImplementedError for operators that ONNX lacks.
        """
        return features.to_onnx(self, self._signature, name)

    def map_blocks(self, *args: Any, axis: Any = 0, schedule: str = "auto") -> Any:
        """The function applied to Dask arrays, block by block: lazy Dask arrays.

        axis: along which the Dask arrays are divided, or axes by names of inputs, like `over` of `scanopt.distribute`,
        which says what may be divided and what `schedule` is.  Raises ImportError without Dask, TypeError if no
        argument is a Dask array, and what `distribute` raises.
        """
        return features.map_blocks(self, args, axis, schedule)

    def __dask_tokenize__(self) -> tuple[str, str]:
        """A token that identifies the function, the same in every process."""
        return type(self).__name__, hashlib.sha256(text_of(self).encode()).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the program and the values of shared variables to a JSON file, for `scanopt.load`.

        Running it needs NumPy alone.  Raises OSError, ValueError for a dtype that the format does not know.
        """
        Path(path).write_text(text_of(self), encoding="ascii")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._signature.called(self.name)}>"
