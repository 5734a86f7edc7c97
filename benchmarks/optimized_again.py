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
`tests/again.py` is optimized, the chosen program is read back as a graph (`f.to_graph()`), and this graph is optimized
again, by the same laws and for the same sizes.  The table counts the programs that cost the same again, within 1 %.
The others are listed with the second cost divided by the first: it is below 1 if the first optimization missed a form,
and above 1 if the second one did not recognize the way in which the chosen program is written.

| programs | all | the same cost | cheaper the second time | more expensive the second time |
|---|---:|---:|---|---|
{rows}

{same} of {all} programs, {seconds:.0f} s.

The causes that were found, and what would remove them:

- *Closed forms of states in loops that laws make, or of updates that laws simplified* (`last_of_sum_until`,
  `loops_that_end_alike`): cycles of states (`analysis/recurrences.py`) as rules, or looked up again after laws.
- *A state of integers that laws find to be written back as it was* (`state_that_never_changes`): `unchanged` is
  known only from the text, because in a loop that takes no step all values are equal.
- *A row that may not be there, of an array that only laws wrote*: `always` is known only of terms of the text.
- *Loops cut to few steps* (`row_of_few_steps`, `first_of_one`): the law that takes a loop apart would have to write
  `shaped_like` where the states of the whole loop may change their shape.
- *Loops over chunks, divided into chunks once more* (`horner`): chunks of chunks are left out, so that the search ends.
- *Loops that are found to take no step*: the values that they read are subsumed (`IDLE`) before other laws have seen
  them; that traces have no rows is known only from shapes in the text.
- *Initial rows cut when a program is lowered*, which costs nothing there: a price for it, or terms whose initial rows
  are as many as the taps read.
- *Unknown lengths* are assumed; where the first optimization found two of them to be equal, the second one assumes
  others. With `example=` nothing differs.
"""


if __name__ == "__main__":
    sys.exit(main())
