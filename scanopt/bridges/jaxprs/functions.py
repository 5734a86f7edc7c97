"""from_jax: optimizes and runs a function written with JAX."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from scanopt.array.constants import as_variable
from scanopt.array.variable import Variable, describe
from scanopt.bridges.jaxprs.reading import is_key, read_jaxpr, type_of
from scanopt.bridges.jaxprs.writing import jax_function, typed_key
from scanopt.compilation.compiled_function import Function
from scanopt.compilation.function import function
from scanopt.forks import lock
from scanopt.libraries import library
from scanopt.loops.rebuild import rebuild
from scanopt.records import dataclass
from scanopt.transforms.compiled_calls import CompiledCalls

__all__ = ["FromJax", "JaxGraph", "from_jax"]

_REMEMBERED = 128


@dataclass(frozen=True, eq=False)
class JaxGraph:
    """A function of JAX as a graph, for one kind of arguments.

    inputs, outputs: variables, one for each leaf of the arguments and of the result.  keys: for each output whether it
    is a typed key.  structure: the treedef of the result.
    """

    name: str
    inputs: list[Variable]
    outputs: list[Variable]
    keys: list[bool]
    structure: Any
    options: dict[str, Any]

    @functools.cached_property
    def compiled(self) -> Function:
        """The compiled function: it takes the leaves of the arguments one by one and returns a list of results."""
        return function(self.inputs, self.outputs, on_unused_input="ignore", **{"name": self.name, **self.options})


class FromJax(CompiledCalls):
    """A function written with JAX that scanopt optimizes and runs; it takes the same arguments.

    It is traced by JAX and compiled at its first call for arguments of a structure, dtypes and shapes.
    """

    def __init__(self, f: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, f)
        self._f, self._options = f, options
        self._graphs: OrderedDict[Hashable, JaxGraph] = OrderedDict()
        self._lock = lock(whole=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results as NumPy arrays, in the structure that the function returns."""
        leaves, graph = self._graph(args, kwargs)
        tree = _tree()
        if any(isinstance(x, Variable) for x in leaves):
            return tree.tree_unflatten(graph.structure, _placed(graph, leaves))
        return self._packed(graph, graph.compiled(*map(_array, leaves)))

    def unoptimized(self, *args: Any, **kwargs: Any) -> Any:
        """The same call by the reference interpreter."""
        leaves, graph = self._graph(args, kwargs)
        return self._packed(graph, graph.compiled.unoptimized(*map(_array, leaves)))

    def _packed(self, graph: JaxGraph, values: list[Any]) -> Any:
        found = [_key(x) if is_key else x for x, is_key in zip(values, graph.keys, strict=True)]
        return _tree().tree_unflatten(graph.structure, found)

    def _graph(self, args: Any, kwargs: Any) -> tuple[list[Any], JaxGraph]:
        jax = library("jax", "jax", "from_jax")
        leaves, structure = _tree().tree_flatten((args, kwargs))
        key = (structure, tuple(map(_kind, leaves)), bool(jax.config.jax_enable_x64))
        with self._lock:
            if key not in self._graphs:
                self._graphs[key] = _traced(self._f, structure, leaves, self._options)
            self._graphs.move_to_end(key)
            while len(self._graphs) > _REMEMBERED:
                self._graphs.popitem(last=False)
            return leaves, self._graphs[key]

    def lower(self, *args: Any, **kwargs: Any) -> JaxGraph:
        """The function as a graph, for arguments like these: arrays, or `jax.ShapeDtypeStruct`s."""
        return self._graph(args, kwargs)[1]

    def compiled(self, *args: Any, **kwargs: Any) -> Function:
        """The compiled function for arguments like these (default: those of the last call), with all that it has.

        It takes the leaves of the arguments one by one and returns a list of results.  Raises TypeError if there
        was no call yet.
        """
        if args or kwargs or not self._graphs:
            if not args and not kwargs:
                raise TypeError("there was no call yet: give arguments like those of a call")
            return self.lower(*args, **kwargs).compiled
        return next(reversed(self._graphs.values())).compiled

    def to_jax(self) -> Callable[..., Any]:
        """The optimized function as a function of JAX: JAX can transform it, and it runs under XLA.

        It takes the same arguments, and is traced and optimized for each kind of them.
        """

        def optimized(*args: Any, **kwargs: Any) -> Any:
            leaves, graph = self._graph(args, kwargs)
            found = jax_function(graph.compiled)(*leaves)
            packed = [typed_key(x) if k else x for x, k in zip(found, graph.keys, strict=True)]
            return _tree().tree_unflatten(graph.structure, packed)

        return functools.update_wrapper(optimized, self._f)


def _tree() -> Any:
    return library("jax.tree_util", "jax", "from_jax")


def _is_key(x: Any) -> bool:
    return hasattr(x, "dtype") and str(x.dtype).startswith("key<")


