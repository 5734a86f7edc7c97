"""Symbolic arrays: variables, constants, shared variables, and the nodes whose results they are.

A graph is Variables; each is a leaf (an input, a `Constant`, a `SharedVariable`) or output number
`index` of the node `owner`.  Every node but a Scan has one output (`Apply`).
Variables follow NumPy's protocols, so `np.tanh(x)`, `x @ W` and `np.where(m, x, y)` build graphs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scanopt import features
from scanopt.array import hints
from scanopt.array.attributes import Attributes
from scanopt.array.methods import add_methods
from scanopt.array.misfits import misfit
from scanopt.array.op import Op, Operand
from scanopt.array.protocol import full_name, missing, numpy_call, ufunc_call
from scanopt.array.registry import function_named, numpy_function_named
from scanopt.array.shown import quoted, shown
from scanopt.array.types import Dim, TensorType, array_of
from scanopt.displayed import Displayed
from scanopt.forks import lock

__all__ = [
    "Apply", "Constant", "Node", "SharedVariable", "Variable", "apply", "describe",
]  # fmt: skip


class Node:
    """A node of a graph, which computes variables from variables: an `Apply` or a Scan."""

    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]


class Variable(Attributes, Displayed):
    """A symbolic array of a known dtype and number of axes.

    type: its dtype, and the lengths of its axes, None for those that are not known.  name: for messages and printed
    graphs.  owner: the application of an operator that it is result number `index` of, None for an input.

    >>> from scanopt import tensor as T
    >>> (T.exp(Variable(T.TensorType("float64", (None,)), "x")) + 1).type
    TensorType(dtype='float64', shape=(None,))
    """

    __hash__ = object.__hash__
    __array_priority__ = 1000
    axes: tuple[str, ...] = ()
    """Names of its axes, for messages; empty if they have no names."""
    shape_read = False
    """Whether a known length of it, or of a variable computed from it, was read: the graph has no trace of that."""

    def __init__(self, type: TensorType, name: str | None = None, owner: Node | None = None, index: int = 0) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"the name of a symbolic array is a string, found {name!r}")
        self.type = type
        self.name = name
        self.owner = owner
        self.index = index

    if TYPE_CHECKING:  # arithmetic and the methods of arrays, set below

        def _binary(self, other: Any) -> Variable: ...

        __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = _binary
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = _binary
        __and__ = __or__ = __xor__ = __rand__ = __ror__ = __rxor__ = _binary
        __lshift__ = __rshift__ = __rlshift__ = __rrshift__ = _binary
        __lt__ = __le__ = __gt__ = __ge__ = __matmul__ = __rmatmul__ = __getitem__ = _binary

        def __divmod__(self, other: Any) -> tuple[Variable, Variable]: ...

        __rdivmod__ = __divmod__

        def __neg__(self) -> Variable: ...

        __abs__ = __invert__ = __pos__ = __neg__
        T: Variable
        shape: tuple[Variable, ...]
        size: Variable

    @property
    def dtype(self) -> str:
        """NumPy's name of the dtype."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.type.ndim

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """For each axis whether its length is known to be 1."""
        return tuple(n == 1 for n in self.type.shape)

    @property
    def operand(self) -> Operand:
        """The variable as dtype and shape rules see it."""
        return Operand(self.dtype, self.type.shape)

    def __repr__(self) -> str:
        return describe(self)

    def eval(self, inputs_to_values: Mapping[Variable, Any] | None = None) -> Any:
        """The value, for given values of the inputs that it depends on; for trying things out.

        The function is compiled once for each set of inputs and kept with the variable.
        Raises TypeError for keys that are not variables, and what the function raises.

        >>> from scanopt import tensor as T
        >>> x, y = T.dscalars("x", "y")
        >>> z = x + 2 * y
        >>> z.eval({x: 1, y: 10})
        array(21.)

        Source: the documents' `variable.eval`.
        """
        given = dict(inputs_to_values or {})
        if others := [x for x in given if not isinstance(x, Variable)]:
            raise TypeError(f"eval takes values by variable, as in z.eval({{x: 1.0}}), found the key {others[0]!r}")
        compiled: dict[frozenset[Variable], tuple[list[Variable], Any]] = self.__dict__.setdefault("_compiled", {})
        key = frozenset(given)
        if key not in compiled:
            compiled[key] = list(given), features.function(list(given), self)
        order, f = compiled[key]
        return f(*(given[x] for x in order))

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        return ufunc_call(numpy_function_named, ufunc, method, args, kwargs, lambda: describe(self))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = full_name(func)
        f = numpy_function_named(name)
        if f is None:
            raise missing(name, describe(self))
        return numpy_call(func, f, args, kwargs, describe(self))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{describe(self)} is symbolic: {hints.VALUES}")

    def __eq__(self, other: object) -> Any:
        return _equality(self, other, "eq")

    def __ne__(self, other: object) -> Any:
        return _equality(self, other, "neq")

    def __bool__(self) -> bool:
        value = _known(self)
        if value is not None:
            return bool(value)
        raise TypeError(f"{describe(self)} is symbolic: {hints.truth(self)}")

    def __len__(self) -> int:
        n = self.type.shape[0] if self.ndim else None
        if n is not None:
            return n
        raise TypeError(f"{describe(self)} is symbolic: {hints.LENGTH}")

    def __contains__(self, value: object) -> bool:
        raise TypeError(f"{describe(self)} is symbolic: {hints.CONTAINS}")

    def __float__(self) -> float:
        raise TypeError(f"{describe(self)} is symbolic: {hints.NUMBER}")

    __int__ = __index__ = __complex__ = __float__

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(f"{describe(self)} is symbolic: {hints.SETTING}")

    __delitem__ = __setitem__

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(f"{describe(self)} is symbolic: {hints.FORMATTED}")
        return str(self)

    def __round__(self, ndigits: int | None = None) -> Variable:
        rounded: Variable = function_named("round")(self, ndigits or 0)
        return rounded

    def __iter__(self) -> Iterator[Variable]:
        n = self.type.shape[0] if self.ndim else None
        if not self.ndim:
            raise TypeError(f"cannot iterate over {describe(self)}: it has no axes")
        return (self[i] for i in range(n)) if n is not None else (_unknown_entry(x) for x in [self])


