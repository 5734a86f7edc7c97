"""The text of products of vectors, and of vectors and matrices, in the orders in which OpenBLAS adds them."""

from __future__ import annotations

from scanopt.backends.kernels.tile_text import REGISTERS, VECTOR_TYPES

__all__ = ["ROWS", "VECTORS", "dot_text"]

ROWS = """\
#if HASWELL
/* Some columns of a row times a matrix whose rows lie `down` bytes apart, as OpenBLAS's function for a matrix and a
   vector adds them: of `group` products, one sum after the other, or one of each second product and one of the others;
   what is left two by two and one by one, not fused.  Or all of them one by one, where `group` is 0. */
INLINE void columns_TYPE(const TYPE *restrict x, const char *restrict b, const int64 down, int64 k, TYPE *restrict out,
                         const int64 n, const int group, const int sums)
{
    int64 p = 0;
    for (int64 j = 0; j < n; j++) out[j] = 0;
#define AT_TYPE(q) (((const TYPE *)(b + (q) * down))[j])
#define GROUPS_TYPE(size) \\
    for (; p + size <= k; p += size, x += size, b += size * down) \\
        for (int64 j = 0; j < n; j++) { \\
            TYPE one = x[0] * AT_TYPE(0), other = 0; \\
            if (sums == 2) other = x[1] * AT_TYPE(1); \\
            else one = FMA_TYPE(x[1], AT_TYPE(1), one); \\
            for (int q = 2; q < size; q++) \\
                if (sums == 2 && q % 2) other = FMA_TYPE(x[q], AT_TYPE(q), other); \\
                else one = FMA_TYPE(x[q], AT_TYPE(q), one); \\
            out[j] = out[j] + (sums == 2 ? one + other : one); \\
        }
    if (group == 8) { GROUPS_TYPE(8) }
    if (group) { GROUPS_TYPE(4) }
    if (group == 4 && p + 2 <= k) {
        for (int64 j = 0; j < n; j++) out[j] = out[j] + (x[0] * AT_TYPE(0) + x[1] * AT_TYPE(1));
        p += 2, x += 2, b += 2 * down;
    }
    for (; p < k; p++, x++, b += down)
        for (int64 j = 0; j < n; j++) out[j] = out[j] + x[0] * AT_TYPE(0);
}

/* The same; if the matrix is small, some columns in registers after the other. */
INLINE void blocks_TYPE(const TYPE *x, const char *b, int64 down, int64 k, TYPE *out, int64 n, const int group,
                        const int sums)
{
    enum { MANY = 128 / sizeof(TYPE) };
    int64 j = 0;
    for (; down * k <= FIRST_CACHE && j + MANY <= n; j += MANY, b += sizeof(TYPE) * MANY) {
        TYPE found[MANY];
        columns_TYPE(x, b, down, k, found, MANY, group, sums);
        for (int l = 0; l < MANY; l++) out[j + l] = found[l];
    }
    columns_TYPE(x, b, down, k, out + j, n - j, group, sums);
}

/* A row times a matrix, without panels.  dims: k, n.  strides: of the rows of the matrix. */
static void row_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    const TYPE *x = (const TYPE *)G[0];
    TYPE *out = (TYPE *)G[2];
    const int64 k = dims[0], n = dims[1], down = strides[0], end = n / 4 * 4, begin = sizeof(TYPE) == 4 ? end & 12 : 0;
    const int64 first = begin * sizeof(TYPE), last = end * sizeof(TYPE);
    if (sizeof(TYPE) == 8) blocks_TYPE(x, G[1], down, k, out, end, 4, 2);
    else {
        columns_TYPE(x, G[1], down, k, out, begin, 8, 2);
        blocks_TYPE(x, G[1] + first, down, k, out + begin, end - begin, 8, 1);
    }
    columns_TYPE(x, G[1] + last, down, k, out + end, n - end, 0, 1);
}

/* The last elements of a row times a vector, less than four, added to the sum of the others. */
INLINE TYPE and_rest_TYPE(TYPE sum, const TYPE *a, const TYPE *x, int64 left)
{
    if (sizeof(TYPE) == 4 && left == 3) return sum + ((a[0] * x[0] + a[1] * x[1]) + a[2] * x[2]);
    if (sizeof(TYPE) == 4 && left) return sum + (left == 1 ? a[0] * x[0] : a[0] * x[0] + a[1] * x[1]);
    if (left == 3) return sum + FMA_TYPE(a[2], x[2], FMA_TYPE(a[0], x[0], a[1] * x[1]));
    if (left == 2) return sum + FMA_TYPE(a[0], x[0], a[1] * x[1]);
    return left ? FMA_TYPE(a[0], x[0], sum) : sum;
}

/* The sum of `lanes` sums.  Of eight or four, those that lie half of them apart first; in float32 the last four and two
   neighbours. */
INLINE TYPE total_TYPE(const TYPE *sums, const int lanes)
{
    if (lanes == 2) return sums[0] + sums[1];
    if (sizeof(TYPE) == 8) return (sums[0] + sums[2]) + (sums[1] + sums[3]);
    if (lanes == 4) return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/* A row times a vector, in so many sums that are not fused.  Four elements that are left over come first. */
INLINE TYPE unfused_TYPE(const TYPE *a, const TYPE *x, int64 k, const int lanes)
{
    TYPE sums[8] = {0};
    int64 i = 0;
    if (lanes == 8 && k / 4 % 2)
        for (; i < 4; i++) sums[i] = sums[i] + a[i] * x[i];
    for (; i + lanes <= k / 4 * 4; i += lanes)
        for (int l = 0; l < lanes; l++) sums[l] = sums[l] + a[i + l] * x[i + l];
    return and_rest_TYPE(0 + total_TYPE(sums, lanes), a + i, x + i, k - i);
}

typedef TYPE four_TYPE __attribute__((vector_size(4 * sizeof(TYPE)), aligned(sizeof(TYPE)), may_alias));

/* A matrix times a vector, as OpenBLAS adds: four rows together with sums in a register, then two, then one.
   dims: m, k.  strides: of the rows. */
static void column_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    const char *a = G[0];
    const TYPE *x = (const TYPE *)G[1];
    TYPE *out = (TYPE *)G[2];
    const int64 m = dims[0], k = dims[1], down = strides[0];
    int64 row = 0;
    for (; row + 4 <= m; row += 4, a += 4 * down) {
        vector_TYPE sums[4];
        const int64 odd = LANES_TYPE == 8 && k / 4 % 2;
        int64 i = 4 * odd;
        for (int r = 0; r < 4; r++) {
            TYPE first[LANES_TYPE] = {0};
            for (int l = 0; odd && l < 4; l++) first[l] = FMA_TYPE(((const TYPE *)(a + r * down))[l], x[l], (TYPE)0);
            sums[r] = *(const vector_TYPE *)first;
        }
        for (; i + LANES_TYPE <= k; i += LANES_TYPE) {
            const vector_TYPE y = *(const vector_TYPE *)(x + i);
            for (int r = 0; r < 4; r++)
                sums[r] = PLUS_TYPE(*(const vector_TYPE *)((const TYPE *)(a + r * down) + i), y, sums[r]);
        }
        for (int r = 0; r < 4; r++) {
            TYPE parts[4];
            if (LANES_TYPE == 4) *(vector_TYPE *)parts = sums[r];
            else *(four_TYPE *)parts = *(const four_TYPE *)&sums[r] + *((const four_TYPE *)&sums[r] + 1);
            out[row + r] = and_rest_TYPE(0 + total_TYPE(parts, 4), (const TYPE *)(a + r * down) + i, x + i, k - i);
        }
    }
    for (; row + 2 <= m; row += 2, a += 2 * down)
        for (int r = 0; r < 2; r++) out[row + r] = unfused_TYPE((const TYPE *)(a + r * down), x, k, LANES_TYPE / 2);
    if (row < m) out[row] = unfused_TYPE((const TYPE *)a, x, k, LANES_TYPE);
}
#else
#define row_TYPE 0
#define column_TYPE 0
#endif

"""
_DOT = """\
/* A product of vectors: four sums in registers, wide ones first; what is left one by one. */
FUSED static void dot_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    FUSING
    const TYPE *x = (const TYPE *)G[0], *y = (const TYPE *)G[1];
    const int64 n = dims[0];
    int64 i = 0;
    half_TYPE sums[4] = {{0}, {0}, {0}, {0}};
    if (VECTOR > HALF) {
        vector_TYPE wide[4] = {{0}, {0}, {0}, {0}};
        for (; i + 4 * LANES_TYPE <= n; i += 4 * LANES_TYPE) {
            const vector_TYPE *a = (const vector_TYPE *)(x + i), *b = (const vector_TYPE *)(y + i);
            for (int k = 0; k < 4; k++) wide[k] = PLUS_TYPE(a[k], b[k], wide[k]);
        }
        for (int k = 0; k < 4; k++)
            sums[k] = *(const half_TYPE *)&wide[k] + *(const half_TYPE *)((const char *)&wide[k] + VECTOR - HALF);
    }
    for (; i + 4 * HALF_TYPE <= n; i += 4 * HALF_TYPE) {
        const half_TYPE *a = (const half_TYPE *)(x + i), *b = (const half_TYPE *)(y + i);
        for (int k = 0; k < 4; k++) sums[k] = PLUS_TYPE(a[k], b[k], sums[k]);
    }
    TYPE parts[HALF_TYPE / 2];
#if HASWELL
    for (int k = 0; k < HALF_TYPE / 2; k++) {
        TYPE one[4];
        for (int s = 0; s < 4; s++) one[s] = sums[s][k] + sums[s][k + HALF_TYPE / 2];
        parts[k] = (one[0] + one[1]) + (one[2] + one[3]);
    }
#else
    const half_TYPE all = ((sums[0] + sums[1]) + sums[2]) + sums[3];
    for (int k = 0; k < HALF_TYPE / 2; k++) parts[k] = all[k] + all[k + HALF_TYPE / 2];
#endif
    for (int left = HALF_TYPE / 2; left > 1; left /= 2)
        for (int k = 0; k < left / 2; k++) parts[k] = parts[2 * k] + parts[2 * k + 1];
    float64 dot = LAST_SUM_TYPE ? 0 : parts[0];
    for (; i < n; i++) dot = added_TYPE(x[i], y[i], dot); /* of products side by side gcc would round each */
    *(TYPE *)G[2] = 0 + (TYPE)(LAST_SUM_TYPE ? dot + parts[0] : dot);
}

"""
VECTORS = (
    _DOT
    + """\
/* The same of a vector and what begins at each of some places, which follow each other: in vectors of places. */
#define MORE_TYPE(i, sum) PLUS_TYPE(y[i], *(const vector_TYPE *)(x + (i)), sum)
FUSED static void dots_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    FUSING
    const TYPE *x = (const TYPE *)G[0], *y = (const TYPE *)G[1];
    TYPE *out = (TYPE *)G[2];
    const int64 n = dims[0], count = dims[1], wide = VECTOR > HALF ? n - n % (4 * LANES_TYPE) : 0;
    const int64 whole = n - (n - wide) % (4 * HALF_TYPE), vectors = sizeof(TYPE) == 8 ? count / LANES_TYPE : 0;
    for (int64 v = 0; v < vectors; v++, x += LANES_TYPE, out += LANES_TYPE) {
        vector_TYPE sums[4][HALF_TYPE] = {{{0}}}, all[HALF_TYPE];
        for (int h = 0; wide && h < LANES_TYPE; h += HALF_TYPE) {
            vector_TYPE some[4][HALF_TYPE] = {{{0}}};
            for (int64 i = h; i < wide; i += 4 * LANES_TYPE)
                for (int k = 0; k < 4; k++)
                    for (int l = 0; l < HALF_TYPE; l++) some[k][l] = MORE_TYPE(i + k * LANES_TYPE + l, some[k][l]);
            for (int k = 0; k < 4; k++)
                for (int l = 0; l < HALF_TYPE; l++)
                    if (h) sums[k][l] = sums[k][l] + some[k][l];
                    else sums[k][l] = some[k][l];
        }
        for (int64 i = wide; i < whole; i += 4 * HALF_TYPE)
            for (int k = 0; k < 4; k++)
                for (int l = 0; l < HALF_TYPE; l++) sums[k][l] = MORE_TYPE(i + k * HALF_TYPE + l, sums[k][l]);
#if HASWELL
        for (int k = 0; k < HALF_TYPE / 2; k++) {
            for (int s = 0; s < 4; s++) sums[s][k] = sums[s][k] + sums[s][k + HALF_TYPE / 2];
            all[k] = (sums[0][k] + sums[1][k]) + (sums[2][k] + sums[3][k]);
        }
#else
        for (int l = 0; l < HALF_TYPE; l++) all[l] = ((sums[0][l] + sums[1][l]) + sums[2][l]) + sums[3][l];
        for (int k = 0; k < HALF_TYPE / 2; k++) all[k] = all[k] + all[k + HALF_TYPE / 2];
#endif
        for (int left = HALF_TYPE / 2; left > 1; left /= 2)
            for (int k = 0; k < left / 2; k++) all[k] = all[2 * k] + all[2 * k + 1];
        for (int64 i = whole; i < n; i++)
            if (FUSES) all[0] = MORE_TYPE(i, all[0]);
            else for (int l = 0; l < LANES_TYPE; l++) all[0][l] = added_TYPE(x[i + l], y[i], all[0][l]);
        *(vector_TYPE *)out = 0 + all[0];
    }
    for (int64 i = vectors * LANES_TYPE; i < count; i++, x++, out++)
        dot_TYPE((char *[]){(char *)x, (char *)y, (char *)out}, dims, strides, data);
}
"""
)


def dot_text(dtype: str) -> str:
    """The text by which a kernel multiplies vectors of a dtype itself, where their order is known; or it is a call."""
    registers = f"#ifndef VECTOR\n{REGISTERS}#endif\n"
    ours = f"{VECTOR_TYPES}{_DOT}".replace("FUSED static", "INLINE").replace("TYPE", dtype)
    call = f"#define DOT_{dtype}(f) ((inner *)(f))\n"
    return f"{registers}#if HASWELL\n{ours}#define DOT_{dtype}(f) dot_{dtype}\n#else\n{call}#endif\n"
