"""scan: builds a loop from a function that computes one step, and puts it into the symbolic graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from scanopt.array.op import step_of
from scanopt.array.shown import quoted, shown
from scanopt.array.variable import Constant, SharedVariable, Variable, describe
from scanopt.loops.canonical import Initial, SequenceArg, initials, non_sequence_args, sequence_args, slice_name
from scanopt.loops.graph import dependencies, leaves, schedule
from scanopt.loops.location import user_location
from scanopt.loops.node import MitSot, NitSot, NonSequence, Requirement, Scan, SharedState, SitSot
from scanopt.loops.node import Sequence as SequenceSlot
from scanopt.loops.options import Options, check_truth
from scanopt.loops.rebuild import rebuild
from scanopt.loops.shared import last_values, shared_states
from scanopt.loops.site import Number, Site
from scanopt.loops.states import Asking, Calls, build_states
from scanopt.loops.step import Building, Result, check_step, split_updates, step_results
from scanopt.loops.steps import StepPlan, endless, initial_rows, plan
from scanopt.loops.until import split_until
from scanopt.loops.updates import Updates
from scanopt.records import dataclass

__all__ = ["Arguments", "loop", "returned", "scan", "scan_node"]


@dataclass(frozen=True, eq=False)
class Arguments:
    """The canonical arguments of one call.  more: whether the step may return further outputs, not fed back."""

    sequences: tuple[SequenceArg, ...]
    initials: tuple[Initial, ...] = ()
    non_sequences: tuple[Variable | Number, ...] = ()
    more: bool = True

    def labels(self) -> list[str]:
        """The names of the step's arguments in order, for messages."""
        words = [
            slice_name(arg.variable.name or f"sequences[{i}]", tap)
            for i, arg in enumerate(self.sequences)
            for tap in arg.taps
        ]
        words += [
            slice_name(initial.name or f"output {i}", tap)
            for i, initial in enumerate(self.initials)
            for tap in initial.taps
        ]
        words += [
            (x.name if isinstance(x, Variable) else None) or f"non_sequences[{i}]"
            for i, x in enumerate(self.non_sequences)
        ]
        return [shown(w or "") for w in words]


def _slots(arg: SequenceArg, slices: tuple[Variable, ...]) -> list[SequenceSlot]:
    name = arg.variable.name
    slots = [
        SequenceSlot(x, Variable(x.type.row(), slice_name(name, tap)), tap)
        for x, tap in zip(slices, arg.taps, strict=True)
    ]
    for slot in slots:
        slot.u_inner.axes = arg.variable.axes[1:]
    return slots


def _held(given: Iterable[Variable | Number]) -> tuple[NonSequence, ...]:
    """A slot for each non-sequence; constants and shared variables need none.

    The step gets the variable itself, so that it can ask for gradients with respect to it and of it.  An input is its
    own inner variable; a computed one is replaced in the step by `_read`.  Of one given twice, the first slot is read.
    """
    slots: list[NonSequence] = []
    for x in given:
        if isinstance(x, Variable) and not isinstance(x, Constant | SharedVariable):
            own = x.owner is None and all(s.w_outer is not x for s in slots)
            slots.append(NonSequence(x, x if own else Variable(x.type, x.name)))
    return tuple(slots)  # shared variables need none: the step, which may change them, reads them directly


def _read(held: Sequence[NonSequence], step: Sequence[Variable]) -> list[Variable]:
    """The step's results with each computed non-sequence that was given replaced by its inner variable."""
    return rebuild(step, {s.w_outer: s.w_inner for s in reversed(held) if s.w_outer.owner is not None})


def _loops_before(
    step: Sequence[Variable], inner: set[Variable], changed: set[SharedVariable], since: int
) -> tuple[NonSequence, ...]:
    """Non-sequences for results of earlier loops that the step uses without being given them.

    They are computed outside and read: a step that closes over the trace of a loop does not run that loop again.
    Not so a result that depends on a shared variable changed by the step, as it differs at each step, nor one that only
    a branch of an ifelse uses, as it is computed where that branch is taken.
    """
    before = {
        v
        for node in schedule(step, inner, lazy=True)
        if isinstance(node, Scan) and node.serial < since
        for v in node.outputs
        if not changed or changed.isdisjoint(leaves([v]))
    }
    read = [v for node in schedule(step, inner | before) for v in dependencies(node)] if before else []
    return tuple(NonSequence(v, Variable(v.type, v.name)) for v in dict.fromkeys([*read, *step]) if v in before)


def _only_here(site: Site, own: list[Any]) -> list[Any]:
    """Mark the new variables among a step's arguments as usable in this step only; returns the arguments."""
    for v in own:
        if isinstance(v, Variable):
            v.only_in = f"the step of {site.function} at {site.location}"
    return own


def _initial_variable(initial: Initial, dtype: str) -> Variable:
    value = initial.value
    return value if isinstance(value, Variable) else Constant(np.asarray(value, dtype=dtype))


