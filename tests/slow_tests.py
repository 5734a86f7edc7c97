"""The tests of which a case takes long, for `slow.txt`: `make slow-list` runs this.

Tests of what went wrong once are not among them: they are always run.
"""

import sys
from collections import defaultdict
from xml.etree import ElementTree

SECONDS = 0.25
"""From so many seconds on a case is slow, on two cores that have nothing else to do."""


def slow(report: str) -> list[str]:
    """The names of slow tests in a report that pytest wrote (`--junitxml`)."""
    seconds = defaultdict[str, list[float]](list)
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        folder, _, module = case.get("classname", "").rpartition(".")
        if folder == "tests":
            seconds[f"{module}.py::{case.get('name', '').partition('[')[0]}"].append(float(case.get("time", 0)))
    return sorted(x for x, each in seconds.items() if _mean(each) >= SECONDS and "went_wrong_once" not in x)


def _mean(each: list[float]) -> float:
    return sum(each) / len(each)


if __name__ == "__main__":
    print(*slow(sys.argv[1]), sep="\n")
