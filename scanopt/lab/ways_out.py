"""What a condition that does not hold means to somebody who wrote a loop, and what they can do about it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["WAYS_OUT", "WayOut"]


@dataclass(frozen=True)
class WayOut:
    """plain: what is the case, in the words of who writes loops.  way: what to write, "" where nothing would help."""

    plain: str
    way: str = ""


_WAITS = (
    "compute in front of the loop what needs no state; sums, products, extremes and linear recurrences leave by the "
    "laws of recurrences and cumulative, other recurrences stay loops"
)
_LENGTHS = (
    "loop over sequences of one length that is seen to be one: of the same array, of known lengths "
    "(T.tensor(dtype, shape=...)), or with the same n_steps"
)
_FLOATS = 'allow it by fp="reassoc", or fp="fast" where the law has that licence'

WAYS_OUT: dict[str, WayOut] = {
    "sliced": WayOut(
        "an argument is no entry of a known array, but a state, or computed of one: it waits for the step before",
        _WAITS,
    ),
    "held": WayOut(
        "an argument is no non-sequence: it changes from step to step, or no loop reads it",
        "where it need not, compute it of non-sequences alone, or in front of the loop",
    ),
    "traced_all": WayOut("what it is computed of is known row by row only: some of it waits for a state", _WAITS),
    "before": WayOut(
        "what the loop would have to read is computed by the loop itself",
        "pass the rows of the step before as a state, or make two loops of it",
    ),
    "forward": WayOut("it is part of a recurrence: its own value of an earlier step goes into it", _WAITS),
    "runs_all": WayOut(
        "the loop may end early, by until",
        "where all steps may run, leave until out and cut the result: T.argmax(condition) is the first step of it",
    ),
    "ends_at_once": WayOut("the condition of until is not known to hold at the first step"),
    "ends_in_chunks": WayOut(
        "the condition of until is not made of sequences alone, or there is no until",
        "make it of what is known in front of the loop, and not of a state",
    ),
    "chunked": WayOut("not all that the step computes can be computed for many steps at once"),
    "same_steps": WayOut("the two loops are not known to take equally many steps", _LENGTHS),
    "ends_alike": WayOut(
        "the loops are not known to end at the same step", "give both the same until, made of equal values"
    ),
    "rows": WayOut("the array is not known to have exactly one row for each step of the loop", _LENGTHS),
    "some_steps": WayOut(
        "the loop may take no step, and then nothing may be computed for it",
        "promise a length: T.tensor(dtype, shape=(n, None)), or give n_steps as a Python number",
    ),
    "batchable": WayOut(
        "there is no form of the operator for all rows at once that is equal to the one for each row",
        'where only rounding differs, as for products of matrices: fp="reassoc"; rows whose lengths values tell '
        "(nonzero, unique, masks) have none: use T.where and sums in their place",
    ),
    "raises_alike": WayOut(
        "computed for all steps at once it might raise an error where the loop would not have come to it",
        "write it where it runs for sure: not on one side of an ifelse, and not after until",
    ),
    "hoistable": WayOut(
        "computed once, in front of the loop, it might raise an error that a loop of no steps does not",
        "compute it in front of the loop yourself, where an error is welcome; or promise a length of 1 or more",
    ),
    "guarded_by": WayOut("it cannot raise, or has no form that waits for the number of steps; another law is for it"),
    "always": WayOut(
        "it stands on a side of an ifelse, which may not be taken",
        "compute it outside of the ifelse, or choose by T.where, which computes both sides",
    ),
    "fits": WayOut(
        "the shapes are not known to fit for all inputs, and a side of an ifelse may hide that",
        "promise shapes: T.tensor(dtype, shape=...) or T.specify_shape",
    ),
    "liftable": WayOut(
        "the inner loop may take another number of steps at each step of the outer one, or one of them ends early",
        "make the inner number of steps a non-sequence of the outer loop; mask what is too much by T.where",
    ),
    "liftable_until": WayOut(
        "the inner loop may take another number of steps at each step of the outer one, or the outer one ends early",
        "bound the inner loop by a number that the outer one holds (n_steps=...), beside until",
    ),
    "same_length": WayOut("the length is not known to be that of an array outside of the loop", _LENGTHS),
    "leads": WayOut(
        "the operation is not the state and what is joined to it, in this order",
        "write the step as state op value, such as total + v",
    ),
    "swaps": WayOut("the operator may not change the order of what it joins in this dtype", _FLOATS),
    "regroups": WayOut("the operator may not be regrouped in this dtype: floats round in the order they come", _FLOATS),
    "accumulates": WayOut("no operation makes all steps of this operator at once with the same bits", _FLOATS),
    "becomes": WayOut("no state of the loop is updated in this way"),
    "entries": WayOut("what goes into the recurrence is not known for all steps in front of it", _WAITS),
    "adds_up": WayOut("no state of the loop adds these rows up"),
    "exact_steps": WayOut("the number of steps is not known to be so few, or there is too much to copy"),
    "same_value": WayOut("nothing that the loop holds twice"),
    "same_entries": WayOut("nothing that the loop reads twice"),
}
"""By the name of the fact."""
