"""What notebooks show of variables, programs, functions and explanations."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

import scanopt
from scanopt import tensor as T
from scanopt.view.notebook import LARGEST


class Balanced(HTMLParser):
    """Raises where tags do not close."""

    VOID = ("br", "rect", "line", "path", "use", "circle")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def power() -> tuple[Any, Any]:
    A, k = T.dvector("A<b>"), T.lscalar("k")
    powers, _ = scanopt.scan(lambda p, A: p * A, outputs_info=T.ones_like(A), non_sequences=A, n_steps=k)
    return [A, k], powers[-1]


def test_all_are_whole_documents_and_escape_names() -> None:
    inputs, last = power()
    f = scanopt.function(inputs, last)
    for shown in (last, inputs[0], f, f.program, f.explain()):
        html = shown._repr_html_()
        Balanced(html)
        assert "<b>" not in html


@pytest.mark.parametrize("make", [lambda last, f: last, lambda last, f: f, lambda last, f: f.program])
def test_pictures(make: Any) -> None:
    inputs, last = power()
    assert make(last, scanopt.function(inputs, last))._repr_html_().startswith("<svg")


def test_the_laws_of_an_explanation_are_rows() -> None:
    inputs, last = power()
    told = scanopt.function(inputs, last).explain()
    html = told._repr_html_()
    assert html.count("<tr>") == len(told.steps) + 2
    assert all(step.law in html for step in told.steps)


def test_nothing_to_explain() -> None:
    x = T.dvector("x")
    assert "no law makes this program cheaper" in scanopt.function([x], T.exp(x)).explain()._repr_html_()


def test_what_is_too_large_to_draw_is_text() -> None:
    x = T.dvector("x")
    y = x
    for _ in range(LARGEST + 1):
        y = T.tanh(y)
    html = y._repr_html_()
    assert f"computed by {LARGEST + 1} operators" in html
    assert "<svg" not in html
