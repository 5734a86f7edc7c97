"""Check that a storage is safe for a program: nothing that is still read is ever overwritten.

A storage carries its own proof: the memory that each name may lie in.  So nothing is searched for here:
this claim is checked name by name, and then each place by itself, in time linear in the size of program
and storage.  The check needs NumPy alone, so that it works on programs read from files, and it shares no
line with the rules that decide.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import NoReturn

from scanopt.program.ir import Branch, CarriedState, Compute, Loop, Program, Step
from scanopt.program.names import NONE, Loops, Names, Path, given
from scanopt.program.storage.placement import FRESH, Allocation, Root, StateOf, Storage, may_overwrite, roots_of
from scanopt.program.text import names_read

__all__ = ["check_storage"]


def check_storage(program: Program, storage: Storage) -> None:
    """Raise ValueError, saying what would be overwritten and where, unless the storage holds for the program.

    The program itself must be well made: see `program.check.inferred`.
    """
    checker = _Checker(program, storage)
    checker.known()
    checker.body(program.steps, (), None)


def _fail(text: str) -> NoReturn:
    raise ValueError(f"storage: {text}")


def _text(root: Root) -> str:
    return repr(root) if isinstance(root, str) else f"state {root[1]} of loop {root[0]}"


class _Checker:
    """A storage to check, and what can be read off its program about names and loops."""

    def __init__(self, program: Program, storage: Storage) -> None:
        self.program, self.storage = program, storage
        self.names = Names(program)
        self.loops = program.loops()
        self.given = {x.name for x in given(program)}
        self.living: dict[Path, _Living] = {}
        self.refilled: dict[str, Loops] = {}
        self.reads: dict[int, Counter[str]] = {}
        self.firsts: dict[int, dict[tuple[str, int | str | None], str]] = {}

    # All that the storage names exists

    def known(self) -> None:
        """Check that the names, states and loops of the storage are those of the program."""
        s = self.storage
        made = {step.out for step in self.program.walk() if isinstance(step, Compute)}
        for name in s.places.keys() | s.forgotten.keys():
            if name not in made:
                _fail(f"{name!r} is no result of an operator")
        for name in s.places:
            if (s.places[name].kind in ("buffer", "onto")) != (name in s.forgotten):
                _fail(f"{name!r}: a buffer has a loop before which it is forgotten, and nothing else has one")
        if extra := s.forgotten.keys() - s.places.keys():
            _fail(f"{min(extra)!r} is forgotten before a loop, but is no buffer")
        for name, roots in s.holds.items():
            if name not in self.names.types:
                _fail(f"{name!r} is no name of the program")
            if not roots:
                _fail(f"{name!r} lies nowhere")
            for root in roots:
                if not (root in self.names.types if isinstance(root, str) else self._is_state(root)):
                    _fail(f"{name!r} may lie in {_text(root)}, which there is not")
        for state in (*s.copied, *s.spent, *s.rows):
            if not self._is_state(state):
                _fail(f"there is no {_text(state)}")

    def _is_state(self, state: StateOf) -> bool:
        loop, i = state
        return 0 <= loop < len(self.loops) and 0 <= i < len(self.loops[loop].states)

    # What memory a name may lie in

    def roots(self, name: str) -> frozenset[Root]:
        """The roots of a name."""
        return roots_of(self.storage, name)

    def _lies(self, name: str, expected: Iterable[Root]) -> None:
        """Check that the storage lists all of these roots for the name."""
        known = self.roots(name)
        for root in expected:
            if root not in known:
                _fail(f"{name!r} may lie in {_text(root)}, which it does not know")

    def _overwrites(self, name: str) -> Loops:
        """The loops whose next step overwrites memory that a name may lie in."""
        if name not in self.refilled:
            self.refilled[name] = NONE.union(*map(self.overwritten, self.roots(name)))
        return self.refilled[name]

    def overwritten(self, root: Root) -> Loops:
        """The loops whose next step overwrites a root."""
        if not isinstance(root, str):
            return frozenset(root[:1])
        scope, place = self.names.scope[root], self._place(root)
        if place.kind == "row":
            return frozenset(scope[-1:])
        if place.kind in ("buffer", "onto"):
            return frozenset(scope[scope.index(self.storage.forgotten[root]) :])
        return NONE

    def _place(self, name: str) -> Allocation:
        return self.storage.places.get(name, FRESH)

    # Step by step

    def body(self, steps: tuple[Step, ...], path: Path, loop: Loop | None) -> None:
        """Check the steps of a body.  loop: the one whose steps they are; None on a side of a branch."""
        for position, step in enumerate(steps):
            if isinstance(step, Compute):
                self._compute(step, path, position, loop)
            elif isinstance(step, Branch):
                for i, (inner, _) in enumerate(step.sides):
                    self.body(inner, self.names.sides[id(step), i], None)
                for r in step.results:
                    self._lies(r.out, self.roots(r.then))
                    self._lies(r.out, self.roots(r.otherwise))
            else:
                self._loop(step, path, position)

    def _compute(self, step: Compute, path: Path, position: int, loop: Loop | None) -> None:
        name, place = step.out, self._place(step.out)
        if place.kind != "fresh":
            self._filled(step, place)
        match place.kind:
            case "trace":
                if loop is None or self._first_keeps(loop).get((name, None)) != place.other:
                    _fail(f"{name!r} is computed in {place.other!r}, which does not keep all its rows")
                self._lies(name, (place.other,))
            case "row":
                if loop is None or not 0 <= place.state < len(loop.states) or loop.states[place.state].update != name:
                    _fail(f"{name!r} is computed in a row of state {place.state}, which it does not become")
                if place.other:
                    self._onto_row(step, place, loop.states[place.state], path, position)
                self._lies(name, (name,))
            case "onto":
                self._onto(step, place.other, path, position)
                self._lies(name, self.roots(place.other))
            case _:
                self._lies(name, (name,))
        if step.op.view:
            for a in step.args[1:] if step.op.name == "ifelse" else step.args[:1]:
                self._lies(name, self.roots(a))

    def _filled(self, step: Compute, place: Allocation) -> None:
        """Check that the operator can write into given memory, and that the shape stays while the memory does."""
        name, varies = step.out, self.names.varies[step.out]
        scope = self.names.scope[name]
        if not scope or not step.op.takes_out or not step.type.ndim or step.op.view:
            _fail(f"{name!r} cannot be computed in an array that is there already")
        last = scope[-1:]
        if place.kind in ("buffer", "onto"):
            loop = self.storage.forgotten[name]
            if loop not in scope:
                _fail(f"{name!r} is forgotten before loop {loop}, which does not lie around it")
            last = scope[scope.index(loop) :]
        if varies & set(last):
            _fail(f"{name!r} may change its shape while its memory is kept")

    def _loop(self, loop: Loop, path: Path, position: int) -> None:
        me = self.names.number[id(loop)]
        for r in loop.reads:
            self._lies(r.out, self.roots(r.source))
        for i, s in enumerate(loop.states):
            self._state(loop, (me, i), s)
            if (me, i) in self.storage.spent:
                self._spent(loop, s, path, position)
        self.body(loop.body, (*path, me), loop)
        first = self._first_keeps(loop)
        for k in loop.keeps:
            self._lies(k.out, self.roots(k.value) if k.rows == 1 else (first[k.value, k.rows],))

    def _state(self, loop: Loop, key: StateOf, s: CarriedState) -> None:
        me, i = key
        direct = self._place(s.update).kind == "row" and self._place(s.update).state == i
        direct = direct and self.names.path[s.update][-1:] == (me,)
        copied = key in self.storage.copied
        if direct and copied:
            _fail(f"{_text(key)} is computed in its row, and copied too")
        if me in self._overwrites(s.update) and not direct and not copied:
            _fail(f"{s.update!r} becomes {_text(key)}, but the next step overwrites it: it must be copied")
        carried: Iterable[Root] = (key,) if copied else self.roots(s.update)
        rows = self.storage.rows.get(key, s.depth)
        for k, name in s.taps:
            self._lies(name, self.roots(s.init))
            self._lies(name, carried)
            if k > rows and name in self.names.last_use:
                _fail(f"{_text(key)} has {rows} rows, and is read {k} steps back")
        if not 1 <= rows <= s.depth:
            _fail(f"{_text(key)} has {rows} rows, of {s.depth} initial ones")

    # What is overwritten

    def _onto(self, step: Compute, a: str, path: Path, position: int) -> None:
        if a not in step.args or self._place(a).kind not in ("buffer", "onto"):
            _fail(f"{step.out!r} is written onto {a!r}, which is no buffer")
        if self.names.path[a] != path or self.overwritten(a) != self.overwritten(step.out):
            _fail(f"{step.out!r} is written onto {a!r}, which is a buffer of other loops")
        self._dead(step, a, path, position)

    def _onto_row(self, step: Compute, place: Allocation, s: CarriedState, path: Path, position: int) -> None:
        if place.other not in (name for _, name in s.taps) or s.depth != 1:
            _fail(f"{step.out!r} is written onto {place.other!r}, which is not the one row of the state")
        self._dead(step, place.other, path, position)

    def _dead(self, step: Compute, a: str, path: Path, position: int) -> None:
        """Check that the step is the last to read `a` and all that may share its memory, and reads only `a`."""
        names, type = self.names, self.names.types[a]
        if a not in may_overwrite(step) or (step.op.name == "setitem" and a in step.args[1:]):
            _fail(f"{step.out!r} cannot be written onto {a!r}: {step.op.name} reads it in another order")
        if (type.dtype, type.ndim) != (step.type.dtype, step.type.ndim):
            _fail(f"{step.out!r} is {step.type} and cannot be written onto {a!r}, which is {type}")
        for other in self._sharing(a, path, position):
            if names.last_use[other] > position or other != a:
                _fail(f"{step.out!r} is written onto {a!r}, but {other!r} is still read, and may lie there")

    def _sharing(self, name: str, path: Path, position: int) -> Iterator[str]:
        """The names of a body, made before a step and read by it or later, that may share memory with `name`."""
        if path not in self.living:
            self.living[path] = _Living(self.names, self.storage, path)
        return self.living[path].at(position, self.roots(name))

    def _spent(self, loop: Loop, s: CarriedState, path: Path, position: int) -> None:
        names, roots = self.names, self.roots(s.init)
        where = f"the initial rows {s.init!r} of a state are overwritten"
        if names.path[s.init] != path:
            _fail(f"{where}, but were not made in the same steps")
        if s.depth > 1 and roots != {s.init}:
            _fail(f"{where}, but may overlap")
        for root in roots:
            inside = isinstance(root, str) and root not in self.given and names.path[root][: len(path)] == path
            if not inside or self.overwritten(root) & set(path):
                _fail(f"{where}, but may lie in {_text(root)}, which others may read")
        read = self._reads(loop)
        for x in self._sharing(s.init, path, position):
            if names.last_use[x] > position or read[x] != (x == s.init):
                _fail(f"{where}, but {x!r} is read too, and may lie there")

    # About loops, found once for each

    def _first_keeps(self, loop: Loop) -> dict[tuple[str, int | str | None], str]:
        """By value and rows, the first array that a loop keeps of it: equal ones are kept once."""
        me = self.names.number[id(loop)]
        if me not in self.firsts:
            self.firsts[me] = {(k.value, k.rows): k.out for k in reversed(loop.keeps)}
        return self.firsts[me]

    def _reads(self, loop: Loop) -> Counter[str]:
        """How often a loop reads each name."""
        me = self.names.number[id(loop)]
        if me not in self.reads:
            self.reads[me] = Counter(names_read(loop))
        return self.reads[me]


class _Living:
    """The names of one body by the memory they may lie in, collected as its steps are visited in order.

    A name that is no longer read is dropped when it is met, so that all queries together take linear time.
    """

    def __init__(self, names: Names, storage: Storage, path: Path) -> None:
        self.names, self.storage = names, storage
        self.coming = deque(names.together[path])
        self.by_root: dict[Root, list[str]] = {}

    def at(self, position: int, roots: Iterable[Root]) -> Iterator[str]:
        """The names made before a step, and read by it or later, that may lie in any of `roots`."""
        made, last = self.names.made, self.names.last_use
        while self.coming and made[self.coming[0]] < position:
            name = self.coming.popleft()
            for root in roots_of(self.storage, name):
                self.by_root.setdefault(root, []).append(name)
        for root in roots:
            if root in self.by_root:
                found = self.by_root[root] = [x for x in self.by_root[root] if last.get(x, -1) >= position]
                yield from found
