"""from_pytensor, and a mode of PyTensor that compiles with scanopt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scanopt.array.types import TensorType
from scanopt.array.variable import SharedVariable, Variable
from scanopt.bridges.pytensor_graphs.generators import generator_of, words_of
from scanopt.bridges.pytensor_graphs.performing import is_generator, type_of
from scanopt.bridges.pytensor_graphs.reading import Reader
from scanopt.compilation.compiled_function import Function
from scanopt.compilation.function import function
from scanopt.libraries import library

__all__ = ["from_pytensor", "pytensor_mode"]


def from_pytensor(inputs: Sequence[Any], outputs: Any, updates: Any = None, **options: Any) -> Function:
    """Optimize and compile a graph of PyTensor: a function of its inputs.

    inputs, outputs: variables of PyTensor; outputs: one, or a list.  updates: dict or pairs of shared variables and
        their new values; default updates of shared variables (generators of random numbers) are added.
    options: those of `scanopt.function` (fp, exclude, cost, ...).
    Shared variables are copied with their present values; a generator becomes an array of the words of its state, and
    its numbers are NumPy's.  Operators without a rule run by their own `perform`.
    Raises ImportError where PyTensor is not installed, NotImplementedError that names an operator, type or generator
    that it does not know.

    >>> import pytensor, pytensor.tensor as pt  # doctest: +SKIP
    >>> x = pt.vector("x")  # doctest: +SKIP
    >>> s = pytensor.scan(lambda x, s: s + x, [x], [0.0], return_updates=False)  # doctest: +SKIP
    >>> from_pytensor([x], s[-1])([1.0, 2.0])  # doctest: +SKIP
    array(3.)
    """
    traversal = library("pytensor.graph.traversal", "pytensor", "from_pytensor")
    many = isinstance(outputs, list | tuple)
    wanted = list(outputs) if many else [outputs]
    changes = dict(updates.items() if isinstance(updates, Mapping) else updates or ())
    known = {v: Variable(type_of(v.type, str(v)), v.name) for v in inputs}
    shared: dict[Any, SharedVariable] = {}
    todo: list[Any] = [*wanted, *changes.values(), *changes]
    while todo:
        found = [v for v in traversal.graph_inputs(todo, blockers=list(inputs)) if _is_shared(v) and v not in shared]
        todo = []
        for v in found:
            shared[v] = _copy(v)
            new = changes.get(v, getattr(v, "default_update", None))
            if new is not None and v not in changes:
                changes[v] = new
                todo.append(new)
    reader = Reader({**known, **shared})
    read = reader.read([*wanted, *changes.values()])
    made = {shared[v]: x for v, x in zip(changes, read[len(wanted) :], strict=True)}
    results: Any = read[: len(wanted)] if many else read[0]
    return function(list(known.values()), results, updates=made, on_unused_input="ignore", **options)


def _is_shared(v: Any) -> bool:
    return hasattr(v, "get_value") and hasattr(v, "container")


def _copy(v: Any) -> SharedVariable:
    value = v.get_value()
    if is_generator(v.type):
        made = SharedVariable(words_of(value), v.name)
    else:
        made = SharedVariable(np.asarray(value), v.name)
    made.type = TensorType(made.type.dtype, type_of(v.type, str(v)).shape)
    return made


class _Compiled:
    """A graph after PyTensor's rewrites, compiled as a function of the values of its inputs."""

    def __init__(self, fgraph: Any, options: dict[str, Any]) -> None:
        known = {v: Variable(type_of(v.type, str(v)), v.name) for v in fgraph.inputs}
        reader = Reader(dict(known))
        results = reader.read(fgraph.outputs)
        self._generators = [is_generator(v.type) for v in fgraph.inputs]
        self._drawn = [is_generator(v.type) for v in fgraph.outputs]
        self.function = function(list(known.values()), results, on_unused_input="ignore", **options)

    def __call__(self, *values: Any) -> list[Any]:
        given = [words_of(x) if g else np.asarray(x) for x, g in zip(values, self._generators, strict=True)]
        found = self.function(*given)
        return [generator_of(x) if g else x for x, g in zip(found, self._drawn, strict=True)]


def pytensor_mode(include: Iterable[str] = ("minimum_compile",), **options: Any) -> Any:
    """A mode of PyTensor that compiles with scanopt: `pytensor.function(inputs, outputs, mode=pytensor_mode())`.

    include: tags of PyTensor's own rewrites to run first; by default as few as it needs, since laws do the rest.
    options: those of `scanopt.function` (fp, exclude, cost, ...).
    The compiled function has `f.vm.jit_fn.function`, the scanopt function with its program, report and explanation.
    Raises as `from_pytensor`.

    >>> import pytensor, pytensor.tensor as pt  # doctest: +SKIP
    >>> x = pt.vector("x")  # doctest: +SKIP
    >>> pytensor.function([x], x.sum(), mode=pytensor_mode())([1.0, 2.0])  # doctest: +SKIP
    array(3.)
    """
    basic = library("pytensor.link.basic", "pytensor", "pytensor_mode")
    modes = library("pytensor.compile.mode", "pytensor", "pytensor_mode")
    rewriting = library("pytensor.graph.rewriting.db", "pytensor", "pytensor_mode")

    class ScanoptLinker(basic.JITLinker):  # type: ignore[name-defined, misc]  # of a library that may be absent
        """Compiles a whole graph as one function of scanopt."""

        required_rewrites = ("minimum_compile",)
        incompatible_rewrites = ("cxx_only", "BlasOpt", "fusion", "inplace", "scan_save_mem_prealloc",
                                 "scan_reduce_trace_prealloc")  # fmt: skip

        def fgraph_convert(self, fgraph: Any, order: Any = None, input_storage: Any = None, output_storage: Any = None,
                           storage_map: Any = None, **_: Any) -> Any:  # fmt: skip
            """The graph as a function of the values of its inputs."""
            return _Compiled(fgraph, options)

        def jit_compile(self, fn: Any) -> Any:
            """Return `fn`, which is compiled already."""
            return fn

        def create_thunk_inputs(self, storage_map: Any) -> list[Any]:
            """The storage of the inputs."""
            return [storage_map[v] for v in self.fgraph.inputs]

    query = rewriting.RewriteDatabaseQuery(include=list(include), exclude=list(ScanoptLinker.incompatible_rewrites))
    return modes.Mode(ScanoptLinker(), query)
