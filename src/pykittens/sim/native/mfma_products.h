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

/* i32 sum of C and an exact integer in f32. */
INLINE u32x16 add_integers(u32x16 c, f32x16 product_sum, int clamp) {
  u32x16 p = (u32x16)__builtin_convertvector(product_sum, i32x16), sum = c + p;
  if (!clamp) return sum;
  i32x16 overflow = (i32x16)((c ^ sum) & (p ^ sum)) >> 31;
  return blend(overflow, (u32x16)((i32x16)c >> 31) ^ 0x7FFFFFFFu, sum);
}

/* One block of side 16 or 32, `rows` rows at a time. All but the pointers and k are constants where this is inlined. */
INLINE void multiply(const float *a, const float *b, const uint32_t *pick, uint32_t side, uint32_t rows, uint32_t k, const Row *c, Row *d, int integer, int clamp) {
  const uint32_t columns = side / 16;
  for (uint32_t i0 = 0; i0 < side; i0 += rows) {
    f32x16 sum[16];
    UNROLL for (uint32_t i = 0; i < rows; i++) UNROLL for (uint32_t j = 0; j < columns; j++) {
      const uint32_t *old = c[d_register(i0 + i, side)] + d_lane(i0 + i, side) + 16 * j;
      sum[i * columns + j] = integer ? (f32x16)0.0f : (f32x16)load_part(old);
    }
    for (uint32_t step = 0; step < k; step++) {
      const float *left = a + step * side + i0;
      UNROLL for (uint32_t i = 0; i < rows; i++) {
        const f32_part *right = (const f32_part *)(b + (pick ? pick[step * side + i0 + i] : step * side));
        UNROLL for (uint32_t j = 0; j < columns; j++)
          sum[i * columns + j] = __builtin_elementwise_fma((f32x16)left[i], right[j], sum[i * columns + j]);
      }
    }
    UNROLL for (uint32_t i = 0; i < rows; i++) UNROLL for (uint32_t j = 0; j < columns; j++) {
      uint32_t place = d_register(i0 + i, side), lane = d_lane(i0 + i, side) + 16 * j;
      f32x16 total = sum[i * columns + j];
      store_part(d[place] + lane, integer ? add_integers(load_part(c[place] + lane), total, clamp) : one_nan(total));
    }
  }
}

/* One block of floats; the others below are of integers, whose sums are exact in f32. `clamp` saturates them. */
ROUTINE void multiply_16(const float *a, const float *b, uint32_t k, const Row *c, Row *d) {
  multiply(a, b, 0, 16, ROWS_16, k, c, d, 0, 0);
}

ROUTINE void multiply_32(const float *a, const float *b, uint32_t k, const Row *c, Row *d) {
  multiply(a, b, 0, 32, ROWS_32, k, c, d, 0, 0);
}

ROUTINE void multiply_int_16(const float *a, const float *b, uint32_t k, const Row *c, Row *d, int clamp) {
  multiply(a, b, 0, 16, ROWS_16, k, c, d, 1, clamp);
}

ROUTINE void multiply_int_32(const float *a, const float *b, uint32_t k, const Row *c, Row *d, int clamp) {
  multiply(a, b, 0, 32, ROWS_32, k, c, d, 1, clamp);
}

/* Sparse: element k of row i of A meets the elements of B from b[pick[k * side + i]] on. */
ROUTINE void multiply_sparse(const float *a, const float *b, const uint32_t *pick, uint32_t side, uint32_t k, const Row *c, Row *d, int integer, int clamp) {
  if (side == 16)
    multiply(a, b, pick, 16, ROWS_16, k, c, d, integer, clamp);
  else
    multiply(a, b, pick, 32, ROWS_32, k, c, d, integer, clamp);
}

/* Element `row` of each group of four lanes, for all four. */
INLINE f32x16 of_each_four(f32x16 x, int row) {
#define FOURS(n) __builtin_shufflevector(x, x, n, n, n, n, n + 4, n + 4, n + 4, n + 4, n + 8, n + 8, n + 8, n + 8, n + 12, n + 12, n + 12, n + 12)
  return row == 0 ? FOURS(0) : row == 1 ? FOURS(1) : row == 2 ? FOURS(2) : FOURS(3);
#undef FOURS
}

/* All 16 blocks of side 4. */
ROUTINE void multiply_4(const float *a, const float *b, uint32_t k, const Row *c, Row *d, int integer, int clamp) {
  for (uint32_t first = 0; first < LANES; first += 16) {
    f32x16 sum[4];
    UNROLL for (int i = 0; i < 4; i++) sum[i] = integer ? (f32x16)0.0f : (f32x16)load_part(c[i] + first);
    for (uint32_t step = 0; step < k; step++) {
      f32x16 left = *(const f32_part *)(a + step * LANES + first), right = *(const f32_part *)(b + step * LANES + first);
      UNROLL for (int i = 0; i < 4; i++) sum[i] = __builtin_elementwise_fma(of_each_four(left, i), right, sum[i]);
    }
    UNROLL for (int i = 0; i < 4; i++)
      store_part(d[i] + first, integer ? add_integers(load_part(c[i] + first), sum[i], clamp) : one_nan(sum[i]));
  }
}

/* Exact product plus f32, rounded once: the f64 sum is rounded to odd, so that the second rounding sees what the first
   one dropped. */
INLINE f32x16 add_once(f64x16 product, f32x16 addend) {
  typedef int64_t i64x16 __attribute__((ext_vector_type(16)));
  f64x16 wide = __builtin_convertvector(addend, f64x16), sum = product + wide, part = sum - product;
  f64x16 error = (product - (sum - part)) + (wide - part);
  i64x16 bits = (i64x16)sum, inexact = (error < 0.0) | (error > 0.0), even = (bits & 1) == 0;
  i64x16 step = ((error > 0.0) == (sum > 0.0)) ? (i64x16)1 : (i64x16)-1;
  return __builtin_convertvector((f64x16)(bits + (step & inexact & even)), f32x16);
}

/* With scales apart, for scales so far out that a scaled element is no f32: scales[block of k][row or column]. */
ROUTINE void multiply_scaled(const float *a, const float *b, const float *scale_a, const float *scale_b, uint32_t side, uint32_t k, const Row *c, Row *d) {
  for (uint32_t i = 0; i < side; i++)
    for (uint32_t j = 0; j < side; j += 16) {
      uint32_t place = d_register(i, side), lane = d_lane(i, side) + j;
      f32x16 sum = (f32x16)load_part(c[place] + lane);
      for (uint32_t step = 0; step < k; step++) {
        uint32_t block = step / SCALE_BLOCK * side;
        f64x16 right = __builtin_convertvector(*(const f32_part *)(b + step * side + j), f64x16);
        f64x16 scale = __builtin_convertvector(*(const f32_part *)(scale_b + block + j), f64x16);
        double left = (double)a[step * side + i] * (double)scale_a[block + i];
        sum = add_once(left * (right * scale), sum);
      }
      store_part(d[place] + lane, one_nan(sum));
    }
}

#endif
