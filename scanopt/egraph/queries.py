"""Which variables of a Scan node belong together, and which depend on which, by Datalog rules over its slots.

The rules have an e-graph of their own, in which each variable is a number.  In the e-graph of the laws equal values are
one class: two inputs could be united, and it would be lost that `x * 0` reads x.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Any
from weakref import WeakKeyDictionary

from scanopt.array.variable import Variable
from scanopt.egraph.engine import take
from scanopt.egraph.relation_files import Tables, tables_text
from scanopt.loops.graph import schedule
from scanopt.loops.node import Scan
from scanopt.loops.scan_args import LISTS, ScanArgs, scan_args
from scanopt.records import dataclass

__all__ = ["RULES", "Queries", "queries"]

RULES = """
; ---- the program.  n, m: loops; v, w: variables; j: the number of a slot among those of its kind k;
; i, o, x, y, z: indices in one of the lists outer_inp, inner_inp, inner_out, outer_out
(relation place (i64 String i64 String i64 i64)) ; slot (n k j) has variable v as number i of a list: n k j list i v
(relation reads (i64 i64 i64))                   ; in the step of n, v is an argument of w: n v w
(relation inside (i64 i64))                      ; in the step of n stands the loop m: n m

; ---- slots
(sort Slot)
(constructor slot (i64 String i64) Slot)
(relation at (Slot String i64))
(rule ((place n k j list i v)) ((at (slot n k j) list i)))

; The documents' table "Scan variables": which kinds have no variable outside.  Index -1 says so.
(relation lacks (String String))
(lacks "n_steps" "outer_out")
(lacks "seqs" "outer_out")
(lacks "non_seqs" "outer_out")
(lacks "cond" "outer_out")
(lacks "cond" "outer_inp")
(rule ((= s (slot n k j)) (lacks k list)) ((at s list -1)))

; ---- var_mappings: number i of list a and number x of list b belong to one slot of n
(relation maps (i64 String i64 String i64))
(rule ((= s (slot n k j)) (at s a i) (at s b x) (!= a b) (>= i 0)) ((maps n a i b x)))

; ---- inner_connection_pattern: in one step of n, inner input i is used to compute v, or inner output o
(relation reaches (i64 i64 i64))
(relation inner_connected (i64 i64 i64))
(rule ((place n k j "inner_inp" i v)) ((reaches n i v)))
(rule ((reaches n i v) (reads n v w)) ((reaches n i w)))
(rule ((reaches n i v) (place n k j "inner_out" o v)) ((inner_connected n i o)))

; ---- connection_pattern: outer input x is used to compute outer output y, in the same step
(relation connected (i64 i64 i64))
(rule ((inner_connected n i o) (maps n "inner_inp" i "outer_inp" x) (maps n "inner_out" o "outer_out" y) (>= y 0))
      ((connected n x y)))
; ... or in a later one, which reads y back as the state that starts with z
(rule ((connected n x y) (maps n "outer_out" y "outer_inp" z) (connected n z w)) ((connected n x w)))
; Rows of a mit-mot's buffer that no step writes stay as they are.
(rule ((place n "mit_mot" j "outer_inp" x v) (place n "mit_mot" j "outer_out" y w)) ((connected n x y)))
; A loop in a step computes its outputs from the inputs that are connected to them.
(rule ((inside n m) (connected m x y) (place m k j "outer_inp" x v) (place m l h "outer_out" y w)) ((reads n v w)))
"""

_SORTS = {
    "place": ("i64", "String", "i64", "String", "i64", "i64"),
    "reads": ("i64", "i64", "i64"),
    "inside": ("i64", "i64"),
}
_TEXT = f"{RULES}\n{tables_text(_SORTS)}"


@dataclass(frozen=True)
class Queries:
    """The answers for one loop: `Scan` says what each of them means."""

    var_mappings: Mapping[str, Mapping[int, int | list[int]]]
    connected: list[list[bool]]
    inner_connected: list[list[bool]]


_FOUND: WeakKeyDictionary[Scan, Queries] = WeakKeyDictionary()


def queries(node: Scan) -> Queries:
    """The answers for a loop, kept as long as the loop lives.

    >>> from scanopt import scan, tensor as T
    >>> xs, _ = scan(lambda u, x: u + x, T.vector("u"), outputs_info=T.scalar("x0"))
    >>> queries(xs.owner).var_mappings["inner_out_from_inner_inp"]
    {0: [], 1: [0]}
    """
    if node not in _FOUND:
        _FOUND.update(_derive(node))
    return _FOUND[node]


def _derive(node: Scan) -> dict[Scan, Queries]:
    """The answers for a loop and for those in its step."""
    facts, loops = _facts(node)
    engine = take(_TEXT)
    try:
        facts.load(engine.run)
        engine.run("(run-schedule (saturate (run)))")
        found = engine.tables(("maps", "connected", "inner_connected"))
    finally:
        engine.close()
    maps, outer, inner = ([row for row, _ in table.rows] for table in found.values())
    return {
        scan: Queries(
            _mappings(args, [row for loop, *row in maps if loop == n]),
            _pattern(args.outer_inputs, args.outer_outputs, {(x, y) for loop, x, y in outer if loop == n}),
            _pattern(args.inner_inputs, args.inner_outputs, {(i, o) for loop, i, o in inner if loop == n}),
        )
        for n, (scan, args) in enumerate(loops.items())
    }


def _facts(node: Scan) -> tuple[Tables, dict[Scan, ScanArgs]]:
    """The loop, and those in its step, as rows of the first three relations; the loops by number."""
    facts, loops, todo = Tables(), {node: scan_args(node)}, [node]
    numbers: dict[Variable, int] = {}

    def number(v: Variable) -> int:
        return numbers.setdefault(v, len(numbers))

    for n, scan in enumerate(todo):
        for name in LISTS:
            for p in loops[scan].places(name):
                facts.add("place", n, p.kind, p.slot, name, p.index, number(p.variable))
        for x in schedule(loops[scan].inner_outputs, loops[scan].inner_inputs):
            if not isinstance(x, Scan):
                for v in x.inputs:
                    facts.add("reads", n, number(v), number(x.outputs[0]))
                continue
            if x not in loops:
                loops[x] = scan_args(x)
                todo.append(x)
            facts.add("inside", n, todo.index(x))
    return facts, loops


def _mappings(args: ScanArgs, maps: list[list[Any]]) -> dict[str, Mapping[int, int | list[int]]]:
    """The 12 tables by their names, in the documented order."""
    pairs = [
        (source, target)
        for source in ("outer_out", "outer_inp", "inner_inp", "inner_out")
        for target in ("outer_inp", "inner_inp", "inner_out", "outer_out")
        if target != source
    ]
    found: dict[tuple[str, str], dict[int, list[int]]]
    found = {pair: {p.index: [] for p in args.places(pair[0])} for pair in pairs}
    for source, i, target, x in sorted(maps):
        found[source, target][i].append(x)
    return {
        f"{target}_from_{source}": {i: x for i, (x,) in table.items()} if target.startswith("outer") else table
        for (source, target), table in found.items()
    }


def _pattern(inputs: Sized, outputs: Sized, pairs: set[tuple[int, int]]) -> list[list[bool]]:
    """A row for each input, an entry for each output: whether the two are a pair."""
    return [[(i, o) in pairs for o in range(len(outputs))] for i in range(len(inputs))]
