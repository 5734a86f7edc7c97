"""Reads a jaxpr into a symbolic graph, with one rule for each primitive of JAX.

Typed keys of random numbers are uint64 scalars here, with the first word in the upper half, so that rules for slices,
loops and the like need not treat them specially.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.registry import FUNCTIONS
from scanopt.array.types import DTYPES, TensorType
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.peers import Refused, folded
from scanopt.bridges.rules import RuleRegistry
from scanopt.libraries import library
from scanopt.records import dataclass

__all__ = ["RULES", "JaxprEquation", "as_constant", "read_jaxpr", "rule", "type_of"]

Rule = Callable[["JaxprEquation"], Any]

RULES: RuleRegistry[Rule] = RuleRegistry(
    "scanopt.bridges.jaxprs",
    "calls",
    "contractions",
    "elementwise",
    "indexing",
    "linear_algebra",
    "random",
    "reductions",
    "shapes",
)
"""For each primitive a function from an equation to its result: a variable, or a list of several."""

rule = RULES.rule


@dataclass(frozen=True)
class JaxprEquation:
    """One equation of a jaxpr, with the variables that it reads.

    eqn: JAX's equation.  types: of its results.
    """

    eqn: Any
    inputs: list[Variable]
    types: list[TensorType]

    @property
    def params(self) -> Any:
        """The parameters of the primitive."""
        return self.eqn.params

    @property
    def name(self) -> str:
        """The name of the primitive."""
        return str(self.eqn.primitive.name)

    @property
    def place(self) -> str:
        """The line of the user's code that it comes from."""
        return _line(self.eqn)

    def refused(self, text: str) -> Refused:
        """The error for an equation that cannot be read."""
        return Refused(f"from_jax does not know {text} ({self.name!r} at {self.place})")


_UNKNOWN = "a line that JAX did not note"


def _line(eqn: Any) -> str:
    """The line of the user's code, as JAX recorded it."""
    try:
        notes = library("jax.extend.source_info_util", "jax", "from_jax")
        return str(notes.summarize(eqn.source_info)) or _UNKNOWN
    except (ImportError, AttributeError):
        return _UNKNOWN


def is_key(aval: Any) -> bool:
    """Whether an aval describes typed keys."""
    return str(aval.dtype).startswith("key<")


def type_of(aval: Any) -> TensorType:
    """The type for an aval.  Raises Refused for dtypes that NumPy lacks, and for unknown lengths."""
    dtype = "uint64" if is_key(aval) else np.dtype(aval.dtype).name
    if dtype == "float0":
        dtype = "bool"
    if dtype not in DTYPES:
        raise Refused(f"from_jax does not know the dtype {dtype}: cast it to one that NumPy has, as float32")
    if not all(isinstance(n, int | np.integer) for n in aval.shape):
        raise Refused(f"from_jax does not know arrays of the symbolic shape {aval.shape}: give numbers")
    return TensorType(dtype, tuple(int(n) for n in aval.shape))


def as_constant(value: Any, aval: Any) -> Constant:
    """A literal or constant of a jaxpr."""
    if is_key(aval):
        words = np.asarray(library("jax", "jax", "from_jax").random.key_data(value)).astype(np.uint64)
        return Constant(words[..., 0] << np.uint64(32) | words[..., 1])
    return Constant(np.asarray(value, dtype=type_of(aval).dtype))


def read_jaxpr(jaxpr: Any, consts: Sequence[Any], inputs: Sequence[Variable]) -> list[Variable]:
    """The results of an open jaxpr as variables, for variables in place of its inputs.

    consts: arrays or variables.  Raises Refused, which names the primitive and the user's line.
    """
    rules = RULES.loaded()
    literal = library("jax.extend.core", "jax", "from_jax").Literal
    env: dict[Any, Variable] = {}

    def read(atom: Any) -> Variable:
        return as_constant(atom.val, atom.aval) if isinstance(atom, literal) else env[atom]

    for v, c in zip(jaxpr.constvars, consts, strict=True):
        env[v] = c if isinstance(c, Variable) else as_constant(c, v.aval)
    env.update(zip(jaxpr.invars, inputs, strict=True))
    for eqn in jaxpr.eqns:
        found = rules.get(eqn.primitive.name)
        if found is None:
            raise Refused(f"from_jax does not know the primitive {eqn.primitive.name!r} (at {_line(eqn)})")
        try:
            types = [type_of(v.aval) for v in eqn.outvars]
            made = _results(found, JaxprEquation(eqn, [read(x) for x in eqn.invars], types))
        except Exception as error:
            _note(error, eqn)
            raise
        env.update(zip(eqn.outvars, made, strict=True))
    return [read(x) for x in jaxpr.outvars]


def _note(error: Exception, eqn: Any) -> None:
    """Add a note with the primitive and line, for the innermost equation and for outer ones with another line."""
    line = _line(eqn)
    told = [note for note in getattr(error, "__notes__", ()) if note.startswith("while reading")]
    if not told or (line != _UNKNOWN and not any(line in note for note in told)):
        error.add_note(f"while reading the primitive {eqn.primitive.name!r} (at {line})")


def _results(found: Rule, eq: JaxprEquation) -> list[Variable]:
    """The results of an equation, with the dtypes and shapes that JAX has for them."""

    def make() -> list[Any]:
        made = found(eq)
        many = made if isinstance(made, list | tuple) else [made]
        return [_fitted(x, t) for x, t in zip(many, eq.types, strict=True)]

    return folded(eq.inputs, make)


def _fitted(x: Variable, expected: TensorType) -> Variable:
    made = FUNCTIONS["cast"](x, expected.dtype)
    if made.ndim != len(expected.shape):
        raise AssertionError(f"internal error: a result is {made.type}, JAX has {expected}")
    if made.type.shape != expected.shape:
        made = FUNCTIONS["reshape"](made, expected.shape)
    return made  # type: ignore[no-any-return]
