"""Texts of functions: elements, pairs, rows, lists and matrices, by kind of dtype."""

from __future__ import annotations

__all__ = ["LISTS", "MATRICES", "PAIRS", "ROWS", "SMOOTH_TEXTS", "UNARY"]

_SPECIAL = (
    "T.special.erf({})", "T.special.erfc({})", "T.special.erfcx({})", "T.special.erfinv(T.tanh({}))",
    "T.special.erfcinv(abs(T.tanh({})) + 0.5)", "T.special.ndtr({})", "T.special.log_ndtr({})",
    "T.special.ndtri(T.sigmoid({}))", "T.special.gamma(T.sigmoid({}) + 1)", "T.special.gammaln(abs({}) + 0.5)",
    "T.special.psi(abs({}) + 1)", "T.special.zeta(abs({}) + 2, 1.5)", "T.special.beta(abs({}) + 1, 2.0)",
    "T.special.betaln(abs({}) + 1, 2.0)", "T.special.gammainc(2.0, abs({}))", "T.special.gammaincc(2.0, abs({}))",
    "T.special.betainc(2.0, 3.0, T.sigmoid({}))", "T.special.logit(T.sigmoid({}))", "T.special.xlogy({}, 2.0)",
    "T.special.xlog1py({}, 0.5)", "T.special.entr(abs({}))", "T.special.rel_entr(abs({}), 2.0)",
    "T.special.kl_div(abs({}), 2.0)", "T.special.i0(T.tanh({}))", "T.special.i1(T.tanh({}))", "T.special.i0e({})",
    "T.special.i1e({})", "T.special.j0({})", "T.special.j1({})", "T.special.exp1(abs({}) + 0.1)",
    "T.special.expi(abs({}))", "T.special.expit({})", "T.special.log_expit({})",
)  # fmt: skip

UNARY: dict[str, tuple[str, ...]] = {
    "f": (
        "T.tan({})", "T.arcsin(T.tanh({}))", "T.arccos(T.tanh({}))", "T.arcsinh({})", "T.arccosh(abs({}) + 1)",
        "T.arctanh(T.tanh({}))", "T.cosh({})", "T.log2(abs({}))", "T.log10(abs({}))", "T.degrees({})",
        "T.radians({})", "T.rad2deg({})", "T.rint({})", "T.ceil({})", "T.spacing({})", "T.isinf({})",
        "T.round({}, 1)", "T.ldexp({}, 2)", "T.sinc({})", "T.nan_to_num({})", "T.fix({})", "T.isneginf({})",
        "T.nnet.softplus({})", "T.nnet.relu({})", "T.nnet.gelu({})", "T.nnet.hard_sigmoid({})", "T.angle({})",
        "T.real({})", "T.imag({})", "T.fabs({})", "T.positive({})", "T.signbit({})", "T.copysign({}, -1)",
        "T.deg2rad({})",
        "T.disconnected_grad({})", "T.zero_grad({})", "T.grad_clip({}, -1, 1)",
        "T.frexp({})[0]", "T.frexp({})[1]", "T.modf({})[1]", "T.unwrap(T.atleast_1d({}))", *_SPECIAL, *_SPECIAL,
    ),
    "c": (
        "T.arcsinh({})", "T.sinh({})", "T.cosh({})", "T.exp({} * 1j)", "T.angle({})", "T.isfinite({})",
        "T.nan_to_num({})", "T.round({}, 1)", "T.arctan({} * 0.1)", "T.log1p({})", "T.expm1({})", "T.isreal({})",
        "T.iscomplex({})", "T.square({})", "T.logical_not({})", "T.float_power({}, 2)",
    ),
    "i": (
        "T.bitwise_count({})", "T.invert({})", "T.bitwise_and({}, 6)", "T.bitwise_or({}, 1)", "T.bitwise_xor({}, 5)",
        "T.left_shift({}, 2)", "T.right_shift({}, 1)", "T.gcd({}, 6)", "T.lcm({} % 7, 4)", "T.square({})",
        "T.logical_not({})", "T.round({}, -1)", "T.divmod({}, 3)[0]", "T.divmod({}, 3)[1]", "T.isfinite({})",
        "T.conj({})", "T.real({})", "T.degrees({})", "T.special.erf({})", "T.special.gammaln(abs({} % 5) + 1)",
        "T.ldexp(1.5, {} % 4)", "T.exp({} % 4)", "T.floor({})", "T.trunc({})",
    ),
    "b": (
        "T.logical_not({})", "T.invert({})", "T.logical_and({}, True)", "T.logical_or({}, False)", "T.exp({})",
        "T.sin({})", "T.isnan({})", "T.floor({})", "T.special.erf({})", "T.absolute({})", "T.real({})",
    ),
}  # fmt: skip
"""Of one argument."""

