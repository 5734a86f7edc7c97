"""Text, pictures and networks: right in content, well formed, legible, and safe to open."""

import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from compiled import documented
from hypothesis import given
from hypothesis import strategies as st
from viewed import HOSTILE, PROGRAMS, branching, chain, floats, nested, rnn

import scanopt
import scanopt.tensor as T
from scanopt.array.op import Op
from scanopt.array.variable import SharedVariable, Variable
from scanopt.calculus.forms import Form, TermGraph
from scanopt.loops.node import MitMot, NitSot, Scan, Sequence, SharedState, SitSot
from scanopt.program.ir import Compute, Input, Loop, Program
from scanopt.view.arrange import Frame, Piece, arrange, columns, text_width
from scanopt.view.graph_scene import graph_scene
from scanopt.view.layout import Box, Wire, draw, spread
from scanopt.view.networks import to_dot, to_egraph_serialize, to_networkx
from scanopt.view.program_scene import free_names, program_scene
from scanopt.view.scene import Scene
from scanopt.view.svg import LIMIT, graph_svg, program_svg
from scanopt.view.text import dprint

# ---- layout ----


class Graph(NamedTuple):
    boxes: list[Box]
    wires: list[Wire]


@st.composite
def graphs(draw_: st.DrawFn) -> Graph:
    """Boxes of any size; wires from earlier to later ones; the first are pinned on top, the last below."""
    size = draw_(st.integers(1, 14))
    width = st.floats(10, 200)
    boxes = [Box(f"b{i}", draw_(width), draw_(width), pin=0) for i in range(size)]
    boxes[0] = replace(boxes[0], pin=-1)
    if size > 2:
        boxes[-1] = replace(boxes[-1], pin=1)
    pairs = draw_(st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=30))
    wires = []
    for a, b in ((min(p), max(p)) for p in pairs):
        if a < b and boxes[a].pin < 1:
            wires.append(Wire(boxes[a].key, boxes[b].key, boxes[a].width / 2, boxes[b].width / 3, boxes[a].height))
    return Graph(boxes, wires)


@given(graphs())
def test_layout_keeps_boxes_apart_and_wires_downward(graph: Graph) -> None:
    drawing = draw(graph.boxes, graph.wires)
    places = [(*drawing.boxes[b.key], b) for b in graph.boxes]
    for (x, y, a), (u, v, b) in combinations(places, 2):
        apart = x + a.width <= u + 0.01 or u + b.width <= x + 0.01 or y + a.height <= v or v + b.height <= y
        assert apart, (a, b)
    for x, y, box in places:
        assert x >= -0.01
        assert y >= -0.01
        assert x + box.width <= drawing.width + 0.01
        assert y + box.height <= drawing.height + 0.01
    for wire, pieces in zip(graph.wires, drawing.wires, strict=True):
        heights = [y for _, a, b in pieces for y in (a, b)]
        assert heights == sorted(heights)
        for x, top, bottom in pieces:
            for u, v, box in places:
                inside = u < x < u + box.width and v + 0.01 < bottom and top < v + box.height - 0.01
                assert not inside or box.key in (wire.source, wire.target)


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0.1, 9), st.floats(0, 30)), min_size=1, max_size=12))
def test_spread_is_feasible_and_not_worse_than_neighbours(rows: list[tuple[float, float, float]]) -> None:
    wanted, weights, gaps = ([r[i] for r in rows] for i in range(3))
    places = spread(wanted, weights, gaps[1:])
    assert all(b - a >= g - 1e-6 for a, b, g in zip(places, places[1:], gaps[1:], strict=False))

    def cost(xs: list[float]) -> float:
        return sum(w * (x - d) ** 2 for x, w, d in zip(xs, weights, wanted, strict=True))

    for shift in (-0.1, 0.1):
        assert cost([x + shift for x in places]) >= cost(places) - 1e-6


