"""Written by tests/stubs.py: what type checkers and editors see of this module."""

from collections.abc import Iterable
from collections.abc import Sequence
from scanopt.array import fft as _fft
from scanopt.array import linalg as _linalg
from scanopt.array import nnet as _nnet
from scanopt.array import special as _special
from scanopt.array.constants import as_tensor_variable as as_tensor_variable
from scanopt.array.constants import constant as constant
from scanopt.array.constants import shared as shared
from scanopt.array.constants import tensor as tensor
from scanopt.array.functions.axes import atleast_3d as atleast_3d
from scanopt.array.functions.axes import fliplr as fliplr
from scanopt.array.functions.axes import flipud as flipud
from scanopt.array.functions.axes import rollaxis as rollaxis
from scanopt.array.functions.axes import rot90 as rot90
from scanopt.array.functions.changing import append as append
from scanopt.array.functions.changing import delete as delete
from scanopt.array.functions.changing import fill_diagonal as fill_diagonal
from scanopt.array.functions.changing import insert as insert
from scanopt.array.functions.changing import put_along_axis as put_along_axis
from scanopt.array.functions.changing import resize as resize
from scanopt.array.functions.choosing import apply_along_axis as apply_along_axis
from scanopt.array.functions.choosing import apply_over_axes as apply_over_axes
from scanopt.array.functions.choosing import choose as choose
from scanopt.array.functions.choosing import piecewise as piecewise
from scanopt.array.functions.choosing import select as select
from scanopt.array.functions.comparing import allclose as allclose
from scanopt.array.functions.comparing import array_equal as array_equal
from scanopt.array.functions.comparing import array_equiv as array_equiv
from scanopt.array.functions.comparing import isclose as isclose
from scanopt.array.functions.comparing import iscomplex as iscomplex
from scanopt.array.functions.comparing import isneginf as isneginf
from scanopt.array.functions.comparing import isposinf as isposinf
from scanopt.array.functions.comparing import isreal as isreal
from scanopt.array.functions.differences import ediff1d as ediff1d
from scanopt.array.functions.differences import gradient as gradient
from scanopt.array.functions.differences import interp as interp
from scanopt.array.functions.differences import trapezoid as trapezoid
from scanopt.array.functions.differences import unwrap as unwrap
from scanopt.array.functions.dtypes import can_cast as can_cast
from scanopt.array.functions.dtypes import common_type as common_type
from scanopt.array.functions.dtypes import iscomplexobj as iscomplexobj
from scanopt.array.functions.dtypes import isrealobj as isrealobj
from scanopt.array.functions.dtypes import result_type as result_type
from scanopt.array.functions.einsum import einsum as einsum
from scanopt.array.functions.elements import angle as angle
from scanopt.array.functions.elements import fix as fix
from scanopt.array.functions.elements import nan_to_num as nan_to_num
from scanopt.array.functions.elements import real_if_close as real_if_close
from scanopt.array.functions.grids import broadcast_arrays as broadcast_arrays
from scanopt.array.functions.grids import broadcast_shapes as broadcast_shapes
from scanopt.array.functions.grids import geomspace as geomspace
from scanopt.array.functions.grids import indices as indices
from scanopt.array.functions.grids import ix_ as ix_
from scanopt.array.functions.grids import linspace as linspace
from scanopt.array.functions.grids import logspace as logspace
from scanopt.array.functions.grids import meshgrid as meshgrid
from scanopt.array.functions.indices import diag_indices as diag_indices
from scanopt.array.functions.indices import diag_indices_from as diag_indices_from
from scanopt.array.functions.indices import mask_indices as mask_indices
from scanopt.array.functions.indices import ravel_multi_index as ravel_multi_index
from scanopt.array.functions.indices import tril_indices as tril_indices
from scanopt.array.functions.indices import tril_indices_from as tril_indices_from
from scanopt.array.functions.indices import triu_indices as triu_indices
from scanopt.array.functions.indices import triu_indices_from as triu_indices_from
from scanopt.array.functions.indices import unravel_index as unravel_index
from scanopt.array.functions.joining import block as block
from scanopt.array.functions.joining import column_stack as column_stack
from scanopt.array.functions.joining import dstack as dstack
from scanopt.array.functions.making import array as array
from scanopt.array.functions.making import asarray as asarray
from scanopt.array.functions.making import ascontiguousarray as ascontiguousarray
from scanopt.array.functions.making import empty as empty
from scanopt.array.functions.making import fromfunction as fromfunction
from scanopt.array.functions.making import identity as identity
from scanopt.array.functions.making import tri as tri
from scanopt.array.functions.matrices import cross as cross
from scanopt.array.functions.matrices import diagflat as diagflat
from scanopt.array.functions.matrices import kron as kron
from scanopt.array.functions.matrices import vander as vander
from scanopt.array.functions.padding import pad as pad
from scanopt.array.functions.polynomials import poly as poly
from scanopt.array.functions.polynomials import polyadd as polyadd
from scanopt.array.functions.polynomials import polyder as polyder
from scanopt.array.functions.polynomials import polydiv as polydiv
from scanopt.array.functions.polynomials import polyfit as polyfit
from scanopt.array.functions.polynomials import polyint as polyint
from scanopt.array.functions.polynomials import polymul as polymul
from scanopt.array.functions.polynomials import polysub as polysub
from scanopt.array.functions.polynomials import polyval as polyval
from scanopt.array.functions.polynomials import roots as roots
from scanopt.array.functions.signals import convolve as convolve
from scanopt.array.functions.signals import correlate as correlate
from scanopt.array.functions.splitting import array_split as array_split
from scanopt.array.functions.splitting import dsplit as dsplit
from scanopt.array.functions.splitting import hsplit as hsplit
from scanopt.array.functions.splitting import split as split
from scanopt.array.functions.splitting import unstack as unstack
from scanopt.array.functions.splitting import vsplit as vsplit
from scanopt.array.functions.windows import bartlett as bartlett
from scanopt.array.functions.windows import blackman as blackman
from scanopt.array.functions.windows import hamming as hamming
from scanopt.array.functions.windows import hanning as hanning
from scanopt.array.functions.windows import kaiser as kaiser
from scanopt.array.linalg_norms import norm as norm
from scanopt.array.linalg_norms import norm_of_elements as norm_of_elements
from scanopt.array.linalg_products import matrix_transpose as matrix_transpose
from scanopt.array.nnet_convolutions import sliding_window_view as sliding_window_view
from scanopt.array.operators.axes import atleast_1d as atleast_1d
from scanopt.array.operators.axes import atleast_2d as atleast_2d
from scanopt.array.operators.axes import dimshuffle as dimshuffle
from scanopt.array.operators.axes import moveaxis as moveaxis
from scanopt.array.operators.axes import shape_padaxis as shape_padaxis
from scanopt.array.operators.axes import shape_padleft as shape_padleft
from scanopt.array.operators.axes import shape_padright as shape_padright
from scanopt.array.operators.axes import swapaxes as swapaxes
from scanopt.array.operators.broadcasting import broadcast_to as broadcast_to
from scanopt.array.operators.control import ifelse as ifelse
from scanopt.array.operators.creation import alloc as alloc
from scanopt.array.operators.creation import arange as arange
from scanopt.array.operators.creation import empty_like as empty_like
from scanopt.array.operators.creation import eye as eye
from scanopt.array.operators.creation import full as full
from scanopt.array.operators.creation import full_like as full_like
from scanopt.array.operators.creation import identity_like as identity_like
from scanopt.array.operators.creation import tril as tril
from scanopt.array.operators.creation import triu as triu
from scanopt.array.operators.cumaffine import cumaffine as cumaffine
from scanopt.array.operators.elementwise import cast as cast
from scanopt.array.operators.elementwise import clip as clip
from scanopt.array.operators.elementwise import imag as imag
from scanopt.array.operators.elementwise import modf as modf
from scanopt.array.operators.elementwise import real as real
from scanopt.array.operators.elementwise import sigmoid as sigmoid
from scanopt.array.operators.elementwise import switch as switch
from scanopt.array.operators.frexp import frexp as frexp
from scanopt.array.operators.gradient import disconnected_grad as disconnected_grad
from scanopt.array.operators.gradient import grad_clip as grad_clip
from scanopt.array.operators.gradient import grad_scale as grad_scale
from scanopt.array.operators.gradient import zero_grad as zero_grad
from scanopt.array.operators.joining import concatenate as concatenate
from scanopt.array.operators.joining import hstack as hstack
from scanopt.array.operators.joining import join as join
from scanopt.array.operators.joining import repeat as repeat
from scanopt.array.operators.joining import stack as stack
from scanopt.array.operators.joining import tile as tile
from scanopt.array.operators.joining import vstack as vstack
from scanopt.array.operators.lengths import ndim as ndim
from scanopt.array.operators.lengths import shape as shape
from scanopt.array.operators.lengths import size as size
from scanopt.array.operators.nnet import binary_crossentropy as binary_crossentropy
from scanopt.array.operators.nnet import categorical_crossentropy as categorical_crossentropy
from scanopt.array.operators.nnet import elu as elu
from scanopt.array.operators.nnet import logsoftmax as logsoftmax
from scanopt.array.operators.nnet import logsumexp as logsumexp
from scanopt.array.operators.nnet import relu as relu
from scanopt.array.operators.nnet import sigmoid_binary_crossentropy as sigmoid_binary_crossentropy
from scanopt.array.operators.nnet import softplus as softplus
from scanopt.array.operators.products import batched_dot as batched_dot
from scanopt.array.operators.products import batched_tensordot as batched_tensordot
from scanopt.array.operators.products import dot as dot
from scanopt.array.operators.products import inner as inner
from scanopt.array.operators.products import matmul as matmul
from scanopt.array.operators.products import matvec as matvec
from scanopt.array.operators.products import outer as outer
from scanopt.array.operators.products import tensordot as tensordot
from scanopt.array.operators.products import vdot as vdot
from scanopt.array.operators.products import vecdot as vecdot
from scanopt.array.operators.products import vecmat as vecmat
from scanopt.array.operators.reductions import softmax as softmax
from scanopt.array.operators.selecting import copy as copy
from scanopt.array.operators.selecting import diag as diag
from scanopt.array.operators.selecting import diagonal as diagonal
from scanopt.array.operators.selecting import diff as diff
from scanopt.array.operators.selecting import flip as flip
from scanopt.array.operators.selecting import roll as roll
from scanopt.array.operators.selecting import take as take
from scanopt.array.operators.selecting import take_along_axis as take_along_axis
from scanopt.array.operators.selecting import trace as trace
from scanopt.array.operators.shaping import expand_dims as expand_dims
from scanopt.array.operators.shaping import flatten as flatten
from scanopt.array.operators.shaping import ravel as ravel
from scanopt.array.operators.shaping import reshape as reshape
from scanopt.array.operators.shaping import squeeze as squeeze
from scanopt.array.operators.shaping import transpose as transpose
from scanopt.array.operators.specify_shape import addbroadcast as addbroadcast
from scanopt.array.operators.specify_shape import patternbroadcast as patternbroadcast
from scanopt.array.operators.specify_shape import specify_shape as specify_shape
from scanopt.array.operators.specify_shape import unbroadcast as unbroadcast
from scanopt.array.operators.subtensor import inc_subtensor as inc_subtensor
from scanopt.array.operators.subtensor import set_subtensor as set_subtensor
from scanopt.array.random import functions as _functions
from scanopt.array.random import streams as _streams
from scanopt.array.special import digamma as digamma
from scanopt.array.special import expit as expit
from scanopt.array.special import i0 as i0
from scanopt.array.special import polygamma as polygamma
from scanopt.array.special import sinc as sinc
from scanopt.array.statistics.along import argsort as argsort
from scanopt.array.statistics.along import max_and_argmax as max_and_argmax
from scanopt.array.statistics.along import sort as sort
from scanopt.array.statistics.averages import average as average
from scanopt.array.statistics.averages import corrcoef as corrcoef
from scanopt.array.statistics.averages import cov as cov
from scanopt.array.statistics.finding import argwhere as argwhere
from scanopt.array.statistics.finding import compress as compress
from scanopt.array.statistics.finding import count_nonzero as count_nonzero
from scanopt.array.statistics.finding import extract as extract
from scanopt.array.statistics.finding import flatnonzero as flatnonzero
from scanopt.array.statistics.finding import nonzero as nonzero
from scanopt.array.statistics.finding import trim_zeros as trim_zeros
from scanopt.array.statistics.histograms import histogram as histogram
from scanopt.array.statistics.histograms import histogram2d as histogram2d
from scanopt.array.statistics.histograms import histogram_bin_edges as histogram_bin_edges
from scanopt.array.statistics.histograms import histogramdd as histogramdd
from scanopt.array.statistics.ordering import argpartition as argpartition
from scanopt.array.statistics.ordering import lexsort as lexsort
from scanopt.array.statistics.ordering import partition as partition
from scanopt.array.statistics.ordering import sort_complex as sort_complex
from scanopt.array.statistics.quantiles import median as median
from scanopt.array.statistics.quantiles import nanmedian as nanmedian
from scanopt.array.statistics.reductions import ptp as ptp
from scanopt.array.statistics.searching import bincount as bincount
from scanopt.array.statistics.searching import digitize as digitize
from scanopt.array.statistics.searching import searchsorted as searchsorted
from scanopt.array.statistics.sets import intersect1d as intersect1d
from scanopt.array.statistics.sets import isin as isin
from scanopt.array.statistics.sets import setdiff1d as setdiff1d
from scanopt.array.statistics.sets import setxor1d as setxor1d
from scanopt.array.statistics.sets import union1d as union1d
from scanopt.array.statistics.sets import unique as unique
from scanopt.array.statistics.sets import unique_all as unique_all
from scanopt.array.statistics.sets import unique_counts as unique_counts
from scanopt.array.statistics.sets import unique_inverse as unique_inverse
from scanopt.array.statistics.sets import unique_values as unique_values
from scanopt.array.statistics.without_nan import nancumprod as nancumprod
from scanopt.array.statistics.without_nan import nancumsum as nancumsum
from scanopt.array.statistics.without_nan import nanmean as nanmean
from scanopt.array.statistics.without_nan import nanprod as nanprod
from scanopt.array.statistics.without_nan import nanstd as nanstd
from scanopt.array.statistics.without_nan import nansum as nansum
from scanopt.array.statistics.without_nan import nanvar as nanvar
from scanopt.array.theano_functions import NotScalarConstantError as NotScalarConstantError
from scanopt.array.theano_functions import atleast_Nd as atleast_Nd
from scanopt.array.theano_functions import ceil_intdiv as ceil_intdiv
from scanopt.array.theano_functions import chi2sf as chi2sf
from scanopt.array.theano_functions import complex_from_polar as complex_from_polar
from scanopt.array.theano_functions import fill_diagonal_offset as fill_diagonal_offset
from scanopt.array.theano_functions import gammal as gammal
from scanopt.array.theano_functions import gammau as gammau
from scanopt.array.theano_functions import get_scalar_constant_value as get_scalar_constant_value
from scanopt.array.theano_functions import get_vector_length as get_vector_length
from scanopt.array.theano_functions import hard_sigmoid as hard_sigmoid
from scanopt.array.theano_functions import horizontal_stack as horizontal_stack
from scanopt.array.theano_functions import inverse_permutation as inverse_permutation
from scanopt.array.theano_functions import iround as iround
from scanopt.array.theano_functions import log1mexp as log1mexp
from scanopt.array.theano_functions import log1pexp as log1pexp
from scanopt.array.theano_functions import matrix_dot as matrix_dot
from scanopt.array.theano_functions import mgrid as mgrid
from scanopt.array.theano_functions import nonzero_values as nonzero_values
from scanopt.array.theano_functions import ogrid as ogrid
from scanopt.array.theano_functions import round_half_away_from_zero as round_half_away_from_zero
from scanopt.array.theano_functions import shape_i as shape_i
from scanopt.array.theano_functions import softsign as softsign
from scanopt.array.theano_functions import stacklists as stacklists
from scanopt.array.theano_functions import to_one_hot as to_one_hot
from scanopt.array.theano_functions import tri_gamma as tri_gamma
from scanopt.array.theano_functions import vertical_stack as vertical_stack
from scanopt.array.theano_functions import xlogx as xlogx
from scanopt.array.types import Dim
from scanopt.array.types import TensorType as TensorType
from scanopt.array.variable import Constant as Constant
from scanopt.array.variable import SharedVariable as SharedVariable
from scanopt.array.variable import Variable
from scanopt.array.variable import Variable as Variable
from scanopt.gradient import Lop as Lop
from scanopt.gradient import Rop as Rop
from scanopt.gradient import grad as grad
from scanopt.gradient import hessian as hessian
from scanopt.gradient import jacobian as jacobian
from scanopt.gradient import verify_grad as verify_grad
from scanopt.loops.vectorize import vectorize as vectorize
from scanopt.scan_module import scan as scan
from typing import Any
import numpy as np

