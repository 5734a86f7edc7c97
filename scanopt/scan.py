"""`aesara.scan` and `pytensor.scan` as a place to import from: `from scanopt.scan.utils import until`.

There it is a package; here `scanopt.scan` is the function, which has the names of that package as attributes.
Importing the package gives the function, so nothing depends on whether somebody did.
"""

import sys
from types import ModuleType
from typing import Any

from scanopt.scan_module import scan

_names: dict[str, Any] = vars(scan)
_here: dict[str, Any] = {f"{__name__}.{name}": x for name, x in _names.items() if isinstance(x, ModuleType)}
_here[__name__] = scan
sys.modules.update(_here)