def test_layout_refuses_a_cycle() -> None:
    boxes = [Box("a", 10, 10), Box("b", 10, 10)]
    with pytest.raises(ValueError, match="cycle"):
        draw(boxes, [Wire("a", "b", 5, 5, 10), Wire("b", "a", 5, 5, 10)])


# ---- scenes and pictures ----


def frames(frame: Frame) -> Iterator[Frame]:
    yield frame
    for piece in frame.pieces:
        if piece.frame is not None:
            yield from frames(piece.frame)


def scenes() -> dict[str, Scene]:
    found = {name: program_scene(p) for name, p in PROGRAMS.items()}
    return found | {"graph": graph_scene(documented_rnn())}


def documented_power() -> Variable:
    k, a = T.iscalar("k"), T.vector("A")
    result, _ = scanopt.scan(
        lambda prior, a: prior * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=k, name="power"
    )
    last: Variable = result[-1]
    return last


def documented_rnn() -> list[Variable]:
    x, w, past, first = T.matrix("x"), T.matrix("W"), T.matrix("y0"), T.vector("h0")

    def step(before, now, y2, y1, h, w):  # type: ignore[no-untyped-def]
        new = T.tanh(T.dot(before + now, w) + h)
        return y2 + y1, new, new.sum()

    outputs, _ = scanopt.scan(
        step,
        sequences=dict(input=x, taps=[-1, 0]),
        outputs_info=[dict(initial=past, taps=[-2, -1]), first, None],
        non_sequences=w,
        name="rnn",
    )
    return list(outputs)


@pytest.mark.parametrize("name", [*PROGRAMS, "graph"])
def test_pieces_stand_apart_inside_their_frame_and_hold_their_text(name: str) -> None:
    for frame in frames(arrange(scenes()[name])):
        for a, b in combinations(frame.pieces, 2):
            assert apart(a, b), (a.item.label, b.item.label)
        for p in frame.pieces:
            assert p.x >= -0.01
            assert p.x + p.width <= frame.width + 0.01
            borders = (0.0, *p.cells) if p.cells else (0.0, p.width)
            for text in p.texts:
                half = text_width(text.text, text.size) / 2
                left = max(b for b in borders if b <= text.x) if text.strong else 0.0
                right = min(b for b in borders if b >= text.x) if text.strong else p.width
                assert left <= text.x - half
                assert text.x + half <= right
                assert 0 < text.y < p.height
        for _, points in frame.lanes:
            for (x, top), (_, bottom) in ((points[2], points[3]), (points[0], points[1])):
                crossed = [p for p in frame.pieces if p.x < x < p.x + p.width]
                assert all(max(top, bottom) >= p.y + p.height or max(top, bottom) <= p.y for p in crossed)


def apart(a: Piece, b: Piece) -> bool:
    beside = a.x + a.width <= b.x + 0.01 or b.x + b.width <= a.x + 0.01
    return beside or a.y + a.height <= b.y + 0.01 or b.y + b.height <= a.y + 0.01


@pytest.mark.parametrize("name", PROGRAMS)
def test_picture_is_well_formed_the_same_each_time_and_needs_nothing_else(name: str) -> None:
    text = program_svg(PROGRAMS[name])
    root = ET.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert text == program_svg(PROGRAMS[name])
    assert {e.tag.split("}")[1] for e in root.iter()} <= {"svg", "style", "rect", "g", "title", "path", "text"}
    assert not re.search(r"\b(href|src|id|on\w+)=|url\(|@import", text)


def test_picture_names_roles_taps_and_what_is_kept() -> None:
    root = ET.fromstring(program_svg(rnn()))
    texts = {e.text for e in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"v6[t]", "sequence", "h[t-2]", "h[t-1]", "mit-sot", "non-sequence", "nit-sot"} <= texts
    assert {"loop L0:", "k steps", "all rows", "last row", "h[t]", "multiply(·, 0.5)"} <= texts
    assert {"out 0", "out 1", "out 2", "check"} <= texts


