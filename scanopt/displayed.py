"""The base of what a notebook shows as more than a line of text."""

from __future__ import annotations

from scanopt import features

__all__ = ["Displayed"]


class Displayed:
    """Shown at the end of a notebook's cell as `scanopt.view.notebook` draws it; views are loaded when asked for."""

    def _repr_html_(self) -> str:
        return features.html(self)
