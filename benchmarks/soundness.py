"""Random programs without end, in shards that can be stopped and resumed.

python benchmarks/soundness.py --from 0 --to 50000 --jobs 2 --out runs.jsonl

Writes a line per failing seed (with a smaller program that fails too) and a line per finished shard;
shards that the file has already are not run again.
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

SHARD = 250


def run(start: int, stop: int) -> list[dict[str, Any]]:
    """The lines of one shard: its failures, then itself."""
    from corpus.check import check, rulesets
    from random_programs import generate

    names, begin = rulesets(), time.process_time()
    exclude = [names[start // SHARD // 2 % len(names)]] if start // SHARD % 2 else []
    laws: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    lines: list[dict[str, Any]] = []
    stopped: list[int] = []
    for seed in range(start, stop):
        result = check(generate(seed), exclude)
        outcomes[result.outcome] += 1
        laws.update(result.laws.keys())
        if result.stopped:
            stopped.append(seed)
        if result.failures:
            lines.append(failure(seed, exclude, result.failures))
    seconds = round(time.process_time() - begin, 1)
    shard = {"kind": "shard", "start": start, "stop": stop, "seconds": seconds}
    return [*lines, {**shard, "failures": len(lines), "outcomes": outcomes, "laws": laws, "stopped": stopped}]


def failure(seed: int, exclude: list[str], failures: Iterable[Any]) -> dict[str, Any]:
    """What went wrong, with a smaller program in which the same goes wrong."""
    from corpus.check import check
    from corpus.shrink import shrink
    from random_programs import generate, source

    ways = {f.way: f.text.partition("\n")[0][:60] for f in failures}

    def fails(spec: Any) -> bool:
        try:
            found = check(spec, exclude).failures
        except Exception:  # a name left out that was needed
            return False
        return any(ways.get(f.way, "?")[:20] == f.text[:20] for f in found)

    small = source(shrink(generate(seed), fails, 150))
    return {"kind": "failure", "seed": seed, "ways": {f.way: f.text for f in failures}, "program": small}


def done(path: Path) -> list[dict[str, Any]]:
    """The lines of earlier runs; a line cut off by a crash is passed over."""
    lines: list[dict[str, Any]] = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            lines.append(json.loads(text))
        except ValueError:
            continue
    return lines


def shards(first: int, last: int, lines: Iterable[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """The shards of the seeds that were not run yet."""
    ran = {(x["start"], x["stop"]) for x in lines if x["kind"] == "shard"}
    for start in range(first - first % SHARD, last, SHARD):
        shard = (max(start, first), min(start + SHARD, last))
        if shard not in ran:
            yield shard


def summary(lines: list[dict[str, Any]]) -> str:
    """Programs, outcomes, failures, and the laws by the number of programs that they fired in."""
    laws: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for x in lines:
        if x["kind"] == "shard":
            laws.update(x["laws"])
            outcomes.update(x["outcomes"])
    wrong = sorted(x["seed"] for x in lines if x["kind"] == "failure")
    from scanopt.calculus.law import standard_laws

    rows = [f"{laws[x.name]:8d}  {x.ruleset}.{x.name}" for x in standard_laws()]
    seconds = sum(x["seconds"] for x in lines if x["kind"] == "shard")
    head = f"{sum(outcomes.values())} programs in {seconds:.0f} s of one core: {dict(outcomes)}"
    stopped = [seed for x in lines if x["kind"] == "shard" for seed in x["stopped"]]
    tail = [f"{len(stopped)} programs not saturated: {stopped[:50]}", f"{len(wrong)} programs failed: {wrong[:50]}"]
    return "\n".join([head, "programs that each law fired in:", *rows, *tail])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="SEED")
    parser.add_argument("--to", dest="last", type=int, default=10_000, metavar="SEED")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("soundness.jsonl"))
    options = parser.parse_args()
    lines = done(options.out)
    todo = list(shards(options.first, options.last, lines))
    with ProcessPoolExecutor(options.jobs) as pool, options.out.open("a", encoding="utf-8") as out:
        for made in pool.map(run, *zip(*todo, strict=True)) if todo else ():
            out.writelines(json.dumps(x) + "\n" for x in made)
            out.flush()
            lines += made
            shard = made[-1]
            print(f"{shard['start']}..{shard['stop']}: {shard['failures']} failed, {shard['seconds']} s", flush=True)
    print(summary(lines))
    return any(x["kind"] == "failure" for x in lines)


if __name__ == "__main__":
    sys.exit(main())
