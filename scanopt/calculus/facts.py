"""Facts: the only place where the conditions of laws come from.

Every fact is positive (what is not known does not hold), has a name, a meaning, and the Datalog
rules that derive it.  Facts about the program itself (`given` below) are written by the encoder.
"""

from __future__ import annotations

import scanopt.calculus.facts_raising  # declares what rules below ask for
import scanopt.calculus.facts_shapes  # noqa: F401  # declares what rules below ask for
from scanopt.calculus.condition import FACTS, new_fact
from scanopt.calculus.declarations import FIRST_ROWS
from scanopt.calculus.terms import Args, Clock, Int, Op, Text, Value

__all__ = ["ALL", "new_fact"]

ALL = FACTS
"""All facts by name: those below, and those that are declared elsewhere."""

INEXACT = ("float16", "float32", "float64", "complex64", "complex128")

# Clocks

runs_all = new_fact(
    "runs_all", Clock,
    meaning="c runs all its steps (it has no `until`, or one that is never true)",
    rules="""
    (until c v) (is_false v) => (runs_all c)
    (= d (upto c n)) (runs_all c) => (runs_all d)
    (= d (under m c)) (runs_all c) => (runs_all d)
    """,
)  # fmt: skip

same_entries = new_fact(
    "same_entries", Clock, Value, Value,
    meaning="X and Y are read by c and have the same entries at every step that it runs",
    pattern="(= e_ (seq {0} {1})) (= e_ (seq {0} {2})) (!= {1} {2})",
)  # fmt: skip

same_value = new_fact(
    "same_value", Clock, Value, Value,
    meaning="x and y are the same when held by c",
    pattern="(= e_ (hold {0} {1})) (= e_ (hold {0} {2})) (!= {1} {2})",
)  # fmt: skip

some_steps = new_fact(
    "some_steps", Clock,
    meaning="c runs at least one step",
    rules="(= n (steps c)) (= k (int_value n)) (>= k 1) => (some_steps c)",
)  # fmt: skip

one_step = new_fact(
    "one_step", Clock,
    # What ends at once, by a condition, is rare: it need not wait for its turn.
    meaning="c runs exactly one step, and it may be taken apart now",
    rules="""
    (= n (steps c)) (= 1 (int_value n)) (in_turn c) => (one_step c)
    (until c v) (is_true v) (some_steps c) => (one_step c)
    """,
)  # fmt: skip

exact_steps = new_fact(
    "exact_steps", Clock, Int,
    meaning="c runs exactly n steps, it is its turn to be taken apart, and there is little to copy",
    rules="(= v (steps c)) (= n (int_value v)) (runs_all c) (in_turn c) (shallow c) => (exact_steps c n)",
)  # fmt: skip

row_of_step = new_fact(
    "row_of_step", Clock, Int, Int,
    meaning="c runs exactly 2 or 3 steps, and row k of a trace of it is that of step t",
    rules="""
    (exact_steps c 2) => (row_of_step c 0 0) (row_of_step c 1 1) (row_of_step c -2 0) (row_of_step c -1 1)
    (exact_steps c 3) => (row_of_step c 0 0) (row_of_step c 1 1) (row_of_step c 2 2)
    (exact_steps c 3) => (row_of_step c -3 0) (row_of_step c -2 1) (row_of_step c -1 2)
    """,
)  # fmt: skip

new_fact("unchanged", Value, meaning="v is a state that the program itself writes back as it was (given)")

tells_no_length = new_fact(
    "tells_no_length", Clock, Value,
    meaning="v, read by c, tells no length that is unknown where c runs no step: c runs a step, or v is of floats, "
    "or a state that is written back as it was",
    rules="\n".join(
        f"(= v ({form})) {known} => (tells_no_length c v)"
        for form in ("seq c X", "delay c i s k")
        for known in ("(some_steps c)", "(unchanged v)", *(f'(= "{d}" (dtype v))' for d in INEXACT))
    ),
)  # fmt: skip

no_steps = new_fact(
    "no_steps", Clock,
    meaning="c runs no step",
    rules="(= n (steps c)) (= 0 (int_value n)) => (no_steps c)",
)  # fmt: skip

same_steps = new_fact(
    "same_steps", Clock, Clock,
    meaning="c and d lie in the same clock and have the same number of steps",
    rules="(= n (steps c)) (= n (steps d)) (!= c d) => (same_steps c d)",
)  # fmt: skip

rows = new_fact(
    "rows", Value, Clock,
    meaning="X has exactly steps(c) rows",
    rules="""
    (= v (seq c X)) => (rows X c)
    (= X (stack c v)) (runs_all c) => (rows X c)
    """,
)  # fmt: skip