def _kind(x: Any) -> Hashable:
    """The part of the cache key for one leaf: its dtype and shape, and whether it is a bare number."""
    if isinstance(x, Variable):
        return x.dtype, x.type.shape
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return str(x.dtype), tuple(x.shape), bool(getattr(x, "weak_type", False))
    return type(x), np.shape(x)


def _example(x: Any) -> Any:
    """The value or ShapeDtypeStruct that JAX traces in place of an argument."""
    if not isinstance(x, Variable):
        return x
    if None in x.type.shape:
        raise TypeError(
            f"from_jax needs shapes that are known, as JAX does, but {describe(x)} has lengths that are not: give the "
            "variable a shape, or trace with static_shapes=True"
        )
    return library("jax", "jax", "from_jax").ShapeDtypeStruct(x.type.shape, x.dtype)


def _traced(f: Callable[..., Any], structure: Any, leaves: list[Any], options: dict[str, Any]) -> JaxGraph:
    jax, tree = library("jax", "jax", "from_jax"), _tree()
    shape: list[Any] = []

    def flat(*given: Any) -> Any:
        args, kwargs = tree.tree_unflatten(structure, given)
        found, made = tree.tree_flatten(f(*args, **kwargs))
        shape[:] = [made]
        return found

    closed = jax.make_jaxpr(flat)(*map(_example, leaves))
    paths = [tree.keystr(path) for path, _ in tree.tree_flatten_with_path(tree.tree_unflatten(structure, leaves))[0]]
    avals = closed.in_avals
    inputs = [Variable(type_of(a), _label(path)) for a, path in zip(avals, paths, strict=True)]
    outputs = read_jaxpr(closed.jaxpr, closed.consts, inputs)
    keys = [is_key(a) for a in closed.out_avals]
    return JaxGraph(getattr(f, "__name__", "f"), inputs, outputs, keys, shape[0], options)


def _label(path: str) -> str:
    """The path of a leaf of (args, kwargs) for users: [0][1]['w'] becomes args[1]['w'], [1]['h'] becomes h."""
    if path.startswith("[0]"):
        return f"args{path[3:]}"
    name, rest = path[4:].split("]", 1)
    return f"{name.strip(chr(39))}{rest}"


def _placed(graph: JaxGraph, leaves: list[Any]) -> list[Variable]:
    """The outputs of the graph with the given arguments in place of its inputs."""
    given = [x if isinstance(x, Variable) else as_variable(np.asarray(x, v.dtype)) for x, v in zip(leaves, graph.inputs, strict=True)]  # fmt: skip  # noqa: E501
    return rebuild(graph.outputs, dict(zip(graph.inputs, given, strict=True)))


def _array(x: Any) -> Any:
    """A leaf as a NumPy array; a typed key as one uint64."""
    if _is_key(x):
        words = np.asarray(library("jax", "jax", "from_jax").random.key_data(x)).astype(np.uint64)
        return words[..., 0] << np.uint64(32) | words[..., 1]
    return x if type(x) in (bool, int, float, complex) else np.asarray(x)


def _key(x: Any) -> Any:
    """A typed key from its uint64."""
    jax = library("jax", "jax", "from_jax")
    words = np.stack([x >> np.uint64(32), x & np.uint64(0xFFFFFFFF)], axis=-1).astype(np.uint32)
    return jax.random.wrap_key_data(jax.numpy.asarray(words))


def from_jax(f: Callable[..., Any], **options: Any) -> FromJax:
    """Optimize and run a function written with JAX: `from_jax(f)(*args)`.

    f: any function for `jax.jit`, from arrays in pytrees to arrays in pytrees; it may use scan, while_loop, cond,
        gradients taken by JAX, and keys of random numbers, whose bits are those of JAX.
    options: those of `scanopt.function` (fp, exclude, cost, ...).

    Called with arrays it returns NumPy arrays with the dtypes and in the pytree that JAX would return; called with
    symbolic arrays of known shapes it is part of their graph, so that scanopt takes gradients through it.  `.to_jax()`
    returns the optimized function as one of JAX; `.explain()`, `.program()`, `.compiled()` show what became of it.
    Raises ImportError where JAX is not installed, NotImplementedError that names the primitive and the line for an
    operation that it does not know.

    >>> import jax.numpy as jnp, jax.lax as lax  # doctest: +SKIP
    >>> f = from_jax(lambda x: lax.scan(lambda c, x: (c + x, c), 0.0, x))  # doctest: +SKIP
    >>> f(jnp.arange(3.0))  # doctest: +SKIP
    (array(3., dtype=float32), array([0., 0., 1.], dtype=float32))
    """
    library("jax", "jax", "from_jax")
    if not callable(f):
        raise TypeError(f"from_jax takes a function written with JAX, found {f!r}")
    return FromJax(f, options)
