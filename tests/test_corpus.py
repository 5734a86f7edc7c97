"""Random programs: the interpreter gives what plain Python gives, and optimized programs what both give.

A failure prints its seed and a program to paste; `python benchmarks/soundness.py` runs more of them.
"""

import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import plain, plain_names, spec
from corpus.check import check, describe, rulesets
from corpus.kinds import KINDS, kinds
from corpus.spec import Change, Input, Line, Loop, Out, Slot
from corpus.ways import usual
from random_programs import Spec, build, generate, source

pytestmark = pytest.mark.usefixtures("brief_search")

PROGRAMS, CHUNK = 200, 50
COMPILED = 20
"""One of so many is optimized, too: that takes twenty times as long as to interpret it."""


@pytest.mark.share(4)
@pytest.mark.parametrize("chunk", range(PROGRAMS // CHUNK))
def test_programs(chunk: int) -> None:
    names = rulesets()
    exclude = [names[chunk // 2 % len(names)]] if chunk % 2 else []
    results = []
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        results.append(check(generate(seed), exclude, usual(seed // COMPILED) if seed % COMPILED == 0 else ()))
    assert "\n".join(describe(r) for r in results if r.failures) == ""
    assert sum(r.outcome == "values" for r in results) > 0.8 * CHUNK
    assert sum(r.plain == "equal" for r in results) > 0.6 * CHUNK


def test_every_kind_of_program_is_there() -> None:
    found = Counter(kind for seed in range(2000) for kind in kinds(generate(seed)))
    assert found.keys() == {*KINDS}
    assert min(found.values()) >= 20


def test_programs_are_data() -> None:
    for seed in range(50):
        made = generate(seed)
        assert Spec.from_data(json.loads(json.dumps(made.to_data()))) == made or "nan" in source(made)
        assert source(Spec.from_data(made.to_data())) == source(generate(seed))


def test_the_text_is_the_program() -> None:
    made = generate(4)
    values, outputs = build(made)
    space: dict[str, Any] = {}
    exec(source(made), space)
    assert [str(x.type) for x in outputs] == [str(x.type) for x in space["outputs"]]
    assert len(values) == len(made.inputs)


# ---- plain Python ----


@pytest.mark.parametrize("module", [plain, plain_names, spec])
def test_plain_python_knows_nothing_of_scanopt(module: Any) -> None:
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    found = {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    found |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert not any(name.startswith("scanopt") for name in found)


def program(loop: Loop, *more: Line, shared: int | None = None, changes: bool = False) -> Spec:
    """One loop over v1 = 0, 1, 2, 3, 4, 5, perhaps with a shared variable a9."""
    inputs = [Input("v1", "int64", [None], [6], [*range(6)])]
    variables = [] if shared is None else [Input("a9", "int64", [], [], [shared])]
    outputs = [*(o.name for o in loop.outs), *(line.name for line in more)]
    before, after = ([x for x in more if ("u9" in x.text) is last] for last in (False, True))
    return Spec(0, inputs, [*before, loop, *after], outputs, shared=variables, passed=["u9"] if changes else [])


def body(text: str) -> list[spec.Statement]:
    return [Line("v2", text, "int64", [])]


def out(text: str = "None", params: tuple[str, ...] = (), steps: int = 6) -> list[Out]:
    return [Out("o1", "int64", [steps], "v2", text, [*params])]


FIBONACCI = out("dict(initial=T.constant([0, 1]), taps=[-2, -1])", ("s1", "s2"))
BY_HAND: dict[str, tuple[Loop, list[int]]] = {
    "map": (Loop("map", [Slot("v1", ["x1"])], out(), [], body("x1 * x1")), [0, 1, 4, 9, 16, 25]),
    "taps of a sequence": (
        Loop("scan", [Slot("dict(input=v1, taps=[1, -1])", ["x1", "x2"])], out(), [], body("10 * x1 + x2")),
        [20, 31, 42, 53],
    ),
    "taps of the past alone": (
        Loop("scan", [Slot("dict(input=v1, taps=[-2])", ["x1"])], out(), [], body("x1 + 0")),
        [0, 1, 2, 3],
    ),
    "taps of an output": (Loop("scan", [], FIBONACCI, [], body("s1 + s2"), "6"), [1, 2, 3, 5, 8, 13]),
    "backwards": (
        Loop("scan", [Slot("dict(input=v1, taps=[0, -1])", ["x1", "x2"])], out(), [], body("10 * x1 + x2"), "2", True),
        [54, 43],
    ),
    "negative": (Loop("scan", [Slot("v1", ["x1"])], out(), [], body("x1 + 0"), "-2"), [5, 4]),
    "negative and backwards": (Loop("scan", [Slot("v1", ["x1"])], out(), [], body("x1 + 0"), "-2", True), [0, 1]),
    "until": (
        Loop("scan", [Slot("v1", ["x1"])], out("1", ("s1",)), [],
             [*body("s1 * 2"), Line("v3", "v2 > 7", "bool", [])], until="v3"),
        [2, 4, 8],
    ),
    "no steps": (Loop("scan", [Slot("v1", ["x1"])], out(), [], body("x1 + 0"), "0"), []),
    "foldr": (
        Loop("foldr", [Slot("v1", ["x1"])], [Out("o1", "int64", [], "v2", "0", ["s1"])], [], body("10 * s1 + x1")),
        [543210],
    ),
    "reversed loop": (
        Loop("loop", [Slot("v1", ["x1"])],
             [Out("o1", "int64", [], "v2", "0", ["s1"]), Out("o2", "int64", [6], "v2")], [],
             body("10 * s1 + x1"), go_backwards=True, tree="dict"),
        [543210, 543210, 54321, 5432, 543, 54, 5],
    ),
    "fori_loop": (
        Loop("fori_loop", [Slot("2, 5", ["x1"])], [Out("o1", "int64", [], "v2", "1", ["s1"])], [], body("s1 * x1"),
             tree="leaf"),
        [24],
    ),
    "while_loop": (
        Loop("while_loop", [], [Out("o1", "int64", [], "v2", "1", ["s1"])], [], body("2 * s1"), "100",
             until="s1 < 45", tree="tuple"),
        [64],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_plain_python_by_hand(name: str) -> None:
    loop, expected = BY_HAND[name]
    made = program(loop)
    found = np.concatenate([np.atleast_1d(x) for x in plain.run(made, {})[0]])
    assert found.tolist() == expected
    assert check(made).failures == []


def test_plain_python_updates_by_hand() -> None:
    """The documents' a, b and c over two calls; b = a + 1 inside the step is that of the step."""
    loop = Loop("scan", [], out(), [Slot("a9", ["w1"])], body("v8 * 1000 + w1"), "10", changes=[Change("a9", "a9 + 1")],
                updates="u9")  # fmt: skip
    made = program(
        loop, Line("v8", "a9 + 1", "int64", []), Line("v7", "u9[a9] + 1", "int64", []), shared=1, changes=True
    )
    state = plain.initial(made)
    for call in range(2):
        (trace, b, c), state = plain.run(made, state)
        start = 1 + 10 * call
        assert trace.tolist() == [(a + 1) * 1000 + a for a in range(start, start + 10)]
        assert (int(b), int(c), int(state["a9"])) == (start + 1, start + 11, start + 10)
    assert check(made).failures == []


def test_what_differs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop("map", [Slot("v1", ["x1"])], out(), [], body("T.sqr(x1)"))
    assert check(program(loop)).plain == "equal"
    monkeypatch.setattr(type(plain_names.NAMES["T"]), "sqr", staticmethod(lambda x: x + x))
    failures = check(program(loop)).failures
    assert {f.way.split()[0] for f in failures} == {"the", "exact", "odd"}


FOUND = (1128, 3192, 3787, 8919, 14035, 14050, 20002, 20019, 20479, 36486, 38519, 40291, 42813, 53719, 500298, 903753)
"""Programs that went wrong once: lengths read row by row, sums in another order, forms or axes without end, nested
checks, sizes of the program as written, errors of loops of which only the length is read."""


@pytest.mark.share(2)
@pytest.mark.parametrize("seed", FOUND)
def test_what_went_wrong_once(seed: int) -> None:
    result = check(generate(seed))
    assert not result.failures, describe(result)
    assert not result.stopped