pi: float
e: float
inf: float
nan: float
newaxis: None
int_dtypes: list[str]
uint_dtypes: list[str]
float_dtypes: list[str]
complex_dtypes: list[str]
integer_dtypes: list[str]
discrete_dtypes: list[str]
continuous_dtypes: list[str]
all_dtypes: list[str]
basic: Any
math: Any
extra_ops: Any
nlinalg: Any
slinalg: Any
subtensor: Any
type: Any
variable: Any
sharedvar: Any
exceptions: Any
raw_random: Any
TensorVariable = Variable
TensorConstant = Constant
TensorSharedVariable = SharedVariable
pullback = Lop
pushforward = Rop
fft = _fft
linalg = _linalg
nnet = _nnet
random = _functions
special = _special
shared_randomstreams = _streams

def abs(x: Any) -> Variable:
    """np.absolute of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def abs_(x: Any) -> Variable:
    """np.absolute of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def absolute(x: Any) -> Variable:
    """np.absolute of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def acos(x: Any) -> Variable:
    """np.arccos of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def acosh(x: Any) -> Variable:
    """np.arccosh of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def add(x: Any, *more: Any) -> Variable:
    """np.add of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def all(a: Any, axis: Any = ..., out: None = ..., keepdims: bool = ..., *, where: Any = ...) -> Variable:
    """Whether every element over axis (an int, several, or None for all) is not 0: bool."""

