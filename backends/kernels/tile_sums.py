"""The text of products summed over some rows and columns at a time: each part continues from sums in memory.

BLAS cuts a long sum into blocks, each of which it adds up by itself.  How long these are depends on the machine, so it
is told: `order` is 256 times the most products of a block, and twice the number that half of the rest is rounded up to
a multiple of (0: the half that is not smaller), and one where the first block is added to zero.
"""

from __future__ import annotations

__all__ = ["TEXT", "order_number"]

TEXT = """\
/* Some rows of sums, of `wide` registers each, which lie `wide` registers or more apart.  left: columns of the right
   factor in the only register, 0 where all of them may be read. */
FUSED INLINE void more_TYPE(const char *a, int64 down, int64 along, const char *b, int64 next, TYPE *out, int64 apart,
                            int64 k, int64 left, const int rows, const int wide)
{
    FUSING
    vector_TYPE sums[ROWS_TYPE][WIDE_TYPE], y[WIDE_TYPE];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < wide; j++) sums[i][j] = ((const vector_TYPE *)(out + i * apart))[j];
    for (int64 p = 0; p < k; p++, a += along, b += next) {
        if (left) {
            TYPE some[LANES_TYPE] = {0};
            for (int64 l = 0; l < left; l++) some[l] = ((const TYPE *)b)[l];
            y[0] = *(const vector_TYPE *)some;
        } else for (int j = 0; j < wide; j++) y[j] = ((const vector_TYPE *)b)[j], HELD(y[j]);
        for (int i = 0; i < rows; i++) {
            const TYPE x = *(const TYPE *)(a + i * down);
            for (int j = 0; j < wide; j++) sums[i][j] = PLUS_TYPE(x, y[j], sums[i][j]);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < wide; j++) ((vector_TYPE *)(out + i * apart))[j] = sums[i][j];
}

FUSED INLINE void more_rows_TYPE(const char *a, int64 down, int64 along, const char *b, int64 next, TYPE *out,
                                 int64 apart, int64 m, int64 k, const int wide)
{
    int64 i = 0;
#define MORE_TYPE_(rows) \\
    for (; i + rows <= m; i += rows) \\
        more_TYPE(a + i * down, down, along, b, next, out + i * apart, apart, k, 0, rows, wide)
    MORE_TYPE_(ROWS_TYPE);
    if (ROWS_TYPE > 4) MORE_TYPE_(4);
    MORE_TYPE_(1);
}

/* All sums, by some registers of columns; rows of these are as long as whole registers. */
FUSED ALONE void more_sums_TYPE(const char *a, const char *b, TYPE *sums, int64 m, int64 k, int64 n, int64 apart,
                                const int64 *strides, int64 loose)
{
    const int64 down = strides[0], along = strides[1], next = strides[2], end = loose ? n + LANES_TYPE - 1 : n;
    int64 j = 0;
    for (int64 wide; j + LANES_TYPE <= end; j += wide * LANES_TYPE, b += wide * VECTOR) {
        wide = wide_TYPE((end - j) / LANES_TYPE * LANES_TYPE);
        if (wide == 1) more_rows_TYPE(a, down, along, b, next, sums + j, apart, m, k, 1);
        else if (wide == 2) more_rows_TYPE(a, down, along, b, next, sums + j, apart, m, k, 2);
        else more_rows_TYPE(a, down, along, b, next, sums + j, apart, m, k, WIDE_TYPE);
    }
    for (int64 i = 0; j < n && i < m; i++)
        more_TYPE(a + i * down, down, along, b, next, sums + j + i * apart, apart, k, n - j, 1, 1);
}

/* dims: rows of the result, products now, columns, products before, all products, order, whether a register may be read
   behind the right factor.  G: the factors, memory for sums, the result.  strides: of the left factor, and of the rows
   of the right one. */
FUSED static void adding_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    const int64 m = dims[0], n = dims[2], end = dims[3] + dims[1], all = dims[4];
    const int64 most = dims[5] / 256, unit = dims[5] % 256 / 2, apart = (n + LANES_TYPE - 1) / LANES_TYPE * LANES_TYPE;
    const char *a = G[0], *b = G[1];
    TYPE *sums = (TYPE *)G[2], *out = (TYPE *)G[3];
    /* Blocks of the greatest length while two are left; then the rest, or its halves. */
    const int64 full = all < 2 * most ? 0 : (all / most - 1) * most, rest = all - full;
    const int64 halved = unit ? (rest / 2 + unit - 1) / unit * unit : (rest + 1) / 2;
    const int64 half = rest > most ? full + halved : all;
    for (int64 at = dims[3], stop; at < end; at = stop) {
        const int64 begin = at < full ? at / most * most : at < half ? full : half;
        const int64 last = at < full ? begin + most : at < half ? half : all;
        stop = last < end ? last : end;
        if (at == begin) for (int64 i = 0; i < m * apart; i++) sums[i] = 0;
        more_sums_TYPE(a, b, sums, m, stop - at, n, apart, strides, dims[6]);
        a += (stop - at) * strides[1];
        b += (stop - at) * strides[2];
        for (int64 i = 0; stop == last && i < m; i++)
            for (int64 j = 0; j < n; j++) {
                const TYPE sum = sums[i * apart + j];
                out[i * n + j] = begin ? out[i * n + j] + sum : dims[5] & 1 ? 0 + sum : sum;
            }
    }
}

/* A product of few rows, without panels: some rows of the right factor are read where they lie, by some columns.
   dims: m, k, n.  strides: of the left factor, and of the rows of the right one. */
FUSED static void few_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    enum { MANY = 20 * WIDE_TYPE * LANES_TYPE, DEEP = 8, FEW = 4 };
    const int64 m = dims[0], k = dims[1], n = dims[2];
    for (int64 i = 0; i < m; i += FEW)
        for (int64 j = 0; j < n; j += MANY) {
            TYPE sums[FEW * MANY] = {0}, *out = (TYPE *)G[2] + i * n + j;
            const int64 rows = m - i < FEW ? m - i : FEW, columns = n - j < MANY ? n - j : MANY;
            for (int64 p = 0; p < k; p += DEEP)
                more_sums_TYPE(G[0] + i * strides[0] + p * strides[1], G[1] + p * strides[2] + j * sizeof(TYPE), sums,
                               rows, k - p < DEEP ? k - p : DEEP, columns, MANY, strides, 0);
            for (int64 r = 0; r < rows; r++)
                for (int64 l = 0; l < columns; l++) out[r * n + l] = TOTAL(sums[r * MANY + l]);
        }
}
"""


def order_number(most: int, unit: int, from_zero: bool) -> int:
    """The number that stands for an order.

    >>> order_number(384, 4, True)
    98313
    """
    return 256 * most + 2 * unit + from_zero