# Values

before = new_fact(
    "before", Clock, Value,
    meaning="X is known before c begins (given for what the program reads in c)",
    # Only where equal entries make equal sequences: else each form would make new forms for ever.
    rules="(sliced c l o f) (= Y (apply (vmap op f) o)) (runs_all c) => (before c Y)",
)  # fmt: skip

forward = new_fact(
    "forward", Value,
    meaning="v lies in no recurrence: its strongly connected component is v alone (given)",
)  # fmt: skip

equal_rows = new_fact(
    "equal_rows", Value, Value,
    meaning="every row of X equals x (given, of repeat_rows, and kept by X[:n])",
    rules=f"""
    (= Y (apply (prim "repeat_rows") (cons x (cons n (nil))))) => (equal_rows Y x)
    (equal_rows X x) (= Y (apply {FIRST_ROWS} (cons X r))) => (equal_rows Y x)
    """,
)  # fmt: skip

static_shape = new_fact(
    "static_shape", Value, Text,
    meaning="the shape of v is known before the run (given)",
)  # fmt: skip

within = new_fact("within", Clock, Clock, meaning="c is a loop of p", pattern="(level {0} {1})")

lies_on = new_fact(
    "lies_on", Value, Clock,
    meaning="v is on c, which is the root outside all loops",
    rules="""
    (= v (input k)) (= c (root)) => (lies_on v c)
    (= v (const k)) (= c (root)) => (lies_on v c)
    (= v (hold c x)) => (lies_on v c)
    (= v (seq c X)) => (lies_on v c)
    (= v (delay c i s k)) => (lies_on v c)
    (= V (stack c v)) (level c p) => (lies_on V p)
    (= V (tail c v k)) (level c p) => (lies_on V p)
    (= V (steps c)) (level c p) => (lies_on V p)
    (= v (apply op (cons x r))) (lies_on x c) => (lies_on v c)
    """,
)  # fmt: skip

scalar = new_fact("scalar", Value, meaning="v has no axes", pattern="(= 0 (ndim {0}))")
is_true = new_fact(
    "is_true", Value, meaning="v is the constant True", rules="(= v (hold c x)) (is_true x) => (is_true v)"
)
is_false = new_fact(
    "is_false", Value, meaning="v is the constant False", rules="(= v (hold c x)) (is_false x) => (is_false v)"
)
integer = new_fact(
    "integer", Value,
    meaning="v is of an integer dtype",
    rules="\n".join(
        f'(= "{d}" (dtype v)) => (integer v)'
        for d in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    ),
)  # fmt: skip
of_dtype = new_fact("of_dtype", Value, Text, meaning="v has dtype d", pattern="(= {1} (dtype {0}))")
same_type = new_fact(
    "same_type", Value, Value,
    meaning="v and w have the same dtype and number of axes",
    pattern="(= d_ (dtype {0})) (= d_ (dtype {1})) (= n_ (ndim {0})) (= n_ (ndim {1}))",
)  # fmt: skip

# Operators

safe = new_fact(
    "safe", Op,
    meaning="op cannot raise, whatever its values, where the shapes of its arguments fit (given, and kept by batching)",
    rules="(= g (vmap op f)) (safe op) => (safe g)",
)  # fmt: skip

always = new_fact(
    "always", Value,
    meaning="v is computed whenever the program is: no untaken side of an ifelse hides it (given)",
    rules="(sliced c l o f) (= v (apply op l)) (always v) (= Y (apply (vmap op f) o)) => (always Y)",
)  # fmt: skip

# These two are about an operator, not a value: one that may raise can be equal to one that cannot.
# A batched operator without rows does not run, so that steps which may be none need no condition.
hoistable = new_fact(
    "hoistable", Clock, Op, Args,
    meaning="computing op of the invariants l once outside c raises only if running the program does",
    rules="""
    (held c l o f) (sure op l) => (hoistable c op l)
    (held c l o f) (= v (apply op l)) (always v) (safe op) => (hoistable c op l)
    (held c l o f) (= v (apply op l)) (always v) (some_steps c) => (hoistable c op l)
    """,
)  # fmt: skip

guarded_by = new_fact(
    "guarded_by", Op, Op,
    meaning="op may raise; g(n, ...) is op(...) where n > 0, and does not run where n = 0 (given)",
)  # fmt: skip

raises_alike = new_fact(
    "raises_alike", Clock, Op, Args,
    meaning="computing op of l for all steps of c at once raises only if running the program does",
    rules="""
    (sliced c l o f) (sure op l) => (raises_alike c op l)
    (sliced c l o f) (= v (apply op l)) (always v) (safe op) => (raises_alike c op l)
    (sliced c l o f) (= v (apply op l)) (always v) (runs_all c) => (raises_alike c op l)
    """,
)  # fmt: skip

