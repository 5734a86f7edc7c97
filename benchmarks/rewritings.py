"""Programs written in random ways that change nothing: what they cost, compared with the plain writing.

python benchmarks/rewritings.py 120                                   17 programs, 120 seeds: 2,040 pairs
python benchmarks/rewritings.py 120 --record docs/rewritings.md
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def main() -> int:
    """Print, or write, a row per program."""
    parser = argparse.ArgumentParser(description="Programs written in random ways that change nothing.")
    parser.add_argument("seeds", type=int, help="mixtures of ways for each program")
    parser.add_argument("--record", type=Path, help="the page to write")
    asked = parser.parse_args()
    begin = time.perf_counter()
    rows = [_row(program, asked.seeds) for program in _programs()]
    found = sum(n for _, n in rows)
    page = _PAGE.format(seeds=asked.seeds, rows="\n".join(text for text, _ in rows), pairs=asked.seeds * len(rows),
                        found=found, seconds=time.perf_counter() - begin)  # fmt: skip
    if asked.record:
        asked.record.write_text(page, encoding="utf-8")
    print(page)
    return 0 if found == asked.seeds * len(rows) else 1


def _programs() -> list[str]:
    from rewritings import PROGRAMS

    return [*PROGRAMS]


def _row(program: str, seeds: int) -> tuple[str, int]:
    """The row of a program, and how many of its pairs cost the same."""
    from rewritings import Mixed, Writer, cost

    plain = cost(program, Writer())
    ratios = {seed: cost(program, Mixed(seed)) / plain for seed in range(seeds)}
    dearer = [seed for seed, ratio in ratios.items() if ratio > 1.01]
    same = seeds - len(dearer)
    worst = max(ratios.values())
    return f"| {program} | {same} of {seeds} | {worst:.3f} | {', '.join(map(str, dearer))} |", same


_PAGE = """\
# Programs written in ways that change nothing

Made by `python benchmarks/rewritings.py {seeds} --record docs/rewritings.md`; do not edit.  Each program of
`tests/rewritings.py` is written plainly and in {seeds} random ways that change nothing: times one, double negations,
double transposes and reversals, maps of array operators, slices of everything, operands swapped, values held twice,
equal states twice, loops split in two, unused states added, halves joined, arrays rolled there and back, halves of
twice, zeros added, products as sums, rows looked up by number, counters carried.  The table counts the pairs in which
the program found costs as much as the one found for the plain writing, by the cost model, within 1 %.

| program | the same cost | largest ratio | seeds that differ |
|---|---:|---:|---|
{rows}

{found} of {pairs} pairs, {seconds:.0f} s.

States that are kept in another form and read back are in `tests/test_kept_states.py`.

Not covered: gradients of sums of products, in which lengths that broadcast are added up again; gradients of states that
are kept in another form; states that are put together of parts of lengths that are not known, or of halves.

Loops in two halves, and with the first or last step outside, are in `tests/test_consecutive_loops.py`.

Not covered: gradients of such loops, which run backwards over the halves: what the second half hands to the first is
added to a row that the first one reads, and a law would have to make it the initial state. A first step outside, where
the state is an array of unknown length: the whole loop checks that the initial state has the shape of the state after
one step, and the program with a step beside it does not, but broadcasts `h0` where that fits.
"""


if __name__ == "__main__":
    sys.exit(main())
