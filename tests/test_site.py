"""The site: it builds without warnings, its tutorials run, and what is generated is up to date."""

import contextlib
import inspect
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api_page import api_page
from gallery_page import gallery
from notebooks import NOTEBOOKS, text_of

import scanopt
from scanopt.view.live import _OPEN

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MKDOCS = shutil.which("mkdocs", path=str(Path(sys.executable).parent)) or shutil.which("mkdocs")

TUTORIALS = ("mistakes", "start-loops", "start-rewriting", "start-researchers")
_BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.M | re.S)
_PLACE = re.compile(r"\(<[^>]*>:")  # cells have names of their own


@pytest.fixture(autouse=True)
def anywhere() -> Iterator[None]:
    """What is printed and drawn is so on machines without a compiler, too."""
    with scanopt.config.change_flags(cost="numpy"):
        yield


@pytest.mark.parametrize("page", TUTORIALS)
def test_all_blocks_of_a_tutorial_run_and_print_what_it_says(page: str) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for code, output in _BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(code, names)
        assert said.getvalue().strip() == output.strip()


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_notebooks_are_the_tutorials(page: str) -> None:
    file = DOCS / "notebooks" / f"{page}.ipynb"
    assert file.read_text(encoding="utf-8") == text_of(page), "write it again: python tests/notebooks.py"
    assert f"notebooks/{page}.ipynb" in (DOCS / f"{page}.md").read_text(encoding="utf-8")


@pytest.mark.share(3)
@pytest.mark.parametrize("page", NOTEBOOKS)
def test_all_cells_of_a_notebook_run_and_print_what_it_says(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In IPython, as a notebook's kernel runs them: what a cell ends with is shown as a widget, or as a page."""
    shell_of = pytest.importorskip("IPython.core.interactiveshell", reason="pip install scanopt[notebook]")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)  # of another environment IPython warns
    shell = shell_of.InteractiveShell()
    book = json.loads((DOCS / "notebooks" / f"{page}.ipynb").read_text(encoding="utf-8"))
    shown: list[object] = []
    shell.displayhook.write_format_data = lambda data, md=None: shown.append(data)
    for cell in (x for x in book["cells"] if x["cell_type"] == "code"):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            done = shell.run_cell(cell["source"])
        assert done.success, done.error_in_exec
        if cell is not book["cells"][-1]:
            told = "".join(x["text"] for x in cell["outputs"])
            assert _PLACE.sub("(here:", said.getvalue()).strip() == _PLACE.sub("(here:", told).strip()
    live = shell.user_ns["live"]
    live.close()
    _OPEN.clear()
    assert "how scanopt compiled it" in live._repr_html_()
    bundle = live._repr_mimebundle_()
    assert {"application/vnd.jupyter.widget-view+json", "text/html"} & {
        *(bundle[0] if type(bundle) is tuple else bundle)
    }


def test_gallery_is_up_to_date() -> None:
    for name, text in gallery().items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, "write it again: python tests/gallery_page.py"


def test_api_has_every_public_name_and_is_up_to_date() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    assert page == api_page(), "write it again: python tests/api_page.py > docs/api.md"
    assert " at 0x" not in page


def unnamed(x: Any) -> list[str]:
    """The parameters that a docstring does not speak of."""
    try:
        parameters = inspect.signature(x).parameters.values()
    except (TypeError, ValueError):
        return []
    told = {*re.findall(r"\w+", inspect.getdoc(x) or "")}
    options = {p.name for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD}
    return [p.name for p in parameters if p.name not in told | options]


def test_docstrings_name_all_parameters() -> None:
    public = {n: x for n in scanopt.__all__ if callable(x := getattr(scanopt, n))}
    assert {name: missing for name, x in public.items() if (missing := unnamed(x))} == {}


@pytest.mark.skipif(MKDOCS is None, reason="MkDocs is not installed: pip install scanopt[docs]")
def test_site_builds_without_warnings(tmp_path: Path) -> None:
    assert MKDOCS is not None
    line = [MKDOCS, "build", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    assert len([*(tmp_path / "site").glob("*.html")]) >= len([*DOCS.glob("*.md")])
