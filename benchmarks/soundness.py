"""Random programs without end, in shards that can be stopped and resumed.

python benchmarks/soundness.py --to 45000 --gradients 3000 5000 --jobs 2 --out runs.jsonl --record docs/soundness.md

Writes a line per failing seed (with a smaller program that fails too) and a line per finished shard;
shards that the file has already are not run again.  --record writes the page of what was found.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

SHARD = {"programs": 250, "gradients": 100, "wide": 100, "wide gradients": 50}
COUNTED = ("outcomes", "plain", "ways", "kinds", "laws")
"""What each shard counts: programs by what they come to, and by what they show; ways to run them; laws that fired."""


def run(what: str, start: int, stop: int, every_way: bool) -> list[dict[str, Any]]:
    """The lines of one shard: its failures, then itself."""
    from corpus.check import check, rulesets
    from corpus.ways import usual, wide

    generate, kinds = _generator(what)
    names, begin, number = rulesets(), time.process_time(), start // SHARD[what]
    exclude = [names[number // 2 % len(names)]] if number % 2 else []
    counts: dict[str, Counter[str]] = {key: Counter() for key in COUNTED}
    lines: list[dict[str, Any]] = []
    stopped: list[int] = []
    for seed in range(start, stop):
        spec = generate(seed)
        ways = usual(seed) if every_way else _way(seed)
        result = check(spec, exclude, wide(seed) if "wide" in what else ways, slopes="gradients" in what)
        counts["outcomes"][result.outcome] += 1
        counts["plain"][result.plain] += 1
        counts["ways"].update(result.ways)
        counts["kinds"].update(kinds(spec))
        counts["laws"].update(result.laws.keys())
        if result.stopped:
            stopped.append(seed)
        if result.failures:
            lines.append(failure(what, spec, exclude, result))
    seconds = round(time.process_time() - begin, 1)
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
    }[what]


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
            found = check(spec, exclude, result.asked, slopes="gradients" in what).failures
        except Exception:  # a name left out that was needed
            return False
        return any(ways.get(f.way, "?")[:20] == f.text[:20] for f in found)

    small = shrink(spec, fails, 150)
    texts = {f.way: f.text for f in result.failures}
    found = {"kind": "failure", "what": what, "seed": spec.seed, "ways": texts}
    return {**found, "program": source(small), "spec": small.to_data()}


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


# What was found


def totals(lines: Iterable[dict[str, Any]]) -> dict[str, Counter[str]]:
    """What the shards counted, together."""
    found: dict[str, Counter[str]] = {key: Counter() for key in COUNTED}
    for x in lines:
        for key in COUNTED if x["kind"] == "shard" else ():
            found[key].update(x[key])
    return found


def summary(lines: list[dict[str, Any]]) -> str:
    """Programs, outcomes, failures, and the laws by the number of programs that they fired in."""
    from scanopt.calculus.law import standard_laws

    found = totals(lines)
    rows = [f"{found['laws'][x.name]:8d}  {x.ruleset}.{x.name}" for x in standard_laws()]
    rows += [f"{n:8d}  {kind}" for kind, n in found["kinds"].items()]
    ran = [x for x in lines if x["kind"] == "shard"]
    wrong = sorted(x["seed"] for x in lines if x["kind"] == "failure")
    stopped = [seed for x in ran for seed in x["stopped"]]
    return "\n".join([
        f"{found['outcomes'].total()} programs in {sum(x['seconds'] for x in ran):.0f} s of one core",
        *(f"{key}: {dict(found[key])}" for key in ("outcomes", "plain", "ways")),
        "programs that each law fired in, and of each kind:", *rows,
        f"{len(stopped)} programs not saturated: {stopped[:50]}", f"{len(wrong)} programs failed: {wrong[:50]}",
    ])  # fmt: skip


PLAIN = {
    "equal": "equal bit for bit",
    "near": "equal but for rounding",
    "raises": "the same error",
    "unknown": "not compared: random numbers, refused programs, rows of a length that values tell and no step computed",
}


def page(lines: list[dict[str, Any]], command: str) -> str:
    """The record of a run, as a page."""
    from corpus.kinds import KINDS

    from scanopt.calculus.law import standard_laws

    slopes = [x for x in lines if x.get("what") == "gradients"]
    lines = [x for x in lines if x.get("what") != "gradients"]
    found = totals(lines)
    ran = sorted((x for x in lines if x["kind"] == "shard"), key=lambda x: x["start"])
    wrong = sorted(x["seed"] for x in lines if x["kind"] == "failure")
    versions = ", ".join(f"{x} {importlib.metadata.version(x)}" for x in ("numpy", "scipy", "egglog"))
    dates = sorted({x["date"] for x in ran})
    kept = [x for x in standard_laws() if found["laws"][x.name]]
    silent = [f"`{x.ruleset}.{x.name}`" for x in standard_laws() if not found["laws"][x.name]]
    return "\n".join([
        _HEAD.format(command=command, dates=" to ".join(dict.fromkeys((dates[0], dates[-1]))), versions=versions,
                     python=platform.python_version(), first=ran[0]["start"], last=ran[-1]["stop"] - 1),
        _table(("", ""), _figures(lines)),
        *([f"\nDiffered: {', '.join(map(str, wrong))}."] if wrong else []),
        "\n## What the programs come to\n", _table(("outcome", "programs"), found["outcomes"].most_common()),
        "\nThe interpreter and plain Python:\n",
        _table(("", "programs"), [(text, found["plain"][key]) for key, text in PLAIN.items()]),
        "\nOptimized, and compared with both:\n",
        _ways(lines),
        *(_slopes(slopes) if slopes else ()),
        "\n## Kinds of programs\n", _table(("kind", "programs"), [(x, found["kinds"][x]) for x in KINDS]),
        "\n## Laws\n\nThe number of programs that each law fired in, with `fp=\"exact\"`.\n",
        _table(("law", "programs"), [(f"`{x.ruleset}.{x.name}`", found["laws"][x.name]) for x in kept]),
        f"\nIn no program (most of these are no exact laws): {', '.join(silent) or 'none'}.\n",
    ])  # fmt: skip


def _figures(lines: list[dict[str, Any]]) -> list[tuple[str, int]]:
    found, ran = totals(lines), [x for x in lines if x["kind"] == "shard"]
    return [("programs", found["outcomes"].total()),
            ("programs in which anything differed", sum(x["kind"] == "failure" for x in lines)),
            ("functions compiled", found["ways"].total()),
            ("programs whose laws had more to say", sum(len(x["stopped"]) for x in ran)),
            ("seconds of one core", round(sum(x["seconds"] for x in ran)))]  # fmt: skip


def _slopes(lines: list[dict[str, Any]]) -> list[str]:
    ran = [x for x in lines if x["kind"] == "shard"]
    text = _SLOPES.format(first=min(x["start"] for x in ran), last=max(x["stop"] for x in ran) - 1)
    return [text, _table(("", ""), _figures(lines)), "", _ways(lines)]


def _ways(lines: list[dict[str, Any]]) -> str:
    return _table(("way", "functions"), sorted(totals(lines)["ways"].items()))


_SLOPES = """
## Gradients