total = new_fact(
    "total", Value,
    meaning="computing v cannot raise",
    rules="""
    (always v) => (total v)
    (= v (seq c X)) => (total v)
    (= v (hold c x)) => (total v)
    (= v (delay c i s k)) => (total v)
    (= v (input k)) => (total v)
    (= v (const k)) => (total v)
    (= v (apply op l)) (sure op l) (total_list l) => (total v)
    """,
)  # fmt: skip

total_list = new_fact(
    "total_list", Args,
    meaning="computing the values of the list cannot raise",
    rules="""
    (= l (cons v (nil))) (total v) => (total_list l)
    (= l (cons v r)) (total v) (total_list r) => (total_list l)
    """,
)  # fmt: skip

new_fact(
    "unexpanded", Op,
    meaning="batched forms of op are not written as operators of the table (given, kept by batching)",
    rules="(unexpanded op) (= g (vmap op f)) => (unexpanded g)",
)  # fmt: skip

batched = new_fact(
    "batched", Op,
    meaning="op has a batched form that the licence of the call allows (given, kept by batching where need be)",
    rules="(unexpanded op) (= g (vmap op f)) => (batched g)",
)  # fmt: skip
batched_as = new_fact(
    "batched_as", Op, Text,
    meaning="op has a batched form that the licence of the call allows where its result is of dtype d (given, for "
    "operators that are not batched for all dtypes of the program)",
)  # fmt: skip
batched_here = new_fact(
    "batched_here", Value, Op, Args,
    meaning="v is op of l, which has a batched form that the licence of the call allows",
    rules="""
    (= v (apply op l)) (batched op) => (batched_here v op l)
    (= v (apply op l)) (batched_as op d) (= d (dtype v)) => (batched_here v op l)
    """,
)  # fmt: skip

commutative = new_fact("commutative", Op, Text, meaning="op(x, y) = op(y, x) for x of dtype d (trait)")
idempotent = new_fact("idempotent", Op, Text, meaning="op(x, x) = x for x of dtype d (trait)")
projection = new_fact("projection", Op, Text, meaning="op(op(x)) = op(x) for x of dtype d (trait)")
involution = new_fact("involution", Op, Text, meaning="op(op(x)) = x for x of dtype d (trait)")
undoes = new_fact("undoes", Op, Op, meaning="g(op(x, y), y) = x (trait, integers)")
neutral = new_fact(
    "neutral", Op, Value, Text,
    meaning="op(x, e) = x for every x of dtype d (trait of op, e a constant)",
    rules="(neutral op e d) (= v (hold c e)) => (neutral op v d)",
)  # fmt: skip
left_neutral = new_fact(
    "left_neutral", Op, Value, Text,
    meaning="op(e, x) = x for every x of dtype d (trait of op, e a constant)",
    rules="(left_neutral op e d) (= v (hold c e)) => (left_neutral op v d)",
)  # fmt: skip
absorbing = new_fact(
    "absorbing", Op, Value,
    meaning="op(x, z) = op(z, x) = z for every x of the dtype of z, z a constant scalar (trait)",
    rules="(absorbing op z) (= v (hold c z)) => (absorbing op v)",
)  # fmt: skip
cancels = new_fact(
    "cancels", Op, Text, Text,
    meaning="op(x, x) is the scalar constant k everywhere, for x of dtype d (trait)",
)  # fmt: skip
like = new_fact(
    "like", Value, Value, Value,
    meaning="X has the shape of x and every element equals the scalar e (full_like)",
    rules='(= X (apply (prim "full_like") (cons x (cons e (nil))))) => (like X x e)',
)  # fmt: skip

# Argument lists

held = new_fact(
    "held", Clock, Args, Args, Text,
    meaning="every value of the list is held by c; what it holds makes the second list",
    rules="""
    (= l (cons v (nil))) (= x (held_as c v)) => (held c l (cons x (nil)) "0")
    (= l (cons v r)) (= x (held_as c v)) (held c r o f) => (held c l (cons x o) (+ "0" f))
    """,
)  # fmt: skip

sliced = new_fact(
    "sliced", Clock, Args, Args, Text,
    meaning="every value of the list is hold(c, x) or seq(c, X), X before c, at least one a seq",
    rules="""
    (= l (cons v (nil))) (= v (seq c X)) (before c X) => (sliced c l (cons X (nil)) "1")
    (= l (cons v r)) (= v (seq c X)) (before c X) (held c r o f) => (sliced c l (cons X o) (+ "1" f))
    (= l (cons v r)) (= v (seq c X)) (before c X) (sliced c r o f) => (sliced c l (cons X o) (+ "1" f))
    (= l (cons v r)) (= x (held_as c v)) (sliced c r o f) => (sliced c l (cons x o) (+ "0" f))
    """,
)  # fmt: skip

