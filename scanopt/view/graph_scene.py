"""A symbolic graph as a scene: each Scan node is a loop whose slots are its ports."""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.array.shown import shown
from scanopt.array.variable import Apply, Constant, SharedVariable, Variable, describe
from scanopt.loops.node import Scan
from scanopt.view.scene import BOTTOM, TOP, Item, Link, Place, Scene, Scope, array_text, op_item, tap_text
from scanopt.view.slots import Slot, slots, sorted_nodes, steps_text

__all__ = ["graph_scene"]

Env = dict[Variable, Place]


def graph_scene(outputs: Sequence[Variable]) -> Scene:
    """The scene of the graph from which `outputs` are made."""
    scope = Scope()
    env = _Builder().graph(scope, {}, outputs)
    for i, v in enumerate(outputs):
        label = v.name or f"out {i}"
        key = f"out {i}"
        scope.items.append(Item(key, "output", label, "", str(v.type), tip=describe(v), pin=BOTTOM))
        scope.link(env[v], key)
    return scope.scene()


class _Builder:
    """Builds scenes, and makes keys from the name of a thing and a running number."""

    def __init__(self) -> None:
        self.count = 0

    def key(self, text: str) -> str:
        self.count += 1
        return f"{text} #{self.count}"

    def graph(self, scope: Scope, env: Env, outputs: Sequence[Variable]) -> Env:
        """Add what `outputs` need beyond `env`; returns the places of all variables."""
        for x in sorted_nodes(outputs):
            if isinstance(x, Variable):
                if x not in env:
                    self.leaf(scope, env, x)
            elif isinstance(x, Scan):
                self.scan(scope, env, x)
            elif isinstance(x, Apply):
                self.apply(scope, env, x)
        return env

    def leaf(self, scope: Scope, env: Env, x: Variable) -> None:
        inline = isinstance(x, Constant) and x.ndim == 0
        text = array_text(x.data) if isinstance(x, Constant) else "input"
        label = text if inline else shown(x.name or text)
        key = self.key(shown(x.name or text))
        kind = "const" if isinstance(x, Constant) else "input"
        role = "shared variable" if isinstance(x, SharedVariable) else ""
        pin = TOP if kind == "input" and not scope.owner else "free"
        tip = f"{role or kind} {describe(x)}"
        item = Item(key, kind, label, "", str(x.type), role, tip, pin=pin, inline=inline, owner=scope.owner)
        scope.items.append(item)
        env[x] = Place(key, 0, label, str(x.type), inline)

    def apply(self, scope: Scope, env: Env, node: Apply) -> None:
        out = node.outputs[0]
        key, name = self.key(node.op.name), shown(out.name or "")
        scope.items.append(op_item(key, node.op, out.type, name, scope.owner))
        for i, v in enumerate(node.inputs):
            scope.link(env[v], key, i)
        env[out] = Place(key, 0, name or node.op.name, str(out.type))

    def scan(self, scope: Scope, env: Env, scan: Scan) -> None:
        key = self.key(f"scan {shown(scan.name)}" if scan.name else "scan")
        ports = _Ports(scope, Scope(key), env)
        ports.title(scan)
        for i, slot in enumerate(slots(scan)):
            ports.enter(f"slot {i}", slot)
        results = [v for slot in slots(scan) for _, v in slot.updates]
        results += [n.output for n in scan.nit_sots] + ([scan.until] if scan.until is not None else [])
        inside = self.graph(ports.inner, ports.inside, results)
        ports.leave(scan, inside)
        title = ports.inner.items[0]
        scope.items.append(
            Item(key, "loop", title.label, title.detail, tip=title.tip, owner=scope.owner, inner=ports.inner.scene())
        )


