"""Results are computed in place where nobody can see it (Theano scan internals, ScanInplaceOptimizer).

No laws: the program is chosen already.  These rules say where each of its values lives: which are
computed in the rows of a state or of what a loop keeps, which arrays the next step fills again, what
shares memory, what has to be copied because of that, and which results may be written onto an
argument.  `scanopt.program.storage.rules` says what is known of a program, and runs the stages in order.

Decisions are made for each result by itself, and none can spoil another.  Two results of one body
that want the same memory are made by two steps.  The earlier one needs that nothing that lies there
is read after it; the later one reads an argument that lies there.  So that argument lies there
because the earlier result does, was made from it, and is taken only if it is dead in turn.  A state
overwrites its initial rows only where nothing that may lie there is read once its loop has begun:
no later step can want them, and what an earlier step wrote there is what the loop starts with.
"""

from scanopt.program.storage.rules import StorageRule

__all__ = ["RULES"]

_PLACES = (
    StorageRule(
        "last_read", "shapes",
        "the last step of the body of x that reads it, in itself or in loops and branches: the greatest one",
        """
        (made x b p) => (set (last_read x) -1)
        (reads b p x n) => (set (last_read x) p)
        """,
        declares="(function last_read (i64) i64 :merge (max old new))",
    ),
    StorageRule(
        "fixed_shape", "shapes",
        "x has one shape at all steps of the loops around it, from the one that `since` loops lie around",
        "(fills x) (made x b p) (inner b c) => (set (since x) 0)",
        declares="(function since (i64) i64 :merge (max old new))",
    ),
    StorageRule(
        "varying_shape", "shapes",
        "where the shape of x may differ between steps of a loop, an array for x serves no two of them",
        "(fills x) (made x b p) (around b c d) (varies x c) => (set (since x) (+ d 1))",
    ),
    StorageRule(
        "buffer", "kinds",
        "what is computed at each step of a loop, always in one shape, is computed in one array",
        """
        (made x b p) => (set (kind x) -1)
        (= n (since x)) (made x b p) (inner b c) (around b c d) (<= n d) => (steady x c) (set (kind x) 0)
        """,
        declares="""
        (relation steady (i64 i64))                            ; in the steps of loop c, x has one shape
        (function kind (i64) i64 :merge (max old new))         ; -1 none, 0 an array of its own, 1 a state, 2 a trace
        """,
    ),
    StorageRule(
        "row_of_state", "kinds",
        "what becomes a state is computed in the row that this state will have: of several states, of the first",
        "(steady x c) (state s c) (update s x) => (set (kind x) 1) (set (row_of x) s)",
        declares="(function row_of (i64) i64 :merge (min old new))",
    ),
    StorageRule(
        "row_of_trace", "kinds",
        "what a loop keeps all rows of is computed in the row where it is kept",
        "(steady x c) (keeps c x k) => (set (kind x) 2) (set (trace_of x) k)",
        declares="(function trace_of (i64) i64 :merge (min old new))",
    ),
    StorageRule(
        "rows_of_state", "kinds",
        "a state holds as many rows as its deepest tap that is read: older initial rows are let go of",
        """
        (state s c) => (set (rows s) 1)
        (tap s k x) (= n (last_read x)) (>= n 0) => (set (rows s) k)
        """,
        declares="(function rows (i64) i64 :merge (max old new))",
    ),
)  # fmt: skip

