"""Written by tests/stubs.py: what type checkers and editors see of this module."""

from scanopt.array.at import At as At
from scanopt.array.entries import FUNCTIONS as FUNCTIONS
from scanopt.array.random.stream import RandomStream as RandomStream
from scanopt.array.random.streams import MRG_RandomStreams as MRG_RandomStreams
from scanopt.array.random.streams import RandomStreams as RandomStreams
from scanopt.array.standard import namespace as namespace
from scanopt.array.variable import Variable as Variable
from scanopt.bridges.jaxprs.writing import as_jax as as_jax
from scanopt.bridges.onnx_models.writing import to_onnx as to_onnx
from scanopt.compilation.explanation import record as record
from scanopt.compilation.explanation import told as told
from scanopt.compilation.function import function as function
from scanopt.egraph.queries import queries as queries
from scanopt.history.document import history as history
from scanopt.lab.growth import growth as growth
from scanopt.lab.law_probe import IdleLaws as IdleLaws
from scanopt.lab.why_not import why_not as why_not
from scanopt.loops.carry import loop as loop
from scanopt.loops.checks_and_prints import Assert as Assert
from scanopt.loops.derived import foldl as foldl
from scanopt.loops.derived import map as map
from scanopt.loops.scan import scan as scan
from scanopt.program.text import program_text as program_text
from scanopt.scale.dask_arrays import map_blocks as map_blocks
from scanopt.view.notebook import html as html
from scanopt.view.page import page_html as page_html
from scanopt.view.widget import page_widget as page_widget

FEATURES: dict[str, str]
