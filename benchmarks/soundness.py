"""Random programs without end, in shards that can be stopped and resumed.

python benchmarks/soundness.py --to 45000 --gradients 3000 5000 --jobs 2 --out runs.jsonl --record docs/soundness.md
python benchmarks/soundness.py --wide 0 18000 --wide-gradients 0 2000 --out wide.jsonl --record-wide PAGE

python benchmarks/soundness.py --language 0 4000 --language-gradients 0 1000 --out language.jsonl --record-language PAGE

Writes a line per failing seed (with a smaller program that fails too) and a line per finished shard;
shards that the file has already are not run again.  --record, --record-wide and --record-language write the pages of
what was found.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from soundness_page import COUNTED, language_page, page, summary, wide_page

SHARD = {
    "programs": 250,
    "gradients": 100,
    "wide": 100,
    "wide gradients": 50,
    "language": 100,
    "language gradients": 50,
}


def run(what: str, start: int, stop: int, every_way: bool) -> list[dict[str, Any]]:
    """The lines of one shard: its failures, then itself."""
    from corpus.check import check, rulesets
    from corpus.ways import usual, wide

    generate, kinds = _generator(what)
    names, begin, number = rulesets(), time.perf_counter(), start // SHARD[what]
    exclude = [names[number // 2 % len(names)]] if number % 2 else []
    counts: dict[str, Counter[str]] = {key: Counter() for key in COUNTED}
    lines: list[dict[str, Any]] = []
    stopped: list[int] = []
    for seed in range(start, stop):
        spec = generate(seed)
        kind = usual(seed) if every_way else _way(seed)
        ways = kind if what in ("programs", "gradients") else wide(seed)
        result = check(spec, exclude, ways, slopes="gradients" in what, absolute=_absolute(what))
        counts["outcomes"][result.outcome] += 1
        counts["plain"][result.plain] += 1
        counts["ways"].update(result.ways)
        counts["kinds"].update(kinds(spec))
        counts["operators"].update(result.operators)
        counts["laws"].update(result.laws.keys())
        if result.stopped:
            stopped.append(seed)
        if result.failures:
            lines.append(failure(what, spec, exclude, result))
    seconds = round(time.perf_counter() - begin, 1)  # the engine is a process of its own
    shard = {"kind": "shard", "what": what, "start": start, "stop": stop, "seconds": seconds}
    return [*lines, {**shard, "date": time.strftime("%Y-%m-%d"), "failures": len(lines), **counts, "stopped": stopped}]


def _generator(what: str) -> tuple[Callable[[int], Any], Callable[[Any], Iterable[str]]]:
    """What makes the program of a seed, and what it shows."""
    import random_programs
    from corpus import kinds, smooth
    from corpus.wide import kinds as wide_kinds
    from corpus.wide import program

    return {
        "programs": (random_programs.generate, kinds.kinds),
        "gradients": (smooth.generate, smooth.smooth_kinds),
        "wide": (program.generate, wide_kinds.kinds),
        "wide gradients": (program.slopes, wide_kinds.kinds),
        "language": (program.language, wide_kinds.kinds),
        "language gradients": (program.language_slopes, wide_kinds.kinds),
    }[what]


def _absolute(what: str) -> float:
    """How far gradients may be from differences: operators that compute in doubles give both their rounding."""
    from corpus.slopes import ABSOLUTE, DOUBLE

    return DOUBLE if what == "language gradients" else ABSOLUTE


def _way(seed: int) -> tuple[str, ...]:
    """One way for each program: of 8 programs 5 exact, 2 reassoc, 1 odd."""
    if seed % 4 == 1:
        return ("reassoc",)
    return ("odd",) if seed % 8 == 0 else ("exact",)


def failure(what: str, spec: Any, exclude: list[str], result: Any) -> dict[str, Any]:
    """What went wrong, with a smaller program in which the same goes wrong."""
    from corpus.check import check
    from corpus.shrink import shrink
    from corpus.text import source

    ways = {f.way: f.text.partition("\n")[0][:60] for f in result.failures}

    def fails(spec: Any) -> bool:
        try:
            found = check(spec, exclude, result.asked, "gradients" in what, _absolute(what)).failures
        except Exception:  # a name left out that was needed
            return False
        return any(ways.get(f.way, "?")[:20] == f.text[:20] for f in found)

    small = shrink(spec, fails, 150)
    texts = {f.way: f.text for f in result.failures}
    found = {"kind": "failure", "what": what, "seed": spec.seed, "ways": texts}
    return {**found, "program": source(small), "spec": small.to_data()}


def found_before() -> list[str]:
    """What programs of the wide generator found, in words."""
    from corpus.found import found

    return [x.what for x in found()]


def done(path: Path) -> list[dict[str, Any]]:
    """The lines of earlier runs; a line cut off by a crash is passed over."""
    lines: list[dict[str, Any]] = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            lines.append(json.loads(text))
        except ValueError:
            continue
    return lines


def shards(what: str, first: int, last: int, lines: Iterable[dict[str, Any]]) -> Iterator[tuple[str, int, int]]:
    """The shards of the seeds that were not run yet."""
    ran, size = {_place(x) for x in lines if x["kind"] == "shard"}, SHARD[what]
    for start in range(first - first % size, last, size):
        shard = (what, max(start, first), min(start + size, last))
        if shard not in ran:
            yield shard


def _place(shard: dict[str, Any]) -> tuple[str, int, int]:
    return shard.get("what", "programs"), shard["start"], shard["stop"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="SEED")
    parser.add_argument("--to", dest="last", type=int, default=0, metavar="SEED")
    parser.add_argument(
        "--gradients", type=int, nargs=2, default=(0, 0), metavar="SEED", help="smooth ones, from and to"
    )
    parser.add_argument("--wide", type=int, nargs=2, default=(0, 0), metavar="SEED", help="wide ones, from and to")
    parser.add_argument(
        "--wide-gradients", type=int, nargs=2, default=(0, 0), metavar="SEED", help="smooth wide ones, from and to"
    )
    parser.add_argument("--language", type=int, nargs=2, default=(0, 0), metavar="SEED", help="of all operators")
    parser.add_argument(
        "--language-gradients", type=int, nargs=2, default=(0, 0), metavar="SEED", help="smooth ones of all operators"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("soundness.jsonl"))
    parser.add_argument("--record", type=Path, metavar="PAGE")
    parser.add_argument("--record-wide", type=Path, metavar="PAGE")
    parser.add_argument("--record-language", type=Path, metavar="PAGE")
    parser.add_argument("--one-way", action="store_true", help="optimize each program in one way, not in up to three")
    options = parser.parse_args()
    lines = done(options.out)
    asked = {"programs": (options.first, options.last), "gradients": options.gradients}
    asked |= {"wide": options.wide, "wide gradients": options.wide_gradients}
    asked |= {"language": options.language, "language gradients": options.language_gradients}
    todo = [x for what, span in asked.items() for x in shards(what, *span, lines)]
    with ProcessPoolExecutor(options.jobs) as pool, options.out.open("a", encoding="utf-8") as out:
        every_way = [not options.one_way] * len(todo)
        for made in pool.map(run, *zip(*todo, strict=True), every_way) if todo else ():
            out.writelines(json.dumps(x) + "\n" for x in made)
            out.flush()
            lines += made
            what, start, stop = _place(made[-1])
            print(f"{what} {start}..{stop}: {made[-1]['failures']} failed, {made[-1]['seconds']} s", flush=True)
    print(summary(lines))
    if options.record:
        slopes = f" --gradients {options.gradients[0]} {options.gradients[1]}" * any(options.gradients)
        span = f"--from {options.first} --to {options.last}{slopes}" + " --one-way" * options.one_way
        command = f"python benchmarks/soundness.py {span} --record docs/soundness.md"
        options.record.write_text(page(lines, command), encoding="utf-8")
    if options.record_wide:
        spans = {"wide": options.wide, "wide-gradients": options.wide_gradients}
        span = " ".join(f"--{key} {a} {b}" for key, (a, b) in spans.items() if b > a)
        command = f"python benchmarks/soundness.py {span} --record-wide docs/soundness-wide.md"
        options.record_wide.write_text(wide_page(lines, command, found_before()), encoding="utf-8")
    if options.record_language:
        spans = {"language": options.language, "language-gradients": options.language_gradients}
        span = " ".join(f"--{key} {a} {b}" for key, (a, b) in spans.items() if b > a)
        command = f"python benchmarks/soundness.py {span} --record-language docs/soundness-language.md"
        options.record_language.write_text(language_page(lines, command), encoding="utf-8")
    return any(x["kind"] == "failure" for x in lines)


if __name__ == "__main__":
    sys.exit(main())
