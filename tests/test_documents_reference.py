"""The scan reference, argument by argument, its special cases, and the loops tutorial, as programs."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_documents_examples import POWER, in_all_modes, run

import scanopt
import scanopt.tensor as T
from scanopt.loops.node import Scan
from scanopt.loops.profile import profile_summary, reset_profiles
from scanopt.program.ir import Loop

X = [3.0, -1.0, 4.0, 1.5]


def node_of(v: Any) -> Scan:
    assert isinstance(v.owner, Scan)
    return v.owner


def loops(f: Any) -> list[Loop]:
    return [step for step in f.program.walk() if isinstance(step, Loop)]


# ---- signatures ----

SIGNATURES = {
    "map": "fn, sequences, non_sequences=None, truncate_gradient=-1, go_backwards=False, mode=None, name=None",
    "reduce": "fn, sequences, outputs_info, non_sequences=None, go_backwards=False, mode=None, name=None",
    "foldl": "fn, sequences, outputs_info, non_sequences=None, mode=None, name=None",
    "foldr": "fn, sequences, outputs_info, non_sequences=None, mode=None, name=None",
    "scan": "fn, sequences=None, outputs_info=None, non_sequences=None, n_steps=None, truncate_gradient=-1, "
    "go_backwards=False, mode=None, name=None, profile=False, allow_gc=None, strict=False, return_list=False",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name: str) -> None:
    """Names, order and defaults; what this project adds comes after them."""
    exec(f"def documented({SIGNATURES[name]}): pass", names := dict[str, Any]())
    documented = inspect.signature(names["documented"]).parameters.values()
    found = [p.replace(annotation=p.empty) for p in inspect.signature(getattr(scanopt, name)).parameters.values()]
    assert found[: len(documented)] == list(documented)
    assert {p.name for p in found[len(documented) :]} <= {"return_list", "return_updates"}


# ---- special cases ----


@in_all_modes
def test_sum_by_scan_and_by_its_relatives(options: dict[str, Any]) -> None:
    """`sum() could be computed by scanning the z+x_i function over a list, given an initial state of z=0.`"""
    x = T.dvector("x")
    by_scan, _ = scanopt.scan(lambda x_i, z: z + x_i, sequences=x, outputs_info=T.constant(np.asarray(0.0)))
    by_reduce, _ = scanopt.reduce(lambda x_i, z: z + x_i, x, T.constant(np.asarray(0.0)))
    by_foldl, _ = scanopt.foldl(lambda x_i, z: z + x_i, x, T.constant(np.asarray(0.0)))
    f = scanopt.function([x], [by_scan[-1], by_reduce, by_foldl], **options)
    assert [float(v) for v in f(X)] == [7.5] * 3


@in_all_modes
def test_folds_from_either_end(options: dict[str, Any]) -> None:
    x = T.dvector("x")
    calls: list[Callable[..., Any]] = [scanopt.foldl, scanopt.foldr]
    both = [call(lambda d, n: 10 * n + d, x, T.constant(np.asarray(0.0)))[0] for call in calls]
    turned, _ = scanopt.reduce(lambda d, n: 10 * n + d, x, T.constant(np.asarray(0.0)), go_backwards=True)
    found = scanopt.function([x], [*both, turned], **options)([1, 2, 3])
    assert [float(v) for v in found] == [123.0, 321.0, 321.0]


@in_all_modes
def test_map_ignores_earlier_outputs(options: dict[str, Any]) -> None:
    x, c = T.dvector("x"), T.dscalar("c")
    by_map, _ = scanopt.map(lambda v, c: c * v**2, x, non_sequences=c)
    backwards, _ = scanopt.map(lambda v, c: c * v**2, x, c, go_backwards=True)
    by_scan, _ = scanopt.scan(lambda v, before, c: c * v**2, x, T.constant(np.asarray(0.0)), c)
    expected = [18.0, 2.0, 32.0, 4.5]
    found = scanopt.function([x, c], [by_map, backwards, by_scan], **options)(X, 2.0)
    assert [v.tolist() for v in found] == [expected, expected[::-1], expected]


@in_all_modes
def test_enumerate(options: dict[str, Any]) -> None:
    """`simulate python's enumerate: simply include theano.tensor.arange to the sequences`; the shortest one counts."""
    x = T.dvector("x")
    out, _ = scanopt.scan(lambda i, v: [i, i * v], sequences=[T.arange(10000), x])
    i, product = scanopt.function([x], out, **options)(X)
    assert i.tolist() == [0, 1, 2, 3]
    assert product.tolist() == [0.0, -1.0, 8.0, 4.5]


# ---- outputs_info ----


@in_all_modes
def test_partial_information(options: dict[str, Any]) -> None:
    """No dict, or a dict without taps: the last step (-1).  A dict without a state, or None: no taps."""
    y0 = T.dscalar("y0")

    def step(one: Any, two: Any) -> list[Any]:
        return [one + 1, two * 2, one, two]

    outputs, _ = scanopt.scan(step, outputs_info=[y0, dict(initial=y0), dict(), None], n_steps=3)
    named, _ = scanopt.scan(step, outputs_info=[y0, dict(initial=y0), dict(taps=None), None], n_steps=3)
    found = scanopt.function([y0], [*outputs, *named], **options)(1.0)
    assert [v.tolist() for v in found] == [[2.0, 3.0, 4.0], [2.0, 4.0, 8.0], [1.0, 2.0, 3.0], [1.0, 2.0, 4.0]] * 2


@in_all_modes
@pytest.mark.parametrize("nothing", [None, []])
def test_no_outputs_info_means_no_taps(nothing: Any, options: dict[str, Any]) -> None:
    x = T.dvector("x")
    outputs, _ = scanopt.scan(lambda v: [v + 1, v * 2], x, outputs_info=nothing)
    found = scanopt.function([x], outputs, **options)([1.0, 2.0])
    assert [v.tolist() for v in found] == [[2.0, 3.0], [2.0, 4.0]]


def test_information_for_a_subset_is_an_error() -> None:
    """`If information is provided just for a subset of the outputs, an exception is raised`."""
    x = T.dvector("x")
    for info in (T.constant(np.asarray(0.0)), [None], dict(initial=T.constant(np.asarray(0.0)))):
        with pytest.raises((ValueError, TypeError)):
            scanopt.scan(lambda v, *before: [v, v], x, outputs_info=info)
    with pytest.raises(ValueError, match="describes 3 outputs but the step returned 2"):
        scanopt.scan(lambda v: [v, v], x, outputs_info=[None] * 3)


def test_initial_state_must_not_involve_a_downcast(monkeypatch: pytest.MonkeyPatch) -> None:
    """`An unauthorized implicit downcast from the dtype of 'seq', to that of 'T.as_tensor_variable(0)'`."""
    seq = T.arange(T.iscalar("up_to"))
    start = T.as_tensor_variable(0)
    assert start.dtype == "int8"
    with pytest.raises(ValueError, match=r"starts as int8\[\] but the step gives int64\[\]"):
        scanopt.scan(lambda value, total: total + value, outputs_info=start, sequences=seq)


@pytest.mark.parametrize("shape", [(3,), (1,), (2, 2)])
def test_initial_state_has_the_shape_of_the_output(shape: tuple[int, ...]) -> None:
    """`the initial state should have the same shape as the output`."""
    start = T.constant(np.zeros(shape))
    with pytest.raises(ValueError, match=r"outputs_info\[0\]"):
        scanopt.scan(lambda s: T.zeros((2,)) + s.sum(), outputs_info=start, n_steps=3)


# ---- n_steps, go_backwards ----


@pytest.mark.share(6)
@in_all_modes
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("n", [None, 0, 1, 3, -1, -3])
def test_number_and_direction_of_steps(n: int | None, backwards: bool, options: dict[str, Any]) -> None:
    """`If the value is 0 the outputs will have 0 rows. If the value is negative, scan will run backwards in time.`"""
    x = T.dvector("x")
    out, _ = scanopt.scan(lambda v, s: 2 * s + v, x, T.constant(np.asarray(0.0)), n_steps=n, go_backwards=backwards)
    turned = X[::-1] if backwards != (n is not None and n < 0) else X
    expected, s = [], 0.0
    for v in turned if n is None else turned[: abs(n)]:
        expected.append(s := 2 * s + v)
    assert scanopt.function([x], out, **options)(X).tolist() == expected


@in_all_modes
def test_too_few_entries(options: dict[str, Any]) -> None:
    """`If any of the input sequences do not have enough elements, scan will raise an error.`"""
    x, n = T.dvector("x"), T.iscalar("n")
    known, _ = scanopt.scan(lambda v: v, x, n_steps=5)
    symbolic, _ = scanopt.scan(lambda v: v, x, n_steps=n)
    with pytest.raises(ValueError, match="has 4 rows but n_steps is 5"):
        scanopt.function([x], known, **options)(X)
    with pytest.raises(ValueError, match="has 4 rows but n_steps is 5"):
        scanopt.function([x, n], symbolic, **options)(X, 5)


@pytest.mark.parametrize("n", [1, -1])
def test_one_step_is_no_loop(n: int) -> None:
    """one_step_scan: the step is part of the outer program, without a loop."""
    x = T.dvector("x")
    out, _ = scanopt.scan(lambda v, s: s * v + 1, x, T.constant(np.asarray(2.0)), n_steps=n)
    for options in ({}, {"fp": "exact"}):
        f = scanopt.function([x], out, **options)
        assert not loops(f)
        assert f(X).tolist() == [2 * X[0 if n > 0 else -1] + 1]
    assert len(loops(scanopt.function([x], out, mode="unoptimized"))) == 1


# ---- the other arguments ----


def test_compiled_functions_are_no_steps() -> None:
    """`Some users try to pass a compile Theano function as fn, which is not possible.`"""
    x = T.dvector("x")
    with pytest.raises(TypeError, match="is compiled already: pass the Python function"):
        scanopt.scan(scanopt.function([x], x * 2), x)


def test_the_step_is_called_once() -> None:
    """`a function that builds a symbolic graph, and that function will only get called once`."""
    x, calls = T.dvector("x"), []

    def step(v: Any, s: Any) -> Any:
        calls.append(v)
        return s + v

    f = scanopt.function([x], scanopt.scan(step, x, T.constant(np.asarray(0.0)))[0])
    assert f(X).tolist() == [3.0, 2.0, 6.0, 7.5]
    assert len(calls) == 1


def test_truncate_gradient_and_name_are_kept() -> None:
    x = T.dvector("x")
    assert node_of(scanopt.scan(lambda v: v, x)[0]).truncate_gradient == -1
    node = node_of(scanopt.scan(lambda v: v, x, truncate_gradient=5, name="copy")[0])
    assert (node.truncate_gradient, node.name) == (5, "copy")
    assert node_of(scanopt.map(lambda v: v, x, truncate_gradient=2)[0]).truncate_gradient == 2
    with pytest.raises(ValueError, match="truncate_gradient"):
        scanopt.scan(lambda v: v, x, truncate_gradient=0)


@pytest.mark.parametrize("mode", [None, "FAST_RUN", "FAST_COMPILE", "unoptimized", scanopt.Mode("FAST_RUN")])
def test_modes_of_a_loop(mode: Any) -> None:
    """Whatever the mode of the step is, the numbers are the same."""
    x = T.dvector("x")
    out, _ = scanopt.scan(lambda v, s: T.tanh(s + v), x, T.constant(np.asarray(0.0)), mode=mode)
    plain, _ = scanopt.scan(lambda v, s: T.tanh(s + v), x, T.constant(np.asarray(0.0)))
    np.testing.assert_allclose(*scanopt.function([x], [out, plain])(X), rtol=1e-12)
    assert node_of(out).mode == (None if mode is None else scanopt.modes.as_mode(mode))


@in_all_modes
@pytest.mark.parametrize(("profile", "title"), [(True, "walk"), ("mine", "mine"), (False, None), ("", None)])
def test_profile(profile: Any, title: str | None, options: dict[str, Any]) -> None:
    """`When profile is True, the profiler results will use the name of the Scan instance, otherwise the string.`"""
    reset_profiles()
    x = T.dvector("x")
    out, _ = scanopt.scan(lambda v, s: T.tanh(s + v), x, T.constant(np.asarray(0.0)), name="walk", profile=profile)
    scanopt.function([x], out, **options)(X)
    rows = [line.split()[:3] for line in profile_summary().splitlines()[1:]]
    reset_profiles()
    assert rows == ([] if title is None else [[title, "1", "4"]])


@in_all_modes
def test_allow_gc(options: dict[str, Any]) -> None:
    """`when a value is not provided for this argument, the value of the flag config.scan.allow_gc is used`."""
    x = T.dvector("x")

    def kept(allow_gc: bool | None) -> bool:
        start = T.constant(np.asarray(0.0))
        out, _ = scanopt.scan(lambda v, s: T.tanh(s + v), x, start, allow_gc=allow_gc)
        f = scanopt.function([x], out, **options)
        np.testing.assert_array_equal(f(X), f(X))
        (loop,) = loops(f)
        return loop.keep_buffers

    for flag in (True, False):
        with scanopt.config.change_flags({"scan.allow_gc": flag}):
            assert [kept(None), kept(True), kept(False)] == [not flag, False, True]


@in_all_modes
def test_return_list(options: dict[str, Any]) -> None:
    """`If True, will always return a list, even if there is only one output.`"""
    x = T.dvector("x")
    plain, _ = scanopt.scan(lambda v: v * 2, x)
    listed, _ = scanopt.scan(lambda v: v * 2, x, return_list=True)
    assert isinstance(listed, list)
    found = scanopt.function([x], [plain, *listed], **options)([1.0, 2.0])
    assert [v.tolist() for v in found] == [[2.0, 4.0]] * 2


def test_only_what_is_read_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's first example, as a function of what its loop keeps: one row, of the last step."""
    names, _ = run(POWER, {}, monkeypatch)
    for loop in loops(names["power"]):
        assert [keep.rows for keep in loop.keeps] == [1]


