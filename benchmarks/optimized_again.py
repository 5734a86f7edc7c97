"""Programs optimized, read back as graphs (`f.to_graph()`) and optimized again: what they cost then.

python benchmarks/optimized_again.py 100                                   about 830 programs
python benchmarks/optimized_again.py 30 --record docs/again.md
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def main() -> int:
    """Print, or write, a row per group of programs."""
    parser = argparse.ArgumentParser(description="Optimized programs, optimized again.")
    parser.add_argument("seeds", type=int, help="random programs of each kind")
    parser.add_argument("--record", type=Path, help="the page to write")
    asked = parser.parse_args()
    begin = time.perf_counter()
    counts: dict[str, Iterable[int]] = {"ways of writing": range(4), "programs of laws": range(10**4)}
    rows = [_row(group, counts.get(group, range(asked.seeds))) for group in _groups()]
    page = _PAGE.format(seeds=asked.seeds, rows="\n".join(text for text, _, _ in rows), all=sum(n for _, n, _ in rows),
                        same=sum(n for _, _, n in rows), seconds=time.perf_counter() - begin)  # fmt: skip
    if asked.record:
        asked.record.write_text(page, encoding="utf-8")
    print(page)
    return 0


def _groups() -> list[str]:
    from again import GROUPS

    return [*GROUPS]


def _row(group: str, numbers: Iterable[int]) -> tuple[str, int, int]:
    """The row of a group, how many programs it has, and how many of them cost the same."""
    from again import SAME, some

    found = dict(some(group, numbers))
    cheaper = {name: r for name, r in found.items() if r < 1 - SAME}
    dearer = {name: r for name, r in found.items() if r > 1 + SAME}
    same = len(found) - len(cheaper) - len(dearer)
    text = f"| {group} | {len(found)} | {same} | {_listed(cheaper)} | {_listed(dearer)} |"
    print(text, file=sys.stderr, flush=True)
    return text, len(found), same


def _listed(found: dict[str, float]) -> str:
    return "<br>".join(f"{name}: {r:.2f}" for name, r in sorted(found.items(), key=lambda x: x[1]))


_PAGE = """\
# Optimized programs, optimized again

Made by `python benchmarks/optimized_again.py {seeds} --record docs/again.md`; do not edit.  Each program of
`tests/again.py` is optimized, what was chosen is read back as a graph (`f.to_graph()`), and that is optimized again, by
the same laws and for the same sizes.  Counted are those that cost the same then, within 1 %.  The others are listed
with the cost of the second time in parts of that of the first one: less than 1 where the first time missed a form, more
where the program was written in a way that the second time did not see through.

| programs | all | the same cost | cheaper the second time | dearer the second time |
|---|---:|---:|---|---|
{rows}

{same} of {all} programs, {seconds:.0f} s.

What is behind those that were looked at, and what would mend it:

- *Closed forms of states in loops that laws make, or of updates that laws simplified* (`last_of_sum_until`,
  `loops_that_end_alike`): cycles of states (`analysis/recurrences.py`) as rules, or looked up again after laws.
- *A state of integers that laws find to be written back as it was* (`state_that_never_changes`): `unchanged` is known
  of what the text says alone, because in a loop that takes no step all values are equal.
- *A row that may not be there, of an array that only laws wrote*: `always` is known of terms of the text alone.
- *Loops cut to few steps* (`row_of_few_steps`, `first_of_one`): the law that takes a loop apart would have to write
  `shaped_like` where the states of the whole loop may change their shape.
- *Loops over chunks, put in chunks once more* (`horner`): chunks of chunks are left out, so that the search ends.
- *Loops that are found to take no step*: what they read is subsumed (`IDLE`) before other laws have seen it; traces
  without rows are known of shapes that the text tells alone.
- *Initial rows cut when a program is lowered*, which costs nothing there: a price for it, or terms whose initial rows
  are as many as the taps read.
- *Lengths that nothing tells* are assumed; where laws of the first time found two of them equal, others are assumed:
  with `example=` nothing differs.
"""


if __name__ == "__main__":
    sys.exit(main())
