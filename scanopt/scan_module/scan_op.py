"""`theano.scan_module.scan_op`: the node of a loop, and its operator."""

from scanopt.loops.node import Scan
from scanopt.loops.scan_info import ScanInfo
from scanopt.loops.scan_op import ScanOp

__all__ = ["Scan", "ScanInfo", "ScanOp"]
