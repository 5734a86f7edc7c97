"""Extraction: causal, exact, and honest about what it could not prove."""

import itertools
import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from corpus.check import _with_gradients
from corpus.smooth import generate
from corpus.text import built

import scanopt
import scanopt.tensor as T
from scanopt import lax
from scanopt.analysis.sizes import Sizes, example_operands
from scanopt.array.variable import Variable
from scanopt.backends import executor
from scanopt.backends.kernels.prices import KERNELS
from scanopt.calculus.law import Equation, Law, law, select, standard_laws
from scanopt.calculus.terms import Op, Value, apply, ops
from scanopt.compilation.optimize import as_written, optimize
from scanopt.compilation.settings import Settings
from scanopt.egraph.encode import encode
from scanopt.egraph.session import EGraph, Limits, UnsoundLawError
from scanopt.extraction.branch_and_bound import cheaper
from scanopt.extraction.cost import Work, numpy_cost
from scanopt.extraction.extract import extract, quickly, total
from scanopt.extraction.greedy import greedy, negotiated
from scanopt.extraction.milp import Solver, solve
from scanopt.extraction.ordering import AcausalError, Choice, order, reached
from scanopt.extraction.problem import Limit, Problem
from scanopt.interpreter import interpret
from scanopt.lab.attacked_program import build, random_values
from scanopt.program.ir import Loop
from scanopt.program.lower import lower


def running_sum(x: Any) -> Any:
    return scanopt.scan(lambda v, s: s + v, x, [0.0])[0]


def nonlinear(x: Any) -> Any:
    return scanopt.scan(lambda v, s: T.tanh(s) + v, x, [0.0])[0]


def two_phases(x: Any) -> Any:
    """The second loop needs the sum of the first one's trace: one clock, two passes."""
    s = nonlinear(x)
    return scanopt.scan(lambda v, t, p: p * 0.5 + v / t, s, [0.0], [s.sum()])[0]


def powers(x: Any, n: Any) -> Any:
    return scanopt.scan(lambda s, v: s * v, None, [T.ones_like(x)], [x], n_steps=n)[0]


def network(X: Any, W: Any) -> Any:
    return scanopt.scan(lambda v, h, w: T.tanh(T.dot(v, w) + T.dot(h, w)), X, [T.zeros_like(W[0])], [W])[0]


def few(x: Any) -> Any:
    return scanopt.scan(lambda v: T.exp(v) * 2.0, None, [x], n_steps=2)[0]


PROGRAMS: dict[str, Callable[..., Any]] = {
    "map": lambda x: scanopt.map(lambda v: T.exp(v) * 2.0, x)[0],
    "sum": lambda x: running_sum(x)[-1],
    "power": lambda x, n: powers(x, n)[-1],
    "row": lambda x, n: powers(x, n)[2],
    "two phases": two_phases,
    "merge": lambda x: [running_sum(x), nonlinear(x)],
    "layers": lambda x: nonlinear(nonlinear(x))[-1],
    "network": lambda X, W: network(X, W)[-1],
    "few steps": lambda x: [(s := few(x))[-1] * x, T.tanh(s)],
    "nested": lambda X: scanopt.scan(lambda row, s: s + running_sum(row)[-1], X, [0.0])[0],
}
EACH = pytest.mark.parametrize("name", PROGRAMS)


def problem_of(name: str, cost: Callable[[Work], float] = numpy_cost) -> Problem:
    inputs, outputs = build(PROGRAMS[name])
    # Two nested sums without loops, in all their forms, are more choices than can be tried.
    engine = EGraph(encode(inputs, outputs), select(exclude=["cumulative"] if name == "nested" else []))
    engine.saturate()
    graph = engine.snapshot()
    engine.close()
    return Problem(graph, Sizes(graph, example_operands(graph)), cost)


def cheapest_by_trying_all(problem: Problem, limit: int = 200_000) -> float:
    """The least cost of all causal choices, by going through every one; beyond a limit of bytes they cost more."""
    open_ = [i for i, options in problem.options.items() if len(options) > 1]
    count = int(np.prod([len(problem.options[i]) for i in open_], dtype=float)) if open_ else 1
    assert count <= limit, f"{count} choices are too many to try"
    best = float("inf")
    fixed = {i: o[0] for i, o in problem.options.items()}
    for picked in itertools.product(*(problem.options[i] for i in open_)):
        choice = reached(fixed | dict(zip(open_, picked, strict=True)), problem.roots)
        if problem.total(choice) < best and causal(problem, choice):
            best = problem.total(choice)
    return best