def _unknown_entry(x: Variable) -> Variable:
    """Raise when an entry is asked for: NumPy would put another error in the place of one raised before."""
    raise TypeError(f"cannot iterate over {describe(x)}: {hints.ENTRIES}")


def _equality(x: Variable, other: Any, name: str) -> Any:
    """x == other or x != other, element by element; NotImplemented if `other` is no array, so that they are unequal."""
    if other is None or isinstance(other, str | bytes | type) or callable(other):
        return NotImplemented
    try:
        return function_named(name)(x, other)
    except TypeError:
        if isinstance(other, Variable | np.ndarray | np.generic | complex | float | list | tuple):
            raise
        return NotImplemented


def _known(x: Variable) -> np.ndarray[Any, Any] | None:
    """The value of a constant, or of an operator on constants, such as a comparison of known lengths; else None."""
    if isinstance(x, Constant):
        return x.data
    if isinstance(x.owner, Apply) and all(isinstance(y, Constant) for y in x.owner.inputs):
        value: np.ndarray[Any, Any] = np.asarray(x.owner.op.bind()(*(y.operand.value for y in x.owner.inputs)))
        return value
    return None


add_methods(Variable)


class Apply(Node):
    """One operator applied to variables: the owner of one variable."""

    def __init__(self, op: Op, inputs: tuple[Variable, ...], type: TensorType) -> None:
        self.op = op
        self.inputs = inputs
        self.outputs = (Variable(type, owner=self),)


class Constant(Variable):
    """A variable with a fixed value, read only."""

    def __init__(self, value: Any, name: str | None = None) -> None:
        data = np.array(value)
        data.setflags(write=False)
        super().__init__(TensorType(data.dtype.name, data.shape), name)
        self.data: np.ndarray[Any, Any] = data

    @property
    def operand(self) -> Operand:
        """The constant as dtype and shape rules see it, with its value."""
        return Operand(self.dtype, self.type.shape, self.data)

    def __index__(self) -> int:
        return self.data.__index__()