PAIRS: dict[str, tuple[str, ...]] = {
    "f": (
        "T.float_power(abs({}), {})", "T.logaddexp2({}, {})", "T.fmin({}, {})", "T.nextafter({}, {})",
        "T.isclose({}, {})", "T.special.xlogy({}, abs({}))", "T.special.xlog1py({}, abs({}))",
        "T.special.beta(abs({}) + 1, abs({}) + 1)", "T.special.betaln(abs({}) + 1, abs({}) + 1)",
        "T.special.gammainc(abs({}) + 1, abs({}))", "T.special.gammaincc(abs({}) + 1, abs({}))",
        "T.special.betainc(2.0, abs({}) + 1, T.sigmoid({}))", "T.special.rel_entr(abs({}), abs({}) + 1)",
        "T.special.kl_div(abs({}), abs({}) + 1)", "T.special.zeta(abs({}) + 2, abs({}) + 1)", "T.divmod({}, {})[1]",
        "T.fmod({}, {})",
        "T.logical_and({}, {})", "T.logical_or({}, {})", "T.select([{0} > 0], [{1}], 1)", "T.outer({}, {})",
        "T.array_equal({}, {})", "T.kron({}, {})",
    ),
    "c": ("T.isclose({}, {})", "T.logical_and({}, {})", "T.vdot({0}, {0} + {1} * 0)", "T.outer({}, {})",
          "T.float_power({}, {})", "T.kron({}, {})"),
    "i": (
        "T.lcm({} % 5, {} % 7)", "T.gcd({}, {})", "T.bitwise_and({}, {})", "T.bitwise_or({}, {})",
        "T.logical_and({}, {})", "T.logical_xor({}, {})", "T.fmax({}, {})", "T.ldexp({} * 0.5, {} % 3)",
        "T.float_power({}, abs({}) % 3)", "T.outer({}, {})", "T.divmod({}, {})[0]", "T.array_equal({}, {})",
        "T.kron({}, {})", "T.arctan2({}, {})", "T.hypot({}, {})", "T.heaviside({}, {})", "T.nextafter({}, {})",
    ),
    "b": ("T.logical_and({}, {})", "T.logical_or({}, {})", "T.bitwise_and({}, {})", "T.bitwise_xor({}, {})",
          "T.fmax({}, {})", "T.outer({}, {})", "T.isclose({}, {})", "T.kron({}, {})"),
}  # fmt: skip
"""Of two arguments, by the kind of both together."""

