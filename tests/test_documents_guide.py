"""The scan guide's shared variables, and the reference's order of arguments, taps and kinds of results, as programs."""

import re
from functools import partial
from typing import Any

import numpy as np
import pytest
from test_documents_examples import POWER_OF_2, in_all_modes, run

import scanopt
import scanopt.tensor as T
from scanopt.array.variable import Constant
from scanopt.loops.node import Scan

SHARED = """
W = theano.shared(W_values) # we assume that ``W_values`` contains the
                            # initial values of your weight matrix

bvis = theano.shared(bvis_values)
bhid = theano.shared(bhid_values)

trng = T.shared_randomstreams.RandomStreams(1234)
"""

GIBBS = """
def OneStep(vsample) :
    hmean = T.nnet.sigmoid(theano.dot(vsample, W) + bhid)
    hsample = trng.binomial(size=hmean.shape, n=1, p=hmean)
    vmean = T.nnet.sigmoid(theano.dot(hsample, W.T) + bvis)
    return trng.binomial(size=vsample.shape, n=1, p=vmean,
                         dtype=theano.config.floatX)

sample = theano.tensor.vector()

values, updates = theano.scan(OneStep, outputs_info=sample, n_steps=10)

gibbs10 = theano.function([sample], values[-1], updates=updates)
"""

# OneStep, with explicit use of the shared variables (W, bvis, bhid)
EXPLICIT_STEP = """
def OneStep(vsample, W, bvis, bhid):
    hmean = T.nnet.sigmoid(theano.dot(vsample, W) + bhid)
    hsample = trng.binomial(size=hmean.shape, n=1, p=hmean)
    vmean = T.nnet.sigmoid(theano.dot(hsample, W.T) + bvis)
    return trng.binomial(size=vsample.shape, n=1, p=vmean,
                     dtype=theano.config.floatX)

sample = theano.tensor.vector()
"""

EXPLICIT = """
# The new scan, with the shared variables passed as non_sequences
values, updates = theano.scan(fn=OneStep,
                              outputs_info=sample,
                              non_sequences=[W, bvis, bhid],
                              n_steps=10)

gibbs10 = theano.function([sample], values[-1], updates=updates)
"""

STRICT = """
# The new scan, using strict=True
values, updates = theano.scan(fn=OneStep,
                              outputs_info=sample,
                              non_sequences=[W, bvis, bhid],
                              n_steps=10,
                              strict=True)

gibbs10 = theano.function([sample], values[-1], updates=updates)
"""

FORMS = {"found": GIBBS, "passed": EXPLICIT_STEP + EXPLICIT, "strict": EXPLICIT_STEP + STRICT}
VALUES = """
rng = np.random.default_rng(0)
W_values, bvis_values, bhid_values = rng.normal(size=(5, 4)), rng.normal(size=5), rng.normal(size=4)
"""

COUNTER = """
a = theano.shared(1)
values, updates = theano.scan(lambda: {a: a+1}, n_steps=10)
b = a + 1
c = updates[a] + 1
"""


# ---- Gibbs sampling ----


def samples(form: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, calls: int = 3) -> list[Any]:
    names, _ = run(VALUES + SHARED + form, options, monkeypatch)
    return [names["gibbs10"](np.ones(5)) for _ in range(calls)]


