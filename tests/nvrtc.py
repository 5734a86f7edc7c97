"""NVIDIA's run-time compiler, which needs no device: from the wheel nvidia-cuda-nvrtc-cu12 or -cu13."""

from __future__ import annotations

import ctypes
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["ARCHITECTURES", "compiled", "missing"]

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")


@cache
def _library() -> Any:
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(p) for p in spec.submodule_search_locations or ()] if spec else []
    found = sorted(p for f in folders for p in f.glob("*/lib/libnvrtc.so.1*") if "builtins" not in p.name)
    if not found:
        return None
    for builtins in found[-1].parent.glob("libnvrtc-builtins.so*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(found[-1]))


def missing() -> str:
    """Why nothing can be compiled, or ""."""
    return "" if _library() is not None else "NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12"


def compiled(text: str, architecture: str, *options: str) -> tuple[bytes, str]:
    """The code for an architecture, empty where the text is wrong, and what the compiler said."""
    lib, program = _library(), ctypes.c_void_p()
    lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    given = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17", *(o.encode() for o in options)]
    code = lib.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
    size = ctypes.c_size_t()
    lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetProgramLog(program, log)
    binary = b""
    if not code:
        lib.nvrtcGetCUBINSize(program, ctypes.byref(size))
        found = ctypes.create_string_buffer(size.value)
        lib.nvrtcGetCUBIN(program, found)
        binary = found.raw
    lib.nvrtcDestroyProgram(ctypes.byref(program))
    return binary, log.value.decode()
