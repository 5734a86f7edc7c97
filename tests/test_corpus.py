"""Random programs run optimized as the interpreter runs them.

A failure prints its seed and a program to paste; `python benchmarks/soundness.py` runs more of them.
"""

import json

import pytest
from corpus.check import check, describe, rulesets
from random_programs import Spec, build, generate, source

PROGRAMS, CHUNK = 2000, 50


@pytest.mark.parametrize("chunk", range(PROGRAMS // CHUNK))
def test_programs(chunk: int) -> None:
    names = rulesets()
    exclude = [names[chunk // 2 % len(names)]] if chunk % 2 else []
    results = [check(generate(seed), exclude) for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK)]
    assert "\n".join(describe(r) for r in results if r.failures) == ""
    assert sum(r.outcome == "values" for r in results) > 0.8 * CHUNK


def test_programs_are_data() -> None:
    for seed in range(50):
        spec = generate(seed)
        assert Spec.from_data(json.loads(json.dumps(spec.to_data()))) == spec or "nan" in source(spec)
        assert source(Spec.from_data(spec.to_data())) == source(generate(seed))


def test_the_text_is_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    spec = generate(4)
    values, outputs = build(spec)
    space: dict[str, object] = {}
    exec(source(spec), space)
    assert [str(x.type) for x in outputs] == [str(x.type) for x in space["outputs"]]  # type: ignore[attr-defined]
    assert len(values) == len(spec.inputs)