def test_tooltips_hold_what_was_cut() -> None:
    long = "a_name_that_is_much_too_long_for_any_box_" * 3
    text = program_svg(rnn(long))
    titles = [e.text or "" for e in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}title")]
    assert any(long in t for t in titles)


def test_too_large_a_program_is_said_to_be_so() -> None:
    text = program_svg(chain(LIMIT + 1))
    ET.fromstring(text)
    assert "too many to draw" in text


def test_long_chain_is_drawn() -> None:
    ET.fromstring(program_svg(chain(400)))


def test_graph_picture_shows_the_loop() -> None:
    texts = {e.text for e in ET.fromstring(graph_svg(documented_rnn())).iter("{http://www.w3.org/2000/svg}text")}
    assert {"scan rnn:", "x[t-1]", "x[t]", "y0[t-2]", "y0[t-1]", "h0[t-1]", "W", "mit-sot", "sit-sot"} <= texts


def test_wide_and_combining_characters_are_measured() -> None:
    assert columns("状態") == 4
    assert columns("e\u0301") == 1


def test_picture_of_branches() -> None:
    """Each branch has two sides, `then` left of `else`; constants are written where they are given."""
    items = {item.key: item for item in program_scene(branching()).walk()}
    assert {k for k, item in items.items() if item.kind == "branch"} == {"if z1", "if z2", "if z3"}
    assert [items[k].owner for k in ("if z2", "if z2/then", "loop L1", "if z1", "q1")] == [
        "loop L0", "if z2", "if z2/then", "if z2/else", "if z1/else",
    ]  # fmt: skip
    texts = [e.text for e in ET.fromstring(program_svg(branching())).iter("{http://www.w3.org/2000/svg}text")]
    assert {"if t1:", "if True:", "then:", "else:", "condition", "give", "= 0.5", "z2"} <= set(texts)
    assert (texts.count("then:"), texts.count("if t1:")) == (3, 2)
    for frame in frames(arrange(program_scene(branching()))):
        sides = {p.item.label: p.x for p in frame.pieces if p.item.kind == "side"}
        assert not sides or sides["then"] < sides["else"]


def test_free_names_reach_through_nested_loops() -> None:
    (outer,) = nested().steps
    assert isinstance(outer, Loop)
    assert set(free_names(outer)) == {"c0", "v1", "s0", "s1"}


def test_graph_of_a_gradient_like_loop() -> None:
    """Slots that only gradients and updates make: a mit-mot and a shared state."""
    buffer, old, new = T.matrix("B"), T.vector(), T.vector()
    shared = SharedVariable(np.zeros(3), "count")
    scan = Scan(
        T.iscalar("n"),
        mit_mots=(MitMot(buffer, (0, 1), (1,), (old, new), (old + new,)),),
        shared=(SharedState(shared, shared + 1),),
        nit_sots=(NitSot(old * 2),),
        name="grad",
    )
    texts = {e.text for e in ET.fromstring(graph_svg(scan.outputs)).iter("{http://www.w3.org/2000/svg}text")}
    assert {"B[t]", "B[t+1]", "mit-mot", "shared state", "all rows", "buffer", "nit-sot"} <= texts
    text = shown(scan.outputs)
    assert text.startswith("for{n} grad.0 [id A] (shared state count)\n")
    assert "\nfor{n} grad.2 [id A] (mit-mot B) ···\n" in text
    assert " ├─ mit-mot B taps [0, 1] out taps [1]: B [id C]\n" in text
    assert " └─ shared state count: count (shared) [id D]\n" in text
    assert "\n → output_state (mit-mot) B[t+1]:\n    add" in text