_LIVES = (
    StorageRule(
        "filled_again", "lives",
        "the next step of these loops fills the memory of x again; it is forgotten before the first of them",
        """
        (= 0 (kind x)) (= n (since x)) (made x b p) (around b c d) (>= d n) => (overwritten x c)
        (= 0 (kind x)) (= n (since x)) (made x b p) (around b c n) => (set (forgotten x) c)
        (= 1 (kind x)) (steady x c) => (overwritten x c)
        """,
        declares="""
        (relation overwritten (i64 i64))
        (function forgotten (i64) i64 :merge (min old new))
        """,
    ),
    StorageRule(
        "computed_in_row", "lives",
        "state s needs nothing moved: its new row is computed in its own memory",
        """
        (state s c) => (set (direct s) 0)
        (= 1 (kind x)) (= s (row_of x)) => (set (direct s) 1)
        """,
        declares="(function direct (i64) i64 :merge (max old new))",
    ),
    StorageRule(
        "refilled", "views",
        "x may lie in memory that the next step of loop c fills again, whatever is copied",
        """
        (overwritten x c) => (refilled x c)
        (view x y) (refilled y c) => (refilled x c)
        (starts s i) (tap s k x) (refilled i c) => (refilled x c)
        (= 1 (direct s)) (update s u) (tap s k x) (refilled u c) => (refilled x c)
        (= 0 (direct s)) (state s c) (update s u) (refilled u c) => (set (surely_copied s) 1)
        (state s c) => (set (surely_copied s) 0)
        """,
        declares="""
        (relation refilled (i64 i64))
        (function surely_copied (i64) i64 :merge (max old new))
        """,
    ),
    StorageRule(
        "stale", "flow",
        "x may lie in such memory, or come from an earlier step as a state that was passed on",
        """
        (refilled x c) => (stale x c)
        (view x y) (stale y c) => (stale x c)
        (starts s i) (tap s k x) (stale i c) => (stale x c)
        (= 0 (surely_copied s)) (state s c) (update s u) (tap s k x) (stale u e) (!= c e) => (stale x e)
        """,
        declares="(relation stale (i64 i64))",
    ),
    StorageRule(
        "copied", "flow",
        "a new row that the next step would overwrite is copied to memory of the state, which it fills in turn",
        """
        (state s c) => (set (passed s) 1)
        (= 0 (direct s)) (state s c) (update s u) (stale u c) => (copied s) (set (passed s) 0)
        (copied s) (state s c) (tap s k x) => (stale x c)
        """,
        declares="""
        (relation copied (i64))
        (function passed (i64) i64 :merge (min old new))       ; 1: the new row is passed on as it is
        """,
    ),
    StorageRule(
        "holds", "memory",
        "x may lie in memory r, named after the value, the array of rows or the state that made it",
        """
        (own x) (= q (kind x)) (< q 2) => (holds x x)
        (= 2 (kind x)) (= k (trace_of x)) => (holds x k)
        (view x y) (holds y r) => (holds x r)
        (starts s i) (tap s k x) (holds i r) => (holds x r)
        (= 1 (passed s)) (update s u) (tap s k x) (holds u r) => (holds x r)
        (copied s) (tap s k x) => (holds x s)
        (holds x r) => (set (taken r) 0)
        """,
        declares="""
        (relation holds (i64 i64))
        (function taken (i64) i64 :merge (max old new))        ; 1: its memory is that of what it is written onto
        """,
    ),
)  # fmt: skip

_WISHES = (
    StorageRule(
        "wants_argument", "memory",
        "x could be written onto argument i of its operator: one array less, and one that is near",
        """
        (= 0 (kind x)) (entrywise x) (argument x i a) => (wants x a i)
        (= 0 (kind x)) (changes x) (argument x 0 a) => (wants x a 0)
        (wants x a i) => (set (refused x a) 0)
        """,
        declares="""
        (relation wants (i64 i64 i64))
        (function refused (i64 i64) i64 :merge (max old new))
        (relation because (i64 i64 String))
        """,
    ),
    StorageRule(
        "wants_old_row", "memory",
        "the new row of a state could be written onto the old one",
        """
        (= s (row_of x)) (= 1 (kind x)) (tap s k a) (entrywise x) (argument x i a) => (wants x a i)
        (= s (row_of x)) (= 1 (kind x)) (tap s k a) (changes x) (argument x 0 a) => (wants x a 0)
        """,
    ),
    StorageRule(
        "outside", "memory",
        "the memory of the initial rows was not made by steps of the body where the loop stands, or inside of them",
        """
        (starts s a) (holds a r) => (set (outside s r) 1)
        (starts s a) (state s c) (stands c b p) (holds a r) (made r e q) (within e b) => (set (outside s r) 0)
        """,
        declares="(function outside (i64 i64) i64 :merge (min old new))",
    ),
    StorageRule(
        "wants_initial_rows", "memory",
        "the first new rows of a state could be written onto its initial rows",
        """
        (= 1 (direct s)) (starts s x) => (wants s x 0)
        (copied s) (starts s x) => (wants s x 0)
        """,
    ),
)  # fmt: skip

_CONDITIONS = (
    StorageRule(
        "not_its_array", "refusals",
        "a was not computed in an array for that: it is an input, a constant, a row read, a state, a trace",
        "(wants x a i) (= 0 (kind x)) (= q (kind a)) (!= q 0) => (forbid x a)",
    ),
    StorageRule(
        "other_type", "refusals",
        "a has another dtype or another number of axes; other lengths are seen when the first step has run",
        "(wants x a i) (typed x k) (typed a l) (!= k l) => (forbid x a)",
    ),
    StorageRule(
        "made_elsewhere", "refusals",
        "a was not made in the same steps: an inner loop, or a side, would find it overwritten when it runs again",
        "(wants x a i) (= 0 (kind x)) (made x b p) (made a e q) (!= b e) => (forbid x a)",
    ),
    StorageRule(
        "other_life", "refusals",
        "the arrays of a and x are forgotten before different loops",
        "(wants x a i) (= c (forgotten x)) (= d (forgotten a)) (!= c d) => (forbid x a)",
    ),
    StorageRule(
        "read_later", "refusals",
        "what may share memory with a, or a itself, is read by a later step, kept, carried on, or a result",
        """
        (wants x a i) (made x b p) (holds a r) (holds o r) (made o b q) (< q p) (= n (last_read o)) (< p n)
            => (forbid x a)
        """,
    ),
    StorageRule(
        "read_beside", "refusals",
        "the step that makes x reads another value that may share memory with a, in another order perhaps",
        """
        (wants x a i) (made x b p) (holds a r) (holds o r) (made o b q) (< q p) (reads b p o n) (!= o a)
            => (forbid x a)
        """,
    ),
    StorageRule(
        "read_twice", "refusals",
        "some entries of a are changed by others of it, or at places that it tells itself",
        "(wants x a i) (changes x) (argument x j a) (!= i j) => (forbid x a)",
    ),
    StorageRule(
        "other_rows_needed", "refusals",
        "the state looks back further: it needs other rows that lie in the same memory",
        "(wants x a i) (= s (row_of x)) (= 1 (kind x)) (depth s d) (> d 1) => (forbid x a)",
    ),
)  # fmt: skip

