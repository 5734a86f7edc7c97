"""The fast path of a call: a built-in function, written in C, that checks the arguments and calls the kernel.

It knows plans: for arguments of certain shapes, the kernel and all its arguments.  If no plan fits, or the kernel
cannot go on, it returns None, and the slower path through Python runs, which converts arguments, reports errors and
makes plans.  It also replaces the method `__call__` of a class whose objects have plans, so that a call does not go
through Python at all, which would take longer than the rest of it; in that role it calls the slower path itself.

The C text declares the functions of CPython that it calls and the head of NumPy's arrays, which is part of NumPy's
public interface; `_fits` compares the declared head with an actual array.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from scanopt.backends.kernels import result_memory
from scanopt.backends.kernels.build import Build
from scanopt.backends.kernels.ir import NAME
from scanopt.backends.kernels.numpy_table import entry_of
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.backends.kernels.plans import Plan

__all__ = ["Entry", "can_enter"]

Array = np.ndarray[Any, Any]
MOST_PLANS, MOST_ARRAYS, MOST_AXES, SMALL = 8, 128, 64, 1 << 16
"""The most plans that are known at a time; arrays of one kernel; axes of an array; bytes of scratch memory that may
lie on the stack."""
SPARE = 1 << 26
"""The most bytes of scratch memory that are kept for the next call: allocating them would take noticeable time."""
EXACT = 1 << 53
"""Integers up to this size are exact as floats."""
LONG = 20_000.0
"""Elements times operators of a call beyond which it releases Python's lock, so that other threads can run."""
_FASTCALL, _KEYWORDS = 0x80, 0x02

