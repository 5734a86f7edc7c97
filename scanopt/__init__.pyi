"""Written by tests/stubs.py: what type checkers and editors see of this module."""

from scanopt import gradient as gradient
from scanopt import scan_module as scan_module
from scanopt import tensor as tensor
from scanopt.array.constants import shared as shared
from scanopt.array.op import Op as Op
from scanopt.array.op import OpSpec as OpSpec
from scanopt.calculus.cost import register_cost as register_cost
from scanopt.calculus.law import law as law
from scanopt.calculus.schedule import Phase as Phase
from scanopt.calculus.schedule import Schedule as Schedule
from scanopt.calculus.schedule import register_schedule as register_schedule
from scanopt.compiler import function as function
from scanopt.config import config as config
from scanopt.gradient import grad as grad
from scanopt.inputs import In as In
from scanopt.interpreter import interpret as interpret
from scanopt.loops.carry import fori_loop as fori_loop
from scanopt.loops.carry import loop as loop
from scanopt.loops.carry import while_loop as while_loop
from scanopt.loops.checkpoints import scan_checkpoints as scan_checkpoints
from scanopt.loops.derived import filter as filter
from scanopt.loops.derived import foldl as foldl
from scanopt.loops.derived import foldr as foldr
from scanopt.loops.derived import map as map
from scanopt.loops.derived import reduce as reduce
from scanopt.loops.profile import profile_summary as profile_summary
from scanopt.loops.rebuild import clone as clone
from scanopt.loops.scan import scan as scan
from scanopt.loops.until import until as until
from scanopt.modes import Mode as Mode
from scanopt.saved import load as load
from scanopt.tensor import dot as dot
from scanopt.tensor import ifelse as ifelse
from scanopt.view.text import dprint as dprint

__version__: str
