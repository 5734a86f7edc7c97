"""Wrong calls and the errors they give: the table in docs/errors.md is made from these cases.

A new case is an entry of CASES.  Then write the page again:

    python -m tests.test_bad_input
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from scanopt import CheckError
from scanopt.array.theano_functions import NotScalarConstantError
from scanopt.gradient import DisconnectedInputError, DisconnectedInputWarning, NullTypeGradError, VerifyGradError
from scanopt.loops.checkpoints import TapsError

PAGE = Path(__file__).parents[1] / "docs" / "errors.md"
FILE = "your_file.py"

SETUP = """
import numpy as np
import scanopt.tensor as T
from scanopt import (
    Assert, Mode, Phase, Print, Schedule, check, custom_jvp, custom_vjp, debug_print, filter, foldl, foldr, fori_loop,
    function, grad, interpret, jacfwd, jit, jvp, law, lax, loop, map, reduce, scan, scan_checkpoints, scan_module,
    shared, tree, until, value_and_grad, vjp, vmap, while_loop,
)
from scanopt.calculus.law import Equation
from scanopt.calculus.terms import Value, ops, steps
from scanopt.facts.values import floating, scalar
from scanopt.rewrites.merge import loops_of_equal_length

x = T.vector("x", "float64")
x32 = T.vector("x32", "float32")
xs3 = T.vector("xs3", "float64", shape=(3,))
X = T.matrix("X", "float64")
s = T.scalar("s", "float64")
k = T.lscalar("k")
h32 = T.vector("h32", "float32", shape=(3,))
W = shared(np.eye(3), "W")
RandomStreams = T.shared_randomstreams.RandomStreams


class Compiled:
    is_compiled = True

    def __call__(self, *args):
        return args
"""


class Case(NamedTuple):
    """What a user may write, the kind of error it gives and what the error's text must contain."""

    code: str
    error: type[Exception]
    fragments: list[str]


def own_law(states: str, error: type[Exception], fragments: list[str]) -> Case:
    """A law that states this of a value v."""
    made = "law(licence='fast', example=np.log, never=np.exp, ruleset='mine')(own)"
    return Case(f"def own(v: Value):\n    return {states}\n{made}", error, fragments)


