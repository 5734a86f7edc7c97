"""The options of a call of scan, checked and in one form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from scanopt.loops.node import Requirement
from scanopt.loops.site import Site, is_truth, show
from scanopt.modes import as_mode
from scanopt.records import dataclass

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """The options of a call that a Scan node keeps beside its slots, as the user gave them.

    mode: how the loop is optimized, None for the mode of the function.  profile: True or a title.
    allow_gc: whether the loop's buffers are freed after a call, None for `config.scan.allow_gc`.
    bounded: whether the loop is one over the chunks of `scan_checkpoints`.  requires: checks to do when it runs.
    """

    name: Any = None
    truncate_gradient: Any = -1
    go_backwards: Any = False
    strict: Any = False
    mode: Any = None
    profile: Any = False
    allow_gc: Any = None
    bounded: bool = False
    requires: tuple[Requirement, ...] = ()

    def checked(self, site: Site) -> Options:
        """The options in normal form: mode is a Mode or None, profile the title or "".

        Raises TypeError or ValueError for options of a wrong type or value.
        """
        _check_name(site, self.name)
        _check_truncation(site, self.truncate_gradient)
        for flag in ("go_backwards", "strict"):
            check_truth(site, flag, getattr(self, flag))
        if self.allow_gc is not None:
            check_truth(site, "allow_gc", self.allow_gc, "True, False or None")
        try:
            mode = None if self.mode is None else as_mode(self.mode)
        except (TypeError, ValueError) as error:
            raise site.error(type(error), str(error)) from None
        backwards, gc = bool(self.go_backwards), None if self.allow_gc is None else bool(self.allow_gc)
        return replace(self, mode=mode, profile=self._title(site), go_backwards=backwards, allow_gc=gc)

    def _title(self, site: Site) -> str:
        """The title under which the profile is collected, "" for none."""
        if isinstance(self.profile, str):
            return self.profile
        check_truth(site, "profile", self.profile, "True, False or a title")
        if not self.profile:
            return ""
        return self.name or f"{site.function} at {site.location}"


def check_truth(site: Site, option: str, value: Any, expected: str = "True or False") -> None:
    """Raise TypeError unless the value is a truth value."""
    if not is_truth(value):
        raise site.error(TypeError, f"{option} must be {expected}, found {show(value)}")


def _check_name(site: Site, name: Any) -> None:
    if name is not None and not isinstance(name, str):
        raise site.error(TypeError, f"name must be a string, found {show(name)}")


def _check_truncation(site: Site, steps: Any) -> None:
    if not isinstance(steps, int | np.integer) or isinstance(steps, bool):
        raise site.error(TypeError, f"truncate_gradient must be an integer, found {show(steps)}")
    if steps != -1 and steps < 1:
        raise site.error(
            ValueError, f"truncate_gradient must be -1 (all steps) or a number of steps from 1 up, found {steps}"
        )
