/* The matrix instructions on f64: 16 x 16 x 4, and four blocks of 4 x 4 x 4. */
#include "mfma.h"

/* Lanes 16n to 16n+15 of a pair of registers. */
INLINE f64x16 load_pair(const Row *rows, uint32_t lane) {
  u64x16 low = __builtin_convertvector(load_part(rows[0] + lane), u64x16);
  u64x16 high = __builtin_convertvector(load_part(rows[1] + lane), u64x16);
  return (f64x16)(low | high << 32);
}

INLINE void store_pair(Row *rows, uint32_t lane, f64x16 value) {
  u64x16 bits = value != value ? (u64x16)0x7FF8000000000000ull : (u64x16)value;
  store_part(rows[0] + lane, __builtin_convertvector(bits, u32x16));
  store_part(rows[1] + lane, __builtin_convertvector(bits >> 32, u32x16));
}

WIDE int32_t mfma_f64(Wave *w, const Op *op) {
  const uint32_t *f = op->f, side = f[SIDE], flags = f[FLAGS];
  double a[LANES];
  f64x16 b[4];
  for (uint32_t k = 0; k < 4; k++) {
    f64x16 left = load_pair((const Row *)&w->vgpr[f[A_ROW]], 16 * k);
    b[k] = load_pair((const Row *)&w->vgpr[f[B_ROW]], 16 * k);
    if (flags & NEGATE_A) left = -left;
    if (flags & NEGATE_B) b[k] = -b[k];
    for (uint32_t i = 0; i < 16; i++) a[16 * k + i] = left[i];
  }
  f64x16 total[16];
  /* A row of D is 16 lanes: a row of the block of 16, or of all four blocks of 4. */
  for (uint32_t i = 0; i < side; i++) {
    uint32_t pair = 2 * (i / 4), lane = 16 * (i % 4);
    f64x16 sum = (f64x16)((u64x16)0 + (f[C_BITS] | (uint64_t)f[C_HIGH] << 32));
    if (!(flags & C_CONSTANT)) sum = load_pair((const Row *)&w->vgpr[f[C_ROW] + pair], lane);
    if (flags & NEGATE_C) sum = -sum;
    for (uint32_t k = 0; k < 4; k++) {
      f64x16 left = (f64x16)a[16 * k + i];
      if (side == 4)
        for (uint32_t j = 0; j < 16; j++) left[j] = a[16 * k + j / 4 * 4 + i];
      sum = __builtin_elementwise_fma(left, b[k], sum);
    }
    total[i] = sum;
  }
  for (uint32_t i = 0; i < side; i++) store_pair(&w->vgpr[f[D_ROW] + 2 * (i / 4)], 16 * (i % 4), total[i]);
  return NEXT;
}