# ---- the loops tutorial ----


@in_all_modes
def test_elements_of_a_matrix_keep_their_shape(options: dict[str, Any]) -> None:
    """`running the function against all elements in the input tensor, a, and kept the same shape ..., (2,3)`."""
    a = T.matrix("a")
    b, updates = scanopt.scan(lambda x: 2 * x, sequences=a)
    found = scanopt.function([a], b, updates=updates, **options)([[1, 2, 3], [4, 5, 6]])
    assert found.tolist() == [[2, 4, 6], [8, 10, 12]]


@in_all_modes
def test_cumulative_sum(options: dict[str, Any]) -> None:
    """`to compute the cumulative sum in a vector, with an initial state of the sum at 0`."""
    a = T.vector("a")
    s, updates = scanopt.scan(lambda x, prior: prior + x, sequences=a, outputs_info=T.zeros((), a.dtype))
    found = scanopt.function([a], s, updates=updates, **options)(np.ones(20))
    assert found.tolist() == list(range(1, 21))  # the initial state is not part of the output sequence


@in_all_modes
def test_cumulative_sum_of_vectors(options: dict[str, Any]) -> None:
    """`Twenty steps along the rows (times) have accumulated the sum of all elements.`"""
    a, s0 = T.matrix("a"), T.vector("s0")
    s, updates = scanopt.scan(lambda x, prior: prior + x, sequences=a, outputs_info=s0)
    rows = np.arange(100.0).reshape(20, 5)
    found = scanopt.function([a, s0], s, updates=updates, **options)(rows, np.zeros(5))
    np.testing.assert_array_equal(found, rows.cumsum(axis=0))


@in_all_modes
def test_five_times_the_prior_value_and_the_new_element(options: dict[str, Any]) -> None:
    """`It is multiplying the prior value by 5 and adding the new element.`"""
    a, s0 = T.vector("a"), T.scalar("s0")
    s, updates = scanopt.scan(
        lambda x, prior, coefficient: coefficient * prior + x, sequences=a, outputs_info=s0, non_sequences=T.constant(5)
    )
    found = scanopt.function([a, s0], s, updates=updates, **options)([1, 2, 3, 4], 0)
    assert found.tolist() == [1, 7, 38, 194]
