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
`tests/rewritings.py` is written plainly and in {seeds} random ways that do not change its results: multiplied by one,
with double negations, double transposes and reversals, maps of array operators, slices of whole arrays, swapped
operands, values held twice, equal states twice, loops split in two, unused states, joined halves, arrays rolled forth
and back, values doubled and halved, added zeros, products as sums, rows looked up by number, counters carried.  The
table counts the pairs in which both optimized programs cost the same, by the cost model, within 1 %.

| program | the same cost | largest ratio | seeds that differ |
|---|---:|---:|---|
{rows}

{found} of {pairs} pairs, {seconds:.0f} s.

States that are kept in another form and read back are in `tests/test_kept_states.py`.

Not covered: gradients of sums of products, in which lengths that broadcast are added up again; gradients of states that
are kept in another form; states that are joined from parts of unknown lengths, or from halves.

Loops in two halves, and with the first or last step outside, are in `tests/test_consecutive_loops.py`.

Not covered: gradients of such loops, which run backwards over the halves: the value that the second half passes to the
first is added to a row that the first one reads, and a law would have to make it the initial state. A first step
outside, where the state is an array of unknown length: the whole loop checks that the initial state has the shape of
the state after one step, and the program with a step beside it does not, but broadcasts `h0` where that fits.

Other ways of writing 21 further programs are in `tests/test_other_writings.py` if they cost the same. Of 229, these
cost more (the ratio is the predicted cost divided by that of the plain program):

| writing | ratio | a law that would mend it |
|---|---:|---|
| `x[i : i + 3].mean()` mapped over `i` | 28 | windows that a counter moves are slices side by side, added |
| a product of matrices in `stack(...)[::-1]`, in a loop | 3.8 | rows of a reversed stack are the parts, from the last |
| running sums column by column, put together | 2.0 | loops over columns that a stack joins are one over rows |
| `s - a * s` for `(1 - a) * s` | 1.4 | a common factor of what is subtracted, with `fp="fast"` |
| a companion matrix of symbols for AR(2) | 1.4 to 1.5 | products with matrices of stacked scalars, entry by entry |
| gradient of an RNN with `[x, h] @ [W; U]` | 1.4 | slices of a product's gradient are products with slices |
| moving average of a padded array | 1.4 | slices of padded arrays in sums |
| `dot(ones, X + y)` | 1.2 | a sum of rows to which one row is added |
| an RNN on `X[:, None]` | 1.15 | axes of length one leave a recurrence |
| a running maximum, peeled by a step | 1.14 | the first row is no step where its place is not less |

Of some 40 programs in 450 writings that were written later, gradients of them among these, these cost more:

| writing | ratio | a law that would mend it |
|---|---:|---|
| Fibonacci numbers by a constant matrix | 21 | products with small matrices of numbers, entry by entry |
| slope of weights that a loop reads at fixed places | 17 | numbers added at a fixed place at each step are a sum |
| sums of `stack([x] * 5)` | 2 to 12 | sums of rows that are equal |
| a state of two numbers that starts as `y[:2]` | 2.7 to 3.8 | states that start as a part are states side by side |
| slope of a loop whose step maps functions of products over rows | 2.8 | what is added to parts of zeros, added up |
| `dot(s, W * v)` for `dot(s, W) * v` | 2.8 | factors of columns leave products, with `fp="fast"` |
| `roll(f(roll(x, 2)), -2)` | 1.6 | functions of elements of rows in another order |
| slope of `concatenate([f(x[:3]), f(x[3:])])` | 1.2 | what is added to both parts of zeros is joined |
| `-(a * s) * (s - 1)` for `a * s * (1 - s)` | 1.3 | a sign goes into a difference |
| slope of `h[n - 1]`, `h[-1:][0]`, `h[::-1][0]` for `h[-1]` | 1.04 | what is added to a part of a part of zeros |

And of the first the plain writing costs more: pairwise distances (expanded 0.11), `A**k` by squares (0.66), `x / 3` for
`x * (1 / 3)`, which rounds otherwise (0.72), `A**k` peeled by a step (0.81).
"""


if __name__ == "__main__":
    sys.exit(main())