def test_graph_of_a_loop_that_ends_early() -> None:
    x, s = T.dvector("x"), T.dscalar()
    item = T.dscalar()
    scan = Scan(
        T.iscalar("n"),
        sequences=(Sequence(x, item),),
        sit_sots=(SitSot(T.dscalar("s"), s, s + item),),
        until=s > 1,
        name="sum",
    )
    texts = {e.text for e in ET.fromstring(graph_svg(scan.outputs)).iter("{http://www.w3.org/2000/svg}text")}
    assert {"until", "or until", "sit-sot"} <= texts
    text = shown(scan.outputs)
    assert text.startswith("while{n} sum.0 [id A] (sit-sot s)\n")
    assert "\n → until:\n    greater" in text


# ---- networks ----


@cache
def egraph() -> TermGraph:
    """The e-graph of a compiled function: a recurrence whose loop reads products and is read at its end."""
    x, b = T.dvector("x"), T.dscalar("b")
    h, _ = scanopt.scan(lambda v, h, b: T.tanh(h * b) + v * 2.0, x, [dict(initial=b)], [b], name="decay")
    return scanopt.function([x, b], h[-1]).egraph


HOSTILE_GRAPH = TermGraph({0: [Form("input", key="0")]}, input_labels={"0": HOSTILE}, roots=(0,))


def test_network_of_a_program_says_where_each_node_lives() -> None:
    graph = to_networkx(nested())
    assert graph.nodes["a2"]["loop"] == "loop L1"
    assert graph.nodes["loop L1"]["loop"] == "loop L0"
    assert graph.nodes["v0"]["loop"] == ""
    kinds = {data["kind"] for _, data in graph.nodes(data=True)}
    assert kinds == {"input", "const", "loop", "read", "hold", "state", "op", "keep", "update", "until", "output"}
    feedback = [(a, b) for a, b, kind in graph.edges(data="kind") if kind == "feedback"]
    assert feedback == [("loop L1/update 0", "loop L1/state 0"), ("loop L1/update 1", "loop L1/state 1")]


def test_network_of_branches() -> None:
    import networkx

    graph = to_networkx(branching())
    assert graph.nodes["p2"]["loop"] == "loop L1"
    assert networkx.has_path(graph, "q1", "if z2/out z2")
    assert sorted(graph.predecessors("if z2/out z4")) == ["if z2/else/give 1", "if z2/then/give 1"]
    text = to_dot(graph)
    assert text.count("subgraph") == 2 + 3 * 3


def test_network_keeps_equal_arguments_apart() -> None:
    x = floats(3)
    program = Program((Input("x", x),), (), (Compute("y", Op.make("multiply"), ("x", "x"), x),), ("y",))
    assert [data["arg"] for *_, data in to_networkx(program).edges("x", data=True)] == [0, 1]


def test_network_of_a_graph_is_acyclic_but_for_feedback() -> None:
    import networkx

    graph = to_networkx(documented_rnn())
    assert {d["role"] for _, d in graph.nodes(data=True)} >= {"sequence", "mit-sot", "sit-sot", "nit-sot"}
    graph.remove_edges_from([e for e in graph.edges(keys=True) if graph.edges[e]["kind"] == "feedback"])
    assert networkx.is_directed_acyclic_graph(graph)


def test_network_of_an_egraph() -> None:
    graph = to_networkx(egraph())
    nodes = dict(graph.nodes(data=True))
    assert {data["kind"] for data in nodes.values()} == {"class", "term"}
    assert sum(data["kind"] == "term" for data in nodes.values()) == egraph().size
    (result,) = (key for key, data in nodes.items() if data["role"] == "result")
    shown = {nodes[key]["label"] for key in graph.successors(result)}
    assert shown == {"·[-1]"}
    labels = {data["label"] for data in nodes.values()}
    assert labels >= {"x", "b", "2.0", "· * ·", "tanh(·)", "seq of decay", "stack of decay"}
    (delay,) = (key for key, data in nodes.items() if data["role"] == "delay")
    kinds = [(kind, nodes[to]["kind"]) for _, to, kind in graph.out_edges(delay, data="kind")]
    assert sorted(kinds) == [("child", "class"), ("feedback", "class")]
    for c, forms in egraph().classes.items():
        members = [to for _, to, kind in graph.out_edges(f"class {c}", data="kind") if kind == "member"]
        assert len(members) == len(forms)