def _discovered(
    site: Site,
    args: Arguments,
    results: Iterable[Variable],
    inner: set[Variable],
    changed: set[SharedVariable],
    strict: bool,
) -> tuple[NonSequence, ...]:
    """Non-sequences that the step uses without being given them.  Raises ValueError for shared ones if `strict`."""
    found = [v for v in leaves(results, inner) if v not in changed]
    listed = {*(arg.variable for arg in args.sequences), *args.non_sequences}
    missing = [v for v in found if isinstance(v, SharedVariable) and v not in listed]
    if strict and missing:
        names = "; ".join(describe(v) for v in missing)
        raise site.error(
            ValueError, f"strict=True, but the step uses shared variables that are not in non_sequences: {names}"
        )
    return tuple(NonSequence(v, v) for v in found)


@dataclass(frozen=True, eq=False)
class _Outputs:
    """The slots of the outputs by kind, and for each result of the step its kind (`kinds`)."""

    mit_sots: tuple[MitSot, ...]
    sit_sots: tuple[SitSot, ...]
    nit_sots: tuple[NitSot, ...]
    requires: tuple[Requirement, ...]
    kinds: tuple[int, ...]

    def order(self, shared: int) -> tuple[int, ...]:
        """For each result of the step its place among the outputs, where `shared` shared states precede nit-sots."""
        by_kind = sorted(range(len(self.kinds)), key=lambda i: self.kinds[i])
        return tuple(by_kind.index(i) + (shared if kind == 2 else 0) for i, kind in enumerate(self.kinds))


@dataclass
class _Extras:
    """The until and updates that a step returned; since: a serial number, greater than those of earlier variables."""

    until: Variable | None = None
    updates: dict[SharedVariable, Variable] = field(default_factory=dict[SharedVariable, Variable])
    since: int = -1


def _outputs(
    site: Site, specs: Sequence[Initial], inputs: Sequence[tuple[Variable, ...]], results: Sequence[Variable]
) -> _Outputs:
    mit_sots: list[MitSot] = []
    sit_sots: list[SitSot] = []
    nit_sots: list[NitSot] = []
    requires: list[Requirement] = []
    kinds: list[int] = []
    for spec, taps, result in zip(specs, inputs, results, strict=True):
        kinds.append(2 if not spec.fed_back else 1 if spec.single else 0)
        if not spec.fed_back:
            nit_sots.append(NitSot(result))
        elif spec.single:
            sit_sots.append(SitSot(_initial_variable(spec, result.dtype), taps[0], result))
        else:
            rows, checks = initial_rows(site, spec)
            mit_sots.append(MitSot(rows, spec.taps, taps, result))
            requires += checks
    slots = (tuple(mit_sots), tuple(sit_sots), tuple(nit_sots))
    return _Outputs(*slots, tuple(requires), tuple(kinds))


def _output_label(i: int, spec: Initial, result: Variable) -> str:
    if spec.written:
        return spec.label
    name = spec.name or result.name
    return f"output {i} ({quoted(name)})" if name else f"output {i}"


def scan_node(site: Site, args: Arguments, steps: StepPlan, options: Options) -> Asking[Scan]:
    """Build the loop; the generator asks for the step's results.  options: checked.  Raises TypeError, ValueError."""
    sequences = [slot for arg, slices in zip(args.sequences, steps.slices, strict=True) for slot in _slots(arg, slices)]
    given = _held(args.non_sequences)
    extras = _Extras()  # those of the step built last, which is the one that is kept

    def arguments(states: Sequence[Sequence[Any]]) -> list[Any]:
        extras.since = SharedVariable.latest()
        own = [*(s.u_inner for s in sequences), *(v for state in states for v in state)]
        return [*_only_here(site, own), *args.non_sequences]

    def results_of(returned: Any) -> tuple[Result, ...]:
        rest, extras.until = split_until(site, returned)
        outputs, extras.updates = split_updates(site, rest)
        return step_results(site, outputs)

    with step_of(steps.n_steps.operand):
        input_states, results = yield from build_states(site, args.initials, Calls(arguments, results_of), args.more)
        end = () if extras.until is None else (extras.until,)
        shared = shared_states(extras.updates, [*results, *end], extras.since)
        computed = _read(given, [*results, *end, *(s.output_state for s in shared)])
        inner = {
            *(s.u_inner for s in sequences),
            *(s.w_inner for s in given),
            *(v for state in input_states for v in state),
        }
        changed = {s.shared for s in shared}
        if not options.strict:
            found = _loops_before(computed, inner, changed, extras.since)
            given, computed = (*given, *found), _read(found, computed)
            inner.update(s.w_inner for s in found)
    results, new = computed[: len(results)], computed[len(results) + len(end) :]
    shared = tuple(SharedState(s.shared, v) for s, v in zip(shared, new, strict=True))
    plain = range(len(args.initials), len(results))
    specs = (*args.initials, *(Initial(None, (), f"output {i}") for i in plain))
    outputs = _outputs(site, specs, [*input_states, *(() for _ in plain)], results)
    order = outputs.order(len(shared))
    names = {i: _output_label(n, specs[n], results[n]) for n, i in enumerate(order)}
    labels = tuple(names.get(i, "the update of a shared variable") for i in range(len(order) + len(shared)))
    return Scan(
        n_steps=steps.n_steps,
        sequences=tuple(sequences),
        mit_sots=outputs.mit_sots,
        sit_sots=outputs.sit_sots,
        nit_sots=outputs.nit_sots,
        shared=shared,
        non_sequences=(*given, *_discovered(site, args, computed, inner, changed, options.strict)),
        until=computed[len(specs)] if end else None,
        name=options.name,
        location=site.location,
        truncate_gradient=options.truncate_gradient,
        go_backwards=options.go_backwards,
        requires=(*options.requires, *steps.requires, *outputs.requires),
        labels=labels,
        order=order,
        mode=options.mode,
        profile=options.profile,
        allow_gc=options.allow_gc,
        bounded=options.bounded,
    )


