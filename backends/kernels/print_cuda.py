"""Prints a kernel (`ir.py`) as CUDA text: what all ways of running it share, and statements that threads share.

`print_lanes`, `print_rows` and `print_grid` complete it.  Barriers are placed by `barriers.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from scanopt.backends.kernels.barriers import Access, Waiting
from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.cuda_operations import DRAWS, HEAD, functor
from scanopt.backends.kernels.fetched_rows import rows_read
from scanopt.backends.kernels.ir import (
    NAME,
    ZERO,
    Declare,
    Do,
    Expr,
    Fail,
    For,
    Helper,
    If,
    Inner,
    Kernel,
    Point,
    Steps,
    Stmt,
    Store,
)  # fmt: skip
from scanopt.backends.kernels.nodes import NoForm
from scanopt.backends.kernels.print_c import Printer, bare
from scanopt.backends.kernels.recipe import Recipe

__all__ = [
    "Block",
    "CudaPrinter",
    "assembled",
    "parameters",
    "places_of_lane",
    "product_of",
    "signature",
    "start_of_lane",
]


def parameters(recipe: Recipe, lanes: int, rows: bool = False) -> list[str]:
    """The names of the numbers that the kernel is given in addition to its own.

    For each lane axis its length; for each array its stride from lane to lane, and with `rows` from row to row.
    """
    found = [f"L{j}" for j in range(lanes)]
    for i, g in enumerate(recipe.given):
        if g.kind != "scratch":
            found += [f"o{i}_{j}" for j in range(lanes)] + [f"r{i}"] * rows
    return found


def signature(recipe: Recipe, numbers: Sequence[str]) -> str:
    """The text of the parameters of a kernel."""
    arrays = [f"{TYPES[g.dtype]} *__restrict__ q{i}" for i, g in enumerate(recipe.given) if g.kind != "scratch"]
    return ", ".join([*arrays, "char *scratch", "int64 *status", *(f"int64 {x}" for x in numbers)])


def assembled(recipe: Recipe, w: CudaPrinter, limit: str, head: str, body: Sequence[str], more: str = "") -> str:
    """The whole text.  more: text after `HEAD`.  Raises NoForm for functions that a device lacks."""
    functors = [
        functor(f"F{i}", name, dtypes) if name != "matmul" else "" for i, (name, dtypes) in enumerate(recipe.loops)
    ]
    for (name, dtypes), text in zip(recipe.loops, functors, strict=True):
        if name != "matmul" and not text:
            raise NoForm(f"{name} of {', '.join(dtypes[:-1])} has no form on a device")
    helpers = (DRAWS if w.draws else "") + "".join(sorted(w.helpers))
    helpers = helpers.replace("static inline", "INLINE")
    text = f'{helpers}{"".join(functors)}\nextern "C" __global__ void {limit}{NAME}({head})\n{{\n' + "\n".join(body)
    text = re.sub(r"\b__builtin_(inff?|nanf?|signbit|fabs)\b", r"b_\1", text).replace("__builtin_", "")
    return f"{HEAD}{more}{text}\n}}\n"


def product_of(lanes: int) -> str:
    """Text for the number of all lanes."""
    return " * ".join(f"L{j}" for j in range(lanes)) or "1"


def places_of_lane(lanes: int) -> Iterator[str]:
    """The lines that compute the place of a lane along each lane axis."""
    rest = "lane"
    for j in reversed(range(lanes)):
        yield f"    const int64 l{j} = {rest}{f' % L{j}' if j else ''};"
        rest = f"({rest} / L{j})"


def start_of_lane(i: int, lanes: int) -> str:
    """Text for where the i-th array starts for a lane."""
    return f"q{i}{''.join(f' + l{j} * o{i}_{j}' for j in range(lanes))}"


class CudaPrinter(Printer):
    """Prints expressions, failures and inner loops as CUDA, for all ways of running a kernel."""

    one_by_one = ""
    row = "0"
    """Text for the place of a lane among those of its block."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        self.recipe = recipe
        self.fails, self.draws = "return", False

    def expression(self, x: Expr) -> str:
        """As in C; calls of functors (`F...`), too."""
        if isinstance(x, Do) and x.op[0] == "F":
            return f"{x.op}::of({', '.join(bare(self.expression(a)) for a in x.args)})"
        return super().expression(x)

    def body_of(self, kernel: Kernel) -> Iterator[str]:
        """The lines of the statements of a kernel."""
        for stmt in kernel.body:
            yield from self.statement(stmt, 1)

    def _failed(self, status: int, space: str) -> Iterator[str]:
        yield f"{space}status[0] = {status};"
        yield f"{space}{self.fails};"

    def _serial(self, x: Inner, at: str = "0", by: str = "1") -> str:
        """The call of an inner loop: all of it by one thread, or a share of it by each thread."""
        name, dtypes = self.recipe.loops[x.slot]
        e = [self.expression(v) for v in (*x.dims, *x.strides)]
        t, a = TYPES[dtypes[0]], [f"(char *)({p})" for p in x.arrays]
        if name == "matmul":
            _, m, k, n, _, _, _, ar, ac, br, bc, cr, cc = e
            return f"products<{t}>({', '.join([*a, m, k, n, ar, ac, br, bc, cr, cc, at, by])});"
        if x.arrays[0] == x.arrays[-1] and x.strides[0] == ZERO:
            if by == "1":
                return f"folded<{t}, F{x.slot}>({a[1]}, {a[0]}, {e[0]}, {e[2]});"
            return f"folded_by_all<{t}, F{x.slot}>({a[1]}, {a[0]}, {e[0]}, {e[2]}, {at}, {by}, {self.row});"
        if len(a) == 2:
            return f"each<{t}, F{x.slot}>({', '.join([*a, *e, at, by])});"
        if len(a) == 3:
            return f"pairs<{t}, F{x.slot}>({', '.join([*a, *e, at, by])});"
        given = ", ".join(f"*({t} *)({p} + i * {s})" for p, s in zip(a[:-1], e[1:-1], strict=True))
        target = f"*(F{x.slot}::result *)({a[-1]} + i * {e[-1]})"
        return f"for (int64 i = {at}; i < {e[0]}; i += {by}) {target} = F{x.slot}::of({given});"


