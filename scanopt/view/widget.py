"""The page in a notebook, as a widget: it shows the function compiled last, and its traits tell which view is open.

anywidget makes it work in Jupyter, JupyterLab, VS Code, Colab and marimo; it is imported when a widget is made.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["page_widget"]


def page_widget(pages: Mapping[str, str], height: int = 640) -> Any:
    """A widget that shows pages.

    pages: by name, HTML; the last one is shown first.  height: in pixels.  Its traits `pages`, `name` (of the page
    shown), `place` (the part shown: "#steps/3?v24") and `height` can be read, set and observed.
    Raises ImportError where anywidget is not installed.
    """
    return _widget_class()(pages=dict(pages), name=next(reversed([*pages]), ""), height=height)


@cache
def _widget_class() -> Any:
    try:
        anywidget, traitlets = map(importlib.import_module, ("anywidget", "traitlets"))
    except ImportError as error:
        raise ImportError(
            f"a widget needs anywidget: install it with pip install 'scanopt[notebook]' ({error})"
        ) from error

    class PageWidget(anywidget.AnyWidget):  # type: ignore[name-defined,misc]
        _esm = files("scanopt.view").joinpath("assets", "widget.js").read_text(encoding="utf-8")
        pages = traitlets.Dict(value_trait=traitlets.Unicode(), key_trait=traitlets.Unicode()).tag(sync=True)
        name = traitlets.Unicode().tag(sync=True)
        place = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(640, min=100).tag(sync=True)

    return PageWidget
