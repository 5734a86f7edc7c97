"""ScanInfo: the number of slots of each kind, and their taps, as Theano and Aesara give them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from scanopt.records import dataclass

__all__ = ["INFO", "ScanInfo", "Taps"]

Taps = tuple[int, ...]


@dataclass(frozen=True)
class ScanInfo:
    """How many slots of each kind a loop has, and at which steps each reads and writes.

    Source: Aesara's `ScanInfo`, and `info` of Theano's Scan.

    >>> from scanopt import scan, tensor as T
    >>> xs, _ = scan(lambda u, x: u + x, T.vector("u"), outputs_info=T.scalar("x0"))
    >>> info = xs.owner.op.info
    >>> info.n_sit_sot, info["n_seqs"], info.tap_array
    (1, 1, ((-1,),))
    """

    n_seqs: int
    mit_mot_in_slices: tuple[Taps, ...]
    mit_mot_out_slices: tuple[Taps, ...]
    mit_sot_in_slices: tuple[Taps, ...]
    sit_sot_in_slices: tuple[Taps, ...]
    n_nit_sot: int
    n_shared_outs: int
    n_non_seqs: int
    as_while: bool

    @property
    def n_mit_mot(self) -> int:
        """How many mit-mots there are."""
        return len(self.mit_mot_in_slices)

    @property
    def n_mit_mot_outs(self) -> int:
        """How many results of a step are written into mit-mots."""
        return sum(map(len, self.mit_mot_out_slices))

    @property
    def n_mit_sot(self) -> int:
        """How many mit-sots there are."""
        return len(self.mit_sot_in_slices)

    @property
    def n_sit_sot(self) -> int:
        """How many sit-sots there are."""
        return len(self.sit_sot_in_slices)

    @property
    def n_outs(self) -> int:
        """How many mit-mots, mit-sots and sit-sots there are."""
        return len(self.tap_array)

    @property
    def tap_array(self) -> tuple[Taps, ...]:
        """At which steps each mit-mot, mit-sot and sit-sot is read."""
        return (*self.mit_mot_in_slices, *self.mit_sot_in_slices, *self.sit_sot_in_slices)

    def __getitem__(self, name: str) -> Any:
        """A field by name, as in Theano, where info is a dict: `info["n_seqs"]`.  Raises KeyError."""
        if isinstance(name, str) and name in INFO:
            return getattr(self, name)
        raise KeyError(name)


INFO = (
    *(f.name for f in fields(ScanInfo)),
    "n_mit_mot",
    "n_mit_mot_outs",
    "n_mit_sot",
    "n_sit_sot",
    "n_outs",
    "tap_array",
)
"""The names of the fields of a ScanInfo."""
