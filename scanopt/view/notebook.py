"""HTML for the end of a notebook's cell: a variable or program as a picture, an explanation as a table."""

from __future__ import annotations

from scanopt.array.variable import Variable
from scanopt.compilation.compiled_function import Function
from scanopt.compilation.explanation import Explanation, Step
from scanopt.loops.graph import loops_of, schedule
from scanopt.program.ir import Program
from scanopt.view.markup import escape
from scanopt.view.svg import graph_svg, program_svg

__all__ = ["explanation_html", "html", "program_html", "variable_html"]

LARGEST = 200
"""The most operators of a picture: of more, it says less than a line of text."""


def html(x: object) -> str:
    """The HTML of a variable, a program, a compiled function or an explanation.  Raises TypeError for others."""
    match x:
        case Variable():
            return variable_html(x)
        case Program():
            return program_html(x)
        case Function():
            return program_html(x.program)
        case Explanation():
            return explanation_html(x)
    raise TypeError(f"no picture is drawn of a {type(x).__name__}")


def variable_html(x: Variable) -> str:
    """The graph of a computed variable as a picture; an input, or a variable of too many operators, as text.

    >>> from scanopt import tensor as T
    >>> variable_html(T.dvector("x"))
    '<code>&#x27;x&#x27; float64[?]</code>'
    """
    if x.owner is None:
        return f"<code>{escape(repr(x))}</code>"
    count = len(schedule([x])) + sum(len(schedule(loop.inner_outputs)) for loop in loops_of([x]))
    if count > LARGEST:
        return f"<code>{escape(repr(x))}, computed by {count} operators: scanopt.dprint(x) prints them</code>"
    return graph_svg(x)


def program_html(program: Program) -> str:
    """A program as a picture, with its text folded below."""
    text = f"<details><summary>as text</summary><pre>{escape(str(program))}</pre></details>"
    return program_svg(program) + text


def explanation_html(told: Explanation) -> str:
    """The laws that made a program, in order, with what each says and what it saved."""
    if not told.steps:
        return f"<pre>{escape(str(told))}</pre>"
    rows = "".join(_row(n, step) for n, step in enumerate(told.steps, 1))
    head = "".join(f"<th>{name}</th>" for name in ("", "law", "what it says", "when", "licence", "cost after"))
    first = f"<tr><td></td><td colspan='4'>as written</td><td>{told.cost_before:.4g}</td></tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{first}{rows}</tbody></table>"


def _row(number: int, step: Step) -> str:
    says = f"{escape(step.doc.splitlines()[0] if step.doc else '')}<br><code>{escape(step.formula)}</code>"
    cells = (str(number), escape(step.law), says, escape(", ".join(step.conditions)), escape(step.licence))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + f"<td>{step.cost_after:.4g}</td></tr>"