Traces = tuple[list[Variable], Updates]


def loop(
    function: str,
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any,
    n_steps: Any,
    options: Options,
) -> Building[Traces]:
    """Build a loop for scan and its relatives: its traces in the order of the step's results, and its updates.

    function: the name of the public function, for messages.
    """
    site = Site(function, user_location())

    def asking() -> Asking[Traces]:
        checked = options.checked(site)
        found = initials(site, outputs_info)
        args = Arguments(
            sequence_args(site, sequences), found or (), non_sequence_args(site, non_sequences), more=found is None
        )
        steps = plan(site, args.sequences, n_steps, checked.go_backwards)
        check_step(site, fn, args.labels())
        node = yield from scan_node(site, args, steps, checked)
        if endless(n_steps) and node.until is None and not args.sequences:
            raise site.error(ValueError, "n_steps is infinite, so the step must return until(...), which ends the loop")
        return list(node.returned), last_values(node)

    return Building(site, fn, asking())


def returned(
    site: Site, outputs: list[Variable], updates: Updates, return_list: Any = False, return_updates: Any = True
) -> Any:
    """The return value of scan and its relatives: outputs in the form asked for, and the updates unless not wanted.

    Raises TypeError for wrong flags, ValueError where updates exist but are not wanted.
    """
    check_truth(site, "return_list", return_list)
    check_truth(site, "return_updates", return_updates)
    form: Any = outputs if return_list or len(outputs) > 1 else outputs[0] if outputs else None
    if return_updates:
        return form, updates
    if updates:
        raise site.error(
            ValueError,
            f"the step updates shared variables ({', '.join(map(describe, updates))}), so the updates are needed: "
            "leave return_updates alone and pass them to function",
        )
    return form


def scan(
    fn: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    profile: bool | str = False,
    allow_gc: bool | None = None,
    strict: bool = False,
    return_list: bool = False,
    return_updates: bool = True,
) -> Any:
    """A loop over the first axis of `sequences`, feeding results back: (outputs, updates).

    fn: builds one step from symbolic arrays, called with every tap of each sequence, every tap of
        each output, then non_sequences; returns one array per output (one, or a list of them).
    sequences: arrays, or dicts {input, taps}: tap k is the entry k steps away (default [0]).  The
        shortest sets the number of steps.
    outputs_info: per output its initial state (fed back from the step before), a dict
        {initial, taps} with negative taps and one initial row for each step back, or None for an
        output that is not fed back.  A bare Python number takes the dtype of the step's result.
    non_sequences: arrays that are the same at every step.  Others that the step uses need not be listed.
    n_steps: int or integer scalar; a sequence must have that many rows.  Negative: as many steps
        the other way, from the ends of the sequences, or with go_backwards from their starts.  np.inf: until
        `until` ends the loop, or the sequences end.
    truncate_gradient: steps that gradients go back, -1 for all.  go_backwards: read the sequences
        from their ends.  name: for prints and profiles.  strict: shared variables that the step
        uses must be in non_sequences.  return_list: a list of outputs even for one.
    mode: a name or a `Mode`, None for that of the function.  profile: True, or a title, to collect
        calls, steps and times for `profile_summary()`.  allow_gc: whether buffers are freed after a
        call, None for `config.scan.allow_gc`.  return_updates: False for the outputs alone.

    outputs: one array, a list of several, or None; each has a row per step, initial rows left out.
    updates: for each shared variable that the step updates, its value after the loop; pass them to `function`.
    Raises TypeError or ValueError, with the place of this call, for arguments that do not fit.

    >>> from scanopt import tensor as T
    >>> total, updates = scan(lambda x, s: s + x, T.vector("x", "float32"), outputs_info=0.0)
    >>> str(total.type), dict(updates)
    ('float32[?]', {})
    """
    options = Options(name, truncate_gradient, go_backwards, strict, mode, profile, allow_gc)
    outputs, updates = loop("scan", fn, sequences, outputs_info, non_sequences, n_steps, options).done()
    return returned(Site("scan", user_location()), outputs, updates, return_list, return_updates)