CASES: dict[str, list[Case]] = {
    "The step function": [
        Case("scan(5, x)", TypeError, ["fn must be a function", "5 (int)"]),
        Case('scan("tanh", x)', TypeError, ["fn must be a function", "'tanh'"]),
        Case("scan(Compiled(), x)", TypeError, ["compiled already", "Compiled"]),
        Case("scan(lambda: 0.0, x)", TypeError, ["x[t]", "takes ()", "scan passes (x[t])", "the order is"]),
        Case(
            "scan(lambda a, b: a, dict(input=x, taps=[-1, 0]), outputs_info=0.0, non_sequences=W)",
            TypeError,
            ["scan passes (x[t-1], x[t], output 0[t-1], W)", "(a, b)"],
        ),
        Case("scan(lambda x, h: x + h, x)", TypeError, ["missing a required argument: 'h'", "x[t]"]),
        Case("scan(lambda h: 2 * h, n_steps=3)", TypeError, ["no arguments", "missing a required argument: 'h'"]),
        Case("scan(lambda x: None, x)", TypeError, ["returned None", "return"]),
        Case("scan(lambda x: [x, None], x)", TypeError, ["result 1 of the step is None"]),
        Case('scan(lambda x: "x", x)', TypeError, ["result 0 of the step", "'x'"]),
        Case("scan(lambda x: (v for v in [x]), x)", TypeError, ["found a generator; write a list in its place (scan"]),
        Case("scan(lambda x: {x}, x)", TypeError, ["found {'x[t]' float64[]} (set); write a list in its place (scan"]),
        Case(
            'scan(lambda x, h: {"h": x + h}, x, 0.0)',
            TypeError,
            ["updates 'h' (str), which is not a shared variable; outputs are returned in a list", "scanopt.loop"],
        ),
        Case("scan(lambda x: [[x, x], x], x)", TypeError, ["result 0 of the step is a list of arrays", "flat list"]),
        Case("scan(lambda: {W: W + 1.5j}, n_steps=3)", TypeError, ["'W' float64", "complex128", "astype('float64')"]),
        Case("scan(lambda: {x: x + 1}, n_steps=3)", TypeError, ["updates", "'x'", "not a shared variable"]),
        Case("scan(lambda: ([], {W: W}, [(W, W)]), n_steps=3)", ValueError, ["two collections of updates"]),
        Case("scan(lambda x: x if x > 0 else -x, x)", TypeError, ["symbolic", "symbolic", "where"]),
        Case("scan(lambda v: v + np.random.normal(), x)", UserWarning, ["np.random", "the same at every step"]),
        Case(
            "rng = np.random.default_rng(0); scan(lambda v: v + rng.normal(), x)",
            UserWarning,
            ["the step of scan draws numbers by rng", "the same at every step", "RandomStreams(seed)"],
        ),
        Case(
            "import random; map(lambda v: v + random.random(), x)",
            UserWarning,
            ["the step of map draws numbers by Python's random", "the same at every step"],
        ),
        Case("scan(lambda x: xs3 + np.ones(2), x)", ValueError, ["float64[3]", "float64[2]"]),
    ],
    "How many outputs": [
        Case(
            "scan(lambda x, h: [h + x, x], x, outputs_info=0.0)",
            ValueError,
            ["describes 1 output but", "returned 2", "None"],
        ),
        Case(
            "scan(lambda x, h: h + x, x, outputs_info=[0.0, None])", ValueError, ["describes 2 outputs", "returned 1"]
        ),
    ],
    "Sequences": [
        Case("scan(lambda *xs: xs[0], [1.5, 2.5, 3.5])", TypeError, ["sequences[0] is 1.5", "np.asarray"]),
        Case(
            "scan(lambda a, b: a + b, [x, [1.0, 2.0, 3.0]])", TypeError, ["sequences[1]", "Python list", "np.asarray"]
        ),
        Case("scan(lambda i: i, range(5))", TypeError, ["sequences[0]", "Python range", "np.asarray"]),
        Case("scan(lambda a: a, s)", TypeError, ["sequences[0] ('s')", "float64[]", "non_sequences"]),
        Case("scan(lambda a, b: a, [x, None])", TypeError, ["sequences[1] is None"]),
        Case('scan(lambda a: a, "abc")', TypeError, ["sequences[0] must be an array", "'abc'"]),
        Case("scan(lambda a: a, dict(taps=[0]))", ValueError, ["sequences[0]", "without the key 'input'"]),
        Case("scan(lambda a: a, dict(input=x, tap=[0]))", ValueError, ["sequences[0]", "unknown key 'tap'", "'taps'"]),
        Case(
            "scan(lambda a: a, dict(input=x, taps=[0.5]))",
            TypeError,
            ["taps of sequences[0] ('x')", "integers", "[0.5]"],
        ),
        Case('scan(lambda a: a, dict(input=x, taps="now"))', TypeError, ["taps of sequences[0] ('x')", "'now'"]),
        Case("scan(lambda a: a, dict(input=x, taps=[]))", ValueError, ["taps of sequences[0] ('x') are empty"]),
    ],
    "The number of steps": [
        Case("scan(lambda h: 2 * h, outputs_info=1.0)", ValueError, ["number of steps is not known"]),
        Case("scan(lambda x: x, x, n_steps=2.5)", ValueError, ["must be an integer", "2.5"]),
        Case('scan(lambda x: x, x, n_steps=float("nan"))', ValueError, ["must be an integer", "nan"]),
        Case("scan(lambda x: x, x, n_steps=s)", ValueError, ["must be an integer", "'s' float64[]", "astype"]),
        Case("scan(lambda x: x, x, n_steps=True)", ValueError, ["must be an integer", "True"]),
        Case("scan(lambda x: x, x, n_steps=np.array([2, 3]))", ValueError, ["single integer", "int64[2]"]),
        Case('scan(lambda x: x, x, n_steps="ten")', TypeError, ["n_steps must be an integer", "'ten'"]),
        Case("scan(lambda x: x, xs3, n_steps=-4)", ValueError, ["sequences[0] ('xs3') has 3 rows", "n_steps is 4"]),
        Case(
            ("out, _ = scan(lambda x: x, x, n_steps=k)\ninterpret(out, {x: np.ones(3), k: -4})"),
            ValueError,
            ["sequences[0] ('x') has 3 rows", "n_steps is 4"],
        ),
        Case("scan(lambda x: x, xs3, n_steps=4)", ValueError, ["sequences[0] ('xs3') has 3 rows", "n_steps is 4"]),
        Case(
            ("out, _ = scan(lambda x: x, x, n_steps=k)\ninterpret(out, {x: np.ones(3), k: 4})"),
            ValueError,
            ["sequences[0] ('x') has 3 rows", "n_steps is 4"],
        ),
        Case(
            "scan(lambda x, a, b: x + a + b, [x, dict(input=np.ones(4), taps=[-1, 1])], n_steps=3)",
            ValueError,
            ["sequences[1] has 2 rows", "taps [-1, 1]", "n_steps is 3"],
        ),
    ],
    "Initial states and taps of outputs": [
        Case(
            "scan(lambda a: a, outputs_info=dict(initial=x, taps=[0]), n_steps=3)",
            ValueError,
            ["taps of outputs_info[0] ('x')", "must be negative", "found 0"],
        ),
        Case(
            "scan(lambda a, b: a, outputs_info=dict(initial=x, taps=[-1, 2]), n_steps=3)",
            ValueError,
            ["must be negative", "found 2"],
        ),
        Case(
            "scan(lambda a, b: a, outputs_info=dict(initial=x, taps=[-1, -1]), n_steps=3)",
            ValueError,
            ["name one step twice", "[-1, -1]"],
        ),
        Case(
            "scan(lambda a: a, outputs_info=dict(initial=s, taps=-1), n_steps=3)",
            TypeError,
            ["taps of outputs_info[0] ('s')", "list of negative integers", "-1"],
        ),
        Case("scan(lambda a: a, outputs_info=dict(initial=s, taps=[]), n_steps=3)", ValueError, ["empty list", "None"]),
        Case(
            "scan(lambda a: a, outputs_info=dict(taps=[-1]), n_steps=3)",
            ValueError,
            ["outputs_info[0] has taps but no 'initial'"],
        ),
        Case(
            "scan(lambda a: a, outputs_info=dict(inital=s), n_steps=3)",
            ValueError,
            ["outputs_info[0]", "unknown key 'inital'", "'initial'"],
        ),
        Case(
            "scan(lambda a, b: a + b, outputs_info=dict(initial=s, taps=[-2, -1]), n_steps=3)",
            ValueError,
            ["outputs_info[0] ('s')", "taps [-2, -1]", "2 rows", "float64[]"],
        ),
        Case(
            "scan(lambda a, b: a + b, outputs_info=dict(initial=xs3, taps=[-4, -1]), n_steps=3)",
            ValueError,
            ["outputs_info[0] ('xs3') has 3 initial rows", "taps [-4, -1] need 4"],
        ),
        Case(
            (
                "out, _ = scan(lambda a, b: a + b, outputs_info=dict(initial=x, taps=[-2, -1]), n_steps=3)\n"
                "interpret(out, {x: np.ones(1)})"
            ),
            ValueError,
            ["outputs_info[0] ('x') has 1 initial rows", "taps [-2, -1] need 2"],
        ),
        Case(
            'scan(lambda a: a, outputs_info="zero", n_steps=3)',
            TypeError,
            ["outputs_info[0] must be an array", "'zero'"],
        ),
        Case(
            "scan(lambda h: h + np.ones(3), outputs_info=h32, n_steps=3)",
            ValueError,
            [
                "outputs_info[0] ('h32')",
                "starts as float32[3]",
                "the step gives float64[3]",
                "h32.astype('float64')",
                ".astype('float32')",
            ],
        ),
        Case(
            "scan(lambda i, total: total + i, T.arange(5), outputs_info=T.as_tensor_variable(0))",
            ValueError,
            ["starts as int8[]", "gives int64[]", "initial_state.astype('int64')"],
        ),
        Case(
            "scan(lambda h: 1j * h, outputs_info=np.ones(2), n_steps=3)",
            ValueError,
            ["starts as float64[2]", "gives complex128[2]", ".astype('complex128')"],
        ),
        Case(
            "scan(lambda h: T.argmax(h * np.ones(2)), outputs_info=s, n_steps=3)",
            ValueError,
            ["starts as float64[]", "gives int64[]", ".astype('float64')"],
        ),
        Case(
            "scan(lambda h: h.sum(), outputs_info=xs3, n_steps=3)",
            ValueError,
            ["starts as float64[3]", "gives float64[]", "number of axes"],
        ),
        Case(
            "scan(lambda h: h + x, outputs_info=s, n_steps=3)",
            ValueError,
            ["outputs_info[0] ('s')", "starts as float64[]", "gives float64[?]"],
        ),
        Case(
            "scan(lambda h: h + xs3, outputs_info=np.zeros(1), n_steps=3)",
            ValueError,
            ["starts as float64[1]", "gives float64[3]", "axis 0", "broadcast"],
        ),
        Case(
            "scan(lambda h: h + xs3, outputs_info=0.0, n_steps=3)",
            ValueError,
            ["Python number 0.0", "gives float64[3]", "np.full(3, 0.0, 'float64')"],
        ),
        Case(
            "scan(lambda i, h: i, T.arange(3), outputs_info=0.5)",
            ValueError,
            ["Python number 0.5", "gives int64[]", ".astype('float64')"],
        ),
        Case(
            (
                "out, _ = scan(lambda h: h + xs3, outputs_info=x, n_steps=3)\n"
                "interpret(out, {x: np.ones(1), xs3: np.ones(3)})"
            ),
            ValueError,
            ["output 0 ('x')", "initial state has shape (1,)", "at step 0", "(3,)"],
        ),
        Case(
            ("out, _ = scan(lambda n: T.arange(n), T.arange(3))\ninterpret(out)"),
            ValueError,
            ["output 0", "had shape (0,)", "at step 1", "(1,)"],
        ),
    ],
    "Other arguments": [
        Case("scan(lambda x, w: x, x, non_sequences=[None])", TypeError, ["array, found None (NoneType) (scan at"]),
        Case(
            "scan(lambda x, w: x * w['a'], x, non_sequences={'a': s})",
            TypeError,
            ["non_sequences[0] must be an array, found {'a': 's' float64[]} (dict); pass the arrays in it one by one"],
        ),
        Case(
            "scan(lambda x, w: x, x, non_sequences=np.array([1, None]))",
            TypeError,
            ["found an array object[2]; if it holds numbers, write .astype(float) (scan"],
        ),
        Case("scan(lambda x: x, np.array(['2020-01-01'], 'datetime64[D]'))", TypeError, ["count the time in numbers"]),
        Case("scan(lambda x: x, object())", TypeError, ["must be an array, found an object (scan"]),
        Case(
            'scan(lambda x, w, o: x, x, non_sequences=[W, "adam"])',
            TypeError,
            ["non_sequences[1] must be an array", "'adam'"],
        ),
        Case(
            "scan(lambda v: T.dot(v, W), X, strict=True)",
            ValueError,
            ["strict=True", "'W' float64[?, ?]", "non_sequences"],
        ),
        Case('scan(lambda x: x, x, mode="fast_run")', ValueError, ["found 'fast_run'", "did you mean 'FAST_RUN'"]),
        Case("scan(lambda x: x, x, mode=True)", TypeError, ["mode must be a name or a scanopt.Mode", "True"]),
        Case("scan(lambda x: x, x, profile=2)", TypeError, ["profile must be True, False or a title", "2 (int)"]),
        Case('scan(lambda x: x, x, allow_gc="no")', TypeError, ["allow_gc must be True, False or None", "'no'"]),
        Case("scan(lambda x: x, x, return_list=2)", TypeError, ["return_list must be True or False", "2 (int)"]),
        Case(
            "scan(lambda: {W: W + 1}, n_steps=3, return_updates=False)",
            ValueError,
            ["updates shared variables ('W' float64[?, ?])", "pass them to function"],
        ),
        Case("scan(lambda x: x, x, name=7)", TypeError, ["name must be a string", "7"]),
        Case("scan(lambda x: x, x, truncate_gradient=0)", ValueError, ["truncate_gradient must be -1", "found 0"]),
        Case(
            'scan(lambda x: x, x, truncate_gradient="all")',
            TypeError,
            ["truncate_gradient must be an integer", "'all'"],
        ),
        Case('scan(lambda x: x, x, go_backwards="yes")', TypeError, ["go_backwards must be True or False", "'yes'"]),
    ],
    "map, reduce, foldl, foldr, filter": [
        Case("map(lambda: 1.0, None)", ValueError, ["number of steps is not known", "(map at"]),
        Case("map(lambda x, h: x + h, x)", TypeError, ["missing a required argument", "x[t]", "(map at"]),
        Case(
            "reduce(lambda x, h: x + h, x, outputs_info=np.float32(0))",
            ValueError,
            ["starts as float32[]", "gives float64[]", "(reduce at"],
        ),
        Case('foldl(lambda x, h: x + h, x, 0.0, mode="fast")', ValueError, ["found 'fast'", "(foldl at"]),
        Case("foldr(None, x, 0.0)", TypeError, ["fn must be a function", "(foldr at"]),
        Case(
            ("out, _ = reduce(lambda x, h: x + h, x, outputs_info=0.0)\ninterpret(out, {x: np.ones(0)})"),
            IndexError,
            ["-1"],
        ),
        Case("filter(lambda v: 2 * v, x)", TypeError, ["must be a truth value", "float64[]", "(filter at"]),
        Case("filter(lambda v: v > 0, X)", TypeError, ["must be a truth value", "bool[?]", "all()"]),
        Case("filter(lambda v: v is x, x)", TypeError, ["the same for all entries", "write a == b"]),
        Case("scan(lambda v: x if v == 0 else v, x)", TypeError, ["neither true nor false", "write x is y"]),
        Case(
            "filter(lambda v, w: [v > 0, w > 0, v > w], [x, x])",
            ValueError,
            ["3 truth values for 2 sequences", "one for each"],
        ),
    ],
    "Loops that end early": [
        Case("scan(lambda h: (until(h > 1), h * 2), outputs_info=1.0, n_steps=3)", ValueError, ["until(...) last"]),
        Case(
            "scan(lambda h: (h * 2, until(h > 1), until(h > 2)), outputs_info=1.0, n_steps=3)",
            ValueError,
            ["until(...) last"],
        ),
        Case(
            "scan(lambda h: (h * 2, until(xs3 > h)), outputs_info=1.0, n_steps=3)",
            TypeError,
            ["scalar condition", "bool[3]", "any()"],
        ),
        Case(
            'scan(lambda h: (h * 2, until("stop")), outputs_info=1.0, n_steps=3)',
            TypeError,
            ["symbolic condition", "'stop' (str)"],
        ),
        Case("map(lambda v: (v, until(None)), x)", TypeError, ["symbolic condition", "None"]),
        Case("scan(lambda h: (h * 2, until), outputs_info=1.0, n_steps=3)", TypeError, ["result 1", "'until'"]),
        Case("scan(lambda h: (h * 2, h > 1), outputs_info=1.0, n_steps=3)", ValueError, ["1 output ", "returned 2"]),
        Case("scan(lambda h: (h * 2, until(h > 1)), outputs_info=1.0)", ValueError, ["number of steps is not known"]),
    ],
    "loop, fori_loop, while_loop": [
        Case("loop(lambda c: c, 0.0, x)", TypeError, ["takes (c)", "loop passes (carry, x)", "(loop at"]),
        Case("loop(lambda c, v: c + v, 0.0, x)", TypeError, ["must return (carry, y)", "y may be None"]),
        Case(
            'loop(lambda c, v: ({"h": c["h"]}, None), {"h": s, "c": s}, x)',
            TypeError,
            ["carry is {'h': _, 'c': _} before a step", "{'h': _} after it", "without carry['c']"],
        ),
        Case(
            'loop(lambda c, v: ({"h": (c["h"][0], v)}, None), {"h": (s, (s,))}, x)',
            TypeError,
            ["carry['h'][1] is (_,) before a step", "an array, 'x[t]' float64[] after it"],
        ),
        Case(
            'loop(lambda c, v: ({"h": c["h"] + xs3}, None), {"h": h32}, x)',
            ValueError,
            [
                "carry['h'] starts as float32[3]",
                "the step gives float64[3]",
                "init['h'].astype('float64') in init",
                ".astype('float32')",
            ],
        ),
        Case("loop(lambda c, v: (c * xs3, None), 0.0, x)", ValueError, ["carry starts as the Python number 0.0"]),
        Case('loop(lambda c, v: (c, None), {"h": "zero"}, x)', TypeError, ["carry['h'] must be an array", "'zero'"]),
        Case("loop(lambda c, v: (c, None, {W: W + 1}), s, x)", TypeError, ["until(condition) after (carry, y)"]),
        Case("loop(lambda c, v: (c, v), 0.0)", ValueError, ["number of steps is not known", "length"]),
        Case(
            "loop(lambda c, v: (c, None), 0.0, [xs3, np.ones(4)])",
            ValueError,
            ["xs[1] has 4 rows but xs[0] has 3", "equally long"],
        ),
        Case('loop(lambda c, v: (c, None), 0.0, {"a": 1.5})', TypeError, ["xs['a'] is 1.5", "np.asarray"]),
        Case("loop(lambda c, v: (c, None), 0.0, xs3, length=2)", ValueError, ["xs has 3 rows but length is 2"]),
        Case("loop(lambda c, v: (c, None), 0.0, length=-1)", ValueError, ["length is -1", "must not be negative"]),
        Case('loop(lambda c, v: (c, None), 0.0, x, reverse="yes")', TypeError, ["reverse must be True or False"]),
        Case(
            "fori_loop(0, 2.5, lambda i, c: c, 0)",
            ValueError,
            ["upper must be an integer, found 2.5 (float) (fori_loop"],
        ),
        Case("fori_loop(x, 3, lambda i, c: c, 0)", ValueError, ["lower must be a single integer", "'x'"]),
        Case("fori_loop(0, k, lambda c: c, 0)", TypeError, ["takes (c)", "fori_loop passes (i, carry)"]),
        Case(
            "while_loop(lambda c: c > 0, lambda c: c - 1, s, max_steps=0.5)",
            ValueError,
            ["max_steps must be an integer", "0.5"],
        ),
        Case("while_loop(lambda c: c < 9, lambda c: (c, c), s, 9)", TypeError, ["carry is an array", "(_, _) after"]),
        Case("while_loop(lambda c: x > c, lambda c: c, s, 9)", TypeError, ["until needs a scalar condition", "any()"]),
        Case(
            "last, _ = loop(lambda c, v: ((c[0] + xs3,), None), (x,), X)\n"
            "interpret(last, {x: np.ones(1), xs3: np.ones(3), X: np.ones((2, 2))})",
            ValueError,
            ["carry[0]", "initial state has shape (1,)", "(3,)"],
        ),
    ],
    "Gradients": [
        Case("T.grad(x, x)", TypeError, ["needs a scalar cost", "'x' float64[?]", "take its sum", "jacobian"]),
        Case("T.grad(k, s)", TypeError, ["real floating point cost", "'k' int64[]", "cast it"]),
        Case("T.grad(s * 1j, s)", TypeError, ["real floating point cost", "complex128"]),
        Case("T.grad(scan(lambda v: v, x), x)", TypeError, ["one scalar cost", "(outputs, updates), take outputs"]),
        Case('T.grad("cost", x)', TypeError, ["the cost must be an array", "'cost' (str)"]),
        Case("T.grad(s, 3.0)", TypeError, ["wrt must be symbolic arrays", "3.0 (float)"]),
        Case("T.grad(s, [s, None])", TypeError, ["wrt must be symbolic arrays", "None"]),
        Case("T.grad(x.sum(), s)", DisconnectedInputError, ["'s' float64[]", "not in the graph"]),
        Case("T.grad((x * k).sum(), k)", DisconnectedInputError, ["'k' int64[]", "cast it before its use"]),
        Case("T.grad(map(lambda i, v: v[i], T.arange(k), x)[0].sum(), k)", DisconnectedInputError, ["'k' int64[]"]),
        Case("T.grad((x > 0).astype('float64').sum(), x)", DisconnectedInputError, ["'x'", "comparisons"]),
        Case("T.grad(s**2, s, consider_constant=[s])", DisconnectedInputError, ["'s'", "considered constant"]),
        Case("T.grad(s, T.constant(1.0))", DisconnectedInputError, ["this very constant"]),
        Case("T.grad(s, x, disconnected_inputs='warn')", DisconnectedInputWarning, ["'x' float64[?]"]),
        Case("T.grad(s, s, disconnected_inputs='zero')", ValueError, ["'raise', 'warn' or 'ignore'", "'zero'"]),
        Case("T.grad(s, s, return_disconnected=None)", ValueError, ["'zero', 'none' or 'disconnected'", "None"]),
        Case("T.grad(s, s, consider_constant=3)", TypeError, ["consider_constant must be symbolic arrays", "3 (int)"]),
        Case("T.grad(None, s)", ValueError, ["without a cost", "known_grads"]),
        Case("T.grad(None, s, known_grads=[(s, 1.0)])", TypeError, ["known_grads is a dict"]),
        Case("T.grad(None, s, known_grads={'s': 1.0})", TypeError, ["keyed by symbolic arrays", "'s' (str)"]),
        Case("T.grad(None, s, known_grads={s: x})", TypeError, ["known gradient of 's'", "'x'", "axes differ"]),
        Case("T.grad(None, xs3, known_grads={xs3: np.ones(1)})", ValueError, ["'xs3'", "float64[1]", "axis 0"]),
        Case(
            "T.grad(T.random.gamma(T.random.key(3), (2,), s).sum(), s)",
            NullTypeGradError,
            ["random_gamma has no gradient", "made of 's' float64[]", "disconnected_grad"],
        ),
    ],
    "Jacobians, directions and checks": [
        Case("T.jacobian(scan(lambda v: v, x), x)", TypeError, ["the expression must be an array"]),
        Case("T.jacobian(x, s)", DisconnectedInputError, ["'s' float64[]", "not in the graph"]),
        Case("T.jacobian(x * 1j, x)", TypeError, ["real values", "complex128", "T.real"]),
        Case("T.hessian(x, x)", TypeError, ["hessian needs a scalar cost", "'x' float64[?]"]),
        Case("T.Lop(xs3, xs3, np.ones(4))", ValueError, ["eval_points", "float64[4]", "float64[3]", "axis 0"]),
        Case("T.Lop([x, x], x, [x])", ValueError, ["one evaluation point for each of 2 outputs, found 1"]),
        Case("T.Lop([x, x], x, [x, None])", TypeError, ["eval_points[1]", "None"]),
        Case("T.Rop(x, x, s)", TypeError, ["eval_points", "'s' float64[]", "axes differ"]),
        Case("T.Rop(x, x, x * 1j)", TypeError, ["eval_points", "complex", "T.real"]),
        Case("T.Rop(x, [x, x], [x, x])", ValueError, ["'x' float64[?] twice"]),
        Case("T.Rop(x * k, k, 1)", DisconnectedInputError, ["'k' int64[]", "cast it before its use"]),
        Case("T.verify_grad(T.tanh, np.ones(3))", TypeError, ["pt must be a list", "float64[3]"]),
        Case("T.verify_grad(T.tanh, [np.arange(3)])", TypeError, ["pt[0] is int64", "float64"]),
        Case("T.verify_grad(lambda v: [v, v], [1.0])", TypeError, ["fun must be a function", "list"]),
        Case("T.verify_grad(lambda v: v > 0, [1.0])", TypeError, ["real floating point numbers", "bool[]"]),
        Case("T.verify_grad(T.tanh, [1.0], eps=0)", ValueError, ["eps must be positive"]),
        Case("T.verify_grad(T.tanh, [1.0], n_tests=0)", ValueError, ["n_tests", "0 (int)"]),
        Case("T.verify_grad(T.tanh, [1.0], rng=3)", TypeError, ["rng must be a generator", "3 (int)"]),
        Case(
            "T.verify_grad(lambda v: v * T.disconnected_grad(v), [np.array([0.0, 3.0])])",
            VerifyGradError,
            ["pt[0]", "1 of 2 entries, most at (1,)", "found 2.8", "expected 5.6"],
        ),
    ],
    "scan_checkpoints": [
        Case(
            "scan_checkpoints(lambda a, b, h: h, dict(input=x, taps=[0, 1]), s)",
            TapsError,
            ["sequences[0] ('x') has taps [0, 1]", "use scan"],
        ),
        Case(
            "scan_checkpoints(lambda a, b: a, None, dict(initial=x, taps=[-2, -1]), n_steps=9)",
            TapsError,
            ["outputs_info[0] ('x') has taps [-2, -1]", "only the step before"],
        ),
        Case(
            "scan_checkpoints(lambda h: (h * 2, until(h > 9)), None, s, n_steps=9)",
            ValueError,
            ["until", "given number of steps"],
        ),
        Case("scan_checkpoints(lambda h: h, None, s)", ValueError, ["number of steps is not known"]),
        Case("scan_checkpoints(lambda h: h, None, s, n_steps=-3)", ValueError, ["n_steps is -3", "not be negative"]),
        Case(
            "scan_checkpoints(lambda v, h: h + v, xs3, s, n_steps=2)",
            ValueError,
            ["sequences[0] ('xs3' float64[3]) has 3 rows", "n_steps is 2", "cut the longer"],
        ),
        Case(
            "out, _ = scan_checkpoints(lambda v, w, h: h + v * w, [xs3, x], s)\n"
            "interpret(out, {xs3: np.ones(3), x: np.ones(2), s: 0.0})",
            ValueError,
            ["sequences[1] ('x' float64[?]) has 2 rows", "the first sequence has 3"],
        ),
        Case("scan_checkpoints(lambda v, h: h, s, s)", TypeError, ["sequences[0] ('s')", "no axis to iterate over"]),
        Case("scan_checkpoints(lambda h: h, x, s)", TypeError, ["takes (h)", "passes (x[t], s[t-1])"]),
        Case("scan_checkpoints(lambda h: h, None, s, n_steps=9, save_every_N=0)", ValueError, ["at least 1, found 0"]),
        Case(
            "scan_checkpoints(lambda h: h, None, s, n_steps=9, save_every_N=2, padding=False)",
            ValueError,
            ["save_every_N=2 divides, found 9", "leave padding out"],
        ),
        Case(
            "scan_checkpoints(lambda h: h, None, s, n_steps=9, padding=3)", TypeError, ["padding must be True or False"]
        ),
        Case(
            'scan_checkpoints(lambda h: h, None, s, n_steps=9, checkpoint="all")',
            ValueError,
            ['checkpoint is "auto"', "'all'"],
        ),
        Case(
            'scan_checkpoints(lambda h: h, None, s, n_steps=9, checkpoint="auto", memory_budget=-1)',
            ValueError,
            ["positive number of bytes", "-1"],
        ),
        Case(
            "scan_checkpoints(lambda h: h, None, s, n_steps=9, memory_budget=10**6)",
            ValueError,
            ['memory_budget is for checkpoint="auto"'],
        ),
    ],
    "Queries": [
        Case("scan_module.scan_args(x)", TypeError, ["takes a Scan node, the owner of an output of scan", "'x'"]),
        Case(
            "scan(lambda v: v, x)[0].owner.inner_seqs([x, x])",
            ValueError,
            ["1 inner_inputs", "given 2 variables", "or nothing"],
        ),
    ],
    "Symbolic arrays": [
        Case("x[1.0]", TypeError, ["a mask, found 1.0 (float) (an index of 'x' float64[?])"]),
        Case("X[0, 'a']", TypeError, ["a mask, found 'a' (str) (an index of 'X' float64[?, ?])"]),
        Case(
            "x[xs3]", TypeError, ["found 'xs3' float64[3]: cast it with .astype('int64')", "an index of 'x' float64[?]"]
        ),
        Case("X.sum(axis=k)", TypeError, ["an axis must be an integer, found 'k' int64[], which has no value before"]),
        Case("xs3 + np.ones(2)", ValueError, ["'xs3' float64[3]", "float64[2]"]),
        Case("T.dot(xs3, np.ones(2))", ValueError, ["dot", "'xs3' float64[3]", "float64[2]"]),
        Case("bool(x)", TypeError, ["'x' float64[?]", "where"]),
        Case("len(x)", TypeError, ["'x' float64[?]", "shape[0]"]),
        Case("if 0 < x < 1: pass", TypeError, ["neither true nor false", "& | ~ in place of and"]),
        Case("x.shape == (2,)", TypeError, ["neither true nor false", "x.type.shape"]),
        Case("2.0 in x", TypeError, ["'x' float64[?]", "T.any(x == value)", "any(v is x for v in some)"]),
        Case("x in [s]", TypeError, ["neither true nor false", "any(v is x for v in some)"]),
        Case("x[0] = 1", TypeError, ["'x' float64[?]", "x[i].set(value)"]),
        Case("x[0] += 1", TypeError, ["'x' float64[?]", "x[i].inc(value)"]),
        Case("import math; math.sin(s)", TypeError, ["'s' float64[]", "np.sin for math.sin"]),
        Case("np.eye(x.shape[0])", TypeError, ["shape_i int64[]", "T.eye and T.zeros"]),
        Case("int(s)", TypeError, ["'s' float64[]", "x.astype('int64')"]),
        Case("range(k)", TypeError, ["'k' int64[]", "scanopt.scan with n_steps"]),
        Case("sum(x)", TypeError, ["'x' float64[?]", "T.sum(x)"]),
        Case("f'{s:.2f}'", TypeError, ["'s' float64[]", "format what the compiled function returns"]),
        Case("list(x)", TypeError, ["'x' float64[?]", "scan"]),
        Case("a, b = x", TypeError, ["'x' float64[?]", "a, b = x[0], x[1]"]),
        Case("a, b = s", TypeError, ["'s' float64[]", "no axes"]),
        Case("np.array([s, 2 * s])", TypeError, ["'s' float64[]", "np.stack([x, y])"]),
        Case("np.ones(3)[k]", TypeError, ["'k' int64[]", "T.constant(a)[x]"]),
        Case("np.unpackbits(x)", TypeError, ["no symbolic form", "'x' float64[?]"]),
        Case("np.packbits(x)", TypeError, ["no symbolic form", "'x' float64[?]", "compiled function"]),
    ],
    "NumPy's functions": [
        Case("np.sum(x, out=s)", TypeError, ["np.sum", "'x' float64[?]", "no out=: use what it returns"]),
        Case("np.exp(x, where=x > 0)", TypeError, ["np.exp", "no where=: write it with T.where"]),
        Case("np.max(x, where=x > 0)", ValueError, ["where= needs initial=", "'x' float64[?]"]),
        Case("np.sum(x, where=x)", TypeError, ["where must be bool", "'x' float64[?]", "where=mask != 0"]),
        Case("np.sum(x, initial=x)", ValueError, ["initial must be a scalar", "'x' float64[?]"]),
        Case("np.var(x, dtype=int)", TypeError, ["floating point", "dtype=int64"]),
        Case("np.sort(x, order='key')", TypeError, ["no order=", "'key'", "no fields"]),
        Case("np.sort(x, kind='bubble')", ValueError, ["kind must be one of", "'bubble'"]),
        Case("np.quantile(x, 0.5, weights=x)", ValueError, ["'inverted_cdf'", "'linear'"]),
        Case("np.ravel(X, order='B')", ValueError, ["the order is 'C' or 'F'", "'B'"]),
        Case("np.stack([x, x], dtype=int)", TypeError, ["'x' float64[?]", "int64", "'same_kind'"]),
        Case("np.take(x, 5, mode='ring')", ValueError, ["'raise', 'wrap' or 'clip'", "'ring'"]),
        Case("np.exp(x, dtype='int32')", TypeError, ["np.exp", "'x' float64[?]", "cast"]),
        Case("np.hypot.reduce(x)", TypeError, ["np.hypot.reduce", "'x' float64[?]", "scanopt.reduce"]),
        Case("np.add.at(x, 0, 1)", TypeError, ["np.add.at", "x[indices].inc(values)"]),
        Case("np.save('file', x)", TypeError, ["np.save", "call it on the result of the compiled function"]),
        Case("np.fill_diagonal(X, 0)", TypeError, ["never changed in place", "x = T.fill_diagonal(x, value)"]),
        Case("np.copyto(x, 0)", TypeError, ["never changed in place", "dst[...].set(src)"]),
        Case("np.split(xs3, 2)", ValueError, ["'xs3' float64[3]", "2 equal parts", "array_split"]),
        Case("np.split(x, k)", TypeError, ["the number of parts", "'k' int64[]", "x[i:j]"]),
        Case("np.unstack(x)", ValueError, ["axis 0 of 'x' float64[?]", "scanopt.scan"]),
        Case("np.cross(x, xs3)", ValueError, ["vectors of 2 or 3 entries", "'x' float64[?]", "T.tensor(shape=...)"]),
        Case("np.einsum('ij->i', x)", ValueError, ["'ij'", "2 axes", "'x' float64[?]"]),
        Case("np.einsum('i,j->k', x, x)", ValueError, ["'k' of the result is in no argument"]),
        Case("np.einsum('i,i', x)", ValueError, ["names 2 arrays, found 1"]),
        Case("np.pad(x, 1, 'mirror')", ValueError, ["mode of pad", "reflect", "'mirror'"]),
        Case("np.pad(x, 1, 'edge', constant_values=1)", ValueError, ["'edge'", "no constant_values"]),
        Case("np.pad(X, (1, 2, 3))", ValueError, ["pad_width", "2 axes", "(1, 2, 3)"]),
        Case("np.pad(x, 0.5)", TypeError, ["pad_width must be an integer", "0.5"]),
        Case("np.linspace(s, 1, -1)", ValueError, ["number of samples", "-1"]),
        Case("np.linspace(s, 1, 2.5)", TypeError, ["number of samples must be an integer", "2.5"]),
        Case("np.geomspace(s, 0)", ValueError, ["cannot include zero"]),
        Case("np.meshgrid(x, x, indexing='yx')", ValueError, ["'xy' and 'ij'", "'yx'"]),
        Case("np.vander(X)", ValueError, ["vander needs 1 axis", "'X' float64[?, ?]"]),
        Case("np.fliplr(x)", ValueError, ["fliplr needs at least 2 axes", "'x' float64[?]"]),
        Case("T.diag(x, 0.5)", TypeError, ["a diagonal is counted by an integer", "0.5"]),
        Case("T.diag(X, s)", TypeError, ["a diagonal is counted by an integer scalar", "'s' float64[]"]),
        Case("T.rot90(X, k)", TypeError, ["how often rot90 turns", "'k' int64[]"]),
        Case("np.rot90(X, axes=(0, 0))", ValueError, ["two different axes", "(0, 0)"]),
        Case("np.select([x], [1])", TypeError, ["condition 0 of select must be bool", "'x' float64[?]"]),
        Case("np.choose(x, [x, x])", TypeError, ["choose takes integers", "'x' float64[?]"]),
        Case("np.piecewise(x, [x > 0], [1, 2, 3])", ValueError, ["1 conditions", "found 3"]),
        Case("np.block([[x], x])", ValueError, ["lists of one depth"]),
        Case("np.convolve(X, x)", ValueError, ["convolve needs 1 axis", "'X' float64[?, ?]"]),
        Case("np.gradient(xs3[:1])", ValueError, ["at least 2 samples along axis 0"]),
        Case("np.insert(xs3, 7, 1)", IndexError, ["insert at 7", "length 3"]),
        Case("np.delete(x, 0.5)", TypeError, ["places along an axis are integers", "0.5"]),
        Case("np.real_if_close(x + 1j)", TypeError, ["depends on their values", "T.real(x)"]),
        Case("np.isposinf(x + 1j)", TypeError, ["isposinf is not defined for complex numbers"]),
        Case("np.polyder(x, -1)", ValueError, ["order of polyder", "-1"]),
        Case("np.polyfit(x, x, 1, full=True)", TypeError, ["no full= and cov=", "T.linalg.lstsq"]),
        Case("T.poly(x)", ValueError, ["number of zeros", "'x' float64[?]"]),
        Case("T.tri(s)", TypeError, ["number of rows", "'s' float64[]"]),
        Case("np.sum(X, axis=2)", ValueError, ["axis 2 of 'X' float64[?, ?], which has 2 axes"]),
        Case("x.max(axis=1)", ValueError, ["axis 1 of 'x' float64[?], which has 1 axis"]),
        Case("np.concatenate([x, x], axis=1)", ValueError, ["axis 1 of 'x' float64[?], which has 1 axis"]),
        Case("np.mean(X, axis='rows')", TypeError, ["an axis must be an integer, found 'rows'"]),
        Case("np.unique(X, axis=(0, 1))", TypeError, ["an axis must be an integer, found (0, 1)"]),
        Case("np.matvec(x, x)", ValueError, ["matvec takes matrices", "'x' float64[?]"]),
        Case("np.vecmat(x, x)", ValueError, ["vecmat takes matrices", "'x' float64[?]"]),
        Case("np.take_along_axis(X, T.argsort(x), 1)", ValueError, ["indices with 2 axes", "'X' float64[?, ?]"]),
        Case("np.diff(x, -1)", ValueError, ["n times over", "found -1"]),
        Case("np.interp(x, [1, 2], [3, 4], period=0)", ValueError, ["period of interp must not be 0"]),
        Case("np.histogram(x, [2, 1])", ValueError, ["edges of bins must not decrease", "[2, 1]"]),
        Case("np.histogram(x, 5, range=(1, 0))", ValueError, ["from the first edge to the last", "1 to 0"]),
        Case("np.cov(X, fweights=x)", TypeError, ["fweights must be integers", "'x' float64[?]", "aweights"]),
        Case("np.cov(X, ddof=0.5)", ValueError, ["ddof must be an integer, found 0.5"]),
    ],
    "Linear algebra": [
        Case("T.linalg.svd(x)", ValueError, ["expected a matrix or a stack of them", "'x' float64[?]"]),
        Case("T.linalg.eigh(T.ones((2, 3)))", ValueError, ["expected a square matrix, found one of shape (2, 3)"]),
        Case('T.linalg.eigh(X, "left")', ValueError, ["UPLO is 'L' or 'U'", "'left'"]),
        Case('T.linalg.qr(X, "raw")', ValueError, ["'reduced', 'complete' or 'r'", "'raw'"]),
        Case("T.linalg.matrix_power(X, k)", TypeError, ["takes an int", "'k' int64[]", "is a loop", "n_steps=n"]),
        Case("T.linalg.norm(X, 3)", ValueError, ["norm of order 3 of matrices", "'nuc'"]),
        Case('T.linalg.norm(x, "fro")', ValueError, ["norm of order 'fro' of vectors"]),
        Case("T.linalg.cross(xs3, T.ones(2))", ValueError, ["vectors of 3 numbers along axis -1"]),
        Case("np.linalg.eigvals(x32)", ValueError, ["expected a square matrix or a stack", "'x32' float32[?]"]),
    ],
    "Derivatives of one's own": [
        Case("custom_vjp(3)", TypeError, ["custom_vjp takes a Python function of arrays, found 3"]),
        Case("custom_vjp(np.sin)(x)", AttributeError, ["sin has no gradient yet", "defvjp(forward, backward)"]),
        Case("custom_jvp(np.sin)(x)", AttributeError, ["sin has no derivative yet", "defjvp(rule)"]),
        Case(
            "f = custom_vjp(np.sin); f.defvjp(lambda x: x, lambda r, g: (g,)); T.grad(f(s), s)",
            TypeError,
            ["the forward rule of sin returns (result, residuals)"],
        ),
        Case(
            "f = custom_vjp(np.sin); f.defvjp(lambda x: (x, x), lambda r, g: g); T.grad(f(s), s)",
            TypeError,
            ["the backward rule of sin returns a tuple of 1 gradients"],
        ),
    ],
    "Transforms, special functions, networks": [
        Case('T.fft.fft(x, norm="both")', ValueError, ["'backward', 'ortho' or 'forward'", "'both'"]),
        Case("np.fft.rfft(x * 1j)", TypeError, ["rfft takes real numbers", "complex128[?]", "use fft"]),
        Case("T.fft.fft(x, 0)", ValueError, ["fft of 0 points", "'x' float64[?]"]),
        Case("T.special.airy(x)", AttributeError, ["scanopt.tensor.special has no 'airy'", "betainc"]),
        Case("T.fft.rfftt(x)", AttributeError, ["'scanopt.tensor.fft' has no attribute 'rfftt'; near: rfft"]),
        Case("T.linalg.svdd(X)", AttributeError, ["'scanopt.tensor.linalg' has no attribute 'svdd'; near: svd"]),
        Case("T.nnet.rellu(x)", AttributeError, ["'scanopt.tensor.nnet' has no attribute 'rellu'; near: relu"]),
        Case("T.gelu(x)", AttributeError, ["'scanopt.tensor' has no attribute 'gelu'; it is T.nnet.gelu"]),
        Case("T.xlogy(x, x)", AttributeError, ["'scanopt.tensor' has no attribute 'xlogy'; it is T.special.xlogy"]),
        Case(
            "T.grad(T.special.gammainc(s, 2.0), s)",
            NullTypeGradError,
            ["gammainc has no derivative by argument 0", "'s' float64[]", "disconnected_grad"],
        ),
        Case("T.nnet.conv2d(X, X)", ValueError, ["images (batch, channels, ...) of 4 axes", "'X' float64[?, ?]"]),
        Case('T.nnet.max_pool(x, 2, padding="wide")', ValueError, ["'valid', 'full', 'half', 'same'", "'wide'"]),
        Case("T.nnet.one_hot(x, 3)", TypeError, ["one_hot takes integers", "'x' float64[?]"]),
    ],
    "New arrays": [
        Case("T.dvector(3)", TypeError, ["the name of a symbolic array is a string", "found 3"]),
        Case('T.vector("v", shape=3)', TypeError, ["a shape is a tuple with a length, or None", "found 3"]),
        Case('T.vector("v", shape=(2, 3))', ValueError, ["T.vector has 1 axis", "(2, 3)"]),
        Case('T.tensor("float64", (k,), "v")', TypeError, ["a length is an integer, or None", "'k' int64[]"]),
        Case('T.tensor("float64", (2.0,), "v")', TypeError, ["a length is an integer, or None", "2.0"]),
        Case('T.tensor("float64", (-1,), "v")', ValueError, ["a length is at least 0, or None", "-1"]),
        Case('T.tensor("float63", (3,), "v")', TypeError, ["'float63'"]),
        Case('T.tensor(object, (3,), "v")', TypeError, ["numbers or truth values", "'object'"]),
    ],
    "Axes with names": [
        Case('T.dmatrix("Y", axes=("time",))', ValueError, ["'Y' float64[?, ?]", "2 different names", "('time',)"]),
        Case('T.dmatrix("Y", axes="ab")', TypeError, ["a name for each axis", "('time', 'unit')", "'ab'"]),
        Case('shared(np.ones(2), "b", axes=("a", "a"))', ValueError, ["1 different names", "('a', 'a')"]),
        Case(
            'T.tensor("float64", (2, 3), "Y", axes=("time", "unit")) @ T.tensor("float64", (4,), "w", axes=("unit",))',
            ValueError,
            [
                "axis 1 ('unit') of 'Y' has length 3, axis 0 ('unit') of 'w' has length 4",
                "'Y' float64[time: 2, unit: 3]",
            ],
        ),
        Case(
            'Y, w = T.dmatrix("Y", axes=("time", "unit")), T.dvector("w", axes=("unit",))\n'
            "function([Y, w], Y @ w)(np.ones((3, 2)), np.ones(4))",
            ValueError,
            ["Y float64[time: 3, unit: 2]", "axis 1 ('unit') of Y has length 2, axis 0 ('unit') of w has length 4"],
        ),
        Case(
            'Y, w = T.dmatrix("Y", axes=("time", "unit")), T.dvector("w", axes=("unit",))\n'
            "interpret(map(lambda row, w: row * w, Y, w)[0], {Y: np.ones((3, 2)), w: np.ones(4)})",
            ValueError,
            ["Y[t] float64[unit: 2], w float64[unit: 4]", "axis 0 ('unit') of Y[t] has length 2"],
        ),
        Case(
            'Y = T.dmatrix("Y", shape=(None, 3), axes=("time", "unit"))\nfunction([Y], Y + 1)(np.ones((2, 4)))',
            ValueError,
            ["'Y' float64[time: ?, unit: 3]", "float64[2, 4]: axis 1 ('unit') has length 4, not 3"],
        ),
        Case(
            'shared(np.ones((2, 3)), "b", shape=(2, None), axes=("row", "col")).set_value(np.ones((3, 3)))',
            ValueError,
            ["promised to be float64[row: 2, col: ?]", "found float64[3, 3]"],
        ),
    ],
    "Methods of arrays": [
        Case("s.tolist()", AttributeError, ["'s' float64[] is symbolic and has no tolist", "x.eval({...})"]),
        Case("xs3.item()", ValueError, ["cannot reshape (3,) to ()", "'xs3' float64[3]"]),
        Case("x.view(int)", AttributeError, ["has no view", "x.astype(dtype)"]),
        Case("x.put([0], 1.0)", AttributeError, ["never changed in place", "x.at[indices].set(values)"]),
        Case("x.strides", AttributeError, ["has no strides", "no memory before the function runs"]),
        Case("x.maen()", AttributeError, ["has no maen", "near: mean"]),
        Case("x.relu()", AttributeError, ["has no relu", "write T.relu(x)"]),
        Case("x.at.set(3.0)", AttributeError, ["x.at of 'x' float64[?] needs an index", "x.at[index].set(...)"]),
        Case("x.at[k].add(1.0, mode='drop')", ValueError, ["'x' float64[?] has no mode 'drop'", "i < n"]),
        Case("x.at[k].get(mode='clip')", ValueError, ["no mode 'clip'", "T.clip(i, 0, n - 1)"]),
        Case("x.at[k].get(fill_value=0.0)", TypeError, ["takes no fill_value", "out of range is an error"]),
        Case("T.arange(3).at[[0, k]].divide(2)", TypeError, ["gives float64", "an array of int64 cannot hold"]),
        Case('x.to_device("cuda")', ValueError, ["backend='cupy'", "takes 'cpu' alone", "'cuda'"]),
    ],
    "Running a graph": [
        Case("interpret(x + 1)", ValueError, ["no value is given", "'x' float64[?]"]),
        Case("interpret(x32 + 1, {x32: np.ones(2)})", TypeError, ["'x32' float32[?]", "float64", "astype"]),
        Case("interpret(x + 1, {x: np.ones((2, 2))})", TypeError, ["'x' float64[?]", "1 axis", "float64[2, 2]"]),
        Case("interpret(xs3 + 1, {xs3: np.ones(4)})", ValueError, ["'xs3' float64[3]", "float64[4]"]),
        Case('interpret(x + 1, {x: "abc"})', TypeError, ["'x' float64[?]", "not an array of numbers", "'abc'"]),
        Case('interpret(x + 1, {"x": np.ones(2)})', TypeError, ["symbolic arrays", "'x'"]),
        Case("interpret(3.0, {})", TypeError, ["symbolic arrays", "3.0"]),
    ],
    "Programs written for Theano": [
        Case("scan(lambda h: 2 * h, outputs_info=1.0, n_steps=np.inf)", ValueError, ["n_steps is infinite", "until"]),
        Case("scan(lambda h: 2 * h, outputs_info=1.0, n_steps=-np.inf)", ValueError, ["must be an integer", "-inf"]),
        Case(
            "updates = scan(lambda: {W: W + 1}, n_steps=3)[1]\nupdates.update({W: W})",
            KeyError,
            ["two different updates of 'W'"],
        ),
        Case("updates = scan(lambda: {W: W + 1}, n_steps=3)[1]\nupdates | {W: W}", KeyError, ["two different updates"]),
        Case("updates = scan(lambda: {W: W + 1}, n_steps=3)[1]\nupdates[x] = x", TypeError, ["keyed by shared", "'x'"]),
        Case(
            "out, _ = scan(lambda v: v * 2, x)\nscan_module.scan_args(x, out)",
            TypeError,
            ["info must say how many slots there are", "node.op.info"],
        ),
        Case(
            "node = scan(lambda v: v * 2, x)[0].owner\nscan_module.scan_args([], [], [], [], node.info)",
            ValueError,
            ["outer_inputs has 0 variables", "there are 3"],
        ),
        Case(
            "node = scan(lambda v: v * 2, x)[0].owner\nnode.op.outer_seqs(scan(lambda v: v, x)[0].owner)",
            ValueError,
            ["ask each node for its own"],
        ),
        Case("scan(lambda v: v * 2, x)[0].owner.op.fn", AttributeError, ["no attribute 'fn'", "dir(node.op)"]),
        Case(
            "a, b = (scan(lambda v: v * 2, x)[0].owner for _ in range(2))\na.op.connection_pattern(b)",
            ValueError,
            ["another node"],
        ),
        Case("T.tahn(x)", AttributeError, ["'tahn'", "near: ", "tanh"]),
        Case("T.Elemwise", AttributeError, ["operators are entries of a table"]),
        Case("T.nlinalg.matrix_invers(X)", AttributeError, ["near: matrix_inverse"]),
        Case("import scanopt\nscanopt.OpFromGraph", AttributeError, ["docs/extending.md"]),
        Case("T.specify_shape(xs3, (4,))", ValueError, ["axis 0 has length 3, not 4", "'xs3'"]),
        Case("T.specify_shape(X, (4,))", ValueError, ["1 lengths for 'X'", "one for each axis"]),
        Case(
            "out = T.specify_shape(x, (4,))\nfunction([x], out)(np.ones(3))", ValueError, ["axis 0 has length 3, not 4"]
        ),
        Case("T.patternbroadcast(X, (True,))", ValueError, ["1 flags for 'X'"]),
        Case("T.alloc(xs3, 2, 4)", ValueError, ["cannot broadcast (3,) to (2, 4)", "'xs3'"]),
        Case('shared(np.ones(3), "v", shape=(2,))', ValueError, ["shared variable v was promised", "float64[3]"]),
        Case('shared(np.ones(3), "v", shape=(3, 1))', ValueError, ["shape (3, 1)", "1 axis"]),
        Case(
            'v = shared(np.ones(3), "v", shape=(3,))\nv.set_value(np.ones(4))',
            ValueError,
            ["promised to be float64[3], found float64[4]"],
        ),
        Case(
            'v = shared(np.ones(3), "v", shape=(3,))\nfunction([], [], updates={v: v[:2]})',
            TypeError,
            ["'v' float64[3]", "float64[2]"],
        ),
        Case(
            'v = shared(np.ones(3), "v", shape=(3,))\nscan(lambda: {v: v[:2]}, n_steps=3)',
            TypeError,
            ["'v' float64[3]", "float64[2]", "promised"],
        ),
        Case("function([x], x, profile=2)", TypeError, ["profile must be True, False or a title", "2"]),
        Case("function([k], k)(3.5)", TypeError, ["'k' int64[]", "float64"]),
        Case(
            'n = shared(0, "n")\nfunction([s], [], updates={n: n + s})',
            TypeError,
            ["the shared variable 'n' int64[]", "float64[]", "write .astype('int64')"],
        ),
        Case("T.mgrid[0:, 0:3]", IndexError, ["slices with a stop"]),
        Case("T.ogrid[0:1:5j]", IndexError, ["T.linspace"]),
        Case("T.get_scalar_constant_value(k)", NotScalarConstantError, ["'k' int64[]", "known before the run"]),
        Case("T.random.RandomStream(1).gamma(1.0, 2.0, 3.0)", ValueError, ["a rate or a scale"]),
        Case("T.fill_diagonal(x, 1.0)", ValueError, ["at least 2 axes", "'x' float64[?]"]),
    ],
    "Compiling a function": [
        Case("function(x, x + 1)", TypeError, ["inputs must be a list", "'x' float64[?]", "function([x], ...)"]),
        Case("function([x, 3.0], x)", TypeError, ["inputs[1] must be a symbolic array", "3.0 (float)"]),
        Case("function([x, W], x.sum() + W)", TypeError, ["inputs[1] is a SharedVariable", "'W' float64[?, ?]"]),
        Case("function([T.constant(1.0)], s + 1)", TypeError, ["inputs[0] is a Constant", "1.0 float32[]"]),
        Case("y = x + 1\nfunction([x, y], 2 * y)", ValueError, ["the outputs do not use 'x' float64[?]"]),
        Case("y = x + 1\nfunction([y], y * x)", ValueError, ["the outputs need 'x' float64[?]", "the inputs"]),
        Case("function([x, x], x)", ValueError, ["inputs lists 'x' float64[?] twice"]),
        Case("function([x], x + s)", ValueError, ["the outputs need 's' float64[]", "not among the inputs"]),
        Case(
            "rows = []\nscan(lambda row: rows.append(row) or row, x)\nfunction([x], rows[0])",
            ValueError,
            ["'x[t]' float64[] is an argument of the step of scan at", ":2: outside of that it has no value"],
        ),
        Case(
            "function([x, s], x + 1)", ValueError, ["the outputs do not use 's' float64[]", 'on_unused_input="ignore"']
        ),
        Case('function([x], x, on_unused_input="no")', ValueError, ["on_unused_input must be", "'no'"]),
        Case('function([x], [x, "y"])', TypeError, ["outputs[1] must be a symbolic array", "'y' (str)"]),
        Case('function([x], x, mode="fast_run")', ValueError, ["mode must be one of", "did you mean 'FAST_RUN'"]),
        Case('function([x], x, mode=Mode(excluding=["merging"]))', ValueError, ["'merging'", "near: merge"]),
        Case('function([x], x, fp="ieee")', ValueError, ["fp must be one of exact, reassoc, fast", "'ieee'"]),
        Case('function([x], x, backend="torch")', ValueError, ["'torch'", "numpy", "cupy"]),
        Case("function([x], x, name=3)", TypeError, ["name must be a string", "3"]),
        Case('function([x], x, allow_input_downcast="yes")', TypeError, ["allow_input_downcast must be", "'yes'"]),
    ],
    "Shared variables": [
        Case(
            "scan(lambda x: x, x)[-1] + 1",
            TypeError,
            ["pairs of a shared variable", "found 1 (int)", "outputs, updates = "],
        ),
        Case("function([x], x, updates={x: x + 1})", TypeError, ["updates changes 'x' float64[?]", "not a shared"]),
        Case(
            "function([], None, updates={W: W[0]})",
            TypeError,
            ["shared variable 'W' float64[?, ?]", "another type", "getitem float64[?]"],
        ),
        Case(
            'function([], None, updates={W: W.astype("float32")})',
            TypeError,
            ["shared variable 'W' float64[?, ?]", "float32[?, ?]"],
        ),
        Case("function([], None, updates=[(W, W), (W, W + 1)])", ValueError, ["updates changes 'W'", "twice"]),
        Case("function([], None, updates=[W])", TypeError, ["pairs of a shared variable", "'W'"]),
        Case("function([], None, updates=5)", TypeError, ["a dict or pairs", "5"]),
        Case('function([], None, updates={W: "big"})', TypeError, ["updates[W]", "'big' (str)"]),
        Case('W.set_value("ones")', TypeError, ["'W' float64[?, ?]", "not an array of numbers", "'ones'"]),
        Case('T.vector("v", "str")', TypeError, ["numbers or truth values", "'str'"]),
        Case("W.set_value(np.ones(3))", TypeError, ["shared variable W", "float64[?, ?]", "float64[3]"]),
        Case('W.set_value(np.ones((3, 3), "complex64"))', TypeError, ["float64[?, ?]", "complex64[3, 3]"]),
    ],
    "Random streams": [
        Case(
            "xs, updates = scan(lambda: RandomStreams(1).uniform(), n_steps=3)\nfunction([], xs)",
            UserWarning,
            ["same random numbers", "'uniform_0'", "pass updates=updates", "to function"],
        ),
        Case(
            (
                "steps = lambda: scan(lambda: RandomStreams(1).normal(), n_steps=3)[0].sum()\n"
                "xs, updates = scan(steps, n_steps=2)\nfunction([], xs, updates=updates)"
            ),
            UserWarning,
            ["'normal_0'", "a step that holds the loop must return them, too"],
        ),
    ],
    "Laws, costs and examples": [
        own_law("ops.log(v) == v", TypeError, ["law own must return an Equation", "False"]),
        own_law("Equation(ops.log(v), 2.0)", TypeError, ["the sides of an Equation are terms", "2.0", "neutral"]),
        own_law("Equation(ops.log(v), v, when=[True])", TypeError, ["law own: when= lists facts", "True"]),
        own_law("Equation(ops.log(v), v, when=floating(v))", TypeError, ["law own: when= is a list", "[floating(v)]"]),
        own_law("Equation(ops.log(v), v, when=[floating(v) and scalar(v)])", TypeError, ["neither true nor false"]),
        own_law("Equation(ops.log(v), v, when=[~floating(v)])", TypeError, ["there is no `not`"]),
        own_law("Equation(ops.log(v), v, when=[floating(v) | scalar(v)])", TypeError, ["write two laws"]),
        own_law("Equation(ops.log(v), v, when=[v > 0])", TypeError, ["number_at(c, 1.0"]),
        own_law("Equation(ops.log(v, v), v)", ValueError, ["law own: log takes 1 argument, found 2 in log(v, v)"]),
        own_law("Equation(steps(v), v)", ValueError, ["argument 1 of steps(v) must be a Clock, found v, a Value"]),
        own_law("Equation(ops.log(v), ops.log(v))", ValueError, ["both sides are log(v), so it says nothing"]),
        own_law("Equation(T.log(v), v)", TypeError, ["symbolic array of v (Value)", "ops.exp(x)"]),
        own_law("Equation(np.log(v), v)", TypeError, ["NumPy takes no value of a law", "ops.exp(x)"]),
        own_law("Equation(v.T, v)", AttributeError, ["'T'", "ops.transpose(v, axes=(1, 0))"]),
        own_law("Equation(v.sum(axis=0), v)", AttributeError, ["'sum'", "ops.sum(v, ...)"]),
        own_law("Equation(v, ops.exp(v))", ValueError, ["its left side is v alone"]),
        own_law("Equation(ops.lgo(v), v)", AttributeError, ["'lgo'", "near: log"]),
        Case('function([x], x, exclude=["scan_save_mem"])', ValueError, ["'scan_save_mem'", "save_mem"]),
        Case('function([x], x, exclude="merge")', TypeError, ["exclude must be a list", "'merge'"]),
        Case("function([x], x, rules=[len])", TypeError, ["laws made with scanopt.law", "len"]),
        Case("function([x], x, rules=loops_of_equal_length)", TypeError, ["rules=[loops_of_equal_length]"]),
        Case("function([x], x, rules=[loops_of_equal_length])", ValueError, ["'loops_of_equal_length'", "already"]),
        Case("function([x], x, cost=3)", TypeError, ["cost must be a function", "3"]),
        Case("function([x], T.exp(x) + 1, cost=lambda work: 1 / 0)", ZeroDivisionError, ["cost model priced"]),
        Case('function([x], x, exclude=["marge"])', ValueError, ["'marge'", "near: merge"]),
        Case('function([x], x, fp="exat")', ValueError, ["did you mean 'exact'"]),
        Case('function([x], x, backend="nunpy")', ValueError, ["did you mean 'numpy'"]),
        Case('function([x], x + 1, cost=lambda work: "cheap")', ValueError, ["cost model gave 'cheap'", "finite"]),
        Case("function([x], T.exp(x) + 1, cost=lambda work: -1)", ValueError, ["cost model gave -1", "not negative"]),
        Case('function([x], x, cost="calibrate")', ValueError, ["no cost model is named 'calibrate'", "calibrated"]),
        Case('function([x], x, memory="2 gigs")', ValueError, ["memory must be a positive number of bytes", "2GB"]),
        Case("function([x], x, memory=-1)", ValueError, ["memory must be a positive number of bytes", "-1"]),
        Case("function([x], x, memory=True)", TypeError, ["memory must be a positive number of bytes", "True"]),
        Case('function([x], x, cost="none.json")', FileNotFoundError, ["none.json", "scanopt calibrate --out"]),
        Case('function([x], x, schedule="fast")', ValueError, ["no schedule is named 'fast'", "everything"]),
        Case("function([x], x, schedule=3)", TypeError, ["schedule must be a scanopt.Schedule", "3"]),
        Case('function([x], x, schedule=Schedule(Phase("save_men")))', ValueError, ["'save_men'", "near: save_mem"]),
        Case('Schedule("merge")', TypeError, ["made of phases", "'merge'", "Phase('merge')"]),
        Case("Schedule(Phase(rounds=0))", ValueError, ["rounds must be a whole number from 1 on", "0"]),
        Case("function([x, s], x + s, example=[[1.0]])", ValueError, ["example has 1 values", "f(x, s)", "2 inputs"]),
        Case("function([x], x + 1, example=np.ones(2))", TypeError, ["example must be a list", "f(x)"]),
        Case("function([x], x + 1, example=[np.ones((2, 2))])", TypeError, ["'x' float64[?]", "float64[2, 2]"]),
        Case("function([x32], x32 + 1, example=[np.ones(2)])", TypeError, ["'x32' float32[?]", "float64"]),
    ],
    "Calling a compiled function": [
        Case("function([x, s], x * s)([1.0])", TypeError, ["f(x, s)", "missing", "'s' float64[]"]),
        Case("function([x, s], x * s)([1.0], 2.0, 3.0)", TypeError, ["f(x, s) takes 2 arguments, found 3"]),
        Case("function([x, s], x * s)([1.0], z=2.0)", TypeError, ["f(x, s) has no input named 'z'"]),
        Case("function([x, s], x * s)([1.0], x=[2.0])", TypeError, ["f(x, s) got two values", "'x'"]),
        Case(
            'a, b = T.dscalars("a", "a")\nfunction([a, b], a + b)(1.0, a=2.0)',
            TypeError,
            ["f(a, a) has 2 inputs named 'a'", "by position"],
        ),
        Case('function([x, s], x * s)([1.0], "two")', TypeError, ["'s' float64[]", "not an array of numbers", "'two'"]),
        Case(
            "function([x, s], x * s)(np.ma.masked_array([1.0, 2.0], [True, False]), 2.0)",
            TypeError,
            ["the value of 'x' float64[?]", "a masked array has entries without values", "x.filled(value)"],
        ),
        Case("function([x, s], x * s)(None, 2.0)", TypeError, ["'x' float64[?]", "None"]),
        Case("function([x, s], x * s)(x, 2.0)", TypeError, ["the value of 'x' float64[?] is symbolic"]),
        Case(
            "function([X], X + 1)([[1.0], [1.0, 2.0]])",
            TypeError,
            ["'X' float64[?, ?]", "not an array of numbers", "rows of different lengths make no array: pad them"],
        ),
        Case("function([x, s], x * s)([[1.0]], 2.0)", TypeError, ["'x' float64[?]", "1 axis", "float64[1, 1]"]),
        Case("function([x, s], x * s)([1j], 2.0)", TypeError, ["'x' float64[?]", "complex128"]),
        Case("function([xs3], xs3 + 1)(np.ones(4))", ValueError, ["'xs3' float64[3]", "float64[4]"]),
        Case("function([x32], x32 + 1)(np.ones(2))", TypeError, ["'x32' float32[?]", "float64", "astype"]),
        Case("function([k], k + 1)(2.5)", TypeError, ["'k' int64[]", "float64"]),
        Case("function([k], k + 1)(np.array([1]))", TypeError, ["'k' int64[]", "int64[1]"]),
        Case(
            "function([x32], x32 + 1, allow_input_downcast=True)([1j])", TypeError, ["'x32' float32[?]", "complex128"]
        ),
        Case(
            "out, _ = scan(lambda v: v, x, n_steps=k)\nfunction([x, k], out)(np.ones(3), 4)",
            ValueError,
            ["sequences[0] ('x') has 3 rows", "n_steps is 4"],
        ),
        Case(
            "out, _ = scan(lambda v: v, x, n_steps=k)\nfunction([x, k], out)(np.ones(3), -4)",
            ValueError,
            ["sequences[0] ('x') has 3 rows"],
        ),
        Case(
            "out, _ = scan(lambda v: v, x, n_steps=k)\nfunction([x, k], out[-1])(np.ones(3), 0)",
            IndexError,
            ["-1", "size 0", "a result of a scan"],
        ),
        Case(
            "function([X, x], X @ x + 1)(np.ones((4, 3)), np.ones(5))",
            ValueError,
            ["not aligned", "= dot(X, x)`: X float64[4, 3], x float64[5]"],
        ),
        Case(
            "out, _ = scan(lambda v, h, X: T.tanh(h @ X + v), x, xs3, X, name='rnn')\n"
            "function([x, X, xs3], out)(np.ones(2), np.ones((5, 3)), np.ones(3))",
            ValueError,
            ["not aligned", "xs3[t-1]", "of scan 'rnn' (your_file.py:1)"],
        ),
    ],
    "Functions of arrays": [
        Case("jit(5)", TypeError, ["jit takes a Python function", "5 (int)"]),
        Case("jit(function([x], x))", TypeError, ["compiled already"]),
        Case("jit(np.sin, inputs=[x])", TypeError, ["jit takes no inputs"]),
        Case("jit(np.sin, static_argnum=1)", TypeError, ["no option 'static_argnum'", "near: static_argnums"]),
        Case("jit(np.sin, cache_size=0)", ValueError, ["cache_size", "from 1 up", "0 (int)"]),
        Case("jit(lambda x, n: x, static_argnums=2)", ValueError, ["argument 2", "(x, n) has 2"]),
        Case("jit(lambda x, n: x, static_argnums=1.5)", TypeError, ["static_argnums must be integers", "1.5"]),
        Case("jit(lambda x, n: x, static_argnames='m')", ValueError, ["static_argnames names 'm'", "(x, n)"]),
        Case(
            "jit(lambda x, n: x, static_argnums=1)(1.0, [2])",
            TypeError,
            ["static argument", "[2]", "not hashable", "tuple"],
        ),
        Case("jit(lambda x: x)(object)", TypeError, ["result of <lambda>", "not an array"]),
        Case("jit(lambda x: x)({1, 2})", TypeError, ["not an array of numbers", "{1, 2}", "static_argnames"]),
        Case("jit(lambda x, y: x)(1.0)", TypeError, ["<lambda>(x, y)", "missing a required argument: 'y'"]),
        Case("jit(lambda x: {'y': 'no'})(1.0)", TypeError, ["result['y'] of <lambda>", "'no' (str)"]),
        Case(
            "jit(lambda x: x if x > 0 else -x)(1.0)", TypeError, ["symbolic", "while tracing <lambda> with x float64[]"]
        ),
        Case("jit(lambda x: range(x.shape[0]))(np.ones(3))", TypeError, ["symbolic", "while tracing"]),
        Case("jit(lambda x: x).explain()", TypeError, ["missing a required argument", "call <lambda> first"]),
        Case("jit(lambda x: x).lower(x)", TypeError, ["is lowered for arrays"]),
        Case("jit(lambda x: x + np.random.normal())(1.0)", UserWarning, ["draws numbers by np.random", "every call"]),
        Case("grad(np.sin)(np.ones(3))", TypeError, ["a real scalar", "float64[?]", "sum or mean", "jacrev"]),
        Case("grad(lambda x: (x, x))(1.0)", TypeError, ["returns one scalar", "has_aux"]),
        Case("grad(lambda x: x, has_aux=True)(1.0)", TypeError, ["has_aux=True", "(result, aux)"]),
        Case("grad(lambda x: x * 1.0)(3)", TypeError, ["with respect to x", "int64[]", "cast"]),
        Case("grad(lambda p: p['w'] * 1.0)({'w': 3})", TypeError, ["with respect to p['w']", "int64[]"]),
        Case("grad(lambda x: x, argnums=1)(1.0)", ValueError, ["argument 1", "called with 1"]),
        Case("grad(lambda x: x, argnums='x')(1.0)", TypeError, ["argnums of grad", "'x'"]),
        Case("grad(lambda x: x, argnums=(0, 0))(1.0)", ValueError, ["each argument once"]),
        Case("value_and_grad(3.0)", TypeError, ["value_and_grad takes a Python function", "3.0"]),
        Case("jacfwd(lambda x: x)(2)", TypeError, ["jacfwd of <lambda> with respect to x", "int64[]"]),
        Case("jvp(np.sin, 1.0, 1.0)", TypeError, ["primals of jvp must be a tuple", "1.0"]),
        Case("jvp(np.sin, (1.0,), ([1.0],))", TypeError, ["tangents of jvp", "[_]", "primals"]),
        Case("jvp(np.sin, (1.0,), (np.ones(3),))", TypeError, ["tangent of primals[0]", "float64[3]", "float64[]"]),
        Case(
            "jvp(np.sin, (np.ones(3),), (np.ones(1),))",
            ValueError,
            ["the tangent of primals[0] of sin", "float64[1]", "float64[3]", "axis 0 differs"],
        ),
        Case(
            "seen = []; jit(lambda v: (loop(lambda h, x: (h + x, seen.append(2 * h)), 0.0, v), seen[0]))(np.ones(3))",
            ValueError,
            ["is an argument of the step of loop at", "outside of that it has no value; return"],
        ),
        Case(
            "seen = []; jit(seen.append)(1.0); function([], seen[0])",
            ValueError,
            ["is an argument of append while that is traced"],
        ),
        Case("value, back = vjp(np.sin, 1.0); back([1.0])", TypeError, ["cotangents of vjp of sin", "[_]"]),
        Case("vmap(np.sin, in_axes=1)(np.ones(3))", ValueError, ["axis 1 of x of sin", "float64[?]", "1 axis"]),
        Case("vmap(np.dot, in_axes=(0,))(np.ones(3), 2.0)", ValueError, ["in_axes of vmap has 1", "called with 2"]),
        Case("vmap(np.sin, in_axes='x')(np.ones(3))", TypeError, ["in_axes of vmap must be", "x"]),
        Case("vmap(lambda p: p['a'], in_axes=({'b': 0},))({'a': x})", TypeError, ["{'b': 0}", "{'a': _}"]),
        Case("vmap(np.dot, in_axes=None)(1.0, 2.0)", ValueError, ["maps over no argument"]),
        Case("vmap(np.dot)(xs3, T.dvector('y', shape=(4,)))", ValueError, ["'xs3' float64[3]", "'y' float64[4]"]),
        Case("vmap(np.add)(np.ones(3), np.ones(4))", ValueError, ["x2 has 4 rows but x1 has 3"]),
        Case("vmap(np.sin, out_axes=None)(np.ones(3))", ValueError, ["out_axes", "result of sin", "mapped over"]),
        Case("vmap(np.sin, axis_name='i')", TypeError, ["vmap takes no axis_name", "reduce its result"]),
        Case("vmap(np.sin, out_axes=2)(np.ones(3))", ValueError, ["out_axes of vmap is 2", "1 axis"]),
        Case("tree.map(lambda a, b: a, (1, 2), [1, 2])", TypeError, ["(_, _)", "[_, _]", "the same"]),
        Case("tree.unflatten((0, 1), [3])", ValueError, ["1 values", "(_, _)", "2 leaves"]),
        Case("T.ifelse(s > 0, lambda: s, s)", TypeError, ["ifelse takes arrays", "'<lambda>'", "scanopt.lax.cond"]),
    ],
    "Control flow in the manner of JAX": [
        Case("lax.scan(lambda c, x: c, 0.0, x)", TypeError, ["must return (carry, y)"]),
        Case("lax.scan(lambda c, x: ((c, x), c), 0.0, x)", TypeError, ["carry is an array", "(_, _) after it"]),
        Case("lax.scan(lambda c, x: (c, x), 0.0)", ValueError, ["number of steps is not known"]),
        Case("lax.map(np.sin, None)", ValueError, ["an array to map over", "None"]),
        Case("lax.cond(x > 0, np.sin, np.cos, x)", TypeError, ["pred must be a scalar", "bool[?]", "select"]),
        Case("lax.cond(True, 1.0, np.cos, x)", TypeError, ["true_fun must be a function", "1.0"]),
        Case(
            "lax.cond(s > 0, lambda v: (v, v), lambda v: v, x)",
            TypeError,
            ["true_fun returns (_, _)", "false_fun an array"],
        ),
        Case("lax.cond(s > 0, lambda v: v, lambda v: v.sum(), x)", TypeError, ["result", "as many axes", "float64[?]"]),
        Case(
            "lax.cond(s > 0, lambda v: 'a', lambda v: v, x)", TypeError, ["result of true_fun must be an array", "'a'"]
        ),
        Case("lax.switch(1.0, [np.sin], x)", TypeError, ["index must be an integer", "1.0"]),
        Case("lax.switch(k, [], x)", ValueError, ["one function or more", "[]"]),
        Case(
            "lax.switch(k, [np.sin, lambda v: [v]], x)", TypeError, ["branches[0] returns an array", "branches[1] [_]"]
        ),
        Case("lax.select_n(x > 0, x)", TypeError, ["bool for two cases", "bool[?]"]),
        Case("lax.associative_scan(np.add, 3.0)", ValueError, ["axis 0 of elems", "0 axes"]),
        Case("lax.associative_scan(5, x)", TypeError, ["fn must be a function", "5"]),
        Case(
            "lax.associative_scan(np.add, (np.ones(3), np.ones(2)))",
            ValueError,
            ["elems[0] has length 3 along the axis, but elems[1] has 2"],
        ),
        Case("lax.associative_scan(lambda a, b: (a, b), x)", TypeError, ["elems is an array", "(_, _)"]),
        Case("lax.cumsum(x, axis=1)", ValueError, ["axis 1 of operand", "'x' float64[?]", "1 axis"]),
        Case("lax.cumlogsumexp(k.reshape((1,)))", TypeError, ["of floats", "int64[1]", "cast"]),
        Case("lax.dynamic_slice(xs3, (0,), (4,))", ValueError, ["a slice of 4 entries", "'xs3' float64[3]", "has 3"]),
        Case("lax.dynamic_slice(x, (0,), (k,))", TypeError, ["slice_sizes must be numbers known before the run"]),
        Case("lax.dynamic_slice(X, (0,), (1, 1))", ValueError, ["1 start indices", "2 axes"]),
        Case("lax.dynamic_slice(x, (0.5,), (1,))", TypeError, ["start index must be an integer", "0.5"]),
        Case("lax.dynamic_update_slice(x, x32, (0,))", TypeError, ["'x32' float32[?]", "'x' float64[?]", "cast"]),
        Case("lax.dynamic_update_slice(x, X, (0,))", ValueError, ["'X' float64[?, ?]", "as many axes"]),
        Case("lax.dynamic_index_in_dim(x, 0, axis=1)", ValueError, ["axis", "'x' float64[?]"]),
    ],
    "Checks and prints": [
        Case("check(x > 0, 'positive')", TypeError, ["belongs in a step", "x = check(condition, message, x)"]),
        Case("check(x > 0, 5)", TypeError, ["message must be a string", "5 (int)"]),
        Case("check('yes', 'positive', x)", TypeError, ["the condition must be an array", "'yes'"]),
        Case("debug_print('{}', x)", TypeError, ["belongs in a step", "Print('{}')(x)"]),
        Case("debug_print('{} {}', x)", ValueError, ["a place for '1'", "there are 1"]),
        Case("debug_print('{', x)", ValueError, ["is not a format"]),
        Case("debug_print('{0.shape}', x)", ValueError, ["a place for '0.shape'"]),
        Case("Print('x', ['shapes'])", ValueError, ["attrs must be a list of", "shape", "['shapes']"]),
        Case("Assert('positive')(x)", TypeError, ["Assert needs a condition"]),
        Case(
            "step = lambda c, v: (check(v >= 0, 'negative'), (c + v, None))[1]; "
            "jit(lambda xs: loop(step, 0.0, xs))(np.array([1.0, -1.0]))",
            CheckError,
            ["negative (at step 1)"],
        ),
    ],
}

