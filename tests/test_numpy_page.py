"""The page of NumPy's functions is what there is, and nearly all of them are there."""

from __future__ import annotations

import re

import numpy as np
from numpy_page import ELSEWHERE, PAGE, functions, page, state

# What the audit of programs found people use (issue of missing functions), beside what was there.
USED = """
    einsum linspace pad split searchsorted histogram bincount digitize median quantile percentile nansum nanmean
    nanstd nanvar nanmax nanmin nanprod nanmedian isclose allclose nan_to_num interp kron cross convolve correlate
    trapezoid meshgrid tri tril_indices vander column_stack dstack fliplr rot90 nonzero argwhere unique insert
    delete cov corrcoef average angle count_nonzero identity array asarray block split vstack logspace geomspace
    select choose piecewise gradient
""".split()  # noqa: SIM905


def test_page_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    version = np.__version__.rpartition(".")[0]
    if f"NumPy {version}" in text:  # other versions have other functions
        assert text == page(), "run: python tests/numpy_page.py"


def test_what_people_use_is_there() -> None:
    assert [name for name in USED if state("", name) not in ("have", "tensor")] == []


def test_most_functions_of_arrays_are_there() -> None:
    states = {name: state("", name) for name in functions(np)}
    of_arrays = [s for s in states.values() if s != ELSEWHERE]
    assert sum(s in ("have", "tensor") for s in of_arrays) > 0.85 * len(of_arrays)
    assert not re.search(r"\| +\|", PAGE.read_text(encoding="utf-8").split("## numpy")[-1])