ROWS: dict[str, tuple[str, ...]] = {
    "any": (
        "T.count_nonzero({x}, axis={a})", "T.rot90(T.atleast_2d({x}))", "T.tile({x}, 2)", "T.moveaxis({x}, 0, {a})",
        "T.pad({x}, 1)", "T.pad({x}, {w}, mode='edge')", "T.nonzero({x})[0]", "T.argwhere({x})",
        "T.flatnonzero({x})", "T.append({x}, {x}[:1], axis=0)", "T.delete({x}, 0, axis={a})",
        "T.insert({x}, 0, 1, axis={a})", "T.array_split({x}, 2, axis={a})[0]", "T.swapaxes({x}, 0, {a})",
        "T.trim_zeros({x}.ravel())", "T.diag({x}.ravel()[:3])", "T.triu(T.atleast_2d({x}))",
        "T.sliding_window_view({x}, {w}, axis={a})", "T.take_along_axis({x}, T.zeros_like({x}, dtype='int64'), {a})",
        "T.squeeze({x}[None], axis=0)", "T.resize({x}, (2, 2))", "T.fill_diagonal(T.atleast_2d({x}.ravel()), 1)",
        "T.put_along_axis({x}, T.zeros_like({x}[:1], dtype='int64'), 1, 0)", "T.expand_dims({x}, {a})",
        "T.sum({x}, axis={a}, where={x} != 0)", "T.compress(T.ones(1, dtype='bool'), {x}, axis={a})",
        "T.cumulative_sum({x}.ravel(), include_initial=True)", "T.tensordot({x}, {x}, axes=([{a}], [{a}]))",
        "T.column_stack([{x}.ravel(), {x}.ravel()])", "T.ediff1d({x} * 1)", "T.unique({x})",
    ),
    "real": (
        "T.cummax({x}, axis={a})", "T.cummin({x}, axis={a})", "T.median({x}, axis={a})", "T.max({x}, axis={a})",
        "T.quantile({x} * 1.0, 0.3, axis={a})", "T.percentile({x} * 1.0, [20, 80], axis={a})",
        "T.partition({x}, 0, axis={a})", "T.argmax({x}, axis={a})", "T.argmin({x}, axis={a})",
        "T.histogram({x}, bins=3, range=(-2, 2))[0]", "T.digitize({x}, [-1, 0, 1])",
        "T.searchsorted(T.sort({x}.ravel()), {x})", "T.interp({x}, [-1, 0, 2], [3, 1, 2])",
        "T.nancumsum({x}, axis={a})",
        "T.average({x}, axis={a})", "T.lexsort([{x}.ravel(), {x}.ravel()])",
    ),
    "f": (
        "T.fft.fft({x}, axis={a})", "T.fft.rfft({x}, axis={a})", "T.fft.ifft({x}, 3, axis={a})",
        "T.fft.irfft({x}, 4, axis={a})", "T.fft.fftshift({x}, axes={a})", "T.nnet.softmax({x}, axis={a})",
        "T.nnet.log_softmax({x}, axis={a})", "T.special.logsumexp({x}, axis={a})", "T.nanmax({x}, axis={a})",
        "T.nansum({x}, axis={a})", "T.nanmean({x}, axis={a})", "T.nanstd({x}, axis={a})", "T.nanmedian({x}, axis={a})",
        "T.nanargmax({x}, axis={a})", "T.nanargmin({x}, axis={a})", "T.gradient({x}, axis={a})",
        "T.trapezoid({x}, axis={a})", "T.cumaffine(T.tanh({x}), {x}, axis={a})", "T.nanprod({x}, axis={a})",
        "T.nanvar({x}, axis={a})", "T.nanmin({x}, axis={a})", "T.linalg.norm({x}, axis={a})",
        "T.unwrap({x}, axis={a})",
    ),
    "c": (
        "T.fft.fft({x}, axis={a})", "T.fft.ifft({x}, axis={a})", "T.fft.hfft({x}, 4, axis={a})", "T.sort_complex({x})",
        "T.linalg.norm({x}, axis={a})", "T.trapezoid({x}, axis={a})", "T.nansum({x}, axis={a})",
    ),
    "i": ("T.trapezoid({x}, axis={a})", "T.gradient({x}, axis={a})", "T.fft.fft({x}, axis={a})",
          "T.nanargmax({x}, axis={a})", "T.bincount((abs({x}.ravel()) % 5).astype('int8'))", "T.bitwise_or({x}, 1)"),
    "b": ("T.logical_not({x})", "T.fft.rfft({x} * 1.0, axis={a})", "T.nansum({x}, axis={a})"),
}  # fmt: skip
"""Along an axis, by kind of dtype."""