WITHOUT_PLACE = (
    "New arrays",
    "Axes with names",
    "Functions of arrays",
    "Queries",
    "Symbolic arrays",
    "NumPy's functions",
    "Linear algebra",
    "Transforms, special functions, networks",
    "Methods of arrays",
    "Running a graph",
    "Compiling a function",
    "Programs written for Theano",
    "Shared variables",
    "Laws, costs and examples",
    "Calling a compiled function",
)
"""Sections of errors that no loop has part in."""


def message(c: Case) -> str:
    """The text of the case's error, notes included."""
    names: dict[str, Any] = {}
    exec(SETUP, names)
    code = compile(c.code, FILE, "exec")
    if issubclass(c.error, Warning):
        with pytest.warns(c.error) as warned:
            exec(code, names)
        return "\n".join(str(w.message) for w in warned)
    with pytest.raises(c.error) as info:
        exec(code, names)
    assert type(info.value) is c.error
    return "\n".join([str(info.value), *getattr(info.value, "__notes__", ())])


@pytest.mark.parametrize(("section", "c"), [(name, c) for name, cases in CASES.items() for c in cases])
def test_error(section: str, c: Case) -> None:
    text = message(c)
    for fragment in c.fragments:
        assert fragment in text
    if section not in WITHOUT_PLACE and c.error is not IndexError:
        assert f"{FILE}:1" in text


def page() -> str:
    """The text of docs/errors.md."""
    parts = [
        "# Errors\n\nMade by `python -m tests.test_bad_input`; do not edit.  An operator that fails when a function\n"
        "runs raises the same error as in NumPy; notes below the message name the operator, its arguments, and the\n"
        "scan that it belongs to.\n\n"
        "The examples below use these lines:\n\n"
        f"```python\n{SETUP.strip()}\n```\n"
    ]
    for section, cases in CASES.items():
        rows = [f"## {section}\n", "| what you wrote | the error |", "| --- | --- |", *map(_row, cases)]
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def _row(c: Case) -> str:
    code = "<br>".join(f"`{line}`" for line in c.code.replace("|", "\\|").splitlines())
    text = re.sub(r"([|*_<>\[\]`])", r"\\\1", message(c)).replace("\n", "<br>")
    return f"| {code} | {c.error.__name__}: {text} |"


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it again: python -m tests.test_bad_input"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
