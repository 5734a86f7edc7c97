"""Gradients of random programs against central differences, in shards that can be stopped and resumed.

python benchmarks/soundness_gradients.py --jobs 2 --out build/gradients.jsonl --page docs/soundness-gradients.md

Writes a line per failing seed (with a smaller program that fails too) and a line per finished shard;
shards that the file has already are not run again.  The page gets what all lines come to.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from soundness import done

SHARD = 20
COMPILED = 3
FIRST_SEED = {"first order": 0, "second order": 1_000_000, "Jacobians": 2_000_000}
"""What is checked, and the seed of its first program."""


def run(what: str, start: int, stop: int) -> list[dict[str, Any]]:
    """The lines of one shard: its failures, then itself."""
    from corpus.smooth import generate, smooth_kinds

    begin = time.process_time()
    outcomes: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    lines: list[dict[str, Any]] = []
    entries = 0
    for seed in range(start, stop):
        spec = generate(seed)
        result = check(spec, what)
        outcomes[result.outcome] += 1
        kinds.update(smooth_kinds(spec))
        entries += result.entries
        if result.failures:
            lines.append(failure(spec, what, result.failures))
    seconds = round(time.process_time() - begin, 1)
    shard = {"kind": "shard", "what": what, "start": start, "stop": stop, "seconds": seconds, "entries": entries}
    return [*lines, {**shard, "failures": len(lines), "outcomes": outcomes, "kinds": kinds}]


def check(spec: Any, what: str) -> Any:
    """A program: every entry of its gradient, by the interpreter and optimized (of second order one of a few)."""
    from corpus.slopes import check_slopes

    compiled = what != "second order" or spec.seed % COMPILED == 0
    return check_slopes(spec, True, compiled, 2 if what == "second order" else 1, what == "Jacobians")


def failure(spec: Any, what: str, failures: list[str]) -> dict[str, Any]:
    """What went wrong, with a smaller program in which the same goes wrong."""
    from corpus.shrink import shrink
    from corpus.text import source

    def fails(smaller: Any) -> bool:
        try:
            return any(text[:30] == failures[0][:30] for text in check(smaller, what).failures)
        except Exception:  # a name left out that was needed
            return False

    small = source(shrink(spec, fails, 150), tail=False)
    return {"kind": "failure", "what": what, "seed": spec.seed, "failures": failures, "program": small}


def shards(counts: dict[str, int], lines: Iterable[dict[str, Any]]) -> Iterator[tuple[str, int, int]]:
    """The shards that were not run yet, of all three kinds in turn."""
    ran = {(x["what"], x["start"], x["stop"]) for x in lines if x["kind"] == "shard"}
    for first in range(0, max(counts.values()), SHARD):
        for what, count in counts.items():
            shard = (what, FIRST_SEED[what] + first, FIRST_SEED[what] + min(first + SHARD, count))
            if first < count and shard not in ran:
                yield shard


def summary(lines: list[dict[str, Any]]) -> str:
    """What all lines come to, in Markdown."""
    from corpus.smooth import SMOOTH_KINDS

    rows = ["| | programs | with derivatives other than 0 | derivatives by differences | failures | s of one core |",
            "|---|---|---|---|---|---|"]  # fmt: skip
    kinds: dict[str, Counter[str]] = {}
    for what in FIRST_SEED:
        mine = [x for x in lines if x["kind"] == "shard" and x["what"] == what]
        outcomes: Counter[str] = Counter()
        kinds[what] = Counter()
        for x in mine:
            outcomes.update(x["outcomes"])
            kinds[what].update(x["kinds"])
        entries, failed, seconds = (sum(x[key] for x in mine) for key in ("entries", "failures", "seconds"))
        cells = (outcomes.total(), outcomes["smooth"], entries, failed, round(seconds))
        rows.append(f"| {what} | " + " | ".join(f"{n:,}" for n in cells) + " |")
    table = ["| programs with | first order | second order | Jacobians |", "|---|---|---|---|"]
    table += [f"| {kind} | " + " | ".join(f"{kinds[w][kind]:,}" for w in FIRST_SEED) + " |" for kind in SMOOTH_KINDS]
    wrong = [f"- {x['what']}, seed {x['seed']}" for x in lines if x["kind"] == "failure"]
    return "\n".join([*rows, "", *table, *(["", "Failed:", "", *wrong] if wrong else [])]) + "\n"


def write(page: Path, text: str) -> None:
    """Put the text below the heading `Result` of a page."""
    head = page.read_text(encoding="utf-8").partition("## Result\n")[0]
    page.write_text(f"{head}## Result\n\n{text}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=3000, metavar="PROGRAMS")
    parser.add_argument("--second", type=int, default=300, metavar="PROGRAMS")
    parser.add_argument("--jacobians", type=int, default=100, metavar="PROGRAMS")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("gradients.jsonl"))
    parser.add_argument("--page", type=Path, help="a page in docs/ that gets the result")
    options = parser.parse_args()
    counts = dict(zip(FIRST_SEED, (options.first, options.second, options.jacobians), strict=True))
    lines = done(options.out)
    todo = list(shards(counts, lines))
    with ProcessPoolExecutor(options.jobs) as pool, options.out.open("a") as out:
        for made in pool.map(run, *zip(*todo, strict=True)) if todo else ():
            out.writelines(json.dumps(x) + "\n" for x in made)
            out.flush()
            lines += made
            shard = made[-1]
            place = f"{shard['what']} {shard['start']}..{shard['stop']}"
            print(f"{place}: {shard['failures']} failed, {shard['seconds']} s", flush=True)
    text = summary(lines)
    print(text)
    if options.page is not None:
        write(options.page, text)
    return any(x["kind"] == "failure" for x in lines)


if __name__ == "__main__":
    sys.exit(main())