def test_network_of_something_else_is_refused() -> None:
    with pytest.raises(TypeError, match="found int"):
        to_networkx(3)  # type: ignore[arg-type]


def test_network_of_a_history_says_what_was_chosen_and_by_which_law() -> None:
    h = documented().history()
    graph = to_networkx(h)
    terms = {key: data for key, data in graph.nodes(data=True) if data["kind"] == "term"}
    (moved,) = (data for data in terms.values() if data["law"] == "operator_of_sequences" and data["chosen"])
    assert moved["label"].endswith("[t]")
    assert moved["total"] >= moved["cost"] > 0
    (result,) = (key for key, data in graph.nodes(data=True) if data["role"] == "result")
    assert any(graph.nodes[key]["chosen"] for key in graph.successors(result))
    bold = [text for text in to_dot(h).splitlines() if "penwidth=3" in text]
    assert len(bold) == sum(data["chosen"] for data in terms.values())
    assert any('comment="operator_of_sequences"' in text for text in bold)


def test_egraph_is_written_for_other_extractors() -> None:
    made = to_egraph_serialize(documented().history())
    nodes = made["nodes"]
    classes = {node["eclass"] for node in nodes.values()}
    assert {*made["root_eclasses"]} <= classes
    assert all(nodes[child]["eclass"] in made["class_data"] for node in nodes.values() for child in node["children"])
    assert {"dot", "tanh", "stack", "seq"} <= {node["op"] for node in nodes.values()}
    assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_terms_of_what_was_left_out_are_left_out() -> None:
    """Whichever class is missing, no node names one that is not there."""
    h = documented().history()
    columns = h["egraph"]["form_columns"]
    at = columns.index("class")
    for missing in h["egraph"]["classes"]:
        forms = [row for row in h["egraph"]["forms"] if str(row[at]) != missing]
        made = to_egraph_serialize({"egraph": h["egraph"] | {"forms": forms}})
        nodes = made["nodes"]
        assert all(child in nodes for node in nodes.values() for child in node["children"])
        assert {*made["root_eclasses"]} <= {node["eclass"] for node in nodes.values()}


DOT_LINE = re.compile(
    r"""\s*(digraph\ scanopt\ \{ | graph\ \[.*\]; | node\ \[.*\]; | \}
    | subgraph\ cluster_n\d+\ \{ | label="([^"\\]|\\.)*";
    | n\d+\ \[(label="([^"\\]|\\.)*",\ tooltip="([^"\\]|\\.)*"|shape=point)\];
    | n\d+\ ->\ n\d+(\ \[style=dashed,\ constraint=false\])?;)""",
    re.X,
)


@pytest.mark.parametrize("x", [*PROGRAMS.values(), egraph, HOSTILE_GRAPH])
def test_dot_is_sound(x: Program | TermGraph | Callable[[], TermGraph]) -> None:
    lines = to_dot(x() if callable(x) else x).splitlines()
    assert [line for line in lines if not DOT_LINE.fullmatch(line)] == []
    assert sum(line.endswith("{") for line in lines) == sum(line.strip() == "}" for line in lines)


def test_dot_has_a_cluster_in_a_cluster() -> None:
    text = to_dot(nested())
    assert text.index("loop L0") < text.index("loop L1") < text.index("loop L0", text.index("loop L1"))


# ---- dprint ----


def shown(x: object) -> str:
    text = dprint(x, file="str")  # type: ignore[call-overload]
    assert isinstance(text, str)
    return re.sub(r" at \S+:\d+$", "", text, flags=re.M)