class SharedVariable(Variable):
    """A variable with a value that is kept between calls of compiled functions.

    default_update: the new value after each call of a function that reads it, unless the function
    says otherwise.  is_stream: it is the state of a stream of random numbers.  serial: its number in
    the order in which shared variables are made.  lock: held while a function that updates a shared
    variable reads, computes and writes.
    """

    _serials: ClassVar[Iterator[int]] = itertools.count()

    def __init__(self, value: Any, name: str | None = None, shape: tuple[Dim, ...] | None = None) -> None:
        """Make it with a first value.  shape: lengths that all its values must have, None for axes of any length."""
        self._value: np.ndarray[Any, Any] = np.array(value)
        self.serial = next(SharedVariable._serials)
        self.lock = lock()
        self.default_update: Variable | None = None
        self.is_stream = False
        super().__init__(TensorType(self._value.dtype.name, shape or (None,) * self._value.ndim), name)
        self._value = self.checked(self._value)

    @staticmethod
    def latest() -> int:
        """A serial number that is greater than those of all shared variables made so far."""
        return next(SharedVariable._serials)

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle: name, type and value.  `default_update`, whose graph refers to it, functions store."""
        return {**self.__dict__, "default_update": None, "lock": None, "_compiled": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self.serial, self.lock = next(SharedVariable._serials), lock()

    @property
    def value(self) -> np.ndarray[Any, Any]:
        """A copy of the present value; assigning replaces the value (the documents' `a.value`)."""
        return self.get_value()

    @value.setter
    def value(self, new: Any) -> None:
        self.set_value(new)

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> np.ndarray[Any, Any]:
        """The present value: a copy, or the array itself with `borrow=True`; there is but one type of values."""
        return self._value if borrow else self._value.copy()

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Replace the value (kept as it is with `borrow=True`, else copied).

        Waits for a call in another thread that updates the variable.
        Raises TypeError when the dtype or the number of axes differ, ValueError when a length that was promised does.
        """
        new = self.checked(new_value)
        with self.lock:
            self._value = new if borrow else new.copy()

    def zero(self, borrow: bool = False) -> None:
        """Set all entries to 0."""
        self.set_value(np.zeros_like(self._value), borrow=True)

    def clone(self, name: str | None = None) -> SharedVariable:
        """Another shared variable of the same type, with the present value."""
        return SharedVariable(self._value, name or self.name, self.type.shape)

    def _take(self, new: np.ndarray[Any, Any]) -> None:
        """Store a value that was checked, without a copy; the caller holds the lock."""
        self._value = new

    def checked(self, value: Any) -> np.ndarray[Any, Any]:
        """A new value as an array, checked against its type.  Raises as `set_value`."""
        old = self._value
        new = array_of(value)
        if new is not old and new.dtype is old.dtype and new.shape == old.shape:
            return new
        if new.dtype != self._value.dtype and np.can_cast(new.dtype, self._value.dtype, "safe"):
            new = new.astype(self._value.dtype)
        if new.dtype.kind not in "biufc":
            raise TypeError(f"the value of {describe(self)} is not an array of numbers: {value!r}")
        if new.dtype != self._value.dtype or new.ndim != self._value.ndim:
            raise TypeError(
                f"shared variable {shown(self.name or 'without a name')}: expected {self.type}, "
                f"found {TensorType(new.dtype.name, new.shape)}"
            )
        if not self.type.accepts(TensorType(new.dtype.name, new.shape)):
            raise ValueError(
                f"shared variable {shown(self.name or 'without a name')} was promised to be "
                f"{self.type.text(self.axes)}, found {TensorType(new.dtype.name, new.shape)}"
            )
        return new


def apply(op: Op, *inputs: Variable) -> Variable:
    """The variable `op(inputs)`.  Raises the error of the op's shape rule, naming the inputs."""
    try:
        type = op.infer(*(x.operand for x in inputs))
    except (TypeError, ValueError, IndexError) as error:
        names = "; ".join(describe(x) for x in inputs)
        labels = [quoted(x.name) if x.name else "" for x in inputs]
        clash = misfit(op, labels, [x.type.shape for x in inputs], [x.axes for x in inputs])
        where = f": {clash}" if clash and isinstance(error, ValueError) else ""
        raise same_error(error, f"{op}: {error}{where} (arguments: {names})") from None
    return Apply(op, inputs, type).outputs[0]


def same_error(error: Exception, text: str) -> Exception:
    """An error of the same kind with another text."""
    return type(error)(text)


def describe(x: Variable) -> str:
    """A variable in a few words, for error messages: its name or its operator, dtype and shape.

    >>> describe(Variable(TensorType("float32", (None,)), "x"))
    "'x' float32[?]"
    """
    if x.name:
        return f"{quoted(x.name)} {x.type.text(x.axes)}"
    if isinstance(x, Constant):
        text = str(x.data) if x.data.ndim == 0 else "constant"
        return f"{text} {x.type}"
    if isinstance(x.owner, Apply):
        return f"a result of {x.owner.op.name} {x.type}"
    if x.owner is not None:
        return f"an output of {x.owner} {x.type}"
    return f"a variable without a name {x.type}"