LISTS = (
    "T.convolve({x}, {y})", "T.convolve({x}, {y}, 'same')", "T.correlate({x}, {y}, 'full')", "T.vander({x}, 3)",
    "T.polyval({x}, {y})", "T.outer({x}, {y})", "T.inner({x}, {x})", "T.vdot({x}, {x})", "T.meshgrid({x}, {y})[0]",
    "T.einsum('i,j->ij', {x}, {y})", "T.einsum('i,i->i', {x}, {x})", "T.cov({x} * 1.0)", "T.polymul({x}, {y})",
    "T.polyadd({x}, {y})", "T.tensordot({x}, {y}, axes=0)", "T.kron({x}, {y})", "T.union1d({x}, {y})",
    "T.intersect1d({x}, {y})", "T.setdiff1d({x}, {y})", "T.isin({x}, {y})", "T.block([{x}, {y}])",
    "T.trapezoid({x}, {x})", "T.polyder({x})", "T.linspace({x}, {x} + 1, 3)", "T.linalg.outer({x}, {y})",
    "T.cross(T.stack([{x}] * 3, axis=-1), [1, 2, 3])", "T.diagflat({x}[:3])", "T.hstack([{x}, {y}])",
    "T.linalg.vecdot({x}, {x})",
)  # fmt: skip
"""Of lists of numbers."""

MATRICES: dict[str, tuple[str, ...]] = {
    "any": (
        "T.linalg.svd({x}, compute_uv=False)", "abs(T.linalg.qr({x})[1])", "T.linalg.qr({x}, mode='complete')[0][:0]",
        "abs(T.linalg.svd({x}, full_matrices=False)[0])", "T.linalg.pinv({x})", "T.linalg.norm({x})",
        "T.linalg.matrix_rank({x})", "T.linalg.norm({x}, 2)",
        "T.linalg.lstsq({x}, {x}[:, 0], rcond=None)[0]", "T.linalg.svdvals({x})", "T.einsum('ij,kj->ik', {x}, {x})",
        "T.cov(T.concatenate([{x}, {x}]) * 1.0)", "T.corrcoef(T.concatenate([{x}, {x}]) * 1.0)",
        "T.linalg.multi_dot([{x}, {x}.T, {x}])", "T.kron({x}, {x}[:1])",
    ),
    "square": (
        "T.linalg.eigvalsh({p})", "abs(T.linalg.eigh({p})[1])", "T.sort(abs(T.linalg.eigvals({x})))",
        "T.sort(abs(T.linalg.eig({p})[0]))", "abs(T.linalg.det({r}))", "T.matmul({x}[None], {x})",
        "T.linalg.expm({x} * 0.1)", "T.linalg.matrix_power({x}, 3)", "T.linalg.slogdet({r})[1]",
        "T.linalg.slogdet({x})[0]", "T.linalg.cond({r})", "T.linalg.det({r})", "T.linalg.inv({r})",
        "T.linalg.cholesky({p})", "T.linalg.cho_solve((T.linalg.cholesky({p}), True), {x}[0])",
        "T.linalg.solve_triangular({r}, {x}[0])", "T.linalg.solve_triangular({r}, {x}, lower=True)",
        "T.linalg.lu_solve(T.linalg.lu_factor({r}), {x}[0])", "T.einsum('ii->i', {x})",
        "T.einsum('ij,jk->ki', {x}, {x})",
        "T.linalg.trace({x})", "T.linalg.pinv({p}, hermitian=True)", "T.linalg.solve({r}, {x})",
    ),
}  # fmt: skip
"""x a matrix; of square ones r is regular and p positive definite."""

