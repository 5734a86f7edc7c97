"""Random programs of all dtypes and layouts, whose operators may raise.

Each is run by the interpreter, by plain Python and as written, and of some it is compared how they are optimized;
`python benchmarks/soundness.py --wide 0 18000 --wide-gradients 0 2000` runs more of them.
"""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from corpus import rules
from corpus.check import check, describe
from corpus.found import Found, found
from corpus.noise import FAST, within_noise
from corpus.plain import Loose, run
from corpus.slopes import DOUBLE
from corpus.spec import LAYOUTS, Input, Line, Loop, Out, Slot, Spec
from corpus.text import built, source
from corpus.used import operators
from corpus.ways import wide
from corpus.wide.functions import LISTS, MATRICES, PAIRS, ROWS, SMOOTH_TEXTS, UNARY
from corpus.wide.kinds import WIDE_KINDS, kinds
from corpus.wide.language import BITS, DRAWS, WRITTEN
from corpus.wide.pool import DTYPES
from corpus.wide.program import generate, language, language_slopes, slopes

import scanopt.tensor as T
from scanopt import interpret
from scanopt.array.op import load
from scanopt.array.operators.bits import bitcast, threefry

pytestmark = pytest.mark.usefixtures("brief_search")

PROGRAMS, GRADIENTS, LANGUAGE, LANGUAGE_GRADIENTS, CHUNK = 260, 40, 160, 40, 20
COMPILED = 6
"""One of so many is optimized, too: that takes ten times as long as all else."""


def some_ways(seed: int) -> tuple[str, ...]:
    return wide(seed) if seed % COMPILED == 0 else ("written",)