@pytest.mark.share(2)
@in_all_modes
def test_gibbs_chains_of_all_forms_are_one(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Passing the shared variables, or not, says the same; the random numbers go on from call to call."""
    found, passed, strict = (samples(form, options, monkeypatch) for form in FORMS.values())
    np.testing.assert_array_equal(found, passed)
    np.testing.assert_array_equal(found, strict)
    assert found[0].shape == (5,)
    assert found[0].dtype == scanopt.config.floatX
    assert set(np.concatenate(found)) == {0.0, 1.0}
    assert any((x != found[0]).any() for x in found[1:])


@in_all_modes
def test_gibbs_chain_without_updates(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """`If you do not pass this update dictionary ..., you will always get the same 10 sets of random numbers.`"""
    form = GIBBS.replace("values[-1], updates=updates", "values")
    with pytest.warns(UserWarning, match=r"same random numbers.*'binomial_0'.*'binomial_1'.*pass updates=updates"):
        first, *others = samples(form, options, monkeypatch)
    assert first.shape == (10, 5)
    for other in others:
        np.testing.assert_array_equal(other, first)


@pytest.mark.share(2)
@in_all_modes
def test_gibbs_chain_has_the_distribution_of_the_machine(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The states of a long chain are as frequent as exp(-free energy) says."""
    code = GIBBS.replace("n_steps=10)", "n_steps=4000)").replace("values[-1]", "values")
    names, _ = run(VALUES + SHARED + code, options, monkeypatch)
    chain = names["gibbs10"](np.ones(5))[100:]
    W, bvis, bhid = (names[n].get_value() for n in ("W", "bvis", "bhid"))
    states = (np.arange(32)[:, None] >> np.arange(5) & 1).astype(float)
    weights = np.exp(states @ bvis + np.log1p(np.exp(states @ W + bhid)).sum(axis=1))
    expected = weights @ states / weights.sum()
    np.testing.assert_allclose(chain.mean(axis=0), expected, atol=0.05)


def test_strict_names_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """`If you omit to pass W, bvis or bhid as a non_sequence, it will result in an error.`"""
    with pytest.raises(ValueError, match=r"strict=True.*float64\[\?, \?\].*float64\[\?\].*float64\[\?\]"):
        run(VALUES + SHARED + GIBBS.replace("n_steps=10)", "n_steps=10, strict=True)"), {}, monkeypatch)
    named = re.sub(r"(\w+)_values\)", r"\1_values, '\1')", SHARED)
    for left_out in ("W", "bvis", "bhid"):
        passed = ", ".join(n for n in ("W", "bvis", "bhid") if n != left_out)
        code = (EXPLICIT_STEP + STRICT).replace("W, bvis, bhid", passed)
        with pytest.raises(ValueError, match=rf"strict=True, .* not in non_sequences: '{left_out}'"):
            run(VALUES + named + code, {}, monkeypatch)


# ---- updates of shared variables ----


@in_all_modes
def test_updates_over_two_calls(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """`b ... will be 2, c will be 12, while a.value is 11.  If we call the function again, ... 12, 22, 21`."""
    names, _ = run(COUNTER + "f = theano.function([], [b, c], updates=updates)", options, monkeypatch)
    f, a = names["f"], names["a"]
    assert [*map(int, f()), int(a.get_value())] == [2, 12, 11]
    assert [*map(int, f()), int(a.get_value())] == [12, 22, 21]
    assert list(names["updates"]) == [a]


@in_all_modes
def test_without_updates_nothing_changes(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """`a.value will always remain 1, b will always be 2 and c will always be 12.`"""
    names, _ = run(COUNTER + "f = theano.function([], [b, c])", options, monkeypatch)
    for _ in range(2):
        assert [*map(int, names["f"]()), int(names["a"].get_value())] == [2, 12, 1]


@pytest.mark.share(4)
@in_all_modes
@pytest.mark.parametrize(
    "returns", ["([2 * k], {k: k + 1})", "({k: k + 1}, [2 * k])", "([2 * k], [(k, k + 1)])", "([(k, k + 1)], [2 * k])"]
)
def test_outputs_and_updates_in_any_order(
    returns: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`The dictionary can optionally be given as a list of tuples.  There is no constraint on the order`."""
    code = f"k = theano.shared(1)\nvalues, updates = theano.scan(lambda: {returns}, n_steps=3)\n"
    names, _ = run(code + "f = theano.function([], values, updates=updates)", options, monkeypatch)
    assert names["f"]().tolist() == [2, 4, 6]
    assert names["f"]().tolist() == [8, 10, 12]


@pytest.mark.parametrize("returns", ["[x, 2 * x], []", "[], [x, 2 * x]", "[x, 2 * x], {}", "[x, 2 * x], ()"])
def test_no_updates_may_be_an_empty_list(returns: str) -> None:
    step = eval(f"lambda x: ({returns}, scanopt.until(x > 5))", {"scanopt": scanopt})
    (xs, doubled), updates = scanopt.scan(step, T.dvector("x"))
    assert (xs.ndim, doubled.ndim, dict(updates)) == (1, 1, {})


@in_all_modes
@pytest.mark.parametrize(("start", "steps", "end"), [(0.0, 1, 1.0), (60.0, 8, 68.0)])
def test_outputs_updates_and_until(
    start: float, steps: int, end: float, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`return [y1_t, y2_t], {x: x+1}, until(x < 50)`: the loop ends after the step where the condition holds."""
    code = f"""
x = theano.shared({start})
def fn(y1, y2):
    y1_t, y2_t = y1 + 1, y2 * 2
    return [y1_t, y2_t], {{x:x+1}}, theano.scan_module.until(x < 50)
(y1, y2), updates = theano.scan(fn, outputs_info=[T.constant(0.), T.constant(1.)], n_steps=8)
f = theano.function([], [y1, y2], updates=updates)
"""
    names, _ = run(code, options, monkeypatch)
    y1, y2 = names["f"]()
    assert y1.tolist() == [1.0 + t for t in range(steps)]
    assert y2.tolist() == [2.0 ** (t + 1) for t in range(steps)]
    assert names["x"].get_value() == end


def test_until_needs_a_largest_number_of_steps_and_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="the number of steps is not known"):
        run(POWER_OF_2.replace("n_steps = 1024", "n_steps = None"), {}, monkeypatch)
    returned = "previous_power*2, theano.scan_module.until(previous_power*2 > max_value)"
    first, second = returned.split(", ")
    with pytest.raises(ValueError, match=r"must return until\(...\) last"):
        run(POWER_OF_2.replace(returned, f"{second}, {first}"), {}, monkeypatch)


def test_updates_are_a_dict_with_checks() -> None:
    """`updates is a subclass of dict`; its keys are shared variables and sums of it are consistent."""
    a, b = scanopt.shared(1, "a"), scanopt.shared(2, "b")
    _, first = scanopt.scan(lambda: {a: a + 1}, n_steps=2)
    _, second = scanopt.scan(lambda: {b: b * 2}, n_steps=2)
    _, other = scanopt.scan(lambda: {a: a + 2}, n_steps=2)
    assert isinstance(first, dict)
    assert list(first + second) == [a, b]
    with pytest.raises(KeyError, match="two different updates of 'a'"):
        first + other
    with pytest.raises(TypeError, match="keyed by shared variables"):
        first[T.scalar("x")] = a


# ---- the order of arguments, and taps ----

ARGUMENT_ORDER = """
scan(fn, sequences = [ dict(input= Sequence1, taps = [-3,2,-1])
                     , Sequence2
                     , dict(input =  Sequence3, taps = 3) ]
       , outputs_info = [ dict(initial =  Output1, taps = [-3,-5])
                        , dict(initial = Output2, taps = None)
                        , Output3 ]
       , non_sequences = [ Argument1, Argument2])
"""


@pytest.mark.share(2)
@in_all_modes
def test_order_of_arguments(options: dict[str, Any]) -> None:
    """The ten arguments of the reference: their names where the step is built, their values where it runs."""
    sequences = T.dvectors("Sequence1", "Sequence2", "Sequence3")
    output1, (output2, output3) = T.dvector("Output1"), T.dscalars("Output2", "Output3")
    arguments = T.dscalars("Argument1", "Argument2")
    seen: list[Any] = []

    def fn(*args: Any) -> list[Any]:
        seen[:] = [v.name for v in args]
        return [sum(10.0**i * v for i, v in enumerate(args[:5])), args[8] * args[9], sum(args[5:8])]

    names = {v.name: v for v in (*sequences, output1, output2, output3, *arguments)}
    outputs, updates = eval(ARGUMENT_ORDER.strip(), {"scan": scanopt.scan, "fn": fn, **names})
    assert seen == [
        "Sequence1[t-3]", "Sequence1[t+2]", "Sequence1[t-1]", "Sequence2[t]", "Sequence3[t+3]",
        "Output1[t-3]", "Output1[t-5]", "Output3[t-1]", "Argument1", "Argument2",
    ]  # fmt: skip
    f = scanopt.function([*sequences, output1, output3, *arguments], outputs, updates=updates, **options)
    s1, s2, s3 = np.arange(9.0), np.arange(9.0) + 0.25, np.arange(9.0) + 0.5
    start = [1.0, 2.0, 3.0, 4.0, 5.0]
    found = f(s1, s2, s3, start, 7.0, 2.0, 3.0)
    one, three = list(start), [7.0]
    for i in range(4):  # sequence 1 has 9 - 3 - 2 windows, sequence 3 has 9 - 3: and the present is read, too
        three.append(one[-3] + one[-5] + three[-1])
        one.append(s1[i] + 10 * s1[i + 5] + 100 * s1[i + 2] + 1000 * s2[i] + 10000 * s3[i + 3])
    np.testing.assert_allclose([x[:4] for x in found], [one[5:], [6.0] * 4, three[1:]], rtol=1e-12)
    assert [len(x) for x in found] == [4] * 3


@in_all_modes
def test_uvals_0_is_u_of_minus_4(options: dict[str, Any]) -> None:
    """`scan will consider uvals[0] as u[-4], and will start scaning from uvals[4] towards the end.`"""
    u = T.dvector("u")
    pairs, _ = scanopt.scan(lambda u_tm4, u_t: [u_tm4, u_t], sequences=dict(input=u, taps=[-4, -0]))
    tm4, t = scanopt.function([u], pairs, **options)([0, 1, 2, 3, 4, 5, 6, 7, 8])
    assert (tm4.tolist(), t.tolist()) == ([0, 1, 2, 3, 4], [4, 5, 6, 7, 8])


@in_all_modes
def test_rows_of_an_initial_state(options: dict[str, Any]) -> None:
    """With taps -5, -2, -1, `init_y[0] corresponds to output[-5]`, ..., `init_y[4] corresponds to output[-1]`."""
    init_y = T.dmatrix("init_y")
    steps = [dict(initial=init_y, taps=[-5, -2, -1]), None, None, None]
    outputs, _ = scanopt.scan(
        lambda tm5, tm2, tm1: [tm5 + tm2 + tm1, tm5, tm2, tm1], outputs_info=steps, n_steps=6, return_list=True
    )
    init = np.arange(10.0).reshape(5, 2)
    y, tm5, tm2, tm1 = scanopt.function([init_y], outputs, **options)(init)
    rows = list(init)
    for t in range(6):
        np.testing.assert_array_equal([tm5[t], tm2[t], tm1[t]], [rows[-5], rows[-2], rows[-1]])
        rows.append(rows[-5] + rows[-2] + rows[-1])
    np.testing.assert_array_equal(y, rows[5:])


@in_all_modes
@pytest.mark.parametrize("k", [2, 3, 5])
def test_initial_state_is_an_array_split_at_the_present(k: int, options: dict[str, Any]) -> None:
    """`our initial state would be x[:k], while the output will be x[k:]`."""
    x = np.array([1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0])
    start = T.dvector("start")
    y, _ = scanopt.scan(lambda a, b: a + b, outputs_info=dict(initial=start[k - 2 :], taps=[-2, -1]), n_steps=8 - k)
    assert scanopt.function([start], y, **options)(x[:k]).tolist() == x[k:].tolist()


@in_all_modes
def test_taps_become_slices(options: dict[str, Any]) -> None:
    """`[{'input': u, 'taps': [0, 4]}] ... gets converted into [{'input': u, ...}, {'input': u[4:], ...}]`."""
    u = T.dvector("u")
    by_taps, _ = scanopt.scan(lambda u_t, u_tp4: u_t + 10 * u_tp4, [{"input": u, "taps": [0, 4]}])
    by_slices, _ = scanopt.scan(
        lambda u_t, u_tp4: u_t + 10 * u_tp4, [{"input": u, "taps": [0]}, {"input": u[4:], "taps": [0]}]
    )
    node = by_taps.owner
    assert isinstance(node, Scan)
    assert [(s.tap, s.u_outer.owner is None) for s in node.sequences] == [(0, False), (4, False)]
    ahead = partial(scanopt.function, [u], **options)(node.sequences[1].u_outer)
    assert ahead([0, 1, 2, 3, 4, 5]).tolist() == [4, 5]
    found = scanopt.function([u], [by_taps, by_slices], **options)(np.arange(7.0))
    assert [x.tolist() for x in found] == [[40.0, 51.0, 62.0]] * 2


@in_all_modes
def test_a_matrix_that_is_found(options: dict[str, Any]) -> None:
    """W_2 = W**2 is used by the step and not passed: `scan can also figure out other non sequences`."""
    W = T.matrix()
    W_2 = W**2
    x = T.matrix("x")

    def f(x: Any) -> Any:
        return T.dot(x, W_2)

    found, _ = scanopt.scan(f, sequences=x)
    passed, _ = scanopt.scan(lambda x, W_2: T.dot(x, W_2), sequences=x, non_sequences=W_2)
    values = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [1.0, -1.0], [2.0, 3.0]])
    for rows in scanopt.function([W, x], [found, passed], **options)(*values):
        np.testing.assert_array_equal(rows, values[1] @ values[0] ** 2)


def test_constants_are_no_inputs_of_a_loop() -> None:
    x = T.dvector("x")
    node = scanopt.scan(lambda v, c: v * c, x, non_sequences=[T.constant(2.0)])[0].owner
    assert isinstance(node, Scan)
    assert not any(isinstance(s.w_outer, Constant) for s in node.non_sequences)