def test_dprint_of_the_documents_power() -> None:
    assert (
        shown(documented_power())
        == """\
getitem[-1] [id A]
 └─ for{|k|} power.0 [id B] (sit-sot state0)
     ├─ n_steps: absolute [id C]
     │   └─ cast{dtype=int64} [id D]
     │       └─ k [id E]
     ├─ sit-sot state0: full_like [id F]
     │   ├─ A [id G]
     │   └─ 1.0
     └─ non-sequence A: A [id G]

Inner graphs:

for{|k|} power [id B]
 ← input_state (sit-sot) state0[t-1] [id H], from [id F]
 ← parameter (non-sequence) A [id G]
 → output_state (sit-sot) state0[t]:
    multiply [id I]
     ├─ state0[t-1] [id H]
     └─ A [id G]
"""
    )


def test_dprint_shows_roles_and_taps() -> None:
    lines = shown(documented_rnn()).splitlines()
    assert " ├─ sequence x[t-1]: getitem[:-1] [id C] ···" in lines
    assert " ├─ mit-sot y0 taps [-2, -1]: getitem[:2] [id F]" in lines
    assert any(line.startswith(" ← input_state (mit-sot) y0[t-2]") for line in lines)
    assert any(line.startswith("for{n_steps} rnn.2 [id A] (nit-sot") for line in lines)
    assert " → output (nit-sot) 0:" in lines


def test_nameless_slots_have_the_letters_of_the_documents() -> None:
    """u: inputs; w: parameters; states are named as such."""
    outputs, _ = scanopt.scan(lambda u, x, w: u + x * w, T.dvector(), T.dscalar(), T.dscalar())
    text = dprint(outputs, "str")
    for line in (
        " ← input (sequence) u0[t] ",
        " ← input_state (sit-sot) state0[t-1] ",
        " ← parameter (non-sequence) w0 ",
        " → output_state (sit-sot) state0[t]:",
    ):
        assert line in text, text


def test_dprint_prints_or_returns(capsys: pytest.CaptureFixture[str]) -> None:
    x = T.vector("x")
    assert dprint(x) is None
    assert capsys.readouterr().out == "x [id A]\n"
    file = io.StringIO()
    dprint(x, file=file, print_type=True)
    assert file.getvalue() == "x [id A] <float64[?]>\n"


def test_dprint_stops_where_it_is_told_to() -> None:
    x = T.vector("x")
    y = T.exp(x)
    y.name = "y"
    z = T.sin(y) + y
    whole = "add [id A]\n ├─ sin [id B]\n │   └─ exp [id C] 'y'\n │       └─ x [id D]\n └─ exp [id C] 'y' ···\n"
    assert dprint(z, "str") == whole
    assert dprint(z, "str", depth=2) == "add [id A]\n ├─ sin [id B]\n └─ exp [id C] 'y'\n"
    assert dprint(z, "str", stop_on_name=True) == whole.replace(" │       └─ x [id D]\n", "").replace(" ···", "")


def test_dprint_shows_nested_loops() -> None:
    x = T.matrix("x")
    rows, _ = scanopt.map(lambda row: scanopt.map(lambda v: v * v, sequences=row)[0], sequences=x)
    text = shown(rows)
    assert text.count("\nfor{") == 2


def test_depth_is_not_limited() -> None:
    x = y = T.vector("x")
    for _ in range(5 * sys.getrecursionlimit()):
        y = T.tanh(y)
    assert shown(y).count("\n") == 5 * sys.getrecursionlimit() + 1
    assert "too many to draw" in graph_svg(y)
    assert to_networkx(y).number_of_nodes() == 5 * sys.getrecursionlimit() + 2
    assert x.name == "x"


def test_dprint_of_a_compiled_function_adds_its_program() -> None:
    @dataclass
    class Compiled:
        outputs: tuple[object, ...]
        program: str

    text = shown(Compiled((T.vector("x"),), "the program"))
    assert text == "x [id A]\n\nProgram:\n\nthe program\n"