class _Ports:
    """The ports of one Scan."""

    def __init__(self, outer: Scope, inner: Scope, env: Env) -> None:
        self.outer, self.inner, self.env = outer, inner, env
        self.inside: Env = {}

    def title(self, scan: Scan) -> None:
        steps, owner = self.env[scan.n_steps], self.inner.owner
        name = f"scan {shown(scan.name)}:" if scan.name else "scan:"
        notes = [f"{steps_text(scan)} steps"] + ["or until"] * (scan.until is not None)
        notes += ["go_backwards"] * scan.go_backwards
        self.inner.items.append(
            Item(f"{owner}/title", "title", name, ", ".join(notes), tip=str(scan), pin=TOP, owner=owner)
        )
        if not steps.inline:
            key = f"{owner}/n_steps"
            tip = f"number of steps: {steps.label}"
            self.inner.items.append(
                Item(key, "steps", steps.label, "", steps.type, "n_steps", tip, pin=TOP, owner=owner)
            )
            self.outer.link(steps, key)

    def enter(self, name: str, slot: Slot) -> None:
        kind = {"sequence": "read", "non-sequence": "hold"}.get(slot.role, "state")
        key, owner = f"{self.inner.owner}/{name}", self.inner.owner
        cells = tuple(slot.tap_name(i) for i in range(len(slot.taps)))
        type = str(slot.taps[0][1].type) if slot.taps else str(slot.outer.type.row())
        tip = f"{slot.role} {slot.label}, from {describe(slot.outer)}"
        label = ", ".join(cells) or slot.label
        item = Item(key, kind, label, "", type, slot.role, tip, pin=TOP, owner=owner,
                    cells=cells if kind == "state" else ())  # fmt: skip
        self.inner.items.append(item)
        self.outer.link(self.env[slot.outer], key)
        for i, (_, v) in enumerate(slot.taps):
            self.inside[v] = Place(key, i if kind == "state" else 0, cells[i], type)

    def leave(self, scan: Scan, inside: Env) -> None:
        owner = self.inner.owner
        all_slots = list(slots(scan))
        for i, slot in enumerate(all_slots):
            for lag, v in slot.updates:
                key = f"{owner}/slot {i} at {lag}"
                self.port(key, "update", tap_text(slot.name, lag), slot.role, v, inside)
                self.inner.links.append(Link(key, f"{owner}/slot {i}", kind="feedback"))
        roles = [s.role for s in all_slots if s.role in ("mit-sot", "sit-sot", "shared state")]
        roles += ["nit-sot"] * len(scan.nit_sots)
        for i, (role, v, out) in enumerate(zip(roles, scan.traced, scan.outputs, strict=False)):
            key = f"{owner}/output {i}"
            self.port(key, "keep", "all rows", role, v, inside, str(out.type))
            self.env[out] = Place(key, 0, out.name or f"output {i}", str(out.type))
        buffers = [(i, slot) for i, slot in enumerate(all_slots) if slot.role == "mit-mot"]
        for (i, slot), out in zip(buffers, scan.mit_mot_outputs, strict=True):
            self.buffer(f"{owner}/slot {i}", slot, out)
        if scan.until is not None:
            self.port(f"{owner}/until", "until", "until", "stop test", scan.until, inside)

    def buffer(self, key: str, slot: Slot, out: Variable) -> None:
        """The port at which the buffer of a mit-mot leaves the loop."""
        end, owner = f"{key} after", self.inner.owner
        tip = f"{slot.role}: {describe(slot.outer)} as the loop leaves it"
        self.inner.items.append(
            Item(end, "keep", slot.name, "buffer", str(out.type), slot.role, tip, pin=BOTTOM, owner=owner)
        )
        self.inner.link(Place(key), end)
        self.env[out] = Place(end, 0, out.name or slot.name, str(out.type))

    def port(self, key: str, kind: str, label: str, role: str, v: Variable, inside: Env, type: str = "") -> None:
        tip = f"{role}: {describe(v)}"
        item = Item(key, kind, label, "", type or str(v.type), role, tip, pin=BOTTOM, owner=self.inner.owner)
        self.inner.items.append(item)
        self.inner.link(inside[v], key)
