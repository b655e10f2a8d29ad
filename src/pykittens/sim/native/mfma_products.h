/* Sums of products in f32: every element of D takes its products for k ascending, by fused multiply-adds. */
#ifndef PYKITTENS_MFMA_PRODUCTS_H
#define PYKITTENS_MFMA_PRODUCTS_H

#include "mfma.h"

/* Rows of D whose sums stay in registers together: as many as the host has registers for. */
#ifdef __AVX512F__
enum { ROWS_16 = 16, ROWS_32 = 8 };
#else
enum { ROWS_16 = 4, ROWS_32 = 2 };
#endif

/* One block of D = C + A B (all blocks, if their side is 4), A and B as mfma_elements.h expands them. */
typedef struct {
  const float *a, *b;
  uint32_t k; /* elements of a row of A */
  const Row *c;
  Row *d;
  int clamp; /* integers saturate */
} Product;

/* i32 sum of C and an exact integer in f32. */
INLINE u32x16 add_integers(u32x16 c, f32x16 product_sum, int clamp) {
  u32x16 p = (u32x16)__builtin_convertvector(product_sum, i32x16), sum = c + p;
  if (!clamp) return sum;
  i32x16 overflow = (i32x16)((c ^ sum) & (p ^ sum)) >> 31;
  return blend(overflow, (u32x16)((i32x16)c >> 31) ^ 0x7FFFFFFFu, sum);
}

/* A block of side 16 or 32, `rows` rows at a time; the numbers are constants where this is inlined. Products of i8 are
   summed apart from C: they are exact in f32. Sparse: element k of row i of A meets those of B from
   b[pick[k * side + i]] on; else `pick` is 0. */
INLINE void multiply(const Product *x, const uint32_t *pick, uint32_t side, uint32_t rows, int integer) {
  const uint32_t columns = side / 16;
  for (uint32_t i0 = 0; i0 < side; i0 += rows) {
    f32x16 sum[16];
    UNROLL for (uint32_t i = 0; i < rows; i++) UNROLL for (uint32_t j = 0; j < columns; j++) {
      const uint32_t *old = x->c[d_register(i0 + i, side)] + d_lane(i0 + i, side) + 16 * j;
      sum[i * columns + j] = integer ? (f32x16)0.0f : (f32x16)load_part(old);
    }
    for (uint32_t k = 0; k < x->k; k++) {
      const float *left = x->a + k * side + i0;
      UNROLL for (uint32_t i = 0; i < rows; i++) {
        const f32_part *right = (const f32_part *)(x->b + (pick ? pick[k * side + i0 + i] : k * side));
        UNROLL for (uint32_t j = 0; j < columns; j++)
          sum[i * columns + j] = __builtin_elementwise_fma((f32x16)left[i], right[j], sum[i * columns + j]);
      }
    }
    UNROLL for (uint32_t i = 0; i < rows; i++) UNROLL for (uint32_t j = 0; j < columns; j++) {
      uint32_t place = d_register(i0 + i, side), lane = d_lane(i0 + i, side) + 16 * j;
      f32x16 total = sum[i * columns + j];
      u32x16 result = integer ? add_integers(load_part(x->c[place] + lane), total, x->clamp) : one_nan(total);
      store_part(x->d[place] + lane, result);
    }
  }
}

INLINE void multiply_side(const Product *x, const uint32_t *pick, uint32_t side, int integer) {
  if (side == 16)
    multiply(x, pick, 16, ROWS_16, integer);
  else
    multiply(x, pick, 32, ROWS_32, integer);
}

ROUTINE void multiply_dense(const Product *x, uint32_t side, int integer) {
  if (integer)
    multiply_side(x, 0, side, 1);
  else
    multiply_side(x, 0, side, 0);
}

ROUTINE void multiply_sparse(const Product *x, const uint32_t *pick, uint32_t side, int integer) {
  if (integer)
    multiply_side(x, pick, side, 1);
  else
    multiply_side(x, pick, side, 0);
}

/* Element `row` of each group of four lanes, for all four. */
INLINE f32x16 of_each_four(f32x16 x, int row) {
#define FOUR(n) n, n, n, n
#define FOURS(n) __builtin_shufflevector(x, x, FOUR(n), FOUR(n + 4), FOUR(n + 8), FOUR(n + 12))
  return row == 0 ? FOURS(0) : row == 1 ? FOURS(1) : row == 2 ? FOURS(2) : FOURS(3);
#undef FOURS
#undef FOUR
}

/* All 16 blocks of side 4. */
ROUTINE void multiply_fours(const Product *x, int integer) {
  for (uint32_t first = 0; first < LANES; first += 16) {
    f32x16 sum[4];
    UNROLL for (int i = 0; i < 4; i++) sum[i] = integer ? (f32x16)0.0f : (f32x16)load_part(x->c[i] + first);
    for (uint32_t k = 0; k < x->k; k++) {
      f32x16 left = *(const f32_part *)(x->a + k * LANES + first);
      f32x16 right = *(const f32_part *)(x->b + k * LANES + first);
      UNROLL for (int i = 0; i < 4; i++) sum[i] = __builtin_elementwise_fma(of_each_four(left, i), right, sum[i]);
    }
    UNROLL for (int i = 0; i < 4; i++) {
      u32x16 result = integer ? add_integers(load_part(x->c[i] + first), sum[i], x->clamp) : one_nan(sum[i]);
      store_part(x->d[i] + first, result);
    }
  }
}

/* With scales[block of k][row or column] apart, for scales so far out that a scaled element is no f32. In f64 a product
   is exact and has at most 8 significant bits, so rounding its sum with an f32 first to f64 does not change the second
   rounding: where the first is inexact, one of the two is below all that f32 could see beside the other. */
ROUTINE void multiply_scaled(const Product *x, const float *scale_a, const float *scale_b, uint32_t side) {
  for (uint32_t i = 0; i < side; i++)
    for (uint32_t j = 0; j < side; j += 16) {
      uint32_t place = d_register(i, side), lane = d_lane(i, side) + j;
      f32x16 sum = (f32x16)load_part(x->c[place] + lane);
      for (uint32_t k = 0; k < x->k; k++) {
        uint32_t block = k / SCALE_BLOCK * side;
        f64x16 right = __builtin_convertvector(*(const f32_part *)(x->b + k * side + j), f64x16);
        f64x16 scale = __builtin_convertvector(*(const f32_part *)(scale_b + block + j), f64x16);
        double left = (double)x->a[k * side + i] * (double)scale_a[block + i];
        sum = __builtin_convertvector(left * (right * scale) + __builtin_convertvector(sum, f64x16), f32x16);
      }
      store_part(x->d[place] + lane, one_nan(sum));
    }
}

#endif
