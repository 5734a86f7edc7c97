"""check, Assert, debug_print and Print: they run where they are written, and no law loses or moves them."""

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from random_programs import build, generate

import scanopt
from scanopt import (
    Assert,
    CheckError,
    Print,
    check,
    debug_print,
    function,
    grad,
    jit,
    lax,
    load,
    loop,
    map,
    printing,
    scan,
    vmap,
)
from scanopt import tensor as T
from scanopt.array.variable import Apply
from scanopt.loops.graph import loops_of, schedule
from scanopt.loops.rebuild import rebuild

X = np.arange(5.0)


def running(c: Any, v: Any) -> Any:
    check(v < 3, "too large: see {docs}")
    return c + v, c * 1.0


CHECKED: dict[str, Any] = {
    "carry": (lambda x: loop(running, 0.0, x)[0], "(at step 3)"),
    "rows": (lambda x: loop(running, 0.0, x)[1], "(at step 3)"),
    "scan": (lambda x: scan(lambda v, c: running(c, v)[0], x, 0.0)[0], "(at step 3)"),
    "map": (lambda x: map(lambda v: running(v, v)[0], x)[0], "(at step 3)"),
    "vmap": (vmap(lambda v: running(v, v)[0]), "(at step 3)"),
    "lax": (lambda x: lax.scan(running, 0.0, x)[0], "(at step 3)"),
    "fori_loop": (lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: running(c, x[i])[0], 0.0), "(at step 3)"),
    "nested": (lambda x: vmap(lambda w: loop(running, 0.0, w * x)[0])(x), "(at steps 1, 3)"),
    "function": (lambda x: running(x.sum(), x.max())[0], ""),
    "entries": (lambda x: running(0.0, x)[1] + x, ""),
    "gradient": (lambda x: grad(lambda v: loop(running, 0.0, v)[0])(x), "(at step 3)"),
    "branch": (lambda x: lax.cond(x.sum() > 3, lambda: running(x, x[-1])[0], lambda: x), ""),
    "of a value": (lambda x: Assert("too large: see {docs}")(x, x < 3, True), ""),
    "of a value too": (lambda x: check(x < 3, "too large: see {docs}", x) * 1.0, ""),
    "constant": (lambda x: (check(False, "too large: see {docs}"), x)[1], ""),
}


@pytest.mark.parametrize("name", CHECKED)
def test_checks_survive(name: str) -> None:
    f, where = CHECKED[name]
    g = jit(f)
    for run in (g, g.unoptimized, lambda x: g.compiled(x).as_written(x)):
        with pytest.raises(CheckError) as info:
            run(X)
        assert str(info.value) == f"too large: see {{docs}} {where}".strip()
    if name not in ("constant", "nested"):
        np.testing.assert_array_equal(g(X[:3]), g.unoptimized(X[:3]))


def test_checks_hold_up_no_law_but_where_they_are() -> None:
    f = jit(vmap(lambda v: (check(v >= 0, "negative"), np.exp(v))[1]))
    np.testing.assert_allclose(f(X), np.exp(X))
    assert "loop" not in str(f.program())
    assert f(np.zeros(0)).shape == (0,)
    side = jit(lambda x: lax.cond(x > 0, lambda: (check(x > 5, "small"), x)[1], lambda: -x))
    assert side(-1.0) == 1
    with pytest.raises(CheckError, match="small"):
        side(1.0)
    unused = jit(lambda x: (Assert("never")(x, x < 0), x * 2)[1])
    assert unused(1.0) == 2


def test_a_check_that_fails_for_sure_fails_where_it_runs() -> None:
    f = jit(lambda x: lax.cond(x > 0, lambda: (check(False, "here"), x)[1], lambda: -x))
    assert f(-1.0) == 1
    with pytest.raises(CheckError, match="here"):
        f(1.0)


def test_checks_at_once() -> None:
    check(np.array([True, True]), "fine")
    with pytest.raises(CheckError, match="wrong"):
        check(np.array([True, False]), "wrong")
    with pytest.raises(AssertionError, match=r"bad \(at step 1\)"):
        lax.scan(lambda c, x: (check(x < 1, "bad"), (c, x))[1], 0.0, np.arange(3.0))


def lines(capsys: Any, run: Any, *args: Any) -> list[str]:
    run(*args)
    return str(capsys.readouterr().out).splitlines()


def says(c: Any, v: Any) -> Any:
    debug_print("{} and {k:.1f}", v, k=c)
    return c + v, c