class Block(CudaPrinter):
    """Prints statements that the threads of a lane run together; stores to arrays are shared out among them.

    They wait for one another where `barriers.py` says that they have to.  me, threads: texts for the number of a
    thread, and for the number of threads.
    """

    me, threads = "threadIdx.x", "blockDim.x"

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        self.waiting = Waiting(recipe.kernel.body)
        self.inside = 0
        loop, reads = rows_read(recipe.kernel, recipe.given, parts=True) or (None, [])
        self.loop, self.reads = loop, {x.name: stride for x, stride in reads}

    def body_of(self, kernel: Kernel) -> Iterator[str]:
        """As for any kernel; a thread of the first block stores the number of steps taken."""
        yield from super().body_of(kernel)
        yield f"    if (lane == 0 && {self.me} == 0) status[1] = {kernel.result};"

    def statement(self, x: Stmt, depth: int) -> Iterator[str]:
        """As in C, shared out among threads."""
        if self.inside:
            yield from self._alone(x, depth)
            return
        space = "    " * depth
        match x:
            case Declare(elements=elements) if elements:
                yield from self._shared(x, depth)
            case Steps() | If():
                yield from self._branching(x, depth)
            case Fail(status=status):
                yield from self._failed(status, space)
            case _:
                yield from self._wait(self.touched(x), space)
                yield from self._shared(x, depth)

    def touched(self, x: Stmt) -> list[Access]:
        """The accesses of a statement to memory."""
        return self.waiting.of(x, self.recipe.loops)

    def _shared(self, x: Stmt, depth: int) -> Iterator[str]:
        """The lines of a statement that all threads run, or of which each runs a part."""
        space = "    " * depth
        match x:
            case Declare(name=name, dtype=dtype, elements=elements) if elements:
                yield f"{space}__shared__ {TYPES[dtype]} {name}[{elements}];"
            case Store(array=array, index=index, value=value):
                yield f"{space}if ({self.me} == 0) {array}[{self.expression(index)}] = {self.expression(value)};"
            case Inner(arrays=arrays, strides=strides):
                yield f"{space}{self._serial(x, self.me, self.threads)}"
                if arrays[0] == arrays[-1] and strides[0] == ZERO:  # a reduction ends with a barrier
                    self.waiting.met()
            case For():
                yield from self._shared_out(x, depth)
            case Helper(name=name, arrays=arrays, numbers=(count,)):
                self.draws = True
                yield f"{space}{name}({', '.join(arrays)}, {self.expression(count)}, {self.me}, {self.threads});"
            case _:
                if isinstance(x, Point):
                    self.waiting.moved(x.name)
                yield from super().statement(x, depth)
                yield from self._moved_ahead(x, space)

    def _moved_ahead(self, x: Stmt, space: str) -> Iterator[str]:
        """After a statement that points to a row of a sequence: the line that prefetches the next row."""
        if isinstance(x, Point) and x.name in self.reads and self.loop is not None:
            t, count, n = self.loop.var, self.expression(self.loop.count), self.expression(self.reads[x.name])
            yield f"{space}if ({t} + 1 < {count}) AHEAD({x.name} + {n}, {n});"

    def _wait(self, accesses: list[Access], space: str) -> Iterator[str]:
        """A barrier, if these accesses need one before them."""
        if self.waiting.needed(accesses):
            yield f"{space}BARRIER;"
            self.waiting.met()
        self.waiting.note(accesses)

    def _wait_for_all(self, space: str) -> Iterator[str]:
        if self.waiting.since:
            yield f"{space}BARRIER;"
            self.waiting.met()

    def _branching(self, x: Steps | If, depth: int) -> Iterator[str]:
        """The lines of steps and branches, which all threads run alike."""
        space, waiting = "    " * depth, self.waiting
        if isinstance(x, If):
            yield from self._wait(waiting.read(x.test), space)
            yield f"{space}if ({bare(self.expression(x.test))}) {{"
            before = list(waiting.since)
            yield from self._body(x.then, depth)
            after, waiting.since = waiting.since, before
            if x.otherwise:
                yield f"{space}}} else {{"
                yield from self._body(x.otherwise, depth)
            waiting.since = list(dict.fromkeys([*after, *waiting.since]))
        else:
            yield from self._wait_for_all(space)
            yield f"{space}int64 {x.var} = 0;"
            yield f"{space}while ({x.var} < {self.expression(x.count)}) {{"
            waiting.note(waiting.read(x.count, *([] if x.until is None else [x.until])))
            yield from self._body(x.body, depth)
            yield from self._wait_for_all(f"{space}    ")
            yield f"{space}    {x.var}++;"
            if x.until is not None:
                yield f"{space}    if ({self.expression(x.until)}) break;"
            waiting.lost()
        yield f"{space}}}"

    def _shared_out(self, x: For, depth: int) -> Iterator[str]:
        """The lines of a nest of loops, each iteration of which is run by one thread."""
        space = "    " * depth
        nest = [x]
        while len(nest[-1].body) == 1 and isinstance(nest[-1].body[0], For):
            nest.append(nest[-1].body[0])
        counts = [self.expression(n.count) for n in nest]
        place = f"at{depth}_{x.var}"
        yield f"{space}ALL_THREADS({place}, {' * '.join(counts)}) {{"
        rest = place
        for i in reversed(range(len(nest))):
            yield f"{space}    const int64 {nest[i].var} = {rest}{f' % {counts[i]}' if i else ''};"
            rest = f"({rest} / {counts[i]})"
        self.inside, fails, self.fails = 1, self.fails, "continue"
        yield from self._body(nest[-1].body, depth)
        self.inside, self.fails = 0, fails
        yield f"{space}}}"

    def _alone(self, x: Stmt, depth: int) -> Iterator[str]:
        """The lines of a statement that one thread runs by itself."""
        space = "    " * depth
        match x:
            case Inner():
                yield f"{space}{self._serial(x)}"
            case Fail(status=status):
                yield from self._failed(status, space)
            case For(var=var, count=count, body=body):
                yield f"{space}for (int64 {var} = 0; {var} < {self.expression(count)}; {var}++) {{"
                yield from self._body(body, depth)
                yield f"{space}}}"
            case _:
                yield from super().statement(x, depth)
