"""Random programs of all dtypes and layouts, whose operators may raise.

Each is run by the interpreter, by plain Python and as written, and of some it is compared how they are optimized.

`python benchmarks/soundness.py --wide 0 20000 --wide-gradients 0 2000` runs more of them.
"""

import json
from collections import Counter

import pytest
from corpus.check import check, describe
from corpus.spec import Spec
from corpus.text import source
from corpus.ways import wide
from corpus.wide.kinds import WIDE_KINDS, kinds
from corpus.wide.program import generate, slopes

PROGRAMS, GRADIENTS, CHUNK = 260, 40, 20
COMPILED = 4
"""One of so many is optimized, too: that takes ten times as long as all else."""


def some_ways(seed: int) -> tuple[str, ...]:
    return wide(seed) if seed % COMPILED == 0 else ("written",)


@pytest.mark.parametrize("chunk", range(PROGRAMS // CHUNK))
def test_programs(chunk: int) -> None:
    results = [check(generate(s), (), some_ways(s)) for s in range(chunk * CHUNK, (chunk + 1) * CHUNK)]
    assert "\n".join(describe(r) for r in results if r.failures) == ""
    assert sum(r.outcome != "refused" for r in results) > 0.75 * CHUNK


@pytest.mark.parametrize("chunk", range(GRADIENTS // CHUNK))
def test_gradients(chunk: int) -> None:
    results = [check(slopes(s), (), some_ways(s), slopes=True) for s in range(chunk * CHUNK, (chunk + 1) * CHUNK)]
    assert "\n".join(describe(r) for r in results if r.failures) == ""
    assert sum(r.outcome != "refused" for r in results) > 0.75 * CHUNK


def test_every_kind_of_program_is_there() -> None:
    found = Counter(kind for seed in range(600) for kind in kinds(generate(seed)))
    assert found.keys() == {*WIDE_KINDS}
    assert min(found.values()) >= 5


def test_programs_are_data() -> None:
    for seed in range(50):
        made = generate(seed)
        assert source(Spec.from_data(json.loads(json.dumps(made.to_data())))) == source(generate(seed))
