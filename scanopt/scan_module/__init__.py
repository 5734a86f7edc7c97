"""`theano.scan_module`: the place of scan and everything that belongs to it in Theano's documents.

In Aesara and PyTensor this module is `aesara.scan`.  Here `scanopt.scan` is the function, which has the
names of that module as attributes: `scanopt.scan.until`, `scanopt.scan.utils.ScanArgs`.
"""

from scanopt.loops.checkpoints import scan_checkpoints
from scanopt.loops.derived import filter, foldl, foldr, map, reduce
from scanopt.loops.rebuild import clone
from scanopt.loops.scan import scan
from scanopt.loops.scan_lists import scan_args
from scanopt.loops.until import until
from scanopt.scan_module import scan_op, scan_opt, scan_utils, scan_views

__all__ = [
    "clone", "filter", "foldl", "foldr", "map", "reduce", "scan", "scan_args", "scan_checkpoints", "scan_op",
    "scan_opt", "scan_utils", "scan_views", "until",
]  # fmt: skip

vars(scan).update({name: value for name, value in globals().items() if name in __all__})
vars(scan).update(basic=scan_views, checkpoints=scan_views, op=scan_op, utils=scan_utils, views=scan_views)
