"""What an operator is: an entry of the table (`OpSpec`) and one use of it (`Op`).

An entry says everything the rest of the library needs to know of an operator: the NumPy function
that defines it, the rule for dtype and shape, its batched form, the algebraic traits that laws
read, and its class of cost.  To add an operator, add one entry.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scanopt import features
from scanopt.array.parameters import Parameter, check_parameters
from scanopt.array.shown import quoted, shown
from scanopt.array.types import Dim, TensorType
from scanopt.extensions import load_extensions
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.array.variable import Variable

__all__ = ["TABLE", "Op", "OpSpec", "Operand", "Traits", "load", "register", "step_of"]

Gradient = Callable[["Op", "Sequence[Variable]", "Variable", "Variable"], "Sequence[Variable | None]"]
Param = Any  # None, bool, int, float, str or a tuple of these: everything JSON can write


@dataclass(frozen=True)
class Operand:
    """One argument as dtype and shape rules see it: its dtype, its shape and perhaps its value.

    `value` is the argument itself where it is known (a constant, or at run time), else None.
    """

    dtype: str
    shape: tuple[Dim, ...]
    value: np.ndarray[Any, Any] | None = None

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements.  Raises ValueError where a length is not known.

        >>> Operand("float32", (3, 4)).size, Operand("float32", (3, 4)).nbytes
        (12, 48)
        """
        if None in self.shape:
            raise ValueError(f"the lengths of {self.type} are not all known")
        return math.prod(n or 0 for n in self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements.  Raises ValueError where a length is not known."""
        return self.size * np.dtype(self.dtype).itemsize

    @property
    def type(self) -> TensorType:
        """Its dtype and shape as a type."""
        return TensorType(self.dtype, self.shape)

    def within(self, shape: tuple[Dim, ...]) -> Operand:
        """This operand with its unknown lengths replaced by those of `shape`."""
        return replace(self, shape=tuple(b if a is None else a for a, b in zip(self.shape, shape, strict=True)))


@dataclass(frozen=True)
class Traits:
    """Algebraic facts of an operator that laws read.  Absent means unknown, and then no law fires.

    identity / left_identity: dtype or kind of dtype ("b", "i", "u", "f", "c") -> element e with
    op(x, e) = x / op(e, x) = x, bit for bit.  fast_identity: the same where only the sign of a
    zero may differ.  annihilator: element z with op(x, z) = z for every x, NaN included;
    fast_annihilator: the same but for NaN and infinities.  self_inverse: the element that op(x, x) is
    for every x (fast_self_inverse likewise).  inverse: name of g with g(op(x, y), y) = x, bit for bit
    (integers only).

    commutative, idempotent and involution hold bit for bit (the sign and payload of a NaN aside)
    where both sides have the same dtype, except for the kinds of dtype named in `but` (idempotent
    holds even for those of them in `equal_to_itself`); associative holds bit for bit for booleans and
    integers, up to rounding for the others.  Ask `holds`, and `element` for the elements.
    """

    commutative: bool = False
    associative: bool = False
    idempotent: bool = False  # op(op(x)) = op(x) for one argument, op(x, x) = x for two
    involution: bool = False  # op(op(x)) = x
    identity: dict[str, complex] = field(default_factory=dict[str, complex])
    left_identity: dict[str, complex] = field(default_factory=dict[str, complex])
    fast_identity: dict[str, complex] = field(default_factory=dict[str, complex])
    annihilator: dict[str, complex] = field(default_factory=dict[str, complex])
    fast_annihilator: dict[str, complex] = field(default_factory=dict[str, complex])
    self_inverse: dict[str, complex] = field(default_factory=dict[str, complex])
    fast_self_inverse: dict[str, complex] = field(default_factory=dict[str, complex])
    inverse: str | None = None  # op(x, y) undone by inverse(., y), integers only: exact mod 2^k
    but: str = ""  # kinds of dtype for which commutative, idempotent, involution do not hold
    equal_to_itself: str = ""  # kinds of dtype for which idempotent holds all the same

    def holds(self, trait: str, dtype: str) -> bool:
        """Whether `trait` (commutative, idempotent, involution) holds bit for bit for a dtype.

        >>> Traits(commutative=True, but="c").holds("commutative", "complex64")
        False
        """
        but = set(self.but) - set(self.equal_to_itself if trait == "idempotent" else "")
        return bool(getattr(self, trait)) and np.dtype(dtype).kind not in but

    def element(self, trait: str, dtype: str) -> complex | None:
        """The element of a trait (identity, annihilator ...) for a dtype, where there is one."""
        elements: dict[str, complex] = getattr(self, trait)
        if not elements or dtype in elements:
            return elements.get(dtype)
        return elements.get(np.dtype(dtype).kind)


@dataclass(frozen=True)
class OpSpec:
    """One entry of the operator table.

    traits: the facts that laws know.  doc: the description that a user reads.
    params: by name, the values that each parameter may have (see `scanopt.array.parameters`); programs with other
        values are neither written to files nor read from them.
    numpy: called with the array module and the parameters of the op, returns the function that
        computes it.  With `out=True` that function takes a result array (or None) as one more
        positional argument: C-contiguous, of exactly the result's dtype and shape.
    infer: parameters and operands -> the type of the result; raises ValueError or TypeError with a
        readable message when the operands do not fit.  It must work with unknown axes.  Where
        `refuse` would raise, it still returns a type, in which a length without meaning is 0 or unknown.
    refuse: called like infer; raises the errors that the op is known to raise when it runs: an index
        out of range, a negative length.  In a step that never runs these are no errors.
    known: called like infer; returns what is known of the result, in place of the type and of running the op on
        arguments whose values are known.
    accepts_longer: if `refuse` accepts some operands, it also accepts them with a longer first argument.
    batch: the batched form.  Called with the op, a flag per argument (does it have a new first
        axis?) and symbolic arguments; returns one symbolic array whose entry t along the first
        axis is the op of the arguments' entries t (those without the flag stay as they are), or
        None where there is no batched form for these flags (entries of unequal shapes).
    batch_exact: the batched form is equal bit for bit (else: up to rounding).
    inexact: names of dtypes of the result for which it is equal up to rounding all the same.
    view: the result may share memory with the first argument.
    can_raise: raises depending on values or run-time lengths (an index out of range, a singular
        matrix); shapes that do not fit do not count.
    data_shape: the shape of the result depends on values of the arguments.
    for_gradients: only gradients see it; in programs it is replaced by its first argument.
    effect: it has a side effect, so it must run neither earlier nor less often than it is written.
    cost: class of cost, a key of the cost model.
    by_layout: the number of first arguments whose memory layout affects rounding (it decides in which order NumPy
        adds, and which code computes exp).  Where results must be equal bit for bit, these arguments are copied to
        C order first (see `in_c_order`).
    layout_kinds: kinds of dtype for which `by_layout` applies, if one of these arguments has such a dtype.
    ufunc: name of the NumPy ufunc that this entry is, if it is one.
    gradient: called with the op, its symbolic arguments, its result and the gradient g of a scalar
        with respect to the result (of its type); returns for each argument the gradient with respect
        to it (of its shape; the dtype follows), or None where the result does not depend on it
        smoothly.  Arguments and results that are neither float nor complex have none anyway.  For
        complex numbers g is dL/dRe + i dL/dIm, as in Theano.

    batch_exact, inexact, by_layout, out, view, can_raise, data_shape and accepts_longer may depend on the parameters:
    a function of the op in place of the value.  Read them through the properties of `Op`.
    """

    name: str
    numpy: Callable[..., Callable[..., Any]]
    infer: Callable[..., TensorType]
    batch: Callable[[Op, Sequence[bool], Sequence[Variable]], Variable | None] | None = None
    batch_exact: bool | Callable[[Op], bool] = False
    inexact: Sequence[str] | Callable[[Op], Sequence[str]] = ()
    traits: Traits = field(default_factory=Traits)
    cost: str | Callable[[Op], str] = "arith"
    out: bool | Callable[[Op], bool] = False
    view: bool | Callable[[Op], bool] = False
    can_raise: bool | Callable[[Op], bool] = False
    data_shape: bool | Callable[[Op], bool] = False
    effect: bool = False
    for_gradients: bool = False
    by_layout: int | Callable[[Op], int] = 0
    layout_kinds: str = "biufc"
    ufunc: str | None = None
    gradient: Gradient | None = None
    refuse: Callable[..., None] | None = None
    known: Callable[..., Operand] | None = None
    accepts_longer: bool | Callable[[Op], bool] = False
    doc: str = ""
    params: Mapping[str, Parameter] = field(default_factory=dict[str, Parameter])


_MAY_IDLE: ContextVar[bool] = ContextVar("may_idle", default=False)


@contextmanager
def step_of(n_steps: Operand) -> Iterator[None]:
    """A context in which operators are made for the step of a loop of `n_steps` steps.

    If `n_steps` is 0 or unknown, they may never run, so errors found by `refuse` are raised only when they do run.
    """
    before = _MAY_IDLE.get()
    _MAY_IDLE.set(before or n_steps.value is None or bool(n_steps.value == 0))
    try:
        yield
    finally:
        _MAY_IDLE.set(before)  # a generator may end in another context, where this one's token would not be valid


TABLE: dict[str, OpSpec] = {}
"""The operator table, by name.  `load` fills it."""


def load() -> dict[str, OpSpec]:
    """The operator table with all its entries, whose modules are imported on first use.

    >>> load()["tanh"].cost
    'transcendental'
    """
    _ = features.FUNCTIONS  # whose modules enter their operators
    return TABLE


def register(spec: OpSpec) -> OpSpec:
    """Add an entry to the table.  Raises ValueError when the name is taken.

    >>> register(load()["tanh"])
    Traceback (most recent call last):
    ValueError: the operator table already has an entry named 'tanh'
    """
    if spec.name in TABLE:
        raise ValueError(f"the operator table already has an entry named {spec.name!r}")
    TABLE[spec.name] = spec
    return spec


LONGEST_NAME = 60
"""A longer name is not that of an operator, and is not shown in full."""


def _entry(name: str) -> OpSpec:
    """The entry of this name; extensions are loaded if the table has none.  Raises ValueError where there is none."""
    for fill in (load, load_extensions):
        fill()
        if name in TABLE:
            return TABLE[name]
    near = get_close_matches(name[:LONGEST_NAME], TABLE, 3)
    found = quoted(name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}...")
    raise ValueError(f"no operator named {found} in the table{'; near: ' + ', '.join(near) if near else ''}")


def _tuples(x: Any) -> Any:
    return tuple(_tuples(y) for y in x) if isinstance(x, list) else x


class Op(NamedTuple):  # operators are looked up often, which takes longer with a data class
    """One use of a table entry.

    name: of the entry.  params: its parameters, pairs of a name and a value; `make` takes them by keyword.

    >>> Op.make("sum", axis=(0,), keepdims=False).key
    'sum{"axis":[0],"keepdims":false}'
    """

    name: str
    params: tuple[tuple[str, Param], ...] = ()

    @staticmethod
    def make(name: str, **params: Param) -> Op:
        """An op by name and parameters."""
        return Op(name, tuple(sorted(params.items())))

    @property
    def spec(self) -> OpSpec:
        """The table entry."""
        found = TABLE.get(self.name)
        return _entry(self.name) if found is None else found

    @property
    def options(self) -> dict[str, Param]:
        """The parameters as a dict."""
        return dict(self.params)

    @property
    def key(self) -> str:
        """The op as canonical text; `Op.parse` reads it back."""
        if not self.params:
            return self.name
        return self.name + json.dumps(self.options, separators=(",", ":"), sort_keys=True, default=repr)

    @staticmethod
    def parse(key: str) -> Op:
        """The op written as `key`.  Raises ValueError for a name that is not in the table."""
        name, brace, rest = key.partition("{")
        _entry(name)
        params = json.loads(brace + rest) if brace else {}
        return Op.make(name, **{k: _tuples(v) for k, v in params.items()})

    @staticmethod
    def read(key: str) -> Op:
        """The op written as `key`, a text that need not be trusted.

        Raises ValueError for a name that is not in the table, for parameters that its entry does not declare,
        and for a text that `Op.key` would not have written.
        """
        try:
            op = Op.parse(key)
            op.check()
            again = op.key
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(shown(str(error))) from None
        if again != key:
            raise ValueError(f"{quoted(key)} is not how the operator {quoted(again)} is written")
        return op

    def check(self) -> None:
        """Raise ValueError, saying what is wrong, unless its parameters are as its entry declares them."""
        check_parameters(self.name, self.spec.params, self.options)

    def _flag(self, flag: bool | Callable[[Op], bool]) -> bool:
        return flag if isinstance(flag, bool) else flag(self)

    @property
    def can_raise(self) -> bool:
        """Whether it raises depending on values or run-time lengths."""
        return self._flag(self.spec.can_raise)

    @property
    def accepts_longer(self) -> bool:
        """Whether it accepts a longer first argument wherever it accepts one."""
        return self._flag(self.spec.accepts_longer)

    @property
    def view(self) -> bool:
        """Whether the result may share memory with the first argument."""
        return self._flag(self.spec.view)

    @property
    def cost(self) -> str:
        """Its class of cost."""
        found = self.spec.cost
        return found if isinstance(found, str) else found(self)

    @property
    def data_shape(self) -> bool:
        """Whether the shape of the result depends on values of the arguments."""
        return self._flag(self.spec.data_shape)

    def batch_exact(self, dtype: str) -> bool:
        """Whether the batched form is equal bit for bit where the result is of this dtype.

        >>> Op.make("power").batch_exact("float64"), Op.make("power").batch_exact("int64")
        (False, True)
        """
        inexact = self.spec.inexact
        return self._flag(self.spec.batch_exact) and dtype not in (inexact(self) if callable(inexact) else inexact)

    def by_layout(self, kinds: Collection[str]) -> int:
        """The number of first arguments whose memory layout affects rounding.  kinds: of the arguments' dtypes.

        >>> Op.make("absolute").by_layout("f"), Op.make("absolute").by_layout("c")
        (0, 1)
        """
        count = self.spec.by_layout
        if not count or not any(k in self.spec.layout_kinds for k in kinds):
            return 0
        return count(self) if callable(count) else count

    @property
    def takes_out(self) -> bool:
        """Whether the NumPy function takes a result array as one more argument."""
        return self._flag(self.spec.out)

    def infer(self, *operands: Operand) -> TensorType:
        """The type of the result for these operands.  Raises where the op is sure to raise, unless it may never run."""
        if self.spec.refuse is not None and not _MAY_IDLE.get():
            self.spec.refuse(*operands, **self.options)
        return self.idle(*operands)

    def idle(self, *operands: Operand) -> TensorType:
        """The type of the result of an op that does not run, so that only shapes must fit."""
        found = self.spec.infer(*operands, **self.options)
        if not isinstance(found, TensorType):
            raise TypeError(f"the infer of {self.name!r} must return a TensorType, found {found!r}")
        return found

    def bind(self, xp: Any = np) -> Callable[..., Any]:
        """The function that computes this op with the array module `xp`."""
        return self.spec.numpy(xp, **self.options)

    def __str__(self) -> str:
        inner = ", ".join(f"{k}={v}" for k, v in self.params)
        return f"{self.name}{{{inner}}}" if inner else self.name
