"""Progress: who sees it, what it says, and that nothing is left of it."""

import re
from collections.abc import Callable, Iterator

import pytest

import scanopt
import scanopt.tensor as T
from scanopt import progress
from scanopt.config import config
from scanopt.progress import each, working

Seen = Callable[[], str]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Seen]:
    """What would be seen, from the first moment on, without colours."""
    pytest.importorskip("rich")
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with config.change_flags(progress="always"):
        yield lambda: re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)


def test_parts_are_counted(terminal: Seen) -> None:
    assert list(each("attacking laws", ["one", "two"])) == ["one", "two"]
    seen = terminal()
    assert re.search(r"attacking laws: one .*0/2", seen)
    assert re.search(r"attacking laws: two .*1/2", seen)


def test_compiling_tells_of_its_rounds(terminal: Seen) -> None:
    x = T.dvector("x")
    f = scanopt.function([x], scanopt.map(lambda v: T.exp(v) * 1.0, x)[0])
    assert f([0.0]).tolist() == [1.0]
    assert "applying laws: round 1, " in terminal()


def test_work_inside_other_work_is_shown_below_it(terminal: Seen) -> None:
    with working("outside") as outside:
        outside("first")
        with working("inside", 3) as inside:
            inside("second", 1)
        assert progress._DISPLAY._progress is not None
    assert progress._DISPLAY._progress is None
    assert "outside: first" in terminal()


def test_nothing_is_left_after_an_error(terminal: Seen) -> None:
    def failing() -> None:
        with working("in vain") as tell:
            tell("now")
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert progress._DISPLAY._progress is None


@pytest.mark.parametrize("setting", ["auto", "never"])
def test_nothing_is_shown_where_there_is_no_terminal(
    setting: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with config.change_flags(progress=setting):
        assert list(each("laws", [1, 2])) == [1, 2]
    assert capsys.readouterr().err == ""


def test_short_work_says_nothing(terminal: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 60.0)
    assert list(each("laws", [1, 2])) == [1, 2]
    assert terminal() == ""


def test_other_settings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"config\.progress: expected 'auto', 'always' or 'never', found True"):
        config.progress = True
