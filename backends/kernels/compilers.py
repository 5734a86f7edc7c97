"""Finds a C compiler on this machine, and says how to call it."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import struct
import sys
from functools import cache
from pathlib import Path

from scanopt.backends.kernels.numpy_loops import available
from scanopt.records import dataclass

__all__ = ["LONGEST", "Compiler", "compiler"]

LONGEST = 120.0
"""Seconds after which a compiler is stopped."""
NAMES = ("cc", "gcc", "clang")
FLAGS = (
    "-O3", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno", "-fno-tree-slp-vectorize",
    "-fPIC", "-shared", "-w",
)  # fmt: skip
"""The compiler must not change any rounding: no contraction, no other order of sums.  Integers wrap.
-fno-trapping-math is missing because gcc would then replace a cast to an integer and back by a truncation, which keeps
the sign of -0.5.  -fno-tree-slp-vectorize is there because gcc 12 contracts a difference and a sum of products that
stand side by side when it makes one vector of them.  It also does that in loops that store both side by side, of which
we know products of complex numbers alone (`complex_operations.py`)."""
_OF_GCC = ("-fno-ipa-ra",)
"""gcc does not clear the upper halves of vector registers before it calls a function of the same file that leaves them
alone, and forgets about them: what is called next, as the exp of the C library, took up to 20 times as long."""


@dataclass(frozen=True)
class Compiler:
    """How to call a compiler.  identity: all that its output depends on besides the text: compiler, flags, machine."""

    name: str
    command: tuple[str, ...]
    identity: str
    flags: tuple[str, ...] = FLAGS

    def arguments(self, text: str, out: str) -> list[str]:
        """The command that compiles the file `text` to the shared object `out`."""
        return [*self.command, *self.flags, "-o", out, text, "-lm"]


def compiler() -> Compiler | str:
    """Find a compiler: cc, gcc, clang or the one in the package ziglang; return why not if there is none."""
    return _compiler(os.environ.get("PATH", ""))


@cache
def _compiler(path: str) -> Compiler | str:
    if os.name != "posix" or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return "kernels need a 64-bit, little-endian POSIX system"
    if not available():
        return f"kernels do not know how NumPy {sys.modules['numpy'].__version__} keeps its functions"
    native = "-mcpu=native" if platform.machine() in ("aarch64", "arm64") else "-march=native"
    for name in NAMES:
        found = shutil.which(name, path=path)
        if found:
            return _made(name, (found, native), Path(found))
    zig = importlib.util.find_spec("ziglang")
    if zig is not None and zig.origin:
        return _made("ziglang", (sys.executable, "-m", "ziglang", "cc", native), Path(zig.origin))
    return f"no C compiler was found: neither {', '.join(NAMES)} nor the package ziglang"


def _made(name: str, command: tuple[str, ...], file: Path) -> Compiler:
    real = file.resolve()
    state = real.stat()
    flags = FLAGS + _OF_GCC * (sys.platform == "linux" and "gcc" in real.name)
    parts = [*command, *flags, str(real), str(state.st_mtime_ns), str(state.st_size), platform.machine(), _processor()]
    return Compiler(name, command, "\n".join(parts), flags)


def _processor() -> str:
    """The features of the processor: machines that share a home directory must not share kernels if these differ."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return f"{platform.processor()} {platform.version()}"
    wanted = ("model name", "flags", "Features", "CPU part", "cpu family", "model\t", "stepping")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))
