/* The matrix instructions with f32 and i32 results: MFMA, dense and scaled, and SMFMAC. */
#include "mfma_elements.h"
#include "mfma_products.h"

typedef struct {
  float a[MAX_K * 32], b[MAX_K * 32]; /* at most 128 x 16, 64 x 32 or 4 x 64 elements; B of SMFMAC as many */
  Row c[MAX_C_ROWS];
  float scale_a[LANES], scale_b[LANES];
} __attribute__((aligned(64))) Scratch;

/* C as rows that stay as they are while D is written. */
INLINE const Row *prepare_c(Wave *w, const Op *op, uint32_t rows, Row *kept) {
  const uint32_t *f = op->f;
  if (!(f[FLAGS] & (C_CONSTANT | C_KEPT))) return (const Row *)&w->vgpr[f[C_ROW]];
  for (uint32_t i = 0; i < rows; i++)
    for (uint32_t j = 0; j < LANES; j += 16)
      store_part(kept[i] + j, f[FLAGS] & C_CONSTANT ? (u32x16){} + f[C_BITS] : load_part(w->vgpr[f[C_ROW] + i] + j));
  return (const Row *)kept;
}

/* The registers of A or B read through cbsz and abid, or blgp (mfma_layout.py). */
static void permute_lanes(const Row *from, uint32_t rows, uint32_t control, int is_b, Row *to) {
  uint32_t size = LANES >> (control & 15), abid = control >> 4 & 15, blgp = control >> 8;
  for (uint32_t lane = 0; lane < LANES; lane++) {
    uint32_t source = lane % size + size * abid;
    if (is_b) source = blgp == 0 ? lane : blgp == 3 ? lane + 16 : blgp < 3 ? lane % 32 + 32 * (blgp - 1) : lane % 16 + 16 * (blgp - 4);
    for (uint32_t i = 0; i < rows; i++) to[i][lane] = from[i][source % LANES];
  }
}

static int is_infinite(float x) {
  union { float f; uint32_t u; } value = {x};
  return (value.u & 0x7FFFFFFFu) == 0x7F800000u;
}

/* FP16_OVFL: infinities of D that no infinite input caused become the largest finite number. */
static void clamp_overflow(const float *a, const float *b, const uint32_t *pick, uint32_t side, uint32_t k, uint32_t blocks, const Row *c, Row *d) {
  uint32_t width = side == 4 ? LANES : side;
  for (uint32_t n = 0; n < blocks * side * side; n++) {
    uint32_t block = n / (side * side), i = n / side % side, j = n % side;
    uint32_t place = side == 4 ? i : d_register(i, side) + side * side / LANES * block;
    uint32_t lane = side == 4 ? 4 * block + j : d_lane(i, side) + j;
    uint32_t first = side == 4 ? 4 * block : block * k * side;
    if ((d[place][lane] & 0x7FFFFFFFu) != 0x7F800000u || (c[place][lane] & 0x7FFFFFFFu) == 0x7F800000u) continue;
    int caused = 0;
    for (uint32_t step = 0; step < k; step++) {
      uint32_t other = pick ? pick[step * side + i] : step * width;
      caused |= is_infinite(a[first + step * width + i]) | is_infinite(b[first + other + j]);
    }
    if (!caused) d[place][lane] -= 1;
  }
}

/* One byte of a register's lanes as scales; true if one is so large that scaled elements may be no f32. */
static int read_scales(const Row scales, uint32_t byte, float *out) {
  u32x16 large = {0};
  for (uint32_t lane = 0; lane < LANES; lane += 16) {
    u32x16 codes = load_part(scales + lane) >> (8 * byte) & 0xFFu;
    large |= (u32x16)(codes > 238) & (u32x16)(codes != 255);
    *(f32_part *)(out + lane) = scale_values(codes);
  }
  return __builtin_reduce_or(large) != 0;
}