def amax(a: Any, axis: Any = ..., out: None = ..., keepdims: bool = ..., initial: Any = ..., where: Any = ...) -> Variable:
    """The greatest element over axis: an int, several, or None for all; NaN where one is NaN."""

def amin(a: Any, axis: Any = ..., out: None = ..., keepdims: bool = ..., initial: Any = ..., where: Any = ...) -> Variable:
    """The least element over axis: an int, several, or None for all; NaN where one is NaN."""

def and_(x: Any, *more: Any) -> Variable:
    """np.bitwise_and of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def any(a: Any, axis: Any = ..., out: None = ..., keepdims: bool = ..., *, where: Any = ...) -> Variable:
    """Whether any element over axis (an int, several, or None for all) is not 0: bool."""

def arccos(x: Any) -> Variable:
    """np.arccos of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def arccosh(x: Any) -> Variable:
    """np.arccosh of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def arcsin(x: Any) -> Variable:
    """np.arcsin of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def arcsinh(x: Any) -> Variable:
    """np.arcsinh of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def arctan(x: Any) -> Variable:
    """np.arctan of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def arctan2(x: Any, y: Any) -> Variable:
    """np.arctan2 of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def arctanh(x: Any) -> Variable:
    """np.arctanh of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def argmax(a: Any, axis: int | None = ..., out: None = ..., *, keepdims: bool = ...) -> Variable:
    """The first place of the greatest element along axis, of all elements in order where it is None: int64."""

