"""Saved programs, changed at random, as many as there is time for: each is refused, or runs as it should.

python benchmarks/fuzz_saved.py --count 20000 [--start 0] [--programs 300]

Prints how many were refused, right, raised on both ways or took too long, and every one that is wrong, with its
number: `--start N --count 1` makes it again.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

MEMORY = 3 << 30


def main() -> int:
    """Run the command."""
    from mutant_programs import functions, operators, programs
    from mutants import Mutator, outcome, outcome_of_function

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("count", 2000), ("start", 0), ("programs", 300)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    texts = list(programs(options.programs))
    keys, saved = operators(texts), list(functions())
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    counts: Counter[str] = Counter()
    begin = time.perf_counter()
    slowest = 0.0
    for seed in range(options.start, options.start + options.count):
        pick = random.Random(seed)
        some, look = (saved, outcome_of_function) if pick.random() < 0.1 else (texts, outcome)
        text = json.dumps(Mutator(json.loads(pick.choice(some)), pick, keys).run())
        start = time.perf_counter()
        found = look(text, pick)
        slowest = max(slowest, time.perf_counter() - start)
        counts[found.kind] += 1
        if found.kind in ("wrong", "not compiled"):
            print(f"{seed}: {found.kind}: {found.text[:400]}", flush=True)
            if options.count == 1:
                print(text)
    print(
        f"{options.count} programs in {time.perf_counter() - begin:.0f} s, the slowest {slowest:.1f} s: {dict(counts)}"
    )
    return counts["wrong"]


if __name__ == "__main__":
    sys.exit(min(main(), 1))