batchable = new_fact(
    "batchable", Clock, Op, Args,
    meaning="op has a batched form for the sliced list: rows of one length, as far as they come from op",
    rules="""
    (sliced c l o f) (batched_here v op l) (fixed_shape op) => (batchable c op l)
    (sliced c l o f) (batched_here v op l) (= l (cons x r)) (held c r p g) => (batchable c op l)
    """,
)  # fmt: skip

varies = new_fact(
    "varies", Value,
    hint=True,
    meaning="v differs from step to step (it reads a sequence or a state, or is the trace of an inner loop)",
    rules="""
    (= v (seq c X)) => (varies v)
    (= v (delay c i s k)) => (varies v)
    (= v (stack d w)) (forward v) => (varies v)
    (= v (tail d w k)) (forward v) => (varies v)
    (= v (apply op l)) (varying l) => (varies v)
    """,
)  # fmt: skip

varying = new_fact(
    "varying", Args,
    hint=True,
    meaning="some value of the list varies",
    rules="""
    (= l (cons v r)) (varies v) => (varying l)
    (= l (cons v r)) (varying r) => (varying l)
    """,
)  # fmt: skip

# k = 0 asks for the whole trace, k >= 1 for its last k rows.
traceable = new_fact(
    "traceable", Clock, Int, Op, Args,
    meaning="the trace (k = 0) or last k rows of op of the list are asked for, and op can do all rows at once",
    rules="""
    (= S (stack c v)) (forward v) (batched_here v op l) (regular v) => (traceable c 0 op l)
    (= S (tail c v k)) (forward v) (batched_here v op l) (regular v) => (traceable c k op l)
    """,
)  # fmt: skip

wanted = new_fact(
    "wanted", Clock, Int, Args,
    hint=True,
    meaning="the traces (k = 0) or last k rows of the values of the list are asked for",
    rules="""
    (traceable c k op l) => (wanted c k l)
    (wanted c k l) (= l (cons v r)) => (wanted c k r)
    """,
)  # fmt: skip

asked = new_fact(
    "asked", Clock, Int, Value,
    hint=True,
    meaning="the trace of v (k = 0) or its last k rows are asked for",
    rules="(wanted c k l) (= l (cons v r)) => (asked c k v)",
)  # fmt: skip

traced = new_fact(
    "traced", Clock, Int, Value, Value,
    meaning="V is the trace of v (k = 0), or its last k rows",
    rules="""
    (asked c 0 v) (varies v) (regular v) => (traced c 0 v (stack c v))
    (asked c k v) (>= k 1) (varies v) (regular v) => (traced c k v (tail c v k))
    """,
)  # fmt: skip

alike = new_fact(
    "alike", Clock, Int, Args, Args, Text,
    meaning="every value of the wanted list is hold(c, x)",
    rules="""
    (wanted c k l) (held c l o f) => (alike c k l o f)
    """,
)  # fmt: skip

rows_of = new_fact(
    "rows_of", Clock, Int, Args, Args, Text,
    meaning="the second list has the traces (k = 0) or last k rows of what varies, x of hold(c, x)",
    rules="""
    (= l (cons v (nil))) (traced c k v V) => (rows_of c k l (cons V (nil)) "1")
    (= l (cons v r)) (traced c k v V) (alike c k r o f) => (rows_of c k l (cons V o) (+ "1" f))
    (= l (cons v r)) (traced c k v V) (rows_of c k r o f) => (rows_of c k l (cons V o) (+ "1" f))
    (= l (cons v r)) (= x (held_as c v)) (rows_of c k r o f) => (rows_of c k l (cons x o) (+ "0" f))
    """,
)  # fmt: skip

traced_all = new_fact(
    "traced_all", Clock, Int, Op, Args, Args, Text,
    meaning="op can do all rows of the list at once, which are those of the second one: k = 0 all, else the last k",
    rules="(traceable c k op l) (rows_of c k l o f) => (traced_all c k op l o f)",
)  # fmt: skip

constants = new_fact(
    "constants", Args,
    meaning="every value of the list is a constant",
    rules="""
    (= l (cons (const k) (nil))) => (constants l)
    (= l (cons (const k) r)) (constants r) => (constants l)
    """,
)  # fmt: skip

# Integers

at_least = new_fact("at_least", Int, Int, meaning="a >= b", pattern="(>= {0} {1})")
less = new_fact("less", Int, Int, meaning="a < b", pattern="(< {0} {1})")
