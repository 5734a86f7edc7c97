"""Shares of tests: what `make test` leaves out, and that it is tried in the end."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import shares
from slow_tests import slow

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Item:
    """What is looked at of a test."""

    name: str
    path: Path = Path("test_steps.py")
    mark: Any = field(default=None, compare=False)

    @property
    def nodeid(self) -> str:
        return f"{self.path}::{self.name}"

    def get_closest_marker(self, name: str) -> Any:
        return self.mark if self.mark and self.mark.name == name else None


def test_slow_tests_exist() -> None:
    for name in (HERE / "slow.txt").read_text(encoding="utf-8").split():
        file, _, test = name.partition("::")
        assert re.search(rf"^def {test}\(", (HERE / file).read_text(encoding="utf-8"), re.M), (
            f"{name}: `make slow-list`"
        )


def test_other_libraries_have_other_shares(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "slow.txt").write_text("test_steps.py::test_slow\n", encoding="utf-8")
    monkeypatch.setattr(shares, "_SLOW", tmp_path / "slow.txt")
    monkeypatch.setattr(shares, "EVERYTHING", False)
    monkeypatch.setattr(shares, "FEW", True)
    items: list[Any] = [Item(f"test_slow[{k}]") for k in range(10)] + [Item("test_quick")]
    tried = set[Any]()
    for library in range(40):
        monkeypatch.setattr(shares, "_library", lambda library=library: library)
        left = shares.left_out(items)
        assert len(left) == 8
        assert left == shares.left_out(reversed(items))
        tried |= set(items) - left
    assert tried == set(items)


def test_one_in_n_of_the_cases_of_each_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "EVERYTHING", False)
    items: list[Any] = [Item(f"test_{x}[{k}]", mark=pytest.mark.share(4)) for x in "ab" for k in range(6)]
    items += [Item("test_c", mark=pytest.mark.thorough), Item("test_d")]
    kept = [x for x in items if x not in shares.left_out(items)]
    assert sorted(x.name.partition("[")[0] for x in kept) == ["test_a", "test_a", "test_b", "test_b", "test_d"]
    monkeypatch.setattr(shares, "EVERYTHING", True)
    assert not shares.left_out(items)


def test_slow_tests_of_a_report(tmp_path: Path) -> None:
    case = '<testcase classname="{}" name="{}" time="{}"/>'.format
    cases = [case("tests.test_a", f"test_x[{k}]", 0.3 + 0.3 * k) for k in range(2)]
    cases += [case("tests.test_a", "test_y", 0.1), case("tests.test_a", "test_what_went_wrong_once[1]", 9)]
    cases += [case("scanopt.array", "scanopt.array.exp", 9), case("", "test_b.py", 0)]
    (tmp_path / "times.xml").write_text(f"<testsuites>{''.join(cases)}</testsuites>", encoding="utf-8")
    assert slow(str(tmp_path / "times.xml")) == ["test_a.py::test_x"]
