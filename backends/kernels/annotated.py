"""Makes the C text of a kernel for readers: the compiled text, with comments that name the lines of the program.

The compiled text contains no names of the user (`print_c.py`); only this copy does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from scanopt.backends.kernels.bodies import Body
from scanopt.backends.kernels.recipe import Given, Number, Recipe
from scanopt.program.ir import Program
from scanopt.program.text import names_shown, program_lines
from scanopt.records import dataclass

__all__ = ["annotated"]

_ARRAY = re.compile(r" *\w+ \*const (\w+) = ")
_NUMBER = re.compile(r" *const int64 (\w+) = N\[")
_SET = re.compile(r" *(?:const \w+ )?(\w+)(?:\[.*?\])? = ")
_COLUMN = 60


def annotated(text: str, recipe: Recipe, body: Body, program: Program) -> str:
    """Add comments to a kernel's text: the names of arrays and lengths, and the program's line for each value.

    The line is put where its value is first written.
    """
    lines = {name: x.text for x in program_lines(program) if x.kind not in ("input", "const") for name in x.makes}
    shown, told = _Shown(body, names_shown(program)), set[str]()
    given = dict(zip([p.name for p in recipe.kernel.params], recipe.given, strict=True))
    numbers = dict(zip(recipe.kernel.numbers, recipe.numbers, strict=True))
    out: list[str] = []
    for line in text.splitlines():
        comment = ""
        if found := _NUMBER.match(line):
            comment = shown.number(numbers[found[1]])
        elif found := _ARRAY.match(line):
            comment = shown.given(given[found[1]])
        elif (found := _SET.match(line)) and (name := recipe.named.get(found[1], "")) and name not in told:
            told.add(name)
            comment = lines.get(name) or shown.name(name)
        out.append(f"{line:<{_COLUMN}} /* {comment.replace('*/', '* /')} */" if comment else line)
    return "\n".join([*out, ""])


@dataclass(frozen=True)
class _Shown:
    """Describes the arguments of a kernel in words.  names: how to show the program's names, where that differs."""

    body: Body
    names: Mapping[str, str]

    def name(self, name: str) -> str:
        return self.names.get(name, name)

    def given(self, g: Given) -> str:
        match g.kind:
            case "out":
                return f"result: {self._kept(g.keep)}"
            case "scratch":
                return "memory for values in between"
            case "source":
                return f"{self.name(g.name)}, row by row"
            case _:
                return self.name(g.name)

    def number(self, n: Number) -> str:
        axis = f"axis {n.axis[1]} of {self.name(n.axis[0])}"
        match n.kind:
            case "steps":
                return "steps of the loop"
            case "size":
                return f"length of {axis}"
            case "start":
                return f"start of a slice of {axis}"
            case "all":
                return "length of the whole axis of which this is a part"
            case "part":
                return "where that part begins, in bytes"
            case "offset":
                return "place in that memory, in bytes"
            case "rows":
                return f"rows kept of {self._kept(n.keep)}"
            case "tiled":
                return "whether a product of matrices is made of tiles"
            case "turned" | "across":
                return "whether a product is made of a factor as it lies turned"
            case "ahead":
                return "whether a loop makes rows of a product itself"
            case "summed":
                return "in which order a loop adds up rows for a product, 0 where it keeps them"
            case "skipped":
                return f"steps before the first row kept of {self._kept(n.keep)}"
            case kind:
                return f"{kind} along {axis}"

    def _kept(self, keep: int) -> str:
        return self.name(self.body.loop.keeps[keep].value)