_INITIAL_ROWS = (
    StorageRule(
        "lies_elsewhere", "refusals",
        "the initial rows may lie in memory that was not made in the same steps, nor inside of them",
        "(starts x a) (= 1 (outside x r)) => (forbid x a)",
    ),
    StorageRule(
        "of_the_caller", "refusals",
        "the initial rows may lie in an input or a constant",
        "(starts x a) (holds a r) (given r) => (forbid x a)",
    ),
    StorageRule(
        "rows_that_overlap", "refusals",
        "several initial rows may be views of other memory, where they may overlap",
        "(starts x a) (depth x d) (> d 1) (holds a r) (!= a r) => (forbid x a)",
    ),
    StorageRule(
        "filled_by_others", "refusals",
        "the next step of a loop around fills that memory again, while the state's rows may still be held",
        "(starts x a) (state x c) (stands c b p) (around b e d) (holds a r) (overwritten r e) => (forbid x a)",
    ),
    StorageRule(
        "rows_read_later", "refusals",
        "the initial rows, or what may share memory with them, are read after the loop",
        """
        (starts x a) (state x c) (stands c b p) (holds a r) (holds o r)
            (made o b q) (< q p) (= n (last_read o)) (< p n)
            => (forbid x a)
        """,
    ),
    StorageRule(
        "rows_read_twice", "refusals",
        "the loop reads the initial rows in more than one place",
        "(starts x a) (state x c) (stands c b p) (reads b p a n) (> n 1) => (forbid x a)",
    ),
    StorageRule(
        "rows_read_beside", "refusals",
        "the loop reads what may share memory with the initial rows",
        """
        (starts x a) (state x c) (stands c b p) (holds a r) (holds o r) (reads b p o n) (!= o a) => (forbid x a)
        """,
    ),
)  # fmt: skip

_CHOICES = (
    StorageRule(
        "target", "choices",
        "of the arguments that a result wants and may be written onto, the first one is taken",
        "(wants x a i) (= 0 (refused x a)) => (set (target x) i)",
        declares="(function target (i64) i64 :merge (min old new))",
    ),
    StorageRule(
        "no_memory_of_its_own", "choices",
        "what is written onto an argument has no memory of its own; where shapes differ, its array has the same name",
        "(wants x a i) (= 0 (kind x)) (= 0 (refused x a)) => (set (taken x) 1)",
    ),
    StorageRule(
        "written", "results",
        "x is written onto a",
        "(= i (target x)) (argument x i a) => (written x a)",
        declares="(relation written (i64 i64))",
    ),
    StorageRule(
        "spent", "results",
        "the initial rows of state s are overwritten by its first new rows",
        "(state s c) (= i (target s)) => (spent s)",
        declares="(relation spent (i64))",
    ),
    StorageRule(
        "lies", "results",
        "x may lie in memory r, that of the first of results that are written one onto the other",
        """
        (= 0 (taken r)) => (first_there r r)
        (written x a) (= 0 (kind x)) (first_there a r) => (first_there x r)
        (holds x q) (first_there q r) => (lies x r)
        """,
        declares="(relation first_there (i64 i64)) (relation lies (i64 i64))",
    ),
    StorageRule(
        "placed", "results",
        "where x is computed: 0 an array of its own, or of what it is written onto; 1 a row of a state; 2 of a trace",
        "(= q (kind x)) (>= q 0) => (placed x q)",
        declares="(relation placed (i64 i64))",
    ),
    StorageRule(
        "shares", "results",
        "x may lie in memory r, and not in its own alone",
        """
        (lies x r) (!= x r) => (shares x r)
        (shares x r) (lies x x) => (shares x x)
        """,
        declares="(relation shares (i64 i64))",
    ),
)  # fmt: skip

RULES = (*_PLACES, *_LIVES, *_WISHES, *_CONDITIONS, *_INITIAL_ROWS, *_CHOICES)
"""All storage rules, in order."""