TEXT = f"""\
typedef long long int64;
typedef struct {{ int64 references; void *type; }} Object;
typedef struct {{
    Object head; char *data; int nd; const int64 *dimensions, *strides; void *base, *descr; int flags;
}} Array;
extern Object *PyList_GetItem(Object *, int64), *PyTuple_GetItem(Object *, int64), *PyList_New(int64);
extern int64 PyList_Size(Object *), PyLong_AsLongLong(Object *);
extern int PyList_SetItem(Object *, int64, Object *);
extern double PyFloat_AsDouble(Object *);
extern char *PyBytes_AsString(Object *);
extern void Py_IncRef(Object *), Py_DecRef(Object *), PyErr_Clear(void), *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *), *malloc(unsigned long), free(void *);
extern Object *PyErr_Occurred(void), _Py_NoneStruct;
extern Object *PyObject_GetAttr(Object *, Object *), *PyObject_Vectorcall(Object *, Object *const *, int64, Object *);
extern int64 PyTuple_Size(Object *);
extern char PyFloat_Type, PyLong_Type, PyList_Type;
{result_memory.TEXT}
typedef int64 kernel(char **, const int64 *, void **);
typedef Object *maker(void *, void *, int, const int64 *, const int64 *, void *, int, Object *);
typedef struct {{
    int64 nd, descr, bytes, real, whole, counted, value, ranged, low, high; const int64 *shape; void *number, *complex;
}} Argument;
typedef struct {{ int64 kind, place; }} Given;
typedef struct {{ int64 nd; Object *descr; int64 row; const int64 *shape; }} Result;
typedef struct {{
    kernel *function; void **loops; const int64 *numbers; const Argument *arguments; const Given *given;
    int64 count, arrays, outs, scratch, single, long_one; maker *make; void *array; const Result *results;
    setter *set; Object *usual; int64 pages;
}} Plan;

static int fits(const Plan *p, Object *const *args, int64 count, Array *cells, double *values)
{{
    if (count != p->count) return 0;
    for (int64 i = 0; i < count; i++) {{
        const Argument *want = p->arguments + i;
        const Array *x = (const Array *)args[i];
        if (x->head.type == p->array) {{
            if (x->descr != (void *)want->descr || x->nd != want->nd || (x->flags & 0x101) != 0x101) return 0;
            for (int64 k = 0; k < want->nd; k++)
                if (x->dimensions[k] != want->shape[k]) return 0;
            cells[i].data = x->data;
        }} else if (x->head.type == want->number || x->head.type == want->complex) {{
            cells[i].data = (char *)&x->data;
        }} else if (want->real && x->head.type == (void *)&PyFloat_Type) {{
            values[i] = PyFloat_AsDouble(args[i]);
            cells[i].data = (char *)(values + i);
        }} else if ((want->whole || want->real) && x->head.type == (void *)&PyLong_Type) {{
            int64 value = PyLong_AsLongLong(args[i]);
            if (value == -1 && PyErr_Occurred()) {{ PyErr_Clear(); return 0; }}
            if (want->whole) *(int64 *)(values + i) = value;
            else if (-{EXACT} <= value && value <= {EXACT}) values[i] = value;
            else return 0;
            cells[i].data = (char *)(values + i);
        }} else return 0;
        if (want->ranged) {{
            int64 value = want->bytes == 8 ? *(const int64 *)cells[i].data : *(const int *)cells[i].data;
            if (value < want->low || value > want->high) return 0;
        }}
        if (want->counted && __builtin_memcmp(cells[i].data, &want->value, want->bytes)) return 0;
    }}
    return 1;
}}

/* One piece of memory is kept between calls; only a thread that holds Python's lock gives it or takes it. */
static char *spare;
static int64 spare_size;

static char *taken_memory(int64 *size)
{{
    char *found = spare;
    if (!found || spare_size < *size) return malloc(*size);
    *size = spare_size;
    spare = 0;
    return found;
}}

static void give_back(char *memory, int64 size)
{{
    if (size > {SPARE} || (spare && spare_size >= size)) {{ free(memory); return; }}
    free(spare);
    spare = memory;
    spare_size = size;
}}

static int64 called(const Plan *p, Array *cells, Object **outs)
{{
    char near[{SMALL + 64}], *G[{MOST_ARRAYS}], *memory = near;
    int64 size = p->scratch + 64;
    Array scratch;
    if (p->scratch > {SMALL} && !(memory = taken_memory(&size))) return -1;
    scratch.data = (char *)(((unsigned long)memory + 63) & ~63ul);
    for (int64 i = 0; i < p->arrays; i++) {{
        const Given g = p->given[i];
        G[i] = g.kind == 0 ? (char *)(cells + g.place) : g.kind == 1 ? (char *)outs[g.place]
             : g.kind == 2 ? (char *)&scratch : (char *)g.place;
    }}
    void *state = p->long_one ? PyEval_SaveThread() : 0;
    int64 status = p->function(G, p->numbers, p->loops);
    if (state) PyEval_RestoreThread(state);
    if (memory != near) give_back(memory, size);
    return PyErr_Occurred() ? -1 : status; /* SciPy's functions raise where scipy.special.errstate says so */
}}

/* A new array for a result; rows: how many it has in place of all, if not negative. */
static Object *made(const Plan *p, const Result *r, int64 rows)
{{
    int64 shape[{MOST_AXES}];
    for (int64 i = 0; i < r->nd; i++) shape[i] = i || rows < 0 ? r->shape[i] : rows;
    Py_IncRef(r->descr);
    return p->make(p->array, r->descr, (int)r->nd, shape, 0, 0, 0, 0);
}}

/* The first rows of an array, in an array of their own. */
static Object *first_rows(const Plan *p, const Result *r, Object *array, int64 rows)
{{
    Object *found = made(p, r, rows);
    if (found) __builtin_memcpy(((Array *)found)->data, ((Array *)array)->data, rows * r->row);
    return found;
}}

static Object *run(const Plan *p, Array *cells)
{{
    Object *outs[{MOST_ARRAYS}], *found = 0;
    int64 count = 0;
    Object *before = p->set ? begin_lines(p->set, p->usual, p->pages) : 0;
    for (; count < p->outs; count++)
        if (!(outs[count] = made(p, p->results + count, -1))) break;
    if (before) end_lines(p->set, before);
    int64 taken = count == p->outs ? called(p, cells, outs) : -1;
    for (int64 i = 0; i < count && taken >= 0; i++)
        if (p->results[i].row) {{
            Object *cut = first_rows(p, p->results + i, outs[i], taken);
            Py_DecRef(outs[i]);
            if ((outs[i] = cut)) continue;
            outs[i] = outs[--count];
            taken = -1;
        }}
    if (taken >= 0) {{
        if (p->single) return outs[0];
        if ((found = PyList_New(count))) {{
            for (int64 i = 0; i < count; i++) PyList_SetItem(found, i, outs[i]);
            return found;
        }}
    }}
    while (count--) Py_DecRef(outs[count]);
    return 0;
}}

/* What one of the plans gives, or 0. */
static Object *quick(Object *plans, Object *const *args, int64 count)
{{
    for (int64 i = 0; count <= {MOST_ARRAYS} && i < PyList_Size(plans); i++) {{
        Array cells[{MOST_ARRAYS}];
        double values[{MOST_ARRAYS}];
        Object *known = PyList_GetItem(plans, i);
        const Plan *p = (const Plan *)PyBytes_AsString(PyTuple_GetItem(known, 0));
        if (!fits(p, args, count, cells, values)) continue;
        Py_IncRef(known);
        Object *found = run(p, cells);
        Py_DecRef(known);
        if (found) return found;
        PyErr_Clear();
        break;
    }}
    return 0;
}}

/* The name of the attribute that has the plans of an object, and the method in Python. */
static Object *attribute, *method;

/* self: plans, or an object that has some; with a count of -1 it is told `attribute` and `method`. */
Object *{NAME}(Object *self, Object *const *args, int64 count, Object *names)
{{
    if (count < 0) {{ attribute = args[0]; method = args[1]; return 0; }}
    if (self->type == (void *)&PyList_Type) {{
        Object *found = quick(self, args, count);
        if (!found) Py_IncRef(found = &_Py_NoneStruct);
        return found;
    }}
    if (!names) {{
        Object *plans = PyObject_GetAttr(self, attribute), *found = 0;
        if (!plans) return 0;
        if (plans->type == (void *)&PyList_Type) found = quick(plans, args, count);
        Py_DecRef(plans);
        if (found) return found;
    }}
    int64 all = count + (names ? PyTuple_Size(names) : 0);
    Object *given[all + 1];
    given[0] = self;
    for (int64 i = 0; i < all; i++) given[i + 1] = args[i];
    return PyObject_Vectorcall(method, given, count + 1, names);
}}
"""