def argmin(a: Any, axis: int | None = ..., out: None = ..., *, keepdims: bool = ...) -> Variable:
    """The first place of the least element along axis, of all elements in order where it is None: int64."""

def around(x: Any, decimals: Any = ..., mode: str | None = ...) -> Variable:
    """x rounded to a number of decimals, halves to even."""

def as_tensor(x: Any, name: str | None = ..., ndim: int | None = ..., dtype: str | None = ...) -> Variable:
    """x as a symbolic array; a variable stays as it is."""

def asanyarray(a: Any, dtype: Any = ..., order: Any = ..., *, device: Any = ..., copy: Any = ..., like: Any = ...) -> Variable:
    """A symbolic array as it is, anything else as by `array`."""

def asfortranarray(a: Any, dtype: Any = ..., *, like: Any = ...) -> Variable:
    """As `asarray`, with at least one axis."""

def asin(x: Any) -> Variable:
    """np.arcsin of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def asinh(x: Any) -> Variable:
    """np.arcsinh of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def astype(x: Any, dtype: Any) -> Variable:
    """x with another dtype, as `astype`; x itself where it has that dtype."""

def atan(x: Any) -> Variable:
    """np.arctan of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def atan2(x: Any, y: Any) -> Variable:
    """np.arctan2 of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def atanh(x: Any) -> Variable:
    """np.arctanh of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def bcol(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype int8."""

