"""The page of a history: one HTML file that needs no network and no other file.

Its text can be read without JavaScript: programs before and after beside each other, steps, laws, costs, source.
In the browser, the scripts in `assets` add views, search, layout and links to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from scanopt.array.shown import shown
from scanopt.compilation.report import ending
from scanopt.memory import bytes_text
from scanopt.view.aligned import LinePair, aligned, changes
from scanopt.view.amounts import cost_text, seconds_text
from scanopt.view.markup import escape

__all__ = ["page_html"]

History = Mapping[str, Any]

VIEWS = {"program": "Before and after", "graph": "Graph", "steps": "Steps", "egraph": "E-graph", "laws": "Laws",
         "costs": "Costs", "memory": "Memory", "loops": "Loops", "growth": "Growth", "source": "Source"}  # fmt: skip

_KERNELS = 12
"""The most kernels that are listed where there are no scripts."""

SCRIPTS = (
    "dagre.min.js",
    "data.js",
    "layers.js",
    "program.js",
    "alike.js",
    "graph.js",
    "steps.js",
    "egraph.js",
    "laws.js",
    "charts.js",
    "loops.js",
    "source.js",
    "main.js",
)


def page_html(h: History) -> str:
    """The page as text.  h: what `f.history()` gives."""
    assets = files("scanopt.view").joinpath("assets")
    css, *scripts = (assets.joinpath(n).read_text(encoding="utf-8") for n in ("page.css", *SCRIPTS))
    name = escape(shown(h["name"] or "function"))
    links = "".join(f'<a href="#{key}">{text}</a>' for key, text in VIEWS.items())
    texts = {"program": _program(h), "steps": _steps(h), "laws": _laws(h), "source": _source(h), "costs": _costs(h)}
    sections = "".join(
        f'<section id="{key}"><h2>{title}</h2>\n{texts.get(key, "")}</section>\n' for key, title in VIEWS.items()
    )
    data = json.dumps(h, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    code = "\n".join(f"<script>\n{text}</script>" for text in scripts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>{name}: how scanopt compiled it</title>\n<style>\n{css}</style>\n</head>\n<body>\n"
        f'<header class="top"><div class="head"><h1>{name}</h1>{_headline(h)}'
        '<div class="find"><input id="search" type="search" size="34" autocomplete="off" '
        'placeholder="name, operator, law or line  ( / )" aria-label="Search"/><div id="found"></div></div></div>'
        f'<nav aria-label="Views">{links}</nav></header>\n<div class="page"><main>\n{sections}</main>'
        '<aside id="panel" class="empty" aria-live="polite"></aside></div>\n<div id="tip" role="tooltip"></div>\n'
        f'<script type="application/json" id="history">{data}</script>\n{code}\n</body>\n</html>\n'
    )


def _headline(h: History) -> str:
    r = h["report"]
    before, after = r["cost_before"], r["cost_after"]
    gain = "no cheaper program was found"
    if after < before:
        gain = f"{before / after:,.3g} times cheaper" if after > 0 else "nothing left to do"
    search = "all laws exhausted" if r["saturated"] else ending(r["stopped_by"], r["aside"])
    proof = "proven the cheapest found" if r["optimal"] else "how far from the cheapest is not known"
    if not r["optimal"] and r["gap"] is not None:
        proof = f"at most {r['gap']:.1%} above the cheapest found"
    unit = r["unit"]
    return (
        f'<span class="gain">{cost_text(before, unit)} → {cost_text(after, unit)}, {gain}</span>'
        f'<span class="soft">predicted; {proof}; {escape(search)}</span>'
    )


# ---- before and after ----


def _program(h: History) -> str:
    lines, first, last = h["lines"], h["programs"][0]["lines"], h["programs"][-1]["lines"]
    rows = "".join(_pair(h, p) for p in aligned(lines, first, last))
    r = h["report"]
    sizes = ", ".join(f"{shown(k)} {v}" for k, v in (*r["sizes"].items(), *r["trips"].items()))
    note = f'<p class="soft">Costs are for these sizes: {escape(sizes)}</p>' if sizes else ""
    return (
        '<table class="code"><thead><tr><th>as written</th><th>as it runs</th></tr></thead>'
        f"<tbody>\n{rows}</tbody></table>\n{note}"
    )


def _pair(h: History, pair: LinePair) -> str:
    states = pair.state.split()
    sides = ((pair.before, states[0]), (pair.after, states[-1]))
    return f"<tr>{''.join(_cell(h, n, state) for n, state in sides)}</tr>\n"


def _cell(h: History, n: int | None, state: str) -> str:
    if n is None:
        return "<td></td>"
    line = h["lines"][n]
    depth = f' style="--d:{line["depth"]}"' if line["depth"] else ""
    kind = " ".join(filter(None, (state if state != "same" else "", line["kind"] if line.get("key") else "")))
    return (
        f'<td{depth} data-line="{n}"{f" class={_quoted(kind)}" if kind else ""}><code>{escape(line["text"].strip())}'
        f'</code><span class="ty">{escape(line["type"])}</span></td>'
    )


def _quoted(text: str) -> str:
    return f'"{text}"'


# ---- steps ----


def _steps(h: History) -> str:
    if not h["steps"]:
        return "<p>No law changed the program.</p>\n"
    laws = {x["name"]: x for x in h["laws"]}
    cards = "".join(_step(h, n, s, laws[s["law"]]) for n, s in enumerate(h["steps"], 1))
    return (
        '<p class="soft">The laws in use, in the order of the rounds in which they began. The program after each is a '
        "cheap one of the forms that it and those before it had made; a law that saves nothing yet makes what the next "
        f'ones need.</p>\n<div class="nojs">{cards}</div>'
    )


def _step(h: History, n: int, s: History, law: History) -> str:
    unit = h["report"]["unit"]
    before, after = s["cost_before"], s["cost_after"]
    share = f" ({(after - before) / before:+.1%})" if before and after < before else " (enables the next)"
    numbers = h["programs"][s["before"]]["lines"], h["programs"][s["after"]]["lines"]
    diff = "".join(
        f'<span class="{kind}">{"−" if kind == "del" else "+"} {escape(line["text"].strip())}</span>'
        for kind, line in changes(h["lines"], *numbers)
    )
    changed = f'<pre class="diff">{diff}</pre>' if diff else ""
    when = "".join(f"<li>{escape(c['text'])}: {escape(c['meaning'])}</li>" for c in law["conditions"])
    return (
        f'<div class="card" id="step-{n}"><h3>{n}. {escape(law["name"])}</h3>'
        f'<div class="formula mono">{escape(law["mathematics"])}</div><p>{escape(law["says"])}</p>'
        f"<p>cost {cost_text(before, unit)} → {cost_text(after, unit)}{share}; licence {escape(law['licence'])}</p>"
        f"{f'<p>when</p><ul>{when}</ul>' if when else ''}{changed}"
        "</div>\n"
    )


# ---- laws, costs, source ----


def _laws(h: History) -> str:
    fired = sorted((x for x in h["laws"] if x["matches"]), key=lambda x: (-x["matches"], x["name"]))
    rows = "".join(
        f'<tr><td class="mono">{escape(x["name"])}</td><td class="r">{x["matches"]:,}</td>'
        f'<td class="r">{seconds_text(x["seconds"])}</td><td class="mono">{escape(x["mathematics"])}</td>'
        f"<td>{escape(x['licence'])}</td></tr>\n"
        for x in fired
    )
    heads = '<th>law</th><th class="r">matches</th><th class="r">time</th><th>formula</th><th>licence</th>'
    return f'<div class="nojs wide"><table><thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table></div>\n'


def _costs(h: History) -> str:
    r = h["report"]
    rows = "".join(_cost_rows(h))
    seconds = ", ".join(f"{name} {seconds_text(s)}" for name, s in r["seconds"].items())
    memory = f"{bytes_text(r['memory_before'])} → {bytes_text(r['memory_after'])}"
    return (
        f'<div class="nojs"><table><tbody>{rows}</tbody></table>{_kernels(h)}</div>'
        f'<p class="soft">Held at one time: {memory}. '
        f"Compiled in {seconds_text(sum(r['seconds'].values()))} ({escape(seconds)}).</p>\n"
    )


def _kernels(h: History) -> str:
    """The costliest kernels, each beside the least time that the machine needs."""
    unit, found = h["report"]["unit"], sorted(h["programs"][-1]["kernels"], key=lambda k: -k["cost"])[:_KERNELS]
    heads = "<th>kernel</th><th>predicted</th><th>least</th><th>limit</th><th>share of the limit</th>"
    rows = "".join(
        f'<tr><td class="mono">{escape(h["lines"][k["line"]]["text"].strip().removesuffix(":"))}</td>'
        f'<td class="r">{cost_text(k["cost"], unit)}</td><td class="r">{seconds_text(k["least_seconds"])}</td>'
        f"<td>{'memory' if k['limited_by'] == 'bytes' else 'arithmetic'}</td>"
        f'<td class="r">{_share(k, unit)}</td></tr>\n'
        for k in found
    )
    return f"<h3>Share of the machine's limit</h3><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _share(kernel: History, unit: str) -> str:
    """The part of a kernel's time that the machine needs at least, as text; "" where the time is not known."""
    seconds = kernel.get("seconds") or (kernel["cost"] * 1e-9 if unit == "ns" else 0.0)
    return f"{kernel['least_seconds'] / seconds:.1%}" if seconds else ""


def _cost_rows(h: History) -> Iterator[str]:
    unit = h["report"]["unit"]
    yield f'<tr><td>as written</td><td class="r">{cost_text(h["report"]["cost_before"], unit)}</td></tr>'
    for s in h["steps"]:
        yield f'<tr><td>{escape(s["law"])}</td><td class="r">{cost_text(s["cost_after"], unit)}</td></tr>'


def _source(h: History) -> str:
    return f'<pre class="src nojs">{escape(h["source"]["text"])}</pre>\n'