class _Method(ctypes.Structure):
    """PyMethodDef of CPython."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("text", ctypes.c_char_p),
    )  # fmt: skip


@cache
def can_enter() -> bool:
    """Whether Python and NumPy have the memory layout that the C text assumes."""
    linux = sys.platform == "linux" and sys.implementation.name == "cpython" and object.__basicsize__ == 16
    return linux and not hasattr(sys, "_is_gil_enabled") and _fits() and _maker() != 0


def _fits() -> bool:
    x = np.zeros((3, 5))
    word = ctypes.c_int64.from_address

    def at(place: int) -> int:
        return word(id(x) + place).value

    shape, strides = (tuple(word(at(place) + 8 * i).value for i in range(2)) for place in (32, 40))
    nd, flags = (ctypes.c_int32.from_address(id(x) + place).value for place in (24, 64))
    alike = (at(8), at(16), nd, shape, strides, at(56), flags & 0x101)
    return alike == (id(np.ndarray), x.ctypes.data, 2, x.shape, x.strides, id(np.dtype("float64")), 0x101)


@cache
def _number_is_behind_head(dtype: str) -> bool:
    """Whether NumPy's scalars of this dtype store their value where arrays store the pointer to their elements.

    dtype: "complex" for Python's own type.
    """
    x = 1 + 2j if dtype == "complex" else np.dtype(dtype).type(1)
    value = np.asarray(x)
    there = ctypes.string_at(id(x) + object.__basicsize__, value.itemsize)
    return value.dtype.kind in "biufc" and there == value.tobytes()


def _maker() -> int:
    """The address of PyArray_NewFromDescr, or 0."""
    return entry_of(94)


@cache
def _build() -> Build:
    return Build(TEXT)


_CALL = b"__call__($self, /, *args, **kwargs)\n--\n\nThe outputs for values of the inputs, by position or by name."
_taken_over: list[Any] = []
"""Objects that the C function points to: they must never be freed."""


@cache
def _take_over(owner: type) -> None:
    """Replace the method `__call__` of a class by the C function."""
    name, slow = sys.intern("_plans"), owner.__call__
    made = ctypes.cast(_build().function, ctypes.c_void_p).value
    told = (ctypes.c_void_p * 2)(id(name), id(slow))
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, ctypes.c_int64, ctypes.c_void_p)(made or 0)(None, told, -1, None)
    method = _Method(b"__call__", made, _FASTCALL | _KEYWORDS, _CALL)
    new = ctypes.pythonapi.PyDescr_NewMethod
    new.restype, new.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]
    _taken_over.extend((name, slow, method))
    type.__setattr__(owner, "__call__", new(owner, ctypes.addressof(method)))


@dataclass
class Entry:
    """A C function that runs the plans it knows.

    dtypes: of the inputs.  single: return the only result itself, not in a list.  limits: for some arguments that are
    numbers, the range of values in which a plan made for given values is still a good choice.  owner: the class whose
    `__call__` the C function replaces; its objects have these plans as `_plans`.
    """

    dtypes: tuple[str, ...]
    single: bool
    plans: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    known: list[Plan] = field(default_factory=list)
    function: Any = None
    limits: Callable[[Sequence[Array]], Mapping[int, tuple[int, int]]] = field(default=lambda values: {})
    owner: type | None = None

    def add(self, plan: Plan, function: Any, values: Sequence[Array], outer: Sequence[tuple[int, Any]]) -> None:
        """Add a plan that worked for these values.  outer: its arguments, each the index of a value, or a constant."""
        made = _build().poll()
        if any(p is plan for p in self.known) or not made or len(plan.given) > MOST_ARRAYS:
            return
        if self.function is None:
            self._make(made)
        self.plans.append(self._packed(plan, function, values, outer))
        self.known.append(plan)
        if len(self.plans) > MOST_PLANS:
            del self.plans[0], self.known[0]

    def drop(self, plan: Plan) -> None:
        """Forget a plan that does no longer work."""
        for i in [i for i, p in enumerate(self.known) if p is plan]:
            del self.plans[i], self.known[i]

    def _make(self, made: Any) -> None:
        address = ctypes.cast(made, ctypes.c_void_p).value
        self._method = _Method(b"call", address, _FASTCALL, None)
        new = ctypes.pythonapi.PyCFunction_NewEx
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        self.function = new(ctypes.addressof(self._method), self.plans, None)
        if self.owner is not None:
            _take_over(self.owner)

    def _packed(self, plan: Plan, function: Any, values: Sequence[Array], outer: Sequence[tuple[int, Any]]) -> Any:
        """Pack a plan as the C text declares it; return it with all objects that it points to."""
        counted = {
            i for (i, c), name in zip(outer, plan.body.outer, strict=True) if name in plan.body.counts and c is None
        }
        limits = self.limits(values)
        ranged = {i for i in limits if np.dtype(self.dtypes[i]).name in ("int32", "int64")}
        counted |= {*limits} - ranged
        keep: list[Any] = [plan, function]
        arguments: list[int] = []
        for i, (x, dtype) in enumerate(zip(values, map(np.dtype, self.dtypes), strict=True)):
            shape = (ctypes.c_int64 * max(x.ndim, 1))(*x.shape)
            keep.append(shape)
            value = int.from_bytes(x.tobytes(), "little") if i in counted else 0
            value -= (value >> 63) << 64
            real, whole = (not x.ndim and dtype.name == name for name in ("float64", "int64"))
            arguments += [x.ndim, id(dtype), dtype.itemsize, real, whole, i in counted, value, i in ranged]
            number = id(dtype.type) if not x.ndim and _number_is_behind_head(dtype.name) else 0
            plain = id(complex) if number and dtype.name == "complex128" and _number_is_behind_head("complex") else 0
            arguments += [*limits.get(i, (0, 0)), ctypes.addressof(shape), number, plain]
        given: list[int] = []
        for kind, place in plan.given:
            i, constant = outer[place] if kind == 0 else (place, None)
            given += [3, id(constant)] if constant is not None else [kind, i]
        results: list[int] = []
        large = any(math.prod(n) * dtype.itemsize >= result_memory.LARGE for n, dtype in plan.results())
        for (lengths, dtype), row in zip(plan.results(), plan.row_bytes(), strict=True):
            shape = (ctypes.c_int64 * max(len(lengths), 1))(*lengths)
            keep += [shape, dtype]
            results += [len(lengths), id(dtype), row, ctypes.addressof(shape)]
        parts = [(ctypes.c_int64 * max(len(x), 1))(*x) for x in (plan.packed_numbers(), arguments, given, results)]
        keep += [*parts, *(c for _, c in outer)]
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        head = [address, ctypes.addressof(plan.variant.loops), *map(ctypes.addressof, parts[:3]), len(values),
                len(plan.given), len(plan.rows), plan.size, self.single, plan.work > LONG,
                _maker(), id(np.ndarray), ctypes.addressof(parts[3]),
                *result_memory.handlers(large), result_memory.large_pages()]  # fmt: skip
        return bytes((ctypes.c_int64 * len(head))(*head)), tuple(keep)
