"""`theano.scan_module.scan_views`: scan, and its relatives with simpler signatures."""

from scanopt.loops.checkpoints import scan_checkpoints
from scanopt.loops.derived import filter, foldl, foldr, map, reduce
from scanopt.loops.scan import scan

__all__ = ["filter", "foldl", "foldr", "map", "reduce", "scan", "scan_checkpoints"]