@pytest.mark.share(4)
@pytest.mark.parametrize("chunk", range(PROGRAMS // CHUNK))
def test_programs(chunk: int) -> None:
    results = [check(generate(s), (), some_ways(s)) for s in range(chunk * CHUNK, (chunk + 1) * CHUNK)]
    assert "\n".join(describe(r) for r in results if r.failures) == ""
    assert sum(r.outcome != "refused" for r in results) > 0.75 * CHUNK


@pytest.mark.share(2)
@pytest.mark.parametrize("chunk", range(GRADIENTS // CHUNK))
def test_gradients(chunk: int) -> None:
    results = [check(slopes(s), (), some_ways(s), slopes=True) for s in range(chunk * CHUNK, (chunk + 1) * CHUNK)]
    assert "\n".join(describe(r) for r in results if r.failures) == ""
    assert sum(r.outcome != "refused" for r in results) > 0.75 * CHUNK


@pytest.mark.share(4)
@pytest.mark.parametrize("chunk", range(LANGUAGE // CHUNK))
def test_programs_of_all_operators(chunk: int) -> None:
    results = [check(language(s), (), some_ways(s)) for s in range(chunk * CHUNK, (chunk + 1) * CHUNK)]
    assert "\n".join(describe(r) for r in results if r.failures) == ""
    assert sum(r.outcome != "refused" for r in results) > 0.75 * CHUNK


@pytest.mark.share(2)
@pytest.mark.parametrize("chunk", range(LANGUAGE_GRADIENTS // CHUNK))
def test_gradients_of_all_operators(chunk: int) -> None:
    seeds = range(chunk * CHUNK, (chunk + 1) * CHUNK)
    results = [check(language_slopes(s), (), some_ways(s), slopes=True, absolute=DOUBLE) for s in seeds]
    assert "\n".join(describe(r) for r in results if r.failures) == ""
    assert sum(r.outcome != "refused" for r in results) > 0.75 * CHUNK


@pytest.mark.share(2)
@pytest.mark.parametrize("program", found(), ids=lambda x: x.what)
def test_what_went_wrong_once(program: Found) -> None:
    result = check(program.spec, (), ("exact", "reassoc", "written"), slopes=program.slopes)
    assert not result.failures, describe(result)


def test_every_kind_of_program_is_there() -> None:
    counts = Counter(kind for seed in range(500) for kind in kinds(generate(seed)))
    assert counts.keys() == {*WIDE_KINDS}
    assert min(counts.values()) >= 3


MADE_BY_LAWS = {
    "accumulate", "fold", "fold_in_order", "forward_fill", "segmented", "lfilter", "lfilter2", "linear_recurrence",
    "masked_flips", "smoothing", "raised_sum", "capped_sum", "clamped_sum", "geometric", "affine_power", "polynomial",
    "powers", "repeat_rows", "swap_rows", "shaped_like", "spread_like", "in_chunks", "chunk_count", "join_rows",
    "regrouped_sum", "regrouped_filter", "regrouped_filter2", "regrouped_smoothing",
    "first_true", "linalg_or_flag", "unless_flagged", "has_rows", "no_rows", "kept_row", "when_runs", "rows_read",
    "rows_left", "widen", "given",
}  # fmt: skip
EFFECTS = {"assert_true", "printed", "after"}


def of_texts() -> set[str]:
    """The operators of each text that programs are made of, and of the gradients of smooth ones."""
    dtypes = {"f": "float64", "c": "complex128", "i": "int64", "b": "bool"}
    x, i = T.matrix("x"), T.lvector("i")
    kinds = {kind: T.tensor(dtype, (None, None), kind) for kind, dtype in dtypes.items()}
    r, p = "(x + T.eye(3))", "(x @ x.T)"
    todo = [(t.format("x"), v) for kind, v in kinds.items() for t in UNARY[kind]]
    todo += [(t.format("x", "x"), v) for kind, v in kinds.items() for t in PAIRS[kind]]
    todo += [(t.format(x="x", a=0, w=1), v) for kind, v in kinds.items() for t in (*ROWS[kind], *ROWS["any"])]
    todo += [(t.format(x="x", a=0, w=1), x) for t in ROWS["real"]]
    todo += [(t.format(x="x", y="x"), T.vector("v")) for t in LISTS]
    todo += [(t.format(x="x", r=r, p=p), x) for texts in MATRICES.values() for t in texts]
    todo += [(f"T.random.{t.format(k='T.random.key(0)', s=(2,), x='i[0]')}", i) for t, _, _ in DRAWS]
    todo += [(f"x.at[i].{name}({one})", x) for name, one in WRITTEN]
    todo += [("T.random.uniform(T.random.fold_in(T.random.key(0), i[0]))", i)]
    todo += [(t.format(x="x", d="int64", i="int64"), T.lmatrix("x")) for size, t in BITS if size in (0, 8)]
    todo += [("threefry(x, x, x, x)", T.tensor("uint32", (None,), "x")), ("T.specify_shape(x, (i[0], None))", x)]
    names = {"T": T, "i": i, "bitcast": bitcast, "threefry": threefry, "rules": rules}
    found = set[str]()
    for text, v in todo:
        found |= operators([eval(text, {**names, "x": v})])
    for text in (t for texts in SMOOTH_TEXTS.values() for t in texts):
        result = eval(text.format(x="x", y="x", a=0, r=r, p=p), {**names, "x": x})
        found |= operators([T.grad(result.sum(), x)])
    return found


def test_every_operator_is_in_programs() -> None:
    used = of_texts().union(*(operators(built(generate(s)).outputs) for s in range(100)))
    assert load().keys() - used == MADE_BY_LAWS | EFFECTS


@pytest.mark.parametrize("make", [generate, language, language_slopes])
def test_programs_are_data(make: Callable[[int], Spec]) -> None:
    for seed in range(50):
        made = make(seed)
        assert source(Spec.from_data(json.loads(json.dumps(made.to_data())))) == source(make(seed))


# ---- inputs ----


@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts(dtype: str) -> None:
    values = [1, 0, 1, 1, 0, 1] * (2 if dtype.startswith("complex") else 1)
    plain = Input("v1", dtype, [None, None], [2, 3], values).array
    for layout in LAYOUTS:
        x = Input("v1", dtype, [None, None], [2, 3], values, layout).array
        assert (x.dtype, x.shape) == (plain.dtype, plain.shape)
        assert layout in ("one row", "one column") or np.array_equal(x, plain)


LIES: dict[str, Any] = {
    "Fortran order": lambda x: x.flags.f_contiguous and not x.flags.c_contiguous,
    "transposed": lambda x: x.flags.f_contiguous and not x.flags.c_contiguous,
    "reversed": lambda x: x.strides[1] < 0,
    "backwards": lambda x: x.strides[0] < 0,
    "strided": lambda x: x.strides[1] == 2 * x.itemsize,
    "rows apart": lambda x: x.strides[0] == 9 * x.itemsize,
    "unaligned": lambda x: not x.flags.aligned,
    "one row": lambda x: x.strides[0] == 0,
    "one column": lambda x: x.strides[1] == 0,
    "read only": lambda x: not x.flags.writeable,
}


@pytest.mark.parametrize("layout", LIES)
def test_arrays_lie_as_they_should(layout: str) -> None:
    assert LIES.keys() | {""} == LAYOUTS.keys()
    assert LIES[layout](Input("v1", "float64", [None, None], [2, 3], [*range(6)], layout).array)


# ---- what differs by rounding ----


def noise(text: str, found: Any, ulps: int | None = None) -> str:
    """What is wrong with `found` for a program of v = 1e16, 1, -1e16."""
    v = T.dvector("v")
    value = np.array([1e16, 1.0, -1e16])
    result = eval(text)
    expected = interpret([result], {v: value})
    more = {} if ulps is None else {"ulps": ulps}
    return within_noise([result], {v: value}, expected, [np.asarray(found, expected[0].dtype)], **more)


def test_a_sum_that_cancels_may_be_off_by_what_it_adds_up() -> None:
    assert noise("v.sum()", 2.0) == ""
    assert "error" in noise("v.sum()", 2000.0)
    assert noise("(v[0] + v[2]) + v[1]", 0.0) == ""


def test_what_does_not_round_may_not_be_off() -> None:
    assert "error" in noise("T.max(v)", 1e16 * (1 + 1e-14))
    assert "error" in noise("v[::-1][2] * 2.0", 2e16 * (1 + 1e-13))
    assert noise("v[::-1][2] * 2.0", 2e16 * (1 + 4e-15)) == ""


def test_integers_are_compared_where_rounding_does_not_change_them() -> None:
    assert noise("T.gt(v.sum(), 0).astype('int64')", 1) == ""
    assert "another" in noise("T.gt(v, 0).sum()", 1)
    assert noise("T.gt(v.sum(), 0.5).astype('int64')", 0) == ""


def test_what_is_not_finite_must_not_come_from_nowhere() -> None:
    assert "not finite" in noise("T.sin(v * 1e-16)", [np.nan, 0.0, 0.0])
    assert noise("T.sin(v * 1e-16)", [np.nan, 1e-16, -0.8414709848078965], FAST) == ""


# ---- plain Python ----


def loop(text: str, shape: list[int], rows: int, k: int = 5) -> Spec:
    """One map over v1 of some rows, with a number w1."""
    v1 = Input("v1", "float64", [None, None], [rows, 2], [0.5] * 2 * rows)
    out = [Out("o1", "float64", [rows, *shape], "v2")]
    body = [Line("v2", text, "float64", shape)]
    more = [Line("v3", "o1 * 2", "float64", [rows, *shape]), Line("v4", "o1.sum()", "float64", [])]
    v5 = Input("v5", "int64", [], [], [k])
    one = Loop("map", [Slot("v1", ["x1"])], out, [Slot("v5", ["w1"])], [*body])
    return Spec(0, [v1, v5], [one, *more], ["o1", "v3", "v4"], False, disturbed=True)


def test_rows_that_no_step_computed_have_lengths_that_are_not_known() -> None:
    trace, twice, total = run(loop("x1 * 2", [2], 0), {})[0]
    assert isinstance(trace, Loose)
    assert isinstance(twice, Loose)
    assert not isinstance(total, Loose)
    assert [x.shape for x in run(loop("x1 * 2", [2], 3), {})[0]] == [(3, 2), (3, 2), ()]


def test_number_of_axes_is_compared_of_them() -> None:
    assert not check(loop("x1 * 2", [7], 0), ways=()).failures
    assert check(loop("x1 * 2", [2, 2], 0), ways=()).failures


@pytest.mark.parametrize(
    ("text", "k", "raises"),
    [
        ("x1[w1] * 2", 5, "IndexError"),
        ("x1.reshape((w1, -1)).sum()", 3, "ValueError"),
        ("x1[::w1].sum()", 0, "ValueError"),
    ],
)
def test_what_raises_raises_alike(text: str, k: int, raises: str) -> None:
    assert check(loop(text, [], 0, k), ways=("written",)).outcome == "values"
    result = check(loop(text, [], 2, k), ways=("exact", "written"))
    assert (result.outcome, result.plain, result.failures) == (raises, "raises", [])
