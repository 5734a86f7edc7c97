"""The text of products of matrices by tiles: of the registers of a processor, and of the orders in which BLAS adds.

Most kernels of OpenBLAS add the products of an element one after the other, each rounded once with its addition.  Those
for processors with FMA and registers of 32 bytes (Haswell, Zen) also keep several sums for elements in certain places:
in float64 four for those of the last row, if there is an odd number of rows; in float32 two for those of certain rows
and columns of each twelve rows.  They add each sum to zero.
"""

from __future__ import annotations

__all__ = ["HEAD", "PRODUCTS", "REGISTERS", "SPACE", "TYPES", "VECTOR_TYPES"]

SPACE = 64
"""The bytes by which a row of the last panel may be longer than the remaining columns."""

REGISTERS = """\
typedef long long int64; typedef float float32; typedef double float64;
#if defined(__AVX512F__)
#define VECTOR 64
#define HALF 32
#define ROWS 8
#elif defined(__AVX__)
#define VECTOR 32
#define HALF 32
#define ROWS 4
#else
#define VECTOR 16
#define HALF 16
#define ROWS 4
#endif
#ifndef __has_builtin
#define __has_builtin(name) 0
#endif
#if !defined(__AVX512F__) && defined(__AVX2__) && defined(__FMA__) && \\
    (__has_builtin(__builtin_elementwise_fma) || !defined(__clang__))
#define HASWELL 1 /* sums in the orders of OpenBLAS for Haswell and Zen */
#else
#define HASWELL 0
#endif
#if HASWELL
#define added_float64(x, y, sum) ((x) * (y) + (sum))
#define ROWS_float32 6
#define WIDE_float32 2
#define CHAINS_float32 2
#define CHAINS_float64 4
#define TOTAL(sum) (0 + (sum))
#define HELD(vector) ({ __asm__("" : "+x"(vector)); }) /* in a register, and not read again and again */
#define LAST_SUM_float32 1
#define LAST_SUM_float64 0
#define FIRST_CACHE 32768
#define FMA_float32 __builtin_fmaf
#define FMA_float64 __builtin_fma
#if defined(__clang__)
#define PLUS_float32(x, y, sum) __builtin_elementwise_fma((x) - (vector_float32){0}, y, sum)
#define PLUS_float64(x, y, sum) __builtin_elementwise_fma((x) - (vector_float64){0}, y, sum)
#else /* gcc leaves a single chain of sums unfused, to save time on Zen */
#define PLUS_float32(x, y, sum) (vector_float32)__builtin_ia32_vfmaddps256((x) - (vector_float32){0}, y, sum)
#define PLUS_float64(x, y, sum) (vector_float64)__builtin_ia32_vfmaddpd256((x) - (vector_float64){0}, y, sum)
#endif
#else
#define added_float64 __builtin_fma
#define ROWS_float32 ROWS
#define WIDE_float32 3
#define CHAINS_float32 1
#define CHAINS_float64 1
#define TOTAL(sum) (sum)
#define HELD(vector) ((void)0)
#define LAST_SUM_float32 0
#define LAST_SUM_float64 0
#define PLUS_float32(x, y, sum) ((x) * (y) + (sum))
#define PLUS_float64 PLUS_float32
#endif
#define ROWS_float64 ROWS
#define WIDE_float64 3
#define added_float32(x, y, sum) ((float64)((x) * (y)) + (sum))
#if HASWELL
#define FUSED
#define FUSING
#elif defined(__clang__)
#define FUSED
#define FUSING _Pragma("clang fp contract(fast)")
#else
#define FUSED __attribute__((optimize("fp-contract=fast")))
#define FUSING
#endif
#if !HASWELL && (defined(__FMA__) || defined(__ARM_FEATURE_FMA))
#define FUSES 1
#else
#define FUSES 0
#endif
#define INLINE static inline __attribute__((always_inline))
"""
"""What the registers of the processor hold, and how its BLAS adds vectors."""