SMOOTH_TEXTS: dict[str, tuple[str, ...]] = {
    "any": (
        *(t.replace("abs({})", "(T.sqr({}) + 0.1)").replace("{}", "{x}") for t in _SPECIAL if "zeta" not in t),
        "T.tan(T.tanh({x}))", "T.arcsin(T.tanh({x}) * 0.9)", "T.arccos(T.tanh({x}) * 0.9)", "T.arcsinh({x})",
        "T.arccosh(T.sqr({x}) + 1.5)", "T.arctanh(T.tanh({x}) * 0.9)", "T.cosh(T.tanh({x}))", "T.log2(T.sqr({x}) + 1)",
        "T.exp2(T.tanh({x}))", "T.expm1(T.tanh({x}))", "T.log10(T.sqr({x}) + 1)", "T.degrees({x})",
        "T.nnet.softplus({x})",
        "T.nnet.gelu({x})", "T.reciprocal(T.sqr({x}) + 1)", "T.cbrt(T.sqr({x}) + 1)", "T.ldexp({x}, 1)",
        "T.real({x} * 1j + {x})", "abs({x} + 1j)", "T.angle({x} + 2j)", "T.float_power(T.sqr({x}) + 1, 0.3)",
        "T.sinh(T.tanh({x}))", "T.logaddexp2({x}, 1.0)", "rules.rooted({x})", "rules.turned({x})",
        "rules.bent({x}, T.sin({x}))", "rules.bent({x}, {x})", "T.frexp({x})[0]",
    ),
    "pair": (
        "T.arctan2({x}, T.sqr({y}) + 1)", "T.hypot({x}, T.sqr({y}) + 1)", "T.logaddexp({x}, {y})",
        "T.special.beta(T.sqr({x}) + 1, T.sqr({y}) + 1)", "T.special.xlogy({x}, T.sqr({y}) + 1)",
        "T.special.betaln(T.sqr({x}) + 1, T.sqr({y}) + 1)", "T.special.rel_entr(T.sqr({x}) + 1, T.sqr({y}) + 1)",
        "T.special.kl_div(T.sqr({x}) + 1, T.sqr({y}) + 1)", "T.outer({x}, {y})", "(T.sqr({x}) + 1) ** T.tanh({y})",
    ),
    "row": (
        "T.real(T.fft.fft({x}, axis={a}))", "T.imag(T.fft.rfft({x}, axis={a}))", "T.fft.irfft({x}, 4, axis={a})",
        "T.nnet.softmax({x}, axis={a})", "T.nnet.log_softmax({x}, axis={a})", "T.special.logsumexp({x}, axis={a})",
        "T.cumaffine(T.tanh({x}), {x}, axis={a})", "T.sliding_window_view({x}, 1, axis={a})", "T.pad({x}, 1)",
        "T.trapezoid({x}, axis={a})", "T.convolve({x}.ravel(), [1.0, 2.0])", "T.tile({x}, 2)", "T.kron({x}, {x})",
        "T.einsum('i,j->ij', {x}.ravel(), {x}.ravel())", "T.linalg.norm({x} + 3, axis={a})", "T.std({x}, axis={a})",
        "T.tensordot({x}, {x}, axes=([{a}], [{a}]))", "T.nansum({x}, axis={a})", "T.unwrap({x}, axis={a})",
        "T.polyval({x}.ravel(), 0.5)", "T.take({x}, [0, 0], axis={a})", "T.roll({x}, 1, axis={a})",
        "T.fill_diagonal(T.atleast_2d({x}.ravel()), 1)", "T.diag({x}.ravel()[:3])", "T.cumsum({x}, axis={a})",
        "{x}.at[0].multiply(2)", "{x}.at[0].add(1)", "T.cov({x}.ravel())", "T.average({x}, axis={a})",
    ),
    "square": (
        "T.linalg.inv({r})", "T.linalg.slogdet({r})[1]", "T.linalg.cholesky({p})", "T.linalg.expm({x} * 0.1)",
        "T.linalg.solve({r}, {x}[0])", "T.linalg.matrix_power({x}, 3)", "T.linalg.pinv({r})", "T.linalg.det({r})",
        "T.linalg.solve_triangular({r}, {x}[0])", "T.linalg.cho_solve((T.linalg.cholesky({p}), True), {x}[0])",
        "T.linalg.lu_solve(T.linalg.lu_factor({r}), {x}[0])", "T.linalg.lstsq({r}, {x}[0], rcond=None)[0]",
        "T.einsum('ii->i', {x})", "T.linalg.trace({x})", "abs(T.linalg.qr({r})[1])", "T.linalg.eigvalsh({p}).sum()",
        "T.linalg.svd({r}, compute_uv=False).sum()",
    ),
}  # fmt: skip
"""Smooth functions of floats where they are."""
