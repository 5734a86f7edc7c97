"""What a condition that does not hold means to somebody who wrote a loop, and what they can do about it."""

from __future__ import annotations

from scanopt.records import dataclass

__all__ = ["WAYS_OUT", "WayOut"]


@dataclass(frozen=True)
class WayOut:
    """plain: what is the case, in the words of those who write loops.  way: what to write, "" if nothing would help."""

    plain: str
    way: str = ""


_WAITS = (
    "compute what needs no state before the loop; sums, products, extremes and linear recurrences leave it by the laws "
    "of recurrences and cumulative; other recurrences stay loops"
)
_LENGTHS = (
    "loop over sequences that are known to be equally long: made from one array, of known lengths "
    "(T.tensor(dtype, shape=...)), or with the same n_steps"
)
_FEW = "give the state a known shape of few numbers, and put it together by stack or concatenate"
_FLOATS = 'allow it by fp="reassoc", or by fp="fast" if the law has that licence'

WAYS_OUT: dict[str, WayOut] = {
    "sliced": WayOut(
        "an argument is not a row of a known array, but a state, or computed from one: it waits for the step before",
        _WAITS,
    ),
    "held": WayOut(
        "an argument is not a non-sequence: it changes from step to step, or no loop reads it",
        "if it need not change, compute it from non-sequences only, or before the loop",
    ),
    "traced_all": WayOut("what it is computed from is known only row by row: some of it waits for a state", _WAITS),
    "before": WayOut(
        "what the loop would have to read is computed by the loop itself",
        "pass the rows of the step before as a state, or write two loops",
    ),
    "forward": WayOut("it is part of a recurrence: its own value of an earlier step goes into it", _WAITS),
    "runs_all": WayOut(
        "the loop may end early, by until",
        "if all steps may run, leave out until and cut the result: T.argmax(condition) is the first step it holds at",
    ),
    "ends_at_once": WayOut("the condition of until is not known to hold at the first step"),
    "ends_in_chunks": WayOut(
        "the condition of until is not computed from sequences alone, or there is no until",
        "compute it from what is known before the loop, and not from a state",
    ),
    "chunked": WayOut("not everything that the step computes can be computed for many steps at once"),
    "same_steps": WayOut("the two loops are not known to take the same number of steps", _LENGTHS),
    "ends_alike": WayOut(
        "the loops are not known to end at the same step", "give both the same until, computed from equal values"
    ),
    "rows": WayOut("the array is not known to have exactly one row for each step of the loop", _LENGTHS),
    "some_steps": WayOut(
        "the loop may take no step, and then nothing may be computed for it",
        "promise a length: T.tensor(dtype, shape=(n, None)), or give n_steps as a Python number",
    ),
    "batchable": WayOut(
        "the operator has no form for all rows at once that gives the same as the one for each row",
        'if only rounding differs, as for products of matrices: fp="reassoc"; there is none for rows whose lengths '
        "depend on values (nonzero, unique, masks): use T.where and sums instead",
    ),
    "raises_alike": WayOut(
        "computed for all steps at once, it might raise an error at a step that the loop does not reach",
        "write it where it is sure to run: not on one side of an ifelse, and not after until",
    ),
    "hoistable": WayOut(
        "computed once, before the loop, it might raise an error that a loop of no steps does not raise",
        "compute it before the loop yourself, if it may raise there; or promise a length of 1 or more",
    ),
    "guarded_by": WayOut("it cannot raise, or has no form that waits for the number of steps; another law is for that"),
    "always": WayOut(
        "it is on a side of an ifelse, which may not be taken",
        "compute it outside of the ifelse, or choose by T.where, which computes both sides",
    ),
    "fits": WayOut(
        "the shapes are not known to fit for all inputs, and a side of an ifelse may hide that",
        "promise shapes: T.tensor(dtype, shape=...) or T.specify_shape",
    ),
    "liftable": WayOut(
        "the number of inner steps may differ between the steps of the outer loop, or one of the loops ends early",
        "make the inner number of steps a non-sequence of the outer loop; mask surplus steps by T.where",
    ),
    "liftable_until": WayOut(
        "the number of inner steps may differ between the steps of the outer loop, or the outer one ends early",
        "besides until, bound the inner loop by a number that does not change in the outer one (n_steps=...)",
    ),
    "invariant": WayOut(
        "the inner loop reads something that changes from step to step, or may raise in a loop that may run no step",
        "pass what it reads as non-sequences; give the outer loop a known number of steps",
    ),
    "same_numbers": WayOut("it is no array of few numbers that are known one by one", _FEW),
    "same_sums": WayOut("it is no array of few numbers that are known one by one, or nothing is added up", _FEW),
    "same_length": WayOut("the length is not known to be that of an array outside of the loop", _LENGTHS),
    "leads": WayOut(
        "the operation does not join something to the state, with the state on the left",
        "write the step as state op value, such as total + v",
    ),
    "swaps": WayOut("in this dtype, the operator may not change the order of what it joins", _FLOATS),
    "regroups": WayOut("in this dtype, the operator may not be regrouped: the order decides how floats round", _FLOATS),
    "accumulates": WayOut("no operation makes all steps of this operator at once with the same bits", _FLOATS),
    "becomes": WayOut("no state of the loop is updated in this way"),
    "entries": WayOut("what goes into the recurrence is not known for all steps before the loop", _WAITS),
    "adds_up": WayOut("no state of the loop adds these rows up"),
    "exact_steps": WayOut("the number of steps is not known to be that small, or there is too much to copy"),
    "same_value": WayOut("the loop holds nothing twice"),
    "same_entries": WayOut("the loop reads nothing twice"),
}
"""What failing conditions mean, by the name of the fact."""
