"""A random program as the text that is run, and what running it builds: one and the same by construction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpus.spec import Line, Loop, Spec, Statement

__all__ = ["Built", "build", "built", "paths", "source", "tree"]

_HEAD = "import numpy as np\nimport scanopt\nimport scanopt.tensor as T\nfrom numpy import inf, nan\n"
_MORE = {
    "bitcast(": "from scanopt.array.operators.bits import bitcast",
    "threefry(": "from scanopt.array.operators.bits import threefry",
    "rules.": "from corpus import rules",
}
"""What programs import that have such texts."""

_TAIL = """
start = [s.get_value() for s in shared]
found = []
for how in (dict(mode="unoptimized"), dict(fp="exact")):
    for s, value in zip(shared, start, strict=True):
        s.set_value(value)
    f = scanopt.function(list(values), outputs, updates, on_unused_input="ignore", **how)
    found.append([x for _ in range(2) for x in [*f(*values.values()), *(s.get_value() for s in shared)]])
for e, r in zip(*found, strict=True):
    np.testing.assert_array_equal(e, r, strict=True)
"""


def source(spec: Spec, tail: bool = True) -> str:
    """The program as a file of its own; with `tail` it compares the compiled function with the interpreter."""
    body = _statements(spec.statements)
    lines = [f"# seed {spec.seed}", _HEAD]
    lines += [text for part, text in _MORE.items() if any(part in line for line in body)]
    lines += [f"{x.name} = T.tensor({x.dtype!r}, {_tuple(x.static)}, {x.name!r})" for x in spec.inputs]
    lines.append("values = {" + ", ".join(f"{x.name}: {x.text}" for x in spec.inputs) + "}")
    lines += [f"{x.name} = scanopt.shared({x.text}, {x.name!r})" for x in spec.shared]
    names = [x.name for x in spec.shared]
    streams = any("trng." in text for text in body)
    if streams:
        lines.append(f"trng = T.shared_randomstreams.RandomStreams({spec.seed})")
    lines += body
    lines.append(f"outputs = [{', '.join(spec.outputs)}]")
    lines.append(f"updates = {_updates(spec.passed, [(c.shared, c.text) for c in spec.changes], spec.seed % 3 == 0)}")
    lines.append(f"shared = [{', '.join(names + ['*(s for s, _ in trng.updates())'] * streams)}]")
    return "\n".join(lines) + "\n" + (_TAIL if tail else "")


def _tuple(x: Iterable[Any]) -> str:
    return repr(tuple(x))


def _updates(passed: Sequence[str], changes: Sequence[tuple[str, str]], pairs: bool) -> str:
    """Updates of loops, and further ones, as a dict or as pairs."""
    if not changes and len(passed) == 1 and not pairs:
        return passed[0]
    if pairs and not passed:
        return "[" + ", ".join(f"({a}, {text})" for a, text in changes) + "]"
    both = "{" + ", ".join([f"**{u}" for u in passed] + [f"{a}: {text}" for a, text in changes]) + "}"
    return f"list({both}.items())" if pairs else both


def _statements(statements: Iterable[Statement]) -> list[str]:
    return [
        text
        for s in statements
        for text in ([f"{s.name} = {s.text}"] if isinstance(s, Line) else _carry(s) if s.tree else _loop(s))
    ]


# scan, map, reduce, foldl, foldr


def _loop(x: Loop) -> list[str]:
    params = [p for slot in x.slots for p in slot.params]
    body = ["    " + text for text in _statements(x.body)]
    results, names = (", ".join(texts) for texts in ([o.result for o in x.outs], [o.name for o in x.outs]))
    given = [results if len(x.outs) == 1 else f"[{results}]"] if x.outs else []
    if x.changes or x.passed:
        updates = _updates(x.passed, [(c.shared, c.text) for c in x.changes], x.gives == "pairs")
        given = [updates, *given] if x.gives == "first" else [*given, updates]
    given += [f"scanopt.until({x.until})"] if x.until else []
    left = (names if len(x.outs) == 1 else f"[{names}]") if x.outs else "_"
    return [
        f"def step_{x.title}({', '.join(params)}):",
        *body,
        f"    return {', '.join(given)}",
        f"{left}, {x.updates or '_'} = scanopt.{x.function}({', '.join([f'step_{x.title}', *_arguments(x)])})",
    ]


def _arguments(x: Loop) -> list[str]:
    out = [f"sequences=[{', '.join(s.text for s in x.sequences)}]"] if x.sequences else []
    if x.function != "map" and any(o.text != "None" for o in x.outs):
        out.append(f"outputs_info=[{', '.join(o.text for o in x.outs)}]")
    elif x.function not in ("map", "scan"):
        out.append("outputs_info=None")
    if x.given:
        out.append(f"non_sequences=[{', '.join(s.text for s in x.given)}]")
    if x.n_steps is not None:
        out.append(f"n_steps={x.n_steps}")
    return [*out, "go_backwards=True"] if x.go_backwards else out


# loop, fori_loop, while_loop


def tree(style: str, items: Sequence[str]) -> str:
    """Texts of leaves as the text of a structure: "leaf", "tuple", "dict" or "nested".

    >>> tree("nested", ["a", "b", "c"])
    "{'h': (a,), 'rest': [b, c]}"
    """
    if not items:
        return "None"
    if style == "leaf" and len(items) == 1:
        return items[0]
    if style == "dict":
        return "{" + ", ".join(f"'c{i}': {x}" for i, x in enumerate(items)) + "}"
    if style == "nested":
        return f"{{'h': ({items[0]},), 'rest': [{', '.join(items[1:])}]}}"
    return f"({', '.join(items)},)"


def paths(style: str, n: int) -> list[str]:
    """What is written behind a structure of n leaves to get each of them.

    >>> paths("nested", 3)
    ["['h'][0]", "['rest'][0]", "['rest'][1]"]
    """
    if style == "leaf" and n == 1:
        return [""]
    if style == "dict":
        return [f"['c{i}']" for i in range(n)]
    if style == "nested":
        return ["['h'][0]", *(f"['rest'][{i}]" for i in range(n - 1))][:n]
    return [f"[{i}]" for i in range(n)]


def _taken(of: str, style: str, names: Sequence[str]) -> list[str]:
    """Lines that name the leaves of a structure."""
    return [f"{name} = {of}{path}" for name, path in zip(names, paths(style, len(names)), strict=True)]


def _carry(x: Loop) -> list[str]:
    states, results = [o for o in x.outs if o.is_state], [o for o in x.outs if not o.is_state]
    init, new = (tree(x.tree, texts) for texts in ([o.text for o in states], [o.result for o in states]))
    before = ["    " + text for text in _taken("carry", x.tree, [o.params[0] for o in states])]
    body = ["    " + text for text in _statements(x.body)]
    step = f"step_{x.title}"
    last = "last"
    if x.function == "fori_loop":
        (i,) = x.sequences[0].params
        head, end = f"def {step}({i}, carry):", new
        call = f"fori_loop({x.sequences[0].text}, {step}, {init})"
    elif x.function == "while_loop":
        head, end = f"def {step}(carry):", new
        call = f"while_loop(goes_on_{x.title}, {step}, {init}, {x.n_steps})"
    else:
        head, end = f"def {step}(carry, x):", f"{new}, {tree(x.tree, [o.result for o in results])}"
        end += f", scanopt.until({x.until})" if x.until else ""
        before += ["    " + text for text in _taken("x", x.tree, [s.params[0] for s in x.sequences])]
        more = [f"length={x.n_steps}"] if x.n_steps is not None else []
        more += ["reverse=True"] if x.go_backwards else []
        call = f"loop({', '.join([step, init, tree(x.tree, [s.text for s in x.sequences]), *more])})"
        last = "last, rows"
    goes_on = [f"def goes_on_{x.title}(carry):", *before, f"    return {x.until}"] if x.function == "while_loop" else []
    out = [head, *before, *body, f"    return {end}", *goes_on, f"{last} = scanopt.{call}"]
    out += _taken("last", x.tree, [o.name for o in states])
    return out + _taken("rows", x.tree, [o.name for o in results])


# Built


@dataclass(frozen=True)
class Built:
    """A program through the public API.

    values: by input.  updates: of its function, a dict or pairs.  shared: its shared variables, then
    its streams of random numbers.
    """

    values: dict[Any, np.ndarray[Any, Any]]
    outputs: list[Any]
    updates: Any
    shared: list[Any]


def built(spec: Spec) -> Built:
    """Run the text of a program."""
    space: dict[str, Any] = {}
    exec(compile(source(spec, tail=False), f"<random program {spec.seed}>", "exec"), space)
    return Built(space["values"], space["outputs"], space["updates"], space["shared"])


def build(spec: Spec) -> tuple[dict[Any, np.ndarray[Any, Any]], list[Any]]:
    """Values by input, and the outputs: the program without its updates."""
    made = built(spec)
    return made.values, made.outputs
