"""What users see of a loop, or of a whole program: its kernels, or why it has none (`f.kernels`)."""

from __future__ import annotations

from scanopt.records import dataclass

__all__ = ["ONCE", "LoopReport", "segment_label"]

ONCE = "the program"
"""The label of the loop of one step that stands for a whole program."""
_SEGMENT = "a segment of "


def segment_label(count: int) -> str:
    """The label of the loop of one step that stands for operators outside loops."""
    return f"{_SEGMENT}{count} operators"


@dataclass(frozen=True)
class LoopReport:
    """The outcome for one loop.

    texts: its kernels as they are compiled, one for each pattern of lengths met.  shown: the same for readers, with the
    lines of the program as comments.  memory: bytes of scratch memory, for the largest sizes met so far.  threads: on
    how many threads it runs, and why on no more.
    """

    loop: str
    state: str
    texts: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    memory: int = 0
    threads: str = ""

    def __str__(self) -> str:
        what = self.loop if self.loop == ONCE or self.loop.startswith(_SEGMENT) else f"loop {self.loop!r}"
        state = "; ".join(filter(None, (self.state, self.threads)))
        return "\n".join([f"{what}: {state}", *(self.shown or self.texts)])