PRINTED: dict[str, Any] = {
    "carry": (lambda x: loop(says, 0.0, x)[0], ["0.0 and 0.0", "1.0 and 0.0", "2.0 and 1.0"]),
    "rows": (lambda x: loop(says, 0.0, x)[1], ["0.0 and 0.0", "1.0 and 0.0", "2.0 and 1.0"]),
    "vmap": (vmap(lambda v: says(v, v)[0]), ["0.0 and 0.0", "1.0 and 1.0", "2.0 and 2.0"]),
    "the same at every step": (
        lambda x: loop(lambda c, v: (c + Print("x")(x[1]) * v, None), 0.0, x)[0],
        ["x __str__ = 1.0"] * 3,
    ),
    "twice": (
        lambda x: loop(lambda c, v: (c + Print("x")(v) * Print("x")(v), None), 0.0, x[:1])[0],
        ["x __str__ = 0.0"] * 2,
    ),
    "constants": (lambda x: loop(lambda c, v: (c + (debug_print("here"), v)[1], None), 0.0, x)[0], ["here"] * 3),
    "not used": (lambda x: (Print("x")(x), x + 1)[1], []),
    "branch": (
        lambda x: lax.cond(x[0] > 0, lambda: Print("yes")(x), lambda: Print("no")(x)),
        ["no __str__ = [0. 1. 2.]"],
    ),
    "gradient": (lambda x: grad(lambda v: (Print("v", ("sum",))(v) ** 2).sum())(x), ["v sum = 3.0"]),
    "attributes": (
        lambda x: Print("x", ["shape", "max", "dtype"])(x),
        ["x shape = (3,)", "x max = 2.0", "x dtype = float64"],
    ),
    "once": (lambda x: (debug_print("here {}", 1), x)[1], ["here 1"]),
    "numbers": (lambda x: loop(lambda c, v: (c + (debug_print("{}", 3), v)[1], None), 0.0, x)[0], ["3"] * 3),
    "braces": (lambda x: (debug_print("{{{0}}}", x.sum()), x)[1], ["{3.0}"]),
}


@pytest.mark.parametrize("name", PRINTED)
def test_prints_as_often_as_written(name: str, capsys: Any) -> None:
    f, expected = PRINTED[name]
    g = jit(f)
    g.lower(X[:3])
    assert capsys.readouterr().out == ""
    for run in (g, g.unoptimized, lambda x: g.compiled(x).as_written(x), g):
        assert lines(capsys, run, X[:3]) == expected


def test_prints_in_longer_loops_and_other_programs(capsys: Any, tmp_path: Any) -> None:
    x, c = T.dvector("x"), T.dscalar("c")
    total, _ = scan(lambda v, s, c: s + v * printing.Print("c")(c), x, outputs_info=0.0, non_sequences=c)
    f = function([x, c], total[-1])
    assert lines(capsys, f, X, 2.0) == ["c __str__ = 2.0"] * 5
    f.save(tmp_path / "f.json")
    assert lines(capsys, load(tmp_path / "f.json"), X, 2.0) == ["c __str__ = 2.0"] * 5
    assert lines(capsys, lambda: lax.fori_loop(0, 2, lambda i, v: (debug_print("{}", i), v)[1], 1.0)) == ["0", "1"]
    assert lines(capsys, lambda: debug_print("{a} {0:.2f}", 2.0, a=[1, 2])) == ["[1, 2] 2.00"]
    assert printing.debugprint is scanopt.dprint


def some_values(rng: random.Random, outputs: Any) -> dict[Any, None]:
    """Two values of each loop, and two outside."""
    steps = [schedule(node.inner_outputs, node.inner_inputs) for node in loops_of(outputs)]
    made = [[v for n in nodes if isinstance(n, Apply) for v in n.outputs] for nodes in [*steps, schedule(outputs)]]
    return dict.fromkeys(v for part in made for v in rng.sample(part, min(2, len(part))))


@pytest.mark.share(4)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_print_no_more_than_as_written(seed: int, capsys: Any) -> None:
    """Some values are printed: no line is doubled, and compiling prints nothing."""
    rng = random.Random(seed)
    try:
        values, outputs = build(generate(seed, pure=True))
    except (IndexError, ValueError):
        return
    chosen = some_values(rng, outputs)
    told = rebuild(outputs, {v: Print(f"p{i}", ["shape"])(v) for i, v in enumerate(chosen)})
    f = function(list(values), told, on_unused_input="ignore")
    assert capsys.readouterr().out == ""
    try:
        written = Counter(lines(capsys, f.unoptimized, *values.values()))
    except (IndexError, ValueError):
        return
    assert Counter(lines(capsys, f, *values.values())) <= written


@pytest.mark.share(4)
@pytest.mark.parametrize("seed", range(10))
def test_random_programs_with_checks_are_as_written(seed: int) -> None:
    """Conditions that hold change no bit; of those that do not, the program raises what the interpreter does."""
    rng = random.Random(seed)
    try:
        values, outputs = build(generate(seed, pure=True))
    except (IndexError, ValueError):
        return
    chosen = some_values(rng, outputs)
    new = {}
    for v in chosen:
        number = T.real(v.astype("complex128"))
        new[v] = Assert("not so")(v, (number >= rng.choice([0.0, -1e300])) | (number != number))
    f = function(list(values), rebuild(outputs, new), on_unused_input="ignore", fp="exact")
    try:
        expected = f.unoptimized(*values.values())
    except (CheckError, IndexError, ValueError):
        return
    for a, b in zip(f(*values.values()), expected, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def test_a_saved_text_reads_no_attributes(tmp_path: Any) -> None:
    f = jit(lambda x: (debug_print("{}", x), x)[1]).compiled(1.0)
    f.save(tmp_path / "f.json")
    text = (tmp_path / "f.json").read_text()
    assert "{0}" in text
    (tmp_path / "g.json").write_text(text.replace("{0}", "{0.__class__}"))
    with pytest.raises(ValueError, match="text must be text on one line"):
        load(tmp_path / "g.json")