Smooth programs (`tests/corpus/smooth.py`, seeds {first} to {last}): the cost and its gradients with respect to all
inputs, optimized, against the interpreter, in the same ways.  [Others](soundness-gradients.md), seeds 0 to 2999, are
compared with differences, too.
"""

_HEAD = """# Soundness

Made by `{command}`; do not edit.

Seeds {first} to {last}, {dates}, Python {python}, {versions}. Each program is run by the interpreter, by plain Python
(loops over NumPy, written from the documents alone: `tests/corpus/plain.py`), and optimized: with `fp="exact"`, with
`fp="reassoc"`, or in odd ways (costs out of thin air, greedy extraction, rulesets left out, saved and loaded). Exact
results must be equal bit for bit, others within rounding; what raises must raise the same. A program with shared
variables is called twice, and what they hold after each call counts as results.

A shard in which something differed is run again, whole, once that is mended (its program is a test then: `FOUND` in
`tests/test_corpus.py`); the others are not."""


def _table(head: tuple[str, str], rows: Sequence[tuple[Any, Any]]) -> str:
    lines = [head, ("---", "---:"), *rows]
    return "\n" * (head == ("", "")) + "\n".join(f"| {a} | {b} |" for a, b in lines)


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
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("soundness.jsonl"))
    parser.add_argument("--record", type=Path, metavar="PAGE")
    parser.add_argument("--one-way", action="store_true", help="optimize each program in one way, not in up to three")
    options = parser.parse_args()
    lines = done(options.out)
    asked = {"programs": (options.first, options.last), "gradients": options.gradients}
    asked |= {"wide": options.wide, "wide gradients": options.wide_gradients}
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
    return any(x["kind"] == "failure" for x in lines)


if __name__ == "__main__":
    sys.exit(main())