HEAD = f"""\
{REGISTERS}#define ALONE static __attribute__((noinline))
_Static_assert(VECTOR <= {SPACE}, "");
#define SQUARE_float32 0
#define FIRST_float32(a, b) (a)
#define LAST_float32(a, b) (b)
#if VECTOR == 64 && __has_builtin(__builtin_shufflevector)
#define SQUARE_float64 1
#define FIRST_float64(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define LAST_float64(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define SQUARE_float64 0
#define FIRST_float64 FIRST_float32
#define LAST_float64 LAST_float32
#endif
#if HASWELL
/* How many rows from row i on OpenBLAS adds up in the same order. */
INLINE int64 stretch_float64(int64 i, int64 m) {{ return m - i > 1 ? (m - i) / 2 * 2 : 1; }}
INLINE int64 stretch_float32(int64 i, int64 m)
{{
    const int64 at = i % 12, left = m - i;
    return at + left >= 12 ? 6 : left < 4 ? left : 4;
}}
/* Whether it keeps several sums for each element of these rows in eight or four columns: of blocks of at most 320
   columns it adds up the first by 12, 4 and fewer rows, the others by 12, 8, 4 and fewer. */
INLINE int many_float64(int64 i, int64 m, int64 column, int64 n) {{ return m % 2 && i + 1 == m && column + 4 <= n; }}
INLINE int many_float32(int64 i, int64 m, int64 column, int64 n)
{{
    const int64 at = i % 12, left = m - i;
    int64 begin = 0, end;
    for (;; begin = end) {{
        end = n - begin >= 640 ? begin + 320 : n - begin > 320 ? begin + ((n - begin) / 2 + 7) / 8 * 8 : n;
        if (column < end) break;
    }}
    const int64 whole = (end - begin) / 8, vector = (column - begin) / 8, last = vector + 1 == whole;
    if (vector >= whole) return 0;
    if (at + left < 12) return left >= 4 && (!begin || at + left < 8);
    return whole > 1 && (at ? whole % 2 && last : !vector || (whole % 2 == 0 && last));
}}
#endif
"""
VECTOR_TYPES = """\
typedef TYPE vector_TYPE __attribute__((vector_size(VECTOR), aligned(sizeof(TYPE)), may_alias));
typedef TYPE half_TYPE __attribute__((vector_size(HALF), aligned(sizeof(TYPE)), may_alias));
enum { LANES_TYPE = VECTOR / sizeof(TYPE), HALF_TYPE = HALF / sizeof(TYPE) };

"""
TYPES = """\
/* How many registers hold a row of the next panel, where so many columns are left. */
INLINE int64 wide_TYPE(int64 columns)
{
    if (HASWELL && WIDE_TYPE == 3 && columns > 3 * LANES_TYPE && columns <= 4 * LANES_TYPE) return 2;
    return columns >= WIDE_TYPE * LANES_TYPE ? WIDE_TYPE : (columns + LANES_TYPE - 1) / LANES_TYPE;
}

"""
PRODUCTS = """\
/* A square of sums turned: each round puts the numbers of two vectors one by one in turns. */
INLINE void turn_TYPE(vector_TYPE (*sums)[WIDE_TYPE], int j)
{
    for (int round = 1; round < LANES_TYPE; round *= 2) {
        vector_TYPE found[LANES_TYPE];
        for (int i = 0; i < LANES_TYPE / 2; i++) {
            found[2 * i] = FIRST_TYPE(sums[i][j], sums[i + LANES_TYPE / 2][j]);
            found[2 * i + 1] = LAST_TYPE(sums[i][j], sums[i + LANES_TYPE / 2][j]);
        }
        for (int i = 0; i < LANES_TYPE; i++) sums[i][j] = found[i];
    }
}

/* Some rows of the result, within a panel; `down` and `along`: strides of the left matrix, in bytes.
   step: of the panel.  chains: how many sums there are for an element: of each eight products, every second or fourth.
   The result lies turned where `across`: n numbers lie between two of a row. */
FUSED INLINE void tile_TYPE(const char *a, int64 down, int64 along, const TYPE *b, const int64 step, TYPE *out, int64 n,
                            int64 k, int64 columns, const int rows, const int wide, const int chains, const int across)
{
    FUSING
    vector_TYPE sums[ROWS_TYPE][WIDE_TYPE], more[CHAINS_TYPE][ROWS_TYPE][WIDE_TYPE], y[WIDE_TYPE];
    int64 p = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < wide; j++) {
            sums[i][j] = (vector_TYPE){0};
            for (int c = 1; c < chains; c++) more[c][i][j] = (vector_TYPE){0};
        }
    for (const int64 whole = k / 8 * 8; chains > 1 && p < whole;)
        for (int c = 0; c < chains; c++, p++, a += along, b += step) {
            for (int j = 0; j < wide; j++) y[j] = ((const vector_TYPE *)b)[j], HELD(y[j]);
            for (int i = 0; i < rows; i++) {
                const TYPE x = *(const TYPE *)(a + i * down);
                for (int j = 0; j < wide; j++)
                    if (c) more[c][i][j] = PLUS_TYPE(x, y[j], more[c][i][j]);
                    else sums[i][j] = PLUS_TYPE(x, y[j], sums[i][j]);
            }
        }
    for (; p < k; p++, a += along, b += step) {
        for (int j = 0; j < wide; j++) y[j] = ((const vector_TYPE *)b)[j], HELD(y[j]);
        for (int i = 0; i < rows; i++) {
            const TYPE x = *(const TYPE *)(a + i * down);
            for (int j = 0; j < wide; j++) sums[i][j] = PLUS_TYPE(x, y[j], sums[i][j]);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < wide; j++) {
            if (chains > 1) sums[i][j] = sums[i][j] + more[1][i][j];
            if (chains > 2) sums[i][j] = sums[i][j] + (more[2][i][j] + more[3][i][j]);
            sums[i][j] = TOTAL(sums[i][j]);
        }
    for (int j = 0; across && j < wide; j++) {
        const int square = SQUARE_TYPE && rows == LANES_TYPE;
        if (square) turn_TYPE(sums, j);
        for (int64 l = 0; l < LANES_TYPE && j * LANES_TYPE + l < columns; l++, out += n)
            if (square) *(vector_TYPE *)out = sums[l][j];
            else for (int i = 0; i < rows; i++) out[i] = sums[i][j][l];
    }
    for (int i = 0; !across && i < rows; i++, out += n)
        for (int j = 0; j < wide; j++)
            if (columns >= (j + 1) * LANES_TYPE) *(vector_TYPE *)(out + j * LANES_TYPE) = sums[i][j];
            else for (int64 l = j * LANES_TYPE; l < columns; l++) out[l] = sums[i][j][l - j * LANES_TYPE];
}

FUSED INLINE void rows_TYPE(const char *a, int64 down, int64 along, const TYPE *b, const int64 step, TYPE *out, int64 n,
                            int64 m, int64 k, int64 columns, const int wide, const int across)
{
    const int64 next = across ? 1 : n;
    int64 i = 0;
#define TILES_TYPE(rows) \\
    for (; i + rows <= m; i += rows) \\
        tile_TYPE(a + i * down, down, along, b, step, out + i * next, n, k, columns, rows, wide, 1, across)
    TILES_TYPE(ROWS_TYPE);
    if (ROWS_TYPE > 4) TILES_TYPE(4);
    if (HASWELL) TILES_TYPE(2);
    TILES_TYPE(1);
}

#if HASWELL
/* Rows by one register of a panel. */
FUSED ALONE void single_TYPE(const char *a, int64 down, int64 along, const TYPE *b, const int64 step, TYPE *out,
                             int64 n, int64 m, int64 k, int64 columns)
{
    rows_TYPE(a, down, along, b, step, out, n, m, k, columns, 1, 0);
}

/* The same, with several sums for each element. */
FUSED ALONE void chained_TYPE(const char *a, int64 down, int64 along, const TYPE *b, const int64 step, TYPE *out,
                              int64 n, int64 m, int64 k)
{
    if (CHAINS_TYPE == 4) tile_TYPE(a, down, along, b, step, out, n, k, LANES_TYPE, 1, 1, CHAINS_TYPE, 0);
    else if (m == ROWS_TYPE) tile_TYPE(a, down, along, b, step, out, n, k, LANES_TYPE, ROWS_TYPE, 1, CHAINS_TYPE, 0);
    else tile_TYPE(a, down, along, b, step, out, n, k, LANES_TYPE, 4, 1, CHAINS_TYPE, 0);
}

FUSED INLINE void ordered_TYPE(const char *a, int64 down, int64 along, const TYPE *b, TYPE *out, int64 n, int64 m,
                               int64 k, int64 first, const int wide)
{
    const int64 step = wide * LANES_TYPE, left = n - first;
    for (int64 i = 0, some; i < m; i += some, a += some * down, out += some * n) {
        int many = 0;
        some = stretch_TYPE(i, m);
        for (int j = 0; j < wide; j++) many |= many_TYPE(i, m, first + j * LANES_TYPE, n) << j;
        if (!many) rows_TYPE(a, down, along, b, step, out, n, some, k, left, wide, 0);
        else for (int j = 0; j < wide; j++, b += LANES_TYPE, out += LANES_TYPE)
            if (many >> j & 1) chained_TYPE(a, down, along, b, step, out, n, some, k);
            else single_TYPE(a, down, along, b, step, out, n, some, k, left - j * LANES_TYPE);
        if (many) b -= step, out -= step;
    }
}
#define PANEL_TYPE(wide) \\
    if (!across) ordered_TYPE(G[0], strides[0], strides[1], b, here, n, m, k, j, wide); \\
    else rows_TYPE(G[0], strides[0], strides[1], b, wide * LANES_TYPE, here, n, m, k, left, wide, across)
#else
#define PANEL_TYPE(wide) \\
    rows_TYPE(G[0], strides[0], strides[1], b, wide * LANES_TYPE, here, n, m, k, left, wide, across)
#endif

/* Rows of a matrix by panels, of so many columns together; n: see tile. */
FUSED INLINE void multiply_TYPE(char **G, int64 m, int64 k, int64 n, int64 columns, const int64 *strides,
                                const int across)
{
    const TYPE *b = (const TYPE *)G[1];
    TYPE *out = (TYPE *)G[2];
    for (int64 j = 0; j < columns;) {
        const int64 wide = wide_TYPE(columns - j), left = columns - j;
        TYPE *here = out + (across ? j * n : j);
        if (wide == 1) { PANEL_TYPE(1); }
        else if (WIDE_TYPE > 2 && wide == 2) { PANEL_TYPE(2); }
        else { PANEL_TYPE(WIDE_TYPE); }
        b += k * wide * LANES_TYPE;
        j += wide * LANES_TYPE;
    }
}

FUSED static void product_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    multiply_TYPE(G, dims[0], dims[1], dims[2], dims[2], strides, 0);
}

static void panels_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    const int64 k = dims[0], n = dims[1], down = strides[0], along = strides[1];
    TYPE *out = (TYPE *)G[1];
    for (int64 j = 0; j < n;) {
        const int64 columns = wide_TYPE(n - j) * LANES_TYPE, filled = columns < n - j ? columns : n - j;
        for (int64 p = 0; p < k; p++, out += columns) {
            const char *row = G[0] + p * down + j * along;
            for (int64 l = 0; l < filled; l++) out[l] = *(const TYPE *)(row + l * along);
            for (int64 l = filled; l < columns; l++) out[l] = 0;
        }
        j += columns;
    }
}

/* The columns of the right matrix by panels of the rows of the left one, G[3], which are laid out: the same, turned.
   strides: of the right matrix, then of the left one, each turned. */
FUSED static void across_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    char *from[] = {G[3], G[1]};
    panels_TYPE(from, (const int64[]){dims[1], dims[0]}, strides + 2, data);
    multiply_TYPE(G, dims[2], dims[1], dims[2], dims[0], strides, 1);
}

"""
