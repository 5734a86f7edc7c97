"""One value has one name: a program costs the same in whichever of many ways it is written.

`python benchmarks/rewritings.py 120` tries 2,040 pairs.
"""

import pytest
from rewritings import PROGRAMS, WAYS, Mixed, Writer, cost

SEEDS = 2
"""So many mixtures of ways per program; each way by itself is tried on three of the programs, in turn."""


@pytest.mark.share(5)
@pytest.mark.parametrize("program", PROGRAMS)
def test_written_in_ways_that_change_nothing(program: str) -> None:
    plain, first = cost(program, Writer()), 3 * [*PROGRAMS].index(program)
    ways = [*WAYS][first % len(WAYS) :][:3]
    found = {way: cost(program, WAYS[way]) for way in ways}
    found |= {f"seed {seed}": cost(program, Mixed(seed)) for seed in range(SEEDS)}
    assert {way: c / plain for way, c in found.items() if c > 1.01 * plain} == {}