def bcols(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `bcol`, by names, or a list of them (or a number)."""

def betainc(*args: Any) -> Variable:
    """scipy.special.betainc of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def bitwise_and(x: Any, *more: Any) -> Variable:
    """np.bitwise_and of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def bitwise_count(x: Any) -> Variable:
    """np.bitwise_count of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def bitwise_invert(x: Any) -> Variable:
    """np.invert of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def bitwise_left_shift(x: Any, y: Any) -> Variable:
    """np.left_shift of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def bitwise_not(x: Any) -> Variable:
    """np.invert of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def bitwise_or(x: Any, *more: Any) -> Variable:
    """np.bitwise_or of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def bitwise_right_shift(x: Any, y: Any) -> Variable:
    """np.right_shift of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def bitwise_xor(x: Any, *more: Any) -> Variable:
    """np.bitwise_xor of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def bmatrices(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `bmatrix`, by names, or a list of them (or a number)."""

def bmatrix(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype int8."""

def brow(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype int8."""

def brows(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `brow`, by names, or a list of them (or a number)."""

def bscalar(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 0 axes, dtype int8."""

def bscalars(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `bscalar`, by names, or a list of them (or a number)."""

def btensor3(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 3 axes, dtype int8."""

def btensor3s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `btensor3`, by names, or a list of them (or a number)."""

def btensor4(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 4 axes, dtype int8."""

def btensor4s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `btensor4`, by names, or a list of them (or a number)."""

def btensor5(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 5 axes, dtype int8."""

def btensor5s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `btensor5`, by names, or a list of them (or a number)."""

def bvector(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 1 axis, dtype int8."""

def bvectors(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `bvector`, by names, or a list of them (or a number)."""

def cbrt(x: Any) -> Variable:
    """np.cbrt of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def ccol(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype complex64."""

def ccols(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ccol`, by names, or a list of them (or a number)."""

def ceil(x: Any) -> Variable:
    """np.ceil of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def cmatrices(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `cmatrix`, by names, or a list of them (or a number)."""

def cmatrix(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype complex64."""

def col(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype `config.floatX`."""

def cols(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `col`, by names, or a list of them (or a number)."""

def complex(real: Any, imag: Any) -> Variable:
    """real + 1j * imag."""

def concat(arrays: Any, axis: int | None = ..., *, dtype: Any = ..., casting: Any = ...) -> Variable:
    """Arrays one after the other along an axis (flattened where it is None), cast to dtype if given."""

def conj(x: Any) -> Variable:
    """np.conjugate of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def conjugate(x: Any) -> Variable:
    """np.conjugate of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def consider_constant(x: Any) -> Variable:
    """x, with a gradient of zero: connected, unlike `disconnected_grad`."""

def copysign(x: Any, y: Any) -> Variable:
    """np.copysign of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def cos(x: Any) -> Variable:
    """np.cos of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def cosh(x: Any) -> Variable:
    """np.cosh of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def crow(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype complex64."""

def crows(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `crow`, by names, or a list of them (or a number)."""

def cscalar(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 0 axes, dtype complex64."""

def cscalars(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `cscalar`, by names, or a list of them (or a number)."""

def ctensor3(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 3 axes, dtype complex64."""

def ctensor3s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ctensor3`, by names, or a list of them (or a number)."""

def ctensor4(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 4 axes, dtype complex64."""

def ctensor4s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ctensor4`, by names, or a list of them (or a number)."""

def ctensor5(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 5 axes, dtype complex64."""

def ctensor5s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ctensor5`, by names, or a list of them (or a number)."""

def cummax(a: Any, axis: int | None = ..., dtype: Any = ...) -> Variable:
    """The greatest element so far along axis, over all elements in order where it is None; from a NaN on, NaN."""

def cummin(a: Any, axis: int | None = ..., dtype: Any = ...) -> Variable:
    """The least element so far along axis, over all elements in order where it is None; from a NaN on, NaN."""

def cumprod(a: Any, axis: int | None = ..., dtype: Any = ..., out: None = ...) -> Variable:
    """The running product along axis, over all elements in order where it is None."""

def cumsum(a: Any, axis: int | None = ..., dtype: Any = ..., out: None = ...) -> Variable:
    """The running sum along axis, over all elements in order where it is None."""

def cumulative_prod(x: Any, *, axis: int | None = ..., dtype: Any = ..., out: None = ..., include_initial: bool = ...) -> Variable:
    """np.cumprod along axis (which only a vector may leave out), from 1 on with include_initial."""

def cumulative_sum(x: Any, *, axis: int | None = ..., dtype: Any = ..., out: None = ..., include_initial: bool = ...) -> Variable:
    """np.cumsum along axis (which only a vector may leave out), from 0 on with include_initial."""

def cvector(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 1 axis, dtype complex64."""

def cvectors(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `cvector`, by names, or a list of them (or a number)."""

def dcol(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype float64."""

def dcols(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `dcol`, by names, or a list of them (or a number)."""

def deg2rad(x: Any) -> Variable:
    """np.deg2rad of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def degrees(x: Any) -> Variable:
    """np.degrees of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def divide(x: Any, y: Any) -> Variable:
    """np.divide of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def divmod(x: Any, y: Any) -> tuple[Variable, Variable]:
    """The pair (x // y, x % y)."""

def dmatrices(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `dmatrix`, by names, or a list of them (or a number)."""

def dmatrix(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype float64."""

def drow(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype float64."""

def drows(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `drow`, by names, or a list of them (or a number)."""

def dscalar(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 0 axes, dtype float64."""

def dscalars(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `dscalar`, by names, or a list of them (or a number)."""

def dtensor3(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 3 axes, dtype float64."""

def dtensor3s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `dtensor3`, by names, or a list of them (or a number)."""

def dtensor4(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 4 axes, dtype float64."""

def dtensor4s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `dtensor4`, by names, or a list of them (or a number)."""

def dtensor5(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 5 axes, dtype float64."""

def dtensor5s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `dtensor5`, by names, or a list of them (or a number)."""

def dvector(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 1 axis, dtype float64."""

def dvectors(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `dvector`, by names, or a list of them (or a number)."""

def eq(x: Any, y: Any) -> Variable:
    """np.equal of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def equal(x: Any, y: Any) -> Variable:
    """np.equal of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def erf(*args: Any) -> Variable:
    """scipy.special.erf of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def erfc(*args: Any) -> Variable:
    """scipy.special.erfc of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def erfcinv(*args: Any) -> Variable:
    """scipy.special.erfcinv of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def erfcx(*args: Any) -> Variable:
    """scipy.special.erfcx of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def erfinv(*args: Any) -> Variable:
    """scipy.special.erfinv of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def exp(x: Any) -> Variable:
    """np.exp of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def exp2(x: Any) -> Variable:
    """np.exp2 of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def expm1(x: Any) -> Variable:
    """np.expm1 of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def fabs(x: Any) -> Variable:
    """np.fabs of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def fcol(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype float32."""

def fcols(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `fcol`, by names, or a list of them (or a number)."""

def fill(x: Any, value: Any) -> Variable:
    """Theano's `fill`: value, with its own dtype, broadcast to the shape of x."""

def float_power(x: Any, y: Any) -> Variable:
    """np.float_power of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def floor(x: Any) -> Variable:
    """np.floor of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def floor_div(x: Any, y: Any) -> Variable:
    """np.floor_divide of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def floor_divide(x: Any, y: Any) -> Variable:
    """np.floor_divide of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def fmatrices(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `fmatrix`, by names, or a list of them (or a number)."""

def fmatrix(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype float32."""

def fmax(x: Any, *more: Any) -> Variable:
    """np.fmax of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def fmin(x: Any, *more: Any) -> Variable:
    """np.fmin of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def fmod(x: Any, y: Any) -> Variable:
    """np.fmod of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def frow(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype float32."""

def frows(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `frow`, by names, or a list of them (or a number)."""

def fscalar(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 0 axes, dtype float32."""

def fscalars(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `fscalar`, by names, or a list of them (or a number)."""

def ftensor3(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 3 axes, dtype float32."""

def ftensor3s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ftensor3`, by names, or a list of them (or a number)."""

def ftensor4(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 4 axes, dtype float32."""

def ftensor4s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ftensor4`, by names, or a list of them (or a number)."""

def ftensor5(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 5 axes, dtype float32."""

def ftensor5s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ftensor5`, by names, or a list of them (or a number)."""

def fvector(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 1 axis, dtype float32."""

def fvectors(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `fvector`, by names, or a list of them (or a number)."""

def gamma(*args: Any) -> Variable:
    """scipy.special.gamma of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def gammainc(*args: Any) -> Variable:
    """scipy.special.gammainc of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def gammaincc(*args: Any) -> Variable:
    """scipy.special.gammaincc of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def gammaln(*args: Any) -> Variable:
    """scipy.special.gammaln of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def gcd(x: Any, y: Any) -> Variable:
    """np.gcd of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def ge(x: Any, y: Any) -> Variable:
    """np.greater_equal of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def get_underlying_scalar_constant_value(v: Any) -> np.ndarray[Any, Any]:
    """The value of a scalar that is known before the run.  Raises NotScalarConstantError for one that is not."""

def getitem(x: Any, key: Any) -> Variable:
    """`x[key]` as users write it, a part that `set` and `inc` can change; an index that takes all of x gives one too."""

def greater(x: Any, y: Any) -> Variable:
    """np.greater of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def greater_equal(x: Any, y: Any) -> Variable:
    """np.greater_equal of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def gt(x: Any, y: Any) -> Variable:
    """np.greater of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def heaviside(x: Any, y: Any) -> Variable:
    """np.heaviside of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def hypot(x: Any, y: Any) -> Variable:
    """np.hypot of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def i1(*args: Any) -> Variable:
    """scipy.special.i1 of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def icol(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype int32."""

def icols(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `icol`, by names, or a list of them (or a number)."""

def imatrices(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `imatrix`, by names, or a list of them (or a number)."""

def imatrix(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype int32."""

def int_div(x: Any, y: Any) -> Variable:
    """np.floor_divide of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def inv(x: Any) -> Variable:
    """np.reciprocal of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def invert(x: Any) -> Variable:
    """np.invert of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def irow(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype int32."""

def irows(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `irow`, by names, or a list of them (or a number)."""

def iscalar(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 0 axes, dtype int32."""

def iscalars(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `iscalar`, by names, or a list of them (or a number)."""

def isfinite(x: Any) -> Variable:
    """np.isfinite of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def isinf(x: Any) -> Variable:
    """np.isinf of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def isnan(x: Any) -> Variable:
    """np.isnan of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def itensor3(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 3 axes, dtype int32."""

def itensor3s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `itensor3`, by names, or a list of them (or a number)."""

def itensor4(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 4 axes, dtype int32."""

def itensor4s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `itensor4`, by names, or a list of them (or a number)."""

def itensor5(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 5 axes, dtype int32."""

def itensor5s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `itensor5`, by names, or a list of them (or a number)."""

def ivector(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 1 axis, dtype int32."""

def ivectors(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ivector`, by names, or a list of them (or a number)."""

def j0(*args: Any) -> Variable:
    """scipy.special.j0 of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def j1(*args: Any) -> Variable:
    """scipy.special.j1 of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def largest(x: Any, *more: Any) -> Variable:
    """np.maximum of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def lcm(x: Any, y: Any) -> Variable:
    """np.lcm of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def lcol(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype int64."""

def lcols(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `lcol`, by names, or a list of them (or a number)."""

def ldexp(x: Any, y: Any) -> Variable:
    """np.ldexp of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def le(x: Any, y: Any) -> Variable:
    """np.less_equal of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def left_shift(x: Any, y: Any) -> Variable:
    """np.left_shift of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def less(x: Any, y: Any) -> Variable:
    """np.less of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def less_equal(x: Any, y: Any) -> Variable:
    """np.less_equal of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def lmatrices(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `lmatrix`, by names, or a list of them (or a number)."""

def lmatrix(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype int64."""

def log(x: Any) -> Variable:
    """np.log of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def log10(x: Any) -> Variable:
    """np.log10 of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def log1p(x: Any) -> Variable:
    """np.log1p of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def log2(x: Any) -> Variable:
    """np.log2 of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def log_softmax(x: Any, axis: int = ...) -> Variable:
    """log(softmax(x)), without overflow."""

def logaddexp(x: Any, y: Any) -> Variable:
    """np.logaddexp of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def logaddexp2(x: Any, y: Any) -> Variable:
    """np.logaddexp2 of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def logical_and(x: Any, *more: Any) -> Variable:
    """np.logical_and of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def logical_not(x: Any) -> Variable:
    """np.logical_not of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def logical_or(x: Any, *more: Any) -> Variable:
    """np.logical_or of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def logical_xor(x: Any, *more: Any) -> Variable:
    """np.logical_xor of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def lrow(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype int64."""

def lrows(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `lrow`, by names, or a list of them (or a number)."""

def lscalar(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 0 axes, dtype int64."""

def lscalars(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `lscalar`, by names, or a list of them (or a number)."""

def lt(x: Any, y: Any) -> Variable:
    """np.less of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def ltensor3(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 3 axes, dtype int64."""

def ltensor3s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ltensor3`, by names, or a list of them (or a number)."""

def ltensor4(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 4 axes, dtype int64."""

def ltensor4s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ltensor4`, by names, or a list of them (or a number)."""

def ltensor5(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 5 axes, dtype int64."""

def ltensor5s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ltensor5`, by names, or a list of them (or a number)."""

def lvector(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 1 axis, dtype int64."""

def lvectors(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `lvector`, by names, or a list of them (or a number)."""

def matrices(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `matrix`, by names, or a list of them (or a number)."""

def matrix(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype `config.floatX`."""

def max(a: Any, axis: Any = ..., out: None = ..., keepdims: bool = ..., initial: Any = ..., where: Any = ...) -> Variable:
    """The greatest element over axis: an int, several, or None for all; NaN where one is NaN."""

def maximum(x: Any, *more: Any) -> Variable:
    """np.maximum of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def mean(a: Any, axis: Any = ..., dtype: Any = ..., out: None = ..., keepdims: bool = ..., *, where: Any = ..., acc_dtype: Any = ...) -> Variable:
    """The mean over axis: see `sum`; NaN where no element counts."""

def min(a: Any, axis: Any = ..., out: None = ..., keepdims: bool = ..., initial: Any = ..., where: Any = ...) -> Variable:
    """The least element over axis: an int, several, or None for all; NaN where one is NaN."""

def minimum(x: Any, *more: Any) -> Variable:
    """np.minimum of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def mod(x: Any, y: Any) -> Variable:
    """np.remainder of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def mul(x: Any, *more: Any) -> Variable:
    """np.multiply of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def multiply(x: Any, *more: Any) -> Variable:
    """np.multiply of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def nanargmax(a: Any, axis: int | None = ..., out: None = ..., *, keepdims: bool = ...) -> Variable:
    """np.nanargmax along axis (flattened where None); raises ValueError when run, where all elements are NaN."""

def nanargmin(a: Any, axis: int | None = ..., out: None = ..., *, keepdims: bool = ...) -> Variable:
    """np.nanargmin along axis (flattened where None); raises ValueError when run, where all elements are NaN."""

def nanmax(a: Any, axis: Any = ..., out: None = ..., keepdims: bool = ..., initial: Any = ..., where: Any = ...) -> Variable:
    """The greatest element over axis that is not NaN; NaN where all are."""

def nanmin(a: Any, axis: Any = ..., out: None = ..., keepdims: bool = ..., initial: Any = ..., where: Any = ...) -> Variable:
    """The least element over axis that is not NaN; NaN where all are."""

def nanpercentile(a: Any, q: Any, axis: Any = ..., out: None = ..., overwrite_input: bool = ..., method: str = ..., keepdims: bool = ..., *, weights: Any = ...) -> Variable:
    """The percentiles of the elements that are not NaN: see `quantile`."""

def nanquantile(a: Any, q: Any, axis: Any = ..., out: None = ..., overwrite_input: bool = ..., method: str = ..., keepdims: bool = ..., *, weights: Any = ...) -> Variable:
    """The quantiles of the elements that are not NaN: see `quantile`; NaN where there are none."""

def neg(x: Any) -> Variable:
    """np.negative of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def negative(x: Any) -> Variable:
    """np.negative of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def neq(x: Any, y: Any) -> Variable:
    """np.not_equal of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def nextafter(x: Any, y: Any) -> Variable:
    """np.nextafter of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def not_equal(x: Any, y: Any) -> Variable:
    """np.not_equal of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def ones(shape: Any, dtype: Any = ...) -> Variable:
    """An array of ones in a shape of ints and integer scalars (`config.floatX`)."""

def ones_like(x: Any, dtype: Any = ..., *, shape: Any = ...) -> Variable:
    """An array of ones in the shape and the dtype of x, unless others are given."""

def or_(x: Any, *more: Any) -> Variable:
    """np.bitwise_or of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def percentile(a: Any, q: Any, axis: Any = ..., out: None = ..., overwrite_input: bool = ..., method: str = ..., keepdims: bool = ..., *, weights: Any = ...) -> Variable:
    """The percentiles q, numbers from 0 to 100, of the elements of `a` along axis: see `quantile`."""

def permute_dims(x: Any, *axes: Any) -> Variable:
    """x with its axes reversed, or in the given order (ints, or one sequence of them)."""

def positive(x: Any) -> Variable:
    """np.positive of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def pow(x: Any, y: Any) -> Variable:
    """np.power of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def power(x: Any, y: Any) -> Variable:
    """np.power of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def prod(a: Any, axis: Any = ..., dtype: Any = ..., out: None = ..., keepdims: bool = ..., initial: Any = ..., where: Any = ..., *, acc_dtype: Any = ...) -> Variable:
    """The product over axis: see `sum`; initial: a factor."""

def psi(*args: Any) -> Variable:
    """scipy.special.psi of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's."""

def quantile(a: Any, q: Any, axis: Any = ..., out: None = ..., overwrite_input: bool = ..., method: str = ..., keepdims: bool = ..., *, weights: Any = ...) -> Variable:
    """The quantiles q of the elements of `a` along axis: an int, several, or None for all."""

def rad2deg(x: Any) -> Variable:
    """np.rad2deg of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def radians(x: Any) -> Variable:
    """np.radians of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def reciprocal(x: Any) -> Variable:
    """np.reciprocal of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def remainder(x: Any, y: Any) -> Variable:
    """np.remainder of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def right_shift(x: Any, y: Any) -> Variable:
    """np.right_shift of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def rint(x: Any) -> Variable:
    """np.rint of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def round(x: Any, decimals: Any = ..., mode: str | None = ...) -> Variable:
    """x rounded to a number of decimals, halves to even."""

def round_half_to_even(x: Any, decimals: Any = ..., mode: str | None = ...) -> Variable:
    """x rounded to a number of decimals, halves to even."""

def row(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype `config.floatX`."""

def row_stack(tup: Any, *, dtype: Any = ..., casting: Any = ...) -> Variable:
    """Arrays under each other."""

def rows(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `row`, by names, or a list of them (or a number)."""

def scalar(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 0 axes, dtype `config.floatX`."""

def scalars(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `scalar`, by names, or a list of them (or a number)."""

def sgn(x: Any) -> Variable:
    """np.sign of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def sign(x: Any) -> Variable:
    """np.sign of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def signbit(x: Any) -> Variable:
    """np.signbit of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def sin(x: Any) -> Variable:
    """np.sin of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def sinh(x: Any) -> Variable:
    """np.sinh of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def smallest(x: Any, *more: Any) -> Variable:
    """np.minimum of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def spacing(x: Any) -> Variable:
    """np.spacing of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def specify_broadcastable(x: Any, *axes: int) -> Variable:
    """x, promised to have length 1 along these axes; that is checked when the function runs."""

def sqr(x: Any) -> Variable:
    """np.square of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def sqrt(x: Any) -> Variable:
    """np.sqrt of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def square(x: Any) -> Variable:
    """np.square of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def std(a: Any, axis: Any = ..., dtype: Any = ..., out: None = ..., ddof: float = ..., keepdims: bool = ..., *, where: Any = ..., mean: Any = ..., correction: float | None = ...) -> Variable:
    """The standard deviation over axis; the divisor is the count less `ddof` (or `correction`)."""

def sub(x: Any, y: Any) -> Variable:
    """np.subtract of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def subtract(x: Any, y: Any) -> Variable:
    """np.subtract of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def sum(a: Any, axis: Any = ..., dtype: Any = ..., out: None = ..., keepdims: bool = ..., initial: Any = ..., where: Any = ..., *, acc_dtype: Any = ...) -> Variable:
    """The sum over axis: an int, several, or None for all; with keepdims they stay with length 1."""

def tan(x: Any) -> Variable:
    """np.tan of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def tanh(x: Any) -> Variable:
    """np.tanh of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def tensor3(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 3 axes, dtype `config.floatX`."""

def tensor3s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `tensor3`, by names, or a list of them (or a number)."""

def tensor4(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 4 axes, dtype `config.floatX`."""

def tensor4s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `tensor4`, by names, or a list of them (or a number)."""

def tensor5(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 5 axes, dtype `config.floatX`."""

def tensor5s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `tensor5`, by names, or a list of them (or a number)."""

def trapz(y: Any, x: Any = ..., dx: Any = ..., axis: int = ...) -> Variable:
    """The integral of samples y along an axis by the trapezoidal rule."""

def true_div(x: Any, y: Any) -> Variable:
    """np.divide of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def true_divide(x: Any, y: Any) -> Variable:
    """np.divide of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def trunc(x: Any) -> Variable:
    """np.trunc of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def var(a: Any, axis: Any = ..., dtype: Any = ..., out: None = ..., ddof: float = ..., keepdims: bool = ..., *, where: Any = ..., mean: Any = ..., correction: float | None = ...) -> Variable:
    """The variance over axis; the divisor is the count less `ddof` (or `correction`)."""

def vector(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 1 axis, dtype `config.floatX`."""

def vectors(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `vector`, by names, or a list of them (or a number)."""

def wcol(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype int16."""

def wcols(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `wcol`, by names, or a list of them (or a number)."""

def where(condition: Any, x: Any = ..., y: Any = ...) -> Any:
    """x where the condition holds (is not 0), y elsewhere; shapes broadcast.  With a condition alone: where it holds."""

def wmatrices(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `wmatrix`, by names, or a list of them (or a number)."""

def wmatrix(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype int16."""

def wrow(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype int16."""

def wrows(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `wrow`, by names, or a list of them (or a number)."""

def wscalar(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 0 axes, dtype int16."""

def wscalars(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `wscalar`, by names, or a list of them (or a number)."""

def wtensor3(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 3 axes, dtype int16."""

def wtensor3s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `wtensor3`, by names, or a list of them (or a number)."""

def wtensor4(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 4 axes, dtype int16."""

def wtensor4s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `wtensor4`, by names, or a list of them (or a number)."""

def wtensor5(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 5 axes, dtype int16."""

def wtensor5s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `wtensor5`, by names, or a list of them (or a number)."""

def wvector(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 1 axis, dtype int16."""

def wvectors(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `wvector`, by names, or a list of them (or a number)."""

def xor(x: Any, *more: Any) -> Variable:
    """np.bitwise_xor of symbolic arrays, element by element; shapes broadcast and dtypes promote"""

def zcol(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype complex128."""

def zcols(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `zcol`, by names, or a list of them (or a number)."""

def zeros(shape: Any, dtype: Any = ...) -> Variable:
    """An array of zeros in a shape of ints and integer scalars (`config.floatX`)."""

def zeros_like(x: Any, dtype: Any = ..., *, shape: Any = ...) -> Variable:
    """An array of zeros in the shape and the dtype of x, unless others are given."""

def zmatrices(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `zmatrix`, by names, or a list of them (or a number)."""

def zmatrix(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype complex128."""

def zrow(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 2 axes, dtype complex128."""

def zrows(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `zrow`, by names, or a list of them (or a number)."""

def zscalar(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 0 axes, dtype complex128."""

def zscalars(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `zscalar`, by names, or a list of them (or a number)."""

def ztensor3(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 3 axes, dtype complex128."""

def ztensor3s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ztensor3`, by names, or a list of them (or a number)."""

def ztensor4(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 4 axes, dtype complex128."""

def ztensor4s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ztensor4`, by names, or a list of them (or a number)."""

def ztensor5(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 5 axes, dtype complex128."""

def ztensor5s(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `ztensor5`, by names, or a list of them (or a number)."""

def zvector(name: str | None = ..., dtype: str | None = ..., shape: Sequence[Dim] | None = ..., axes: Sequence[str] | None = ...) -> Variable:
    """A new input with 1 axis, dtype complex128."""

def zvectors(*names: str | int | Iterable[str], dtype: str | None = ...) -> list[Variable]:
    """Several of `zvector`, by names, or a list of them (or a number)."""