def causal(problem: Problem, choice: Choice) -> bool:
    try:
        order(problem, choice)
    except AcausalError:
        return False
    return True


@EACH
def test_the_small_search_finds_what_the_solver_finds(name: str) -> None:
    problem = problem_of(name)
    solution = solve(problem, 10)
    assert solution is not None
    assert solution.proven
    least = total(solution.choice)
    known, found = cheaper(problem, least * 1.001)
    assert known
    assert found is not None
    assert total(found[0]) == pytest.approx(least, rel=1e-6)
    assert causal(problem, found[0])
    assert cheaper(problem, least) == (True, None)


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "nested"])
def test_exact_extraction_is_the_best_of_all(name: str) -> None:
    problem = problem_of(name)
    found, solved = extract(problem), solve(problem, 10.0)
    assert found.optimal
    assert solved is not None
    assert solved.proven
    assert total(solved.choice) == pytest.approx(found.cost)
    assert found.cost == pytest.approx(cheapest_by_trying_all(problem))
    assert found.bound == pytest.approx(found.cost, rel=1e-6)
    solver = Solver(problem)
    solver.relax(10.0)
    assert 0 < solver.bound <= found.cost * (1 + 1e-9)


@pytest.mark.share(2)
@pytest.mark.parametrize("large", [0, 1_000_000])
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "nested"])
def test_a_known_cost_bounds_a_model_of_any_size(name: str, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the row that cuts off what is dearer and, as for large models, without it."""
    monkeypatch.setattr("scanopt.extraction.milp._LARGE", large)
    problem = problem_of(name)
    least = cheapest_by_trying_all(problem)
    solved = solve(problem, 10.0, 1.5 * least)
    assert solved is not None
    assert solved.proven
    assert total(solved.choice) == pytest.approx(least)
    assert solved.bound == pytest.approx(least, rel=1e-6)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "nested"])
def test_pruning_loses_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cheapest of all choices, those among dominated forms included, costs what extraction found."""
    found = extract(problem_of(name))
    monkeypatch.setattr("scanopt.extraction.problem.undominated", lambda options, limited: options)
    assert found.cost == pytest.approx(cheapest_by_trying_all(problem_of(name)))


@pytest.mark.share(4)
@pytest.mark.parametrize("share", [0.01, 0.4, 0.9])
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "nested"])
def test_a_limit_of_bytes_counts(name: str, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The searches find, and pruning leaves, what costs least with what goes beyond the limit."""
    free = problem_of(name)
    found = extract(free)
    limit = Limit(share * found.held, 10 * found.cost / found.held)
    problem = Problem(free.graph, free.sizes, free.cost, limit)
    limited, solved, quick = extract(problem), solve(problem, 10.0), greedy(problem)
    assert solved is not None
    assert quick is not None
    best = problem.total(limited.choice)
    assert best == pytest.approx(problem.total(solved.choice))
    assert best <= problem.total(quick[0]) * (1 + 1e-9)
    assert limited.cost == pytest.approx(total(limited.choice))
    monkeypatch.setattr("scanopt.extraction.problem.undominated", lambda options, limited: options)
    assert best == pytest.approx(cheapest_by_trying_all(Problem(free.graph, free.sizes, free.cost, limit)))


@pytest.mark.share(4)
@EACH
@pytest.mark.parametrize("seed", range(3))
def test_exact_extraction_is_the_best_of_all_for_any_costs(name: str, seed: int) -> None:
    def cost(work: Work) -> float:
        text = f"{seed} {work.kind} {work.op} {[a.shape for a in work.args]}"
        return 1.0 + zlib.crc32(text.encode()) % 1000

    problem = problem_of(name, cost)
    solved = solve(problem, 10.0)
    assert solved is not None
    assert solved.proven
    assert total(solved.choice) == pytest.approx(cheapest_by_trying_all(problem))


@pytest.mark.parametrize(("loops", "operators"), [(3, 40), (14, 1)])
def test_long_steps_and_many_phases_are_solved(loops: int, operators: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every operator may stand in a loop or outside; every loop needs the sum of the trace before it."""
    monkeypatch.setattr("scanopt.extraction.extract._LEAST_SECONDS", 30.0)
    x = T.dvector("x")

    def step(v: Any, s: Any, p: Any) -> Any:
        for i in range(operators):
            v = T.tanh(v) * (i + 2.0)
        return T.tanh(s) * 0.5 + v * p

    trace = x
    for _ in range(loops):
        trace = scanopt.scan(step, x, [0.0], [trace.sum()])[0]
    made = scanopt.function([x], trace)
    assert made.report.saturated
    assert made.report.optimal
    assert len(made.program.loops()) == loops
    np.testing.assert_allclose(made([0.5, 0.25]), made.unoptimized([0.5, 0.25]))


@EACH
def test_greedy_is_causal_and_no_better_than_exact(name: str) -> None:
    problem = problem_of(name)
    best = extract(problem).cost
    for found in (greedy(problem), negotiated(problem), negotiated(problem, thorough=True)):
        assert found is not None
        assert causal(problem, found[0])
        assert total(found[0]) >= best * (1 - 1e-9)


def run(program: Callable[..., Any], **settings: Any) -> Any:
    """The optimized program of `program`; its results are compared with the interpreter's."""
    inputs, outputs = build(program)
    done = optimize(encode(inputs, outputs), standard_laws(), Settings(**settings))
    check_results(inputs, outputs, lower(done.extraction))
    return done


def check_results(inputs: Sequence[Variable], outputs: Sequence[Variable], program: Any) -> None:
    compiled = executor("numpy").compile(program)
    for n in (3, 5):
        values = [np.asarray(np.nan_to_num(v, posinf=2.0)) for v in random_values(inputs, n, random.Random(n))]
        want = interpret(list(outputs), dict(zip(inputs, values, strict=True)))
        for a, b in zip(compiled(values), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9)


def test_second_pass_reads_what_the_first_left() -> None:
    done = run(two_phases)
    loops = lower(done.extraction).loops()
    assert [loop.phase for loop in loops] == [0, 1]
    assert loops[0].label == loops[1].label


def test_recurrent_operator_stays_in_its_loop() -> None:
    """However dear an operator inside a loop is, what the recurrence needs cannot leave it."""

    def dear_inside(work: Work) -> float:
        return 1e6 if work.op is not None and not any(a.shape for a in work.args) else numpy_cost(work)

    done = run(nonlinear, cost=dear_inside)
    assert "tanh" in str(lower(done.extraction).loops()[0].body)


def test_where_no_search_meets_a_program_it_is_the_one_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanopt.extraction.extract._FEW", 0)
    monkeypatch.setattr("scanopt.extraction.extract.Solver.solve", lambda self, seconds, most=0.0: None)
    for search in ("greedy", "negotiated"):
        monkeypatch.setattr(f"scanopt.extraction.extract.{search}", lambda problem, **more: None)
    x = T.dvector("x")
    trace, _ = scanopt.scan(lambda v, s: T.tanh(T.exp(v) * s), x, [T.constant(0.5, dtype="float64")])
    f = scanopt.function([x], trace)
    values = np.array([0.1, -0.4, 2.0])
    assert f(values).tolist() == interpret(trace, {x: values}).tolist()
    assert (f.report.method, f.report.optimal) == ("written", False)


@pytest.mark.parametrize("name", ["two phases", "layers", "few steps"])
def test_circles_are_cut_off_when_a_solution_has_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(name)
    best = solve(problem, 10.0)
    for rows in ("order_rows", "made_rows", "circle_rows"):
        monkeypatch.setattr(f"scanopt.extraction.integer_program.{rows}", lambda problem, variables: iter(()))
    found = solve(problem, 10.0)
    assert best is not None
    assert found is not None
    assert found.proven
    assert total(found.choice) == pytest.approx(total(best.choice))


def second_derivative(x: Any) -> Any:
    power = scanopt.scan(lambda s: s**2, None, [x], n_steps=3)[0][-1]
    return scanopt.grad(scanopt.grad(power.sum(), x).sum(), x)


def test_a_thorough_search_gives_up_dear_options() -> None:
    """Every value has forms in loops, in arrays and row by row, and circles between them."""
    inputs, outputs = build(second_derivative)
    encoded = encode(inputs, outputs)
    problem = optimize(encoded, standard_laws(), Settings(exact=False)).extraction.problem
    quick, thorough = greedy(problem), greedy(problem, thorough=True)
    assert quick is not None
    assert thorough is not None
    assert total(thorough[0]) < 0.9 * total(quick[0])
    assert total(thorough[0]) < as_written(encoded, Settings()).cost


def test_no_time_for_the_exact_search() -> None:
    done = run(two_phases, exact=False)
    assert not done.extraction.optimal
    assert done.extraction.gap > 0
    assert done.extraction.cost <= f_cost(two_phases)


def test_where_the_fewest_phases_allow_nothing_loops_run_once_more() -> None:
    """A gradient whose loops the laws made one: with as few phases as its results ask for, none of its choices has an
    order."""
    made = _with_gradients(built(generate(85)))
    encoded = encode([*made.values], made.outputs)
    found = optimize(encoded, standard_laws(), Settings(exact=False)).extraction
    assert found.problem.more_phases == 1
    assert found.cost < 0.96 * as_written(encoded, Settings()).cost
    narrow = replace(found.problem, more_phases=0, options={}, roots=())
    assert greedy(narrow) is None
    assert quickly(narrow).cost <= found.cost
    values = [np.asarray(x) for x in made.values.values()]
    want = interpret(list(made.outputs), dict(zip(made.values, values, strict=True)))
    for a, b in zip(executor("numpy").compile(lower(found))(values), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def f_cost(program: Callable[..., Any]) -> float:
    inputs, outputs = build(program)
    return scanopt.function(inputs, outputs, cost="numpy").cost_before


@pytest.mark.parametrize(
    ("limits", "name"), [(Limits(rounds=1), "rounds"), (Limits(nodes=1), "nodes"), (Limits(seconds=0.0), "seconds")]
)
def test_limits_give_the_best_so_far_and_say_so(limits: Limits, name: str) -> None:
    done = run(PROGRAMS["network"], limits=limits)
    assert done.saturation.stopped_by == name


def test_law_that_mixes_types_is_found_out() -> None:
    def two_arguments_are_one(op: Op, x: Value, y: Value) -> Equation:
        return Equation(apply(op, x, y), x)

    wrong: Law = law(licence="exact", example=())(two_arguments_are_one)
    inputs, outputs = build(lambda x, y: x < y)
    with pytest.raises(UnsoundLawError, match="types"):
        optimize(encode(inputs, outputs), [replace(wrong, name="wrong")], Settings())


def test_law_whose_right_side_is_of_another_type_is_found_out() -> None:
    """What a law makes has no type until it is read."""

    def root_of_square(v: Value) -> Equation:
        return Equation(ops.sqrt(ops.square(v)), ops.absolute(v))

    wrong: Law = law(licence="fast", example=())(root_of_square)
    x, n = T.dvector("x"), T.lvector("n")
    assert "absolute" in str(scanopt.function([x], T.sqrt(T.square(x)), fp="fast", rules=[wrong]).program)
    with pytest.raises(UnsoundLawError, match="absolute gives int64") as info:
        scanopt.function([n], T.sqrt(T.square(n)), fp="fast", rules=[wrong])
    assert "root_of_square" in info.value.__notes__[0]


def test_steps_are_paid_for_as_often_as_they_run() -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    last = scanopt.scan(lambda s: T.tanh(s), None, x, n_steps=n)[0][-1]
    few, many = (scanopt.function([x, n], last, example=[np.ones(3), steps]) for steps in (10, 1000))
    loops = [s for s in many.program.walk() if isinstance(s, Loop)]
    assert len(loops) == 1
    assert 50 < many.cost / few.cost < 110


def test_work_that_two_loops_share_is_paid_once() -> None:
    x = T.dvector("x")

    def step(v: Any, s: Any) -> Any:
        return T.tanh(s) * 0.5 + T.exp(v)

    def other(v: Any, s: Any) -> Any:
        return T.tanh(s) * 0.25 + T.exp(v)

    both = scanopt.function([x], [scanopt.scan(f, x, [0.0])[0] for f in (step, other)])
    assert str(both.program).count("exp(") == 1
    assert len(both.program.loops()) == 1


@pytest.mark.parametrize("stop", [False, True])
def test_a_constant_condition_is_no_while_loop(stop: bool) -> None:
    x = T.dvector("x")
    endless = scanopt.scan(lambda v, s: (T.tanh(s) + v, scanopt.until(stop)), x, [0.0])[0]
    twice = scanopt.scan(lambda s: (T.tanh(s), scanopt.until(stop)), None, [x], n_steps=2)[0]
    f = scanopt.function([x], [endless, twice])
    assert all(loop.until is None for loop in f.program.loops())
    for a, b in zip(f([1.0, 2.0]), f.unoptimized([1.0, 2.0]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_lengths_are_held_for_loops_of_no_steps() -> None:
    def dear_to_hold(work: Work) -> float:
        return 1e6 if work.kind == "hold" else numpy_cost(work)

    x, y = T.dvectors("x", "y")
    step = lambda v, m: T.random.gamma(T.random.key(0), (m,), 2.0) + v  # noqa: E731
    rows = scanopt.map(step, x[4:], [y.shape[0] * 2])[0]
    for cost in (numpy_cost, dear_to_hold):
        f = scanopt.function([x, y], rows, cost=cost)
        assert f(np.ones(4), np.ones(3)).shape == f.unoptimized(np.ones(4), np.ones(3)).shape == (0, 6)


def test_a_check_of_a_length_never_asks_for_that_length() -> None:
    """What only holds where a sequence is long enough does not decide whether it is, however dear its number is."""

    def dear_numbers(work: Work) -> float:
        return 1e6 if work.kind == "const" else numpy_cost(work)

    x = T.dvector("x")
    out, _ = scanopt.scan(lambda v, s: T.tanh(s + v), x, [T.sum(x)], n_steps=2)
    f = scanopt.function([x], [out, out.shape[0], x[:2].shape[0]], cost=dear_numbers)
    assert [y.shape for y in f(np.ones(2))] == [(2,), (), ()]
    with pytest.raises(ValueError, match="has 1 rows but n_steps is 2"):
        f(np.ones(1))


def test_loops_that_are_one_run_twice_where_that_is_cheaper() -> None:
    """Both products could be had without loops, for eight times the price: then one run over the loop would do."""

    def dear_stacks(work: Work) -> float:
        return KERNELS(work) * (8.0 if work.op is not None and work.op.name == "matmul" else 1.0)

    A, B = T.dtensor3("A"), T.dtensor3("B")
    products, _ = scanopt.map(T.dot, [A, B])
    f = scanopt.function([A, B], T.grad((products**2).sum(), A), cost=dear_stacks)
    assert f.cost < f.cost_before
    assert f.report.optimal
    assert [x.label for x in f.program.steps if isinstance(x, Loop)].count("loop0") == 2
    values = np.random.default_rng(0).normal(size=(2, 4, 3, 3))
    np.testing.assert_allclose(f(*values), f.unoptimized(*values))


@pytest.mark.share(2)
@pytest.mark.parametrize(("seed", "proven", "share"), [(19, False, 0.71), (54, True, 1.0), (104, True, 1.0)])
def test_what_is_chosen_never_costs_more_than_what_was_written(seed: int, proven: bool, share: float) -> None:
    """Lengths that are assumed for inputs of these gradients do not fit to those that are constants.

    proven: whether the search proves it in the three seconds it has.  share: of the cost as written, at most.
    """
    made = _with_gradients(built(generate(seed)))
    inputs = [x for x in made.values if x not in {*made.shared}]
    f = scanopt.function(inputs, made.outputs, on_unused_input="ignore")
    assert f.cost <= share * f.cost_before
    assert f.report.optimal or not proven
    assert (f.report.method == "written") == (share == 1.0)


def test_sums_of_products_stay_in_a_loop_that_may_end_early() -> None:
    """Otherwise the loop would keep all rows, and the sum be made after it, in array steps."""
    A, b = T.dmatrix("A"), T.dvector("b")

    def step(x: Any, r: Any, p: Any, rr: Any) -> Any:
        q = T.dot(A, p)
        a = rr / T.dot(p, q)
        rest = r - a * q
        new = T.dot(rest, rest)
        return [x + a * p, rest, rest + new / rr * p, new], scanopt.until(new < 1e-16)

    (xs, *_), _ = scanopt.scan(step, outputs_info=[T.zeros_like(b), b, b, T.dot(b, b)], n_steps=100)
    f, rng = scanopt.function([A, b], xs[-1], backend="c"), np.random.default_rng(0)
    M = rng.normal(size=(9, 9))
    values = [M @ M.T + np.eye(9), rng.normal(size=9)]
    np.testing.assert_allclose(f(*values), np.linalg.solve(*values), rtol=1e-8)
    np.testing.assert_allclose(f(*values), f.unoptimized(*values), rtol=1e-9)
    assert str(f.kernels[0]).startswith("the program")


@pytest.mark.parametrize("last", [lambda x: x[-1], lambda x: 2 * x[x.shape[0] - 1]])
def test_a_loop_that_may_end_early_keeps_its_last_row_beside_all_rows(last: Callable[[Any], Any]) -> None:
    """Read from all rows, whose number is known at the end only, it would be made after the kernel, in array steps."""
    a = T.dscalar("a")
    step = lambda x, a: (0.5 * (x + a / x), scanopt.until(abs(x * x - a) < 1e-9))  # noqa: E731
    x, _ = scanopt.scan(step, outputs_info=T.constant(1.0, dtype="float64"), non_sequences=a, n_steps=100)
    f = scanopt.function([a], [x, last(x), x.shape[0]], backend="c", fp="exact")
    for value in (1.0, 3.0, 1e9):
        for found, expected in zip(f(value), f.unoptimized(value), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert str(f.kernels[0]).startswith("the program")


def test_what_does_not_stay_in_a_cache_costs_more_where_all_lengths_are_known() -> None:
    """No example is needed for that: rows of a state that would be computed ahead take eight megabytes."""
    s, k = T.dscalars("s", "k")

    def step(V: Any, S: Any) -> list[Any]:
        S = S / 1.01
        return [T.set_subtensor(V[:-1], T.maximum(0.5 * (V[1:] + V[:-1]), k - S[1:])), S]

    start = s * T.exp(0.01 * T.cast(T.arange(1001), "float64"))
    (V, _), _ = scanopt.scan(step, outputs_info=[T.maximum(k - start, 0.0), start], n_steps=1000)
    f = scanopt.function([s, k], V[-1][0], backend="c")
    np.testing.assert_allclose(f(100.0, 105.0), f.unoptimized(100.0, 105.0), rtol=1e-9)
    (loop,) = [x for x in f.program.steps if isinstance(x, Loop)]
    assert (len(loop.states), loop.reads) == (2, ())


_BODIES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "linear": lambda i, s, v: s * 0.5 + v,
    "interest": lambda i, s, v: s * 1.01 - v,
    "powers": lambda i, s, v: s * v,
    "sums": lambda i, s, v: s + v * T.cast(i, "float64"),
    "root": lambda i, s, v: 0.5 * (s + abs(v) / s),
}


@pytest.mark.parametrize("body", [*_BODIES])
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
def test_loops_of_as_many_steps_as_a_row_says_are_kernels(body: str, fp: Any) -> None:
    """They stay loops: no kernel has a form for a recurrence along an array whose length differs from step to step."""
    n, x, a = T.lvector("n"), T.dvector("x"), T.dscalar("a")
    inner = lambda k, v, s: lax.fori_loop(0, k, lambda i, y: _BODIES[body](i, y, v), s)  # noqa: E731
    mapped, _ = scanopt.map(lambda k, v: inner(k, v, 1.0 + v), [n, x])
    carried, _ = scanopt.scan(lambda k, v, s: inner(k, v, s) * 0.5 + 0.1, [n, x], a)
    f = scanopt.function([n, x, a], [mapped, carried], backend="c", fp=fp)
    rng = np.random.default_rng(len(body))
    for most in (1, 5, 20):
        values = [rng.integers(0, most, 30), rng.random(30), 0.7]
        for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
            if fp == "exact":
                np.testing.assert_array_equal(found, expected)
            np.testing.assert_allclose(found, expected, rtol=1e-11)
    assert "array steps" not in str(f.kernels), f.kernels
