"""The sorts, constructors and functions of the calculus, for egglog; `terms` gives their meaning.

Rows of a constructor can be hidden (`subsume`), so each query of one scans all its rows for those that are visible, and
indexes them anew.  Operators and lists, which are never hidden, are the largest tables and those that most rules read:
queries look them up in functions, which have neither cost.
"""

from __future__ import annotations

__all__ = ["APPLIED", "DECLARATIONS", "LISTED", "LOOKED_UP", "PARAMS"]

DECLARATIONS = """
(ruleset facts)
(sort Value) (sort Clock) (sort State) (sort Op) (sort Args) (sort Move) (sort Param)
(constructor input (String) Value)
(constructor const (String) Value)
(constructor const_at (Clock String) Value)
(constructor apply (Op Args) Value)
(function apply_any (Op Args) Value :merge old)
(function apply_one (Op Value) Value :merge old)
(function apply_two (Op Value Value) Value :merge old)
(function apply_three (Op Value Value Value) Value :merge old)
(constructor hold (Clock Value) Value)
(constructor seq (Clock Value) Value)
(constructor delay (Clock Value State i64) Value)
(constructor stack (Clock Value) Value)
(constructor tail (Clock Value i64) Value)
(constructor at (Clock Value i64) Value)
(constructor recent (Clock Value Value) Value)
(constructor steps (Clock) Value)
(constructor on (Move Value) Value)
(constructor nil () Args)
(constructor cons (Value Args) Args)
(function list_of (Value Args) Args :merge old)
(function list_of_one (Value) Args :merge old)
(constructor on_args (Move Args) Args)
(constructor prim (String) Op)
(constructor prim_with (String Param) Op)
(relation named (Op String))
(constructor none_param () Param)
(constructor bool_param (i64) Param)
(constructor int_param (i64) Param)
(constructor back_param (i64) Param)
(constructor large_param (String) Param)
(constructor float_param (String) Param)
(constructor text_param (String) Param)
(constructor pair_param (Param Param) Param)
(constructor end_params () Param)
(constructor slice_param (Param Param Param) Param)
(constructor vmap (Op String) Op)
(constructor root () Clock)
(constructor loop (String) Clock)
(constructor cut (Clock i64) Clock)
(constructor upto (Clock Value) Clock)
(constructor chunks (Clock) Clock)
(constructor lift (Clock Clock) Clock)
(constructor under (Move Clock) Clock)
(constructor joint (Move) Clock)
(constructor state (String) State)
(constructor moved (Move State) State)
(constructor masked (Clock Clock State) State)
(constructor seen (Op State) State)
(constructor scaled (State Value) State)
(constructor continued (Move State Value) State)
(constructor to_cut (Clock i64) Move)
(constructor to_upto (Clock Value) Move)
(constructor to_step (Clock i64) Move)
(constructor only (Move Clock) Move)
(constructor lifted (Clock Clock) Move)
(constructor followed (Clock Clock) Move)
(constructor and_last (Clock) Move)
(constructor and_first (Clock) Move)
(constructor both (Move Value Value) Value)
(constructor both_args (Move Args Args) Args)
(function held_as (Clock Value) Value :merge old)
(function added (Value) Value :merge old)
(function numeric (Value) i64 :merge (max old new))
(function away (Value) i64 :merge (min old new))
(function slot (Args i64 i64) Value :merge old)
(function dtype (Value) String :no-merge)
(function ndim (Value) i64 :no-merge)
(function int_value (Value) i64 :no-merge)
(rule ((= v (apply op xs))) ((set (apply_any op xs) v)) :ruleset facts :name "look up apply")
(rule ((= xs (cons x r))) ((set (list_of x r) xs)) :ruleset facts :name "look up cons")
(rule ((= xs (cons x (nil)))) ((set (list_of_one x) xs)) :ruleset facts :name "look up one")
"""


APPLIED = {1: "apply_one", 2: "apply_two", 3: "apply_three"}
"""The functions in which queries look up applied operators, by the number of arguments: one atom, no list."""

LISTED = ("list_of", "list_of_one")
"""The functions in which queries look up lists: of any length, and of one value."""

LOOKED_UP = (
    "apply_any", *APPLIED.values(), *LISTED, "held_as", "added", "numeric", "away", "slot", "dtype", "ndim",
    "int_value",
)  # fmt: skip
"""All functions: their terms can be looked up, but not made."""

PARAMS = (
    "none_param", "bool_param", "int_param", "back_param", "large_param", "float_param", "text_param", "end_params",
    "pair_param", "slice_param",
)  # fmt: skip
"""The constructors of parameters of operators; those of the last two are made of parameters."""
