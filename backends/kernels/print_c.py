"""Prints a kernel (`ir.py`) as C text, and in doing so chooses the form of each operation that compilers do best with.

The text includes no header and contains no text of the user's: only names, numbers and operations made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from scanopt.backends.kernels.c_affine import AFFINE
from scanopt.backends.kernels.c_extremes import FIRST_PLACES
from scanopt.backends.kernels.c_operations import HEAD, TYPES, cast_helper, literal, operation, operation_helper
from scanopt.backends.kernels.c_reductions import reduction
from scanopt.backends.kernels.carried_last import carried_last, waiting
from scanopt.backends.kernels.choices_ready import READY, choices_ready, mask_of_numbers
from scanopt.backends.kernels.choices_tried import branching
from scanopt.backends.kernels.decisions import decided_until
from scanopt.backends.kernels.direct_calls import direct_test, directly
from scanopt.backends.kernels.dtype_functions import dtype_text
from scanopt.backends.kernels.ir import (
    NAME,
    ZERO,
    Break,
    Cast,
    Declare,
    Do,
    Expr,
    Fail,
    For,
    Helper,
    If,
    Inner,
    Kernel,
    Let,
    Lit,
    Load,
    Point,
    Set,
    Steps,
    Stmt,
    Store,
    Var,
)  # fmt: skip
from scanopt.backends.kernels.lapack import lapack_text
from scanopt.backends.kernels.late_choices import late_choices
from scanopt.backends.kernels.places_in_range import InRange, chooses, in_range
from scanopt.backends.kernels.random_words import HELPERS
from scanopt.backends.kernels.remainders_counted import remainders_counted
from scanopt.backends.kernels.steps_in_c import (
    bare,
    chosen_for,
    counters,
    fills_vectors,
    hands_on,
    is_apart,
    is_number,
    is_power_of_two,
    is_short,
    is_signed,
    multiplies,
    parameter,
    places,
)  # fmt: skip
from scanopt.backends.kernels.steps_known import wrapped
from scanopt.backends.kernels.steps_unrolled import CLOCK, looped, looped_in_two_ways, one_by_one, trial, waits_in_order
from scanopt.backends.kernels.values import item_size
from scanopt.backends.kernels.vector_text import dot_text
from scanopt.backends.kernels.walks import expressions, inside, loads, variables

__all__ = ["Printer", "bare", "c_text"]


def c_text(kernel: Kernel, loops: Sequence[tuple[str, tuple[str, ...]]] = ()) -> str:
    """The text of a C function NAME(arrays, numbers, inner loops and their data).  loops: ufuncs and dtypes of these.

    The arrays are NumPy's own objects: the pointer to their elements is stored after the head of the object.
    """
    w = Printer(loops)
    lines = [f"    const int64 {name} = N[{i}];" for i, name in enumerate(kernel.numbers)]
    lines += [parameter(i, p) for i, p in enumerate(kernel.params)]
    body = [line for stmt in kernel.body for line in w.statement(stmt, 1)]
    lines += [f"    const int {name} = {test};" for name, test in w.alike.items()]
    lines += [*map(trial, sorted(w.tried)), *body]
    head = f"int64 {NAME}(char **G, const int64 *N, void **F)\n{{\n"
    return (
        f"{HEAD % object.__basicsize__}{''.join(sorted(w.helpers))}\n{head}"
        + "\n".join(lines)
        + f"\n    return {kernel.result};\n}}\n"
    )


class Printer:
    """Prints statements and expressions as C.

    helpers: texts of functions that the text calls.  loops: ufuncs and dtypes of inner loops, by slot.
    in_step: whether the statement being printed is in a step, not in a loop over elements.  named: the variable that it
    defines, if any.  chosen: integers of the step that a later choice may discard, so that it waits for them anyway;
    places: variables that are places.  late: choices that are printed as branches, since their conditions come late;
    waits: variables that depend on the step before.  counters: integers that a step sets to 1 or increments.  ready:
    choices without a branch; branches: whether each branch is to be one for compilers, too.  alike: for each variable,
    the test whether a function may replace a loop, done once.  tried: the loops that try two ways.
    """

    one_by_one = "ONE_BY_ONE"

    def __init__(self, loops: Sequence[tuple[str, tuple[str, ...]]] = ()) -> None:
        self.loops = loops
        self.helpers, self.tried = set[str](), set[str]()
        self.chosen, self.places = set[str](), set[str]()
        self.late, self.waits = set[str](), set[str]()
        self.in_step, self.branches = False, False
        self.named = ""
        self.counters: dict[str, tuple[Expr, bool]] = {}
        self.alike: dict[str, str] = {}
        self.ready: dict[str, str] = {}

    def expression(self, x: Expr) -> str:
        """The text of an expression."""
        match x:
            case Lit():
                return literal(x)
            case Var(name=name):
                return name
            case Load(array=array, index=index, dtype=dtype):
                text = f"{array}[{bare(self.expression(index))}]"
                return f"({text} != 0)" if dtype == "bool" else text
            case Cast(arg=arg, dtype=dtype):
                text = self.expression(arg)
                if helper := cast_helper(arg.dtype, dtype, self.in_step):
                    self.helpers.add(helper)
                    return f"{TYPES[arg.dtype]}_to_{TYPES[dtype]}{'_in_step' if self.in_step else ''}({text})"
                return f"({text} != 0)" if dtype == "bool" else f"(({TYPES[dtype]}){text})"
            case Do(op="add", args=(a, Lit(value=value)), dtype="int64") if value < 0:
                return f"({self.expression(a)} - {-value})"
            case Do(op="remainder", args=(a, Lit(value=value) as b)) if is_power_of_two(value):
                return f"({self.expression(a)} & {literal(Lit(int(value) - 1, b.dtype))})"
            case Do(op="floor_divide", args=(a, Lit(value=value))) if is_power_of_two(value):
                return f"({self.expression(a)} >> {int(value).bit_length() - 1})"
            case Do(op="remainder" | "floor_divide" as op, args=(_, Lit(value=b)), of=of) if b > 0 and is_signed(of):
                kind = "in_step" if self.in_step and op == "remainder" else "of_number"
                return self.expression(replace(x, op=f"{op}_{kind}"))
            case Do(op="remainder", args=(_, b), of=of) if self.one_by_one and is_signed(of) and not isinstance(b, Lit):
                return self.expression(replace(x, op="remainder_near"))  # a quick test for nearby values
            case Do(op="maximum" | "minimum" as op, args=(a, Lit(value=b)), dtype=dtype, of=of) if is_number(b, of):
                return self.expression(Do(f"{op}_of_{'number' if b else 'zero'}", x.args, dtype, of))
            case Do(op="clip", args=(_, Lit(value=b), Lit(value=c)), of=of) if is_number(b, of) and is_number(c, of):
                return self.expression(replace(x, op="clip_to_numbers"))
            case Do(op="maximum" | "minimum" | "clip" as op, args=args, dtype=dtype, of=of) if self._goes_on(x):
                return self.expression(Do(f"{op}_in_step", x.args, dtype, of))
            case Do(op=op, dtype=dtype, of=of) if self._in_rows(op, of):
                return self.expression(Do(f"{op}_of_rows", x.args, dtype, of))
            case Do(op=op, args=args, of=of):
                self.helpers.add(operation_helper(op, of))
                return operation(op, of, [self.expression(a) for a in args])

    def _goes_on(self, x: Do) -> bool:
        """Whether to print an extreme as a branch, so that a step goes on with the likely value and waits for one only.

        Not for places clamped by a length, where clamping is common; clamping by a literal is rare.  Nor for integers
        that do not depend on the step before: they are computed early anyway.
        """
        by_number, floats = any(isinstance(a, Lit) for a in x.args), np.dtype(x.of).kind == "f"
        held = self.named in self.places and not by_number
        waits = any(v in self.waits for a in x.args for v in variables(a))
        if x.op == "clip":
            return self.in_step and waits and not floats and self.named not in self.chosen
        likely = floats or by_number or waits
        return self.in_step and self.named not in self.chosen and not held and likely and x.of != "bool"

    def _in_rows(self, op: str, of: str) -> bool:
        """Whether an operation on floats is in a loop over elements, and has a form for it that compilers vectorize."""
        rows = self.one_by_one and not self.in_step and np.dtype(of).kind == "f"
        return bool(rows and operation_helper(f"{op}_of_rows", of))

    def _reads_first(self, sides: Sequence[Expr]) -> bool:
        """Whether the operands of a choice are loaded before it: gcc 12 vectorizes a load on only one side wrongly."""
        return bool(self.one_by_one) and not self.in_step and any(True for y in sides for _ in loads(y))

    def _without_branch(self, x: Let) -> str:
        """The text of a choice of a step that is to be no branch, or of two conditions that are to be one; "" else."""
        if found := mask_of_numbers(x.value):
            condition, second, bits = found
            return f"{literal(Lit(second))} ^ ({literal(Lit(bits))} & -(int64)({bare(self.expression(condition))}))"
        if not (ready := self.ready.get(x.name, "")) or not isinstance(x.value, Do):
            return ""
        self.helpers.add(READY)
        if x.value.op != "where":  # a choice that is made already is no choice
            return f"({{ bool8 a = {bare(self.expression(x.value))}; {ready}(a) a; }})" if x.dtype == "bool" else ""
        test, a, b = (bare(self.expression(y)) for y in x.value.args)
        return f"({{ {TYPES[x.dtype]} a = {a}, b = {b}; {ready}(a) {ready}(b) {test} ? a : b; }})"

    def statement(self, x: Stmt, depth: int) -> Iterator[str]:
        """The lines of a statement."""
        space = "    " * depth
        match x:
            case Declare(name=name, dtype=dtype, elements=elements, pointer=pointer):
                start = f"[{elements}]" if elements else " = 0"
                yield f"{space}{TYPES[dtype]} {'*' if pointer else ''}{name}{start};"
            case Let(name=name, value=Do(op="where", args=sides), dtype=dtype) if name in self.late:
                test, a, b = (bare(self.expression(y)) for y in sides)
                text = f"({{ {TYPES[dtype]} r = {b}; if ({test}) {{ {self.one_by_one} r = {a}; }} r; }})"
                yield f"{space}const {TYPES[dtype]} {name} = {text};"
            case Let(name=name, value=Do(op="where", args=(test, _, _))) if name in self.counters:
                # gcc turns a choice into a branch, which is often mispredicted
                before, again = self.counters[name]
                goes_on = f"{'~' if again else ''}-(int64)({bare(self.expression(test))})"
                yield f"{space}const int64 {name} = 1 + ({self.expression(before)} & {goes_on});"
            case Let(name=name, dtype=dtype) if self.in_step and (text := self._without_branch(x)):
                yield f"{space}const {TYPES[dtype]} {name} = {text};"
            case Let(name=name, value=Do(op="where", args=(_, *sides)) as value) if self._reads_first(sides):
                read = [y for y in sides if any(True for _ in loads(y))]
                names = {y: Var(f"{name}{letter}", value.dtype) for y, letter in zip(read, "ab", strict=False)}
                yield from (line for y, v in names.items() for line in self.statement(Let(v.name, y, v.dtype), depth))
                condition, *chosen = value.args[0], *(names.get(y, y) for y in sides)
                # integers or 0: for a plain choice gcc 12 would load the integers once more
                if chosen[1] == Lit(0, value.dtype) and np.dtype(value.dtype).kind in "iu":
                    mask = f"-({TYPES[value.dtype]})({bare(self.expression(condition))})"
                    yield f"{space}const {TYPES[value.dtype]} {name} = {self.expression(chosen[0])} & {mask};"
                else:
                    yield from self.statement(replace(x, value=replace(value, args=(condition, *chosen))), depth)
            case Let(name=name, value=value, dtype=dtype):
                self.named = name
                yield f"{space}const {TYPES[dtype]} {name} = {bare(self.expression(value))};"
                self.named = ""
            case Set(name=name, value=value):
                yield f"{space}{name} = {bare(self.expression(value))};"
            case Point(name=name, array=array, index=index):
                place = self.expression(index)
                yield f"{space}{name} = {array if place == '0' else f'{array} + {place}'};"
            case Store(array=array, index=index, value=value):
                yield f"{space}{array}[{bare(self.expression(index))}] = {bare(self.expression(value))};"
            case Inner():
                yield from self._inner(x, space)
            case Helper(name=name, arrays=arrays, numbers=numbers):
                self.helpers.add((HELPERS | FIRST_PLACES | AFFINE)[name])
                args = ", ".join([*arrays, *(bare(self.expression(n)) for n in numbers)])
                yield f"{space}{name}({args});"
            case Fail(status=status):
                yield f"{space}return {status};"
            case Break():
                yield f"{space}break;"
            case For() | Steps() | If():
                yield from self._nested(x, depth)

    def _nested(self, x: For | Steps | If, depth: int) -> Iterator[str]:
        space = "    " * depth
        before = self.in_step
        self.in_step = bool(self.one_by_one) and (before if isinstance(x, If) else isinstance(x, Steps))
        match x:
            case For(var=var, count=count, body=body):
                body, first, last = remainders_counted(x, self.expression, self.one_by_one)
                yield from (f"{space}{line}" for line in first)
                yield f"{space}ANY_ORDER{' AS_VECTORS' if self.one_by_one and fills_vectors(x) else ''}"
                yield f"{space}for (int64 {var} = 0; {var} < {self.expression(count)}; {var}++) {{"
                yield from self._body(body, depth)
                yield from (f"{space}    {line}" for line in last)
            case Steps(var=var, body=body):
                yield f"{space}int64 {var} = 0;"
                self.late |= late_choices(body) if self.one_by_one else set()
                self.chosen |= chosen_for(body, self.late)
                self.places |= places(body)
                if self.one_by_one:
                    self.counters |= counters(body)
                if found := in_range(x) if self.one_by_one else None:
                    yield from self._two_ways(x, found, depth)
                else:
                    yield from self._steps(x, depth)
                self.in_step = before
                return
            case If(test=test, then=then, otherwise=otherwise):
                yield f"{space}if ({bare(self.expression(test))}) {{{f' {self.one_by_one}' * self.branches}"
                yield from self._body(then, depth)
                if otherwise:
                    yield f"{space}}} else {{"
                    yield from self._body(otherwise, depth)
        self.in_step = before
        yield f"{space}}}"

    def _two_ways(self, x: Steps, quick: InRange, depth: int) -> Iterator[str]:
        """The lines of a loop in steps, printed twice: for steps with all places in range, and for the others."""
        space, t, count = "    " * depth, x.var, self.expression(x.count)
        first, end, stop, over = f"first{t}", f"end{t}", f"stop{t}", f"over{t}" if x.until is not None else ""
        self.in_step = False
        yield f"{space}const int64 {first} = {bare(self.expression(quick.first))};"
        yield f"{space}const int64 {end} = {bare(self.expression(quick.end))};"
        self.in_step = True
        if over:
            yield f"{space}bool8 {over} = 0;"
        yield f"{space}while ({t} < {count}{f' && !{over}' if over else ''}) {{"
        yield f"{space}    if ({t} >= {first} && {t} < {end}) {{"
        yield from (line for y in quick.before for line in self.statement(y, depth + 2))
        yield from self._steps(replace(quick.steps, count=Var(end)), depth + 2, chooses(quick.steps.body), over)
        yield from (line for y in quick.after for line in self.statement(y, depth + 2))
        yield f"{space}    }} else {{"
        yield f"{space}        const int64 {stop} = {t} < {first} && {first} < {end} ? {first} : {count};"
        yield from self._steps(replace(x, count=Var(stop)), depth + 2, over=over)
        yield f"{space}    }}"
        yield f"{space}}}"

    def _steps(self, x: Steps, depth: int, apart: bool = False, over: str = "") -> Iterator[str]:
        """The lines of a loop in steps.  apart: not vectorized, since gcc 12 vectorizes conditional loads wrongly.

        over: the variable that says whether the loop ended early.
        """
        space, before = "    " * depth, (self.waits, self.ready)
        if self.one_by_one:
            x = replace(x, body=carried_last(x.body))
        body, first, last = remainders_counted(x, self.expression, self.one_by_one)
        self.waits = waiting(x.body)
        self.ready = choices_ready(x.body, self.waits, self.late) if self.one_by_one else {}
        yield from (f"{space}{line}" for line in first)
        if self.unrolls(x):
            yield f"{space}UNROLLED"
        ends = f"{{ {over} = 1; break; }}" if over else "break;"
        end = [f"{space}    {x.var}++;", *(f"{space}    {line}" for line in last)]
        end += [f"{space}    if ({self.expression(x.until)}) {ends}"] if x.until is not None else []
        step = [f"{space}    {self.one_by_one}"] * apart + [*self._body(body, depth), *end]
        grouped = self.one_by_one and not self.unrolls(x) and waits_in_order(x)
        count, other = self.expression(x.count), branching(body, self.waits, self.late) if grouped else ()
        if other:
            self.helpers.add(CLOCK)
            self.ready, self.branches = {}, True
            self.tried.add(x.var)
            yield from looped_in_two_ways(x, count, step, [*self._body(other, depth), *end], space)
            self.branches = False
        else:
            if self.one_by_one and x.until is not None and not last and (early := decided_until(x, self.late, over)):
                self.branches = True
                step = [f"{space}    {self.one_by_one}"] * apart + [*self._body(early, depth)]
                self.branches = False
            yield from (looped if grouped else one_by_one)(x, count, step, space)
        self.waits, self.ready = before

    def unrolls(self, x: Steps) -> bool:
        """Whether to unroll a loop in steps."""
        return is_short(x.body) and hands_on(x.body)

    def _body(self, body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
        apart = [x for x in body if isinstance(x, Store) and is_apart(x.index)]
        if self.one_by_one and len(apart) > 1 and any(multiplies(v) for x in inside(body) for v in expressions(x)):
            yield "    " * (depth + 1) + self.one_by_one  # gcc 12 contracts products in statements side by side
        checks = {i: found for i in range(len(body) - 1) if self.in_step and (found := wrapped(*body[i : i + 2]))}
        for i, stmt in enumerate(body):
            if i in checks:
                yield from self._likely_place(*checks[i], depth + 1)
            elif i - 1 not in checks:
                yield from self.statement(stmt, depth + 1)

    def _likely_place(self, name: str, place: Expr, length: Expr, depth: int) -> Iterator[str]:
        """The lines of a check of a place; as it is likely to be in range, loads at it need not wait for the test."""
        space, n = "    " * depth, self.expression(length)
        outside = f"(uint64){name} >= (uint64){n}"
        yield f"{space}int64 {name} = {bare(self.expression(place))};"
        yield f"{space}if (__builtin_expect({outside}, 0)) {{"
        yield f"{space}    if ({name} < 0) {name} = {name} + {n};"
        yield f"{space}    if ({outside}) return -1;"
        yield f"{space}}}"

    def _inner(self, x: Inner, space: str) -> Iterator[str]:
        name, dtypes = self.loops[x.slot] if x.slot < len(self.loops) else ("", ("",))
        if text := dtype_text(name, dtypes[0]) or lapack_text(name, dtypes[0]):
            self.helpers.add(text)
            args = ", ".join([f"F[{2 * x.slot}]", *x.arrays, *(bare(self.expression(n)) for n in x.dims)])
            yield f"{space}if ({text.partition('(')[0].split()[-1]}({args}) < 0) return -1;"
            return
        if found := self._reduction(x):
            name, text = found
            self.helpers.add(text)
            yield f"{space}if (!{name}({x.arrays[0]}, {x.arrays[1]}, {bare(self.expression(x.dims[0]))}))"
        if x.direct >= 0:
            yield from self._direct(x, name, dtypes, space)
        called = f"DOT_{dtypes[0]}(F[{2 * x.slot}])" if name == "dot" else f"((inner *)F[{2 * x.slot}])"
        self.helpers |= {dot_text(dtypes[0])} if name == "dot" else set()
        arrays = ", ".join(f"(char *){a}" for a in x.arrays)
        dims, strides = (", ".join(map(self.expression, xs)) for xs in (x.dims, x.strides))
        yield f"{space}{{"
        yield f"{space}    char *a[] = {{{arrays}}};"
        yield f"{space}    const int64 n[] = {{{dims}}}, s[] = {{{strides}}};"
        yield f"{space}    {called}(a, n, s, F[{2 * x.slot + 1}]);"
        yield f"{space}}}"

    def _direct(self, x: Inner, ufunc: str, dtypes: tuple[str, ...], space: str) -> Iterator[str]:
        """The lines of a direct call of a function on numbers side by side."""
        self.helpers.add(direct_test(ufunc, dtypes[0], len(x.arrays) == 3))
        test, lines = directly(x, ufunc, dtypes, int(str(self.expression(x.dims[0]))))
        self.alike[f"alike{x.slot}"] = test
        yield from (f"{space}{line}" for line in lines)

    def _reduction(self, x: Inner) -> tuple[str, str] | None:
        """The name and text of the function that replaces a call, if the call reduces a packed row."""
        if len(x.arrays) != 3 or x.arrays[0] != x.arrays[2] or x.slot >= len(self.loops) or len(x.dims) != 1:
            return None
        op, (dtype, *_) = self.loops[x.slot]
        packed = x.strides == (ZERO, item_size(dtype), ZERO)
        return reduction(op, dtype) if packed else None
