"""The base class of objects that a notebook shows as HTML rather than as a line of text."""

from __future__ import annotations

from scanopt import features

__all__ = ["Displayed"]


class Displayed:
    """An object that notebooks show as HTML, drawn by `scanopt.view.notebook`, which is loaded when first needed."""

    def _repr_html_(self) -> str:
        return features.html(self)
