"""What other tools show of rewriting, and where it is here: the table of docs/views.md, each row with what shows it.

`python tests/page_features.py` prints the table.
"""

__all__ = ["FEATURES", "features_table"]

PAGE = "the page"

FEATURES: tuple[tuple[str, str, str], ...] = (
    ("opens with one call", "`f.show()`, `scanopt show FILE`", "H.format === 'scanopt-history'"),
    ("one file that works offline and can be mailed", "the page itself", "!$('link[rel=stylesheet], script[src]')"),
    ("in a notebook", "`f.widget()`, `scanopt.watch()`", ""),
    ("as text, as JSON, on the command line", "`scanopt explain`, `--json`", ""),
    ("pan, zoom, fit, minimap", "Graph", "$('#graph svg.mini') && $('#graph [data-fit]')"),
    ("pin a value", "click it, in any view; Esc lets it go", "$('#program .v[data-n]')"),
    ("keyboard", "the keys above", "$$('kbd').length > 5"),
    ("back, forward, links to what is shown", "the address: `#steps/3?v24`", "location.hash !== undefined"),
    ("one rewrite at a time; play, pause, scrub", "Steps: slider, play", "$('#slider') && $('#play')"),
    ("rounds", "Steps: all rounds", "$('#rounds')"),
    ("which law, its formula and condition", "Steps; the panel", "$('#step .formula')"),
    ("the law's own source", "Laws: its definition in Python", "H.laws.some((x) => x.code.includes('def '))"),
    ("text difference of a step", "Steps: the part that changed", "$('#step .diff')"),
    ("what changed is marked", "Before and after; Graph", "$('#program td.changed, #program td.new')"),
    ("time and matches of each law", "Laws; Growth", "$('#growth tr[data-law]')"),
    ("an error while laws run", "`scanopt show --serve`: in place of the page", ""),
    ("classes with their alternatives", "E-graph", "$('#egraph .cls')"),
    ("the law that made a term", "E-graph: the stripe and the text; filter by law", "$('#eglaw')"),
    ("costs on nodes: own, total, for all steps", "E-graph; panel", "/own .*×/.test($('#egraph .cards').innerText)"),
    ("what was chosen, alternatives ranked", "E-graph: the tick", "$('#egraph .chosen')"),
    ("why two values are equal", "the panel; E-graph: what laws said", "$('#unions').innerText"),
    ("unions", "E-graph: what laws said of a class", "H.egraph.equalities.length"),
    ("a node and its neighbours", "E-graph: neighbours; Graph: around the chosen value", "$('#egnear') && $('#reach')"),
    ("search by name, operator, type, shape, law, line", "the search field", "matches('float64[32]').length"),
    ("types and shapes", "beside each value; at the sizes of the example in the panel", "$('#program .ty')"),
    ("what an operator does", "the panel", "Object.keys(H.operators).length"),
    ("loops and layers that fold", "Before and after; Graph", "$('#program [data-fold]')"),
    ("roles and taps of loops", "Before and after; Loops", "/sit-sot|mit-sot/.test($('#program').innerText)"),
    ("a colour for each loop", "the stripe in Before and after; the border in Graph", "$('#program td.axis')"),
    ("a legend of colours", "Before and after; Graph", "$('#graph .legend')"),
    ("generated source, linked", "Source", "$('#source pre.run span[data-names]')"),
    ("measured beside predicted", "Costs, with `measure=True`", "$('#costs i.measured')"),
    ("share of the machine's limit, by kernel", "Costs", "$('#kernels table')"),
    ("memory", "Memory", "$('#memory table')"),
    ("values of small constants", "Before and after: the lines of constants", "H.lines.some((x) => x.kind)"),
    ("save as a picture", "Graph: SVG", "$('[data-save]')"),
    ("two runs, versions or rulesets beside each other", "`scanopt diff`", ""),
    ("laws on and off", "`scanopt diff --without`, `scanopt ablate`, `f.without(...)`", ""),
    ("large programs", "layers and gates grouped, what is around a value", "$('#grouped')"),
    ("the same place before and after", "Graph", "$$('.graph').length === 2"),
    ("dark and light, wide and narrow", "the page", "matchMedia('(prefers-color-scheme: dark)')"),
    ("*law by law, each with what it saved*", "Steps", "$('.steps li i')"),
    ("*a program beside its e-graph, after each law*", "E-graph: left", "$('#egside').options.length > 2"),
    ("*the derivation as a text*", "Steps: save as Markdown; `scanopt explain`", "derivation().includes('## 1. ')"),
    ("*a waterfall of costs by law*", "Costs", "$('#costs i.cut')"),
    ("*steps by states, with an arrow for each tap*", "Loops", "$('#loops svg')"),
    ("*a law edited, and run again*", "`scanopt show --serve`; `scanopt check` finds counterexamples", ""),
    ("*growth by law and round*", "Growth", "$('#growth .stack')"),
    ("*two histories compared*", "`scanopt diff before.json after.json`", ""),
)  # fmt: skip
"""What is shown, where, and an expression that is true of a measured page all of whose views were opened."""


def features_table() -> str:
    """The table of docs/views.md."""
    return "\n".join(
        ["| what is shown | where |", "|---|---|", *(f"| {what} | {where} |" for what, where, _ in FEATURES)]
    )


if __name__ == "__main__":
    print(features_table())