WIDE int32_t mfma(Wave *w, const Op *op) {
  const uint32_t *f = op->f, side = f[SIDE], k = f[K], blocks = f[BLOCKS], flags = f[FLAGS];
  const uint32_t items = k * side * blocks / LANES, width = side == 4 ? LANES : side, rows = side * side * blocks / LANES;
  const int type_a = (int)f[A_ELEMENT], type_b = (int)f[B_ELEMENT], integer = type_a == I8, clamp = (flags & CLAMP) != 0;
  const Packing of_a = packing(type_a, items, width), of_b = packing(type_b, items, width);
  const Row *a = (const Row *)&w->vgpr[f[A_ROW]], *b = (const Row *)&w->vgpr[f[B_ROW]];
  Row *d = &w->vgpr[f[D_ROW]];
  Scratch s;
  Row turned_a[MAX_INPUT_ROWS], turned_b[MAX_INPUT_ROWS];
  if (f[LANE_CONTROL]) {
    permute_lanes(a, items * (uint32_t)element_bits(type_a) / 32, f[LANE_CONTROL], 0, turned_a);
    permute_lanes(b, items * (uint32_t)element_bits(type_b) / 32, f[LANE_CONTROL], 1, turned_b);
    a = (const Row *)turned_a, b = (const Row *)turned_b;
  }
  int far = 0;
  if (flags & SCALED) {
    far = read_scales(w->vgpr[f[SCALE_A]], flags >> BYTE_A & 3, s.scale_a);
    far |= read_scales(w->vgpr[f[SCALE_B]], flags >> BYTE_B & 3, s.scale_b);
  }
  if (flags & SCALED && !far) {
    expand_scaled(a, type_a, &of_a, s.scale_a, s.a);
    expand_scaled(b, type_b, &of_b, s.scale_b, s.b);
  } else {
    expand_elements(a, type_a, &of_a, flags & FLUSH, s.a);
    expand_elements(b, type_b, &of_b, flags & FLUSH, s.b);
  }
  const Row *c = prepare_c(w, op, rows, s.c);
  if (far)
    multiply_scaled(s.a, s.b, s.scale_a, s.scale_b, side, k, c, d);
  else if (side == 4)
    multiply_4(s.a, s.b, k, c, d, integer, clamp);
  else
    for (uint32_t block = 0; block < blocks; block++) {
      const float *left = s.a + block * k * side, *right = s.b + block * k * side;
      const Row *old = c + side * side / LANES * block;
      Row *new = d + side * side / LANES * block;
      if (integer && side == 16) multiply_int_16(left, right, k, old, new, clamp);
      else if (integer) multiply_int_32(left, right, k, old, new, clamp);
      else if (side == 16) multiply_16(left, right, k, old, new);
      else multiply_32(left, right, k, old, new);
    }
  if (clamp && !integer) clamp_overflow(s.a, s.b, 0, side, k, blocks, c, d);
  return NEXT;
}

/* The hottest instructions with everything but the rows known: plain ones, of one block and 16-bit floats. */
INLINE int32_t plain(Wave *w, const uint32_t *f, int element, uint32_t side, uint32_t k) {
  const Packing p = packing(element, k * side / LANES, side);
  float a[MAX_SPARSE] __attribute__((aligned(64))), b[MAX_SPARSE] __attribute__((aligned(64)));
  expand((const Row *)&w->vgpr[f[A_ROW]], element, &p, 0, 0, a);
  expand((const Row *)&w->vgpr[f[B_ROW]], element, &p, 0, 0, b);
  multiply(a, b, 0, side, side == 16 ? ROWS_16 : ROWS_32, k, (const Row *)&w->vgpr[f[C_ROW]], &w->vgpr[f[D_ROW]], 0, 0);
  return NEXT;
}

#define PLAIN(name, element, side, k) \
  WIDE int32_t mfma_##name##_##side##x##k(Wave *w, const Op *op) { return plain(w, op->f, element, side, k); }
PLAIN(bf16, BF16, 16, 16)
PLAIN(bf16, BF16, 16, 32)
PLAIN(bf16, BF16, 32, 8)
PLAIN(bf16, BF16, 32, 16)
PLAIN(f16, F16, 16, 16)
PLAIN(f16, F16, 16, 32)
PLAIN(f16, F16, 32, 8)
PLAIN(f16, F16, 32, 16)

WIDE int32_t smfmac(Wave *w, const Op *op) {
  const uint32_t *f = op->f, side = f[SIDE], stored = f[K] / 2, flags = f[FLAGS];
  const uint32_t items = f[K] * side / LANES, rows = side * side / LANES;
  const Packing of_b = packing((int)f[B_ELEMENT], items, side), of_a = {items / 2, of_b.run / 2, side};
  const int integer = f[A_ELEMENT] == I8, clamp = (flags & CLAMP) != 0;
  Row *d = &w->vgpr[f[D_ROW]];
  Scratch s;
  uint32_t pick[MAX_SPARSE] __attribute__((aligned(64)));
  for (uint32_t first = 0; first < LANES; first += 16)
    for (uint32_t item = 0; item < of_a.items; item++) {
      uint32_t k = item % of_a.run + of_a.run * (first / side + LANES / side * (item / of_a.run));
      u32x16 two_bits = load_part(w->vgpr[f[C_ROW]] + first) >> (f[LANE_CONTROL] + 2 * item) & 3u;
      store_part(pick + k * side + first % side, (two_bits + k / 2 * 4) * side);
    }
  expand_elements((const Row *)&w->vgpr[f[A_ROW]], (int)f[A_ELEMENT], &of_a, 0, s.a);
  expand_elements((const Row *)&w->vgpr[f[B_ROW]], (int)f[B_ELEMENT], &of_b, 0, s.b);
  for (uint32_t i = 0; i < rows; i++) __builtin_memcpy(s.c[i], d[i], sizeof(Row));
  multiply_sparse(s.a, s.b, pick, side, stored, (const Row *)s.c, d, integer, clamp);
  if (clamp && !integer) clamp_overflow(s.a, s.b, pick, side, stored, 1, (const Row *)s.c, d);
  return NEXT;
}
