"""networkx objects and DOT text: of symbolic graphs, of programs, and of e-graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

from scanopt.array.op import Op
from scanopt.array.op_text import op_text
from scanopt.array.variable import Variable
from scanopt.calculus.forms import Form, TermGraph, const_value
from scanopt.program.ir import Program
from scanopt.view.graph_scene import graph_scene
from scanopt.view.program_scene import program_scene
from scanopt.view.scene import Scene, array_text

if TYPE_CHECKING:
    import networkx

__all__ = ["to_dot", "to_egraph_serialize", "to_networkx"]


Viewable = Variable | Sequence[Variable] | Program | TermGraph | Mapping[str, Any]


def to_networkx(x: Viewable) -> networkx.MultiDiGraph:
    """A symbolic graph, a program, an e-graph (`f.egraph`) or that of a history (`f.history()`) as a networkx graph.

    Nodes carry kind, label, type, role, and loop: the loop that holds them, or the branch or the
    side of one ("" outside of all).  A loop is a node itself, and so is each of its ports.  Edges
    carry kind ("data", or "feedback" from the end of a step to the next step's taps) and arg, the
    place among the arguments.
    Of an e-graph, e-classes are nodes of kind "class" (role "result" or "check" where asked for),
    with edges "member" to their terms; terms are nodes of kind "term", with edges "child" to the
    e-classes of their arguments and, from a delay, "feedback" to those of its state's new value.
    Terms of a history carry more: cost (their own) and total, law (that made them), round, written, chosen.
    """
    import networkx

    graph = networkx.MultiDiGraph()
    if isinstance(x, Program):
        _add_scene(graph, program_scene(x))
    elif isinstance(x, Variable):
        _add_scene(graph, graph_scene([x]))
    elif isinstance(x, Mapping):
        _add_history(graph, x["egraph"])
    elif isinstance(x, Sequence):
        _add_scene(graph, graph_scene(x))
    elif isinstance(x, TermGraph):
        _add_egraph(graph, x)
    else:
        raise TypeError(
            "expected symbolic variables, a Program, an e-graph or a history, found "
            f"{type(x).__name__}; of a compiled function take f.program or f.egraph"
        )
    return graph


def _add_scene(graph: networkx.MultiDiGraph, scene: Scene) -> None:
    for item in scene.walk():
        if item.kind == "title":
            continue
        graph.add_node(
            item.key, kind=item.kind, label=item.label, type=item.type, role=item.role,
            loop=item.owner, cost=item.cost, detail=item.detail,
        )  # fmt: skip
    for link in scene.all_links():
        graph.add_edge(link.source, link.target, kind=link.kind, arg=link.arg)


def _add_egraph(graph: networkx.MultiDiGraph, egraph: TermGraph) -> None:
    roles = dict.fromkeys(egraph.checks, "check") | dict.fromkeys(egraph.roots, "result")
    for name in egraph.classes:
        text, role = f"class {name}", roles.get(name, "")
        graph.add_node(text, kind="class", label=text, type="", role=role, loop="", eclass=name)
    for name, forms in egraph.classes.items():
        for n, form in enumerate(forms):
            key = f"term {name}.{n}"
            label = _form_text(egraph, form)
            graph.add_node(key, kind="term", label=label, type="", role=form.kind, loop="", eclass=name)
            graph.add_edge(f"class {name}", key, kind="member", arg=0)
            for i, child in enumerate(form.children):
                graph.add_edge(key, f"class {child}", kind="child", arg=i)
            updates = egraph.states[form.state].updates if form.kind == "delay" else ()
            for child in updates:
                graph.add_edge(key, f"class {child}", kind="feedback", arg=len(form.children))


def _add_history(graph: networkx.MultiDiGraph, egraph: Mapping[str, Any]) -> None:
    roots = {*egraph["roots"]}
    for c, about in egraph["classes"].items():
        text = about.get("name", f"class {c}")
        role = "result" if int(c) in roots else ""
        graph.add_node(
            f"class {c}", kind="class", label=text, type=about.get("type", ""), role=role, loop="", eclass=int(c)
        )
    for n, row in enumerate(egraph["forms"]):
        form = dict(zip(egraph["form_columns"], row, strict=True))
        c = form["class"]
        graph.add_node(
            f"term {n}", kind="term", label=form["text"], type="", role=form["kind"], loop="", eclass=c,
            cost=form["cost"], total=form["total"], law=form["law"], round=form["round"],
            written=bool(form["written"]), chosen=bool(form["chosen"]),
        )  # fmt: skip
        graph.add_edge(f"class {c}", f"term {n}", kind="member", arg=0)
        for i, child in enumerate(form["args"]):
            if f"class {child}" in graph:
                graph.add_edge(f"term {n}", f"class {child}", kind="child", arg=i)


def to_egraph_serialize(history: Mapping[str, Any]) -> dict[str, Any]:
    """The e-graph of a history in the format of egraph-serialize, which egglog's visualizer and extractors read.

    A node's children are named by one node of each class; terms with an argument that was left out are left out.
    """
    egraph = history["egraph"]
    forms = [dict(zip(egraph["form_columns"], row, strict=True)) for row in egraph["forms"]]
    named = _nodes_of_classes(forms)
    nodes = {
        f"n{n}": {
            "op": form["text"] if form["kind"] in ("input", "const") else form["label"],
            "children": [named[a] for a in form["args"]],
            "eclass": str(form["class"]),
            "cost": form["cost"] or 0.0,
            "subsumed": False,
        }
        for n, form in enumerate(forms)
        if all(a in named for a in form["args"])
    }
    data = {c: {"type": about.get("type", "")} for c, about in egraph["classes"].items()}
    roots = [str(r) for r in egraph["roots"] if r in named]
    return {"nodes": nodes, "root_eclasses": roots, "class_data": data}


def _nodes_of_classes(forms: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """For each class the node of one of its terms: of those whose arguments, and theirs in turn, are all present."""
    kept = dict(enumerate(forms))
    while True:
        there = {form["class"] for form in kept.values()}
        fit = {n: form for n, form in kept.items() if there.issuperset(form["args"])}
        if len(fit) == len(kept):
            break
        kept = fit
    named: dict[int, str] = {}
    for n, form in kept.items():
        named.setdefault(form["class"], f"n{n}")
    return named


def _form_text(egraph: TermGraph, form: Form) -> str:
    """A term in a few words: inputs by their names, constants by their values, loops by theirs."""
    if form.kind == "input":
        return egraph.input_labels.get(form.key) or form.label
    if form.kind == "const":
        return array_text(const_value(form.key, egraph.consts))
    if isinstance(form.operator, Op):
        return op_text(form.operator, ["·"] * len(form.args))
    clock = egraph.clocks.get(form.clock)
    if clock is None:
        return form.label
    loop = "&".join(clock.labels) or f"loop {form.clock}"
    state = egraph.states[form.state].label if form.kind == "delay" else ""
    return " ".join(filter(None, (form.label, state, f"of {loop}")))


def to_dot(x: Viewable | networkx.MultiDiGraph) -> str:
    """The same graph as DOT text: a cluster for each loop, branch and side, or for each e-class.

    Of a history the chosen terms are bold, and each law has a colour for the terms that it made.
    """
    import networkx

    graph = x if isinstance(x, networkx.MultiDiGraph) else to_networkx(x)
    ids = {key: f"n{i}" for i, key in enumerate(graph)}
    lines = ["digraph scanopt {", '  graph [rankdir=TB, fontname="monospace"];']
    lines += ['  node [shape=box, style=rounded, fontname="monospace", fontsize=11];']
    lines += [f"  {line}" for line in _body(graph, ids)]
    for a, b, data in graph.edges(data=True):
        if data["kind"] != "member":
            style = " [style=dashed, constraint=false]" if data["kind"] == "feedback" else ""
            lines.append(f"  {ids[a]} -> {ids[b]}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _body(graph: networkx.MultiDiGraph, ids: Mapping[str, str]) -> Iterator[str]:
    """The nodes, each inside the clusters of the loops (or of the e-class) that hold it."""
    inside: dict[str, list[str]] = {}
    for key, data in graph.nodes(data=True):
        holder = f"class {data['eclass']}" if data["kind"] == "term" else data["loop"]
        inside.setdefault(holder, []).append(key)

    def write(key: str, indent: str) -> Iterator[str]:
        data = graph.nodes[key]
        if data["kind"] not in ("loop", "branch", "side", "class"):
            yield f"{indent}{ids[key]} [label={_quoted(_label(data))}, tooltip={_quoted(key)}{_look(data)}];"
            return
        yield f"{indent}subgraph cluster_{ids[key]} {{"
        yield f"{indent}  label={_quoted(_label(data))};"
        if data["kind"] == "class":
            yield f"{indent}  {ids[key]} [shape=point];"
        for child in inside.get(key, ()):
            yield from write(child, indent + "  ")
        yield indent + "}"

    for key in inside.get("", ()):
        yield from write(key, "")


_GOLDEN = 0.381966
"""The distance between hues, as a part of the circle, by which the hues of any few laws differ."""


def _look(data: Mapping[str, Any]) -> str:
    """The DOT attributes of a term of a history: bold if it is chosen, coloured by the law that made it."""
    out = ', style="rounded,bold", penwidth=3' if data.get("chosen") else ""
    if law := data.get("law"):
        hue = crc32(law.encode()) * _GOLDEN % 1
        out += f', color="{hue:.3f} 0.7 0.7", comment={_quoted(law)}'
    return out


def _label(data: Mapping[str, Any]) -> str:
    return "\n".join(filter(None, (data["label"], data.get("detail"), data["role"], data["type"])))


def _quoted(text: str) -> str:
    """A DOT string: quotes and backslashes escaped, lines kept, other control characters dropped.

    >>> print(_quoted('a "b"'))
    "a \\"b\\""
    """
    text = "".join(c for c in text if c.isprintable() or c == "\n")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
