"""What a random program shows: the kinds that the record of a run counts."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.spec import Line, Loop, Spec, Statement, makes, used

__all__ = ["KINDS", "kinds"]

KINDS = (
    "scan", "map", "reduce, foldl, foldr", "loop, fori_loop, while_loop",
    "sequence taps", "past and future taps", "output taps", "several states",
    "until", "until on values", "updates of steps", "updates of the function", "draws of streams", "draws by key",
    "a loop in a loop", "loops three deep", "length by the outer step",
    "backwards", "negative n_steps", "symbolic n_steps", "no steps", "one step", "two steps",
    "ifelse", "repeated, constant or input outputs", "lengths that may not fit",
)  # fmt: skip
"""All kinds, in the order of the record."""

_FUNCTIONS = {
    "reduce": "reduce, foldl, foldr", "foldl": "reduce, foldl, foldr", "foldr": "reduce, foldl, foldr",
    "loop": "loop, fori_loop, while_loop", "fori_loop": "loop, fori_loop, while_loop",
    "while_loop": "loop, fori_loop, while_loop",
}  # fmt: skip


def kinds(spec: Spec) -> set[str]:
    """The kinds of a program.

    >>> kinds(Spec(0, [], [], [])) - {"repeated, constant or input outputs"}
    set()
    """
    loops = list(_loops(spec.statements))
    out = {kind for loop, _ in loops for kind in _kinds(loop)}
    lines = list(_lines(spec.statements))
    depth = max((d for _, d in loops), default=0)
    inner = [loop for loop, d in loops if d > 1]
    conditions = [line.text for line in lines if line.name in {loop.until for loop, _ in loops}]
    found = {
        "until on values": any(used(text) for text in conditions) or "while_loop" in {x.function for x, _ in loops},
        "updates of the function": bool(spec.changes),
        "draws of streams": any("trng." in x.text for x in lines),
        "draws by key": any("T.random." in x.text for x in lines),
        "a loop in a loop": depth > 1,
        "loops three deep": depth > 2,
        "length by the outer step": any(used(text) for x in inner for text in _lengths(x)),
        "ifelse": any("ifelse" in x.text for x in lines),
        "repeated, constant or input outputs": len({*spec.outputs} & {n for s in spec.statements for n in makes(s)})
        < len(spec.outputs)
        or any("T.constant([" in x.text for x in lines),
        "lengths that may not fit": spec.disturbed,
    }
    return out | {kind for kind, there in found.items() if there}


def _kinds(x: Loop) -> Iterator[str]:
    yield _FUNCTIONS.get(x.function, x.function)
    taps = [s for s in x.sequences if "taps=" in s.text]
    yield from ["sequence taps"] if taps else []
    past = any(", taps=[" in s.text and "-" in s.text.partition("taps=")[2] for s in taps)
    future = any(any(t in s.text.partition("taps=")[2] for t in ("[1", "[2", " 1", " 2")) for s in taps)
    yield from ["past and future taps"] if past and future else []
    states = [o for o in x.outs if o.params]
    yield from ["output taps"] if any("taps=" in o.text for o in states) else []
    yield from ["several states"] if len(states) > 1 else []
    yield from ["until"] if x.until else []
    yield from ["updates of steps"] if x.changes or x.passed else []
    yield from ["backwards"] if x.go_backwards or x.function == "foldr" else []
    n = x.n_steps or ""
    yield from ["negative n_steps"] if n.startswith("-") else []
    yield from ["symbolic n_steps"] if used(n) else []
    lead = {o.shape[0] for o in x.outs if o.shape and not (x.tree and o.params)} if "fold" not in x.function else set()
    for count, kind in ((0, "no steps"), (1, "one step"), (2, "two steps")):
        yield from [kind] if x.function in ("scan", "map", "loop") and lead == {count} else []


def _lengths(x: Loop) -> list[str]:
    """The texts that say how often an inner loop runs, where they are computed for it."""
    texts = [x.n_steps or ""] + [s.text for s in x.sequences if "[:" in s.text or x.function == "fori_loop"]
    return [text for text in texts if " % 3" in text or "T.minimum(abs(" in text or "T.clip(" in text]


def _loops(statements: list[Statement], depth: int = 1) -> Iterator[tuple[Loop, int]]:
    for s in statements:
        if isinstance(s, Loop):
            yield s, depth
            yield from _loops(s.body, depth + 1)


def _lines(statements: list[Statement]) -> Iterator[Line]:
    for s in statements:
        if isinstance(s, Line):
            yield s
        else:
            yield from _lines(s.body)
