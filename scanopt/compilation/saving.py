"""Functions as text for JSON files: what `f.save(path)` writes and `scanopt.load(path)` reads."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from scanopt.compilation.inputs import In
from scanopt.program.ir import Const
from scanopt.program.reading import Json
from scanopt.program.serial import const_data, program_data

if TYPE_CHECKING:
    from scanopt.compilation.callable import Runnable

__all__ = ["FORMAT", "VERSION", "digest", "text_of"]

FORMAT, VERSION = "scanopt function", 1


def text_of(f: Runnable) -> str:
    """A function as the text of its file.  Raises ValueError for a dtype that the format does not know."""
    s = f._signature
    shared = {x: i for i, x in enumerate(dict.fromkeys((*s.shared, *s.updates)))}
    data = {
        "format": FORMAT,
        "version": VERSION,
        "name": f.name,
        "backend": f.backend,
        "inputs": [_input(x, value) for x, value in zip(s.slots, s.defaults, strict=True)],
        "shared": [const_data(Const(x.name or "", x.get_value(borrow=True))) for x in shared],
        "reads": [shared[x] for x in s.shared],
        "updates": [shared[x] for x in s.updates],
        "form": s.form,
        "keys": list(s.keys),
        "program": program_data(f.program),
    }
    return json.dumps(data | {"sha256": digest(data)}, indent=1, allow_nan=False)


def _input(x: In, value: Any) -> Json:
    return {
        "name": x.name,
        "variable": x.variable.name,
        "strict": x.strict,
        "allow_downcast": x.allow_downcast,
        "value": None if value is None else const_data(Const("", value)),
        "updated": x.update is not None,
    }


def digest(data: Json) -> str:
    """The checksum of a file's data, without the checksum itself."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()
