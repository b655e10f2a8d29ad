/* The matrix instructions with f32 and i32 results: MFMA, dense and scaled, and SMFMAC. */
#include "mfma_elements.h"
#include "mfma_products.h"

typedef struct {
  float a[MAX_ELEMENTS], b[MAX_ELEMENTS];
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

/* The registers of A read through cbsz and abid (mfma_layout.py). */
static void broadcast_a(const Row *from, uint32_t rows, uint32_t control, Row *to) {
  uint32_t size = LANES >> (control & 15), abid = control >> 4 & 15;
  for (uint32_t i = 0; i < rows; i++)
    for (uint32_t lane = 0; lane < LANES; lane++) to[i][lane] = from[i][(lane % size + size * abid) % LANES];
}

/* The registers of B read through blgp (mfma_layout.py). */
static void permute_b(const Row *from, uint32_t rows, uint32_t control, Row *to) {
  uint32_t blgp = control >> 8;
  for (uint32_t lane = 0; lane < LANES; lane++) {
    uint32_t source = lane;
    if (blgp == 3) source = (lane + 16) % LANES;
    if (blgp == 1 || blgp == 2) source = lane % 32 + 32 * (blgp - 1);
    if (blgp > 3) source = lane % 16 + 16 * (blgp - 4);
    for (uint32_t i = 0; i < rows; i++) to[i][lane] = from[i][source];
  }
}

INLINE int is_infinite(float x) {
  union { float f; uint32_t u; } value = {x};
  return (value.u & 0x7FFFFFFFu) == 0x7F800000u;
}

/* FP16_OVFL: infinities of D that no infinite input caused become the largest finite number. */
static void clamp_overflow(const Product *x, const uint32_t *pick, uint32_t side, uint32_t blocks) {
  const uint32_t width = side == 4 ? LANES : side;
  for (uint32_t n = 0; n < blocks * side * side; n++) {
    uint32_t block = n / (side * side), i = n / side % side, j = n % side;
    uint32_t place = side == 4 ? i : d_register(i, side) + side * side / LANES * block;
    uint32_t lane = side == 4 ? 4 * block + j : d_lane(i, side) + j;
    uint32_t first = side == 4 ? 4 * block : block * x->k * side;
    uint32_t *d = &x->d[place][lane];
    if ((*d & 0x7FFFFFFFu) != 0x7F800000u || (x->c[place][lane] & 0x7FFFFFFFu) == 0x7F800000u) continue;
    int caused = 0;
    for (uint32_t k = 0; k < x->k; k++) {
      uint32_t other = pick ? pick[k * side + i] : k * width;
      caused |= is_infinite(x->a[first + k * width + i]) | is_infinite(x->b[first + other + j]);
    }
    if (!caused) *d -= 1;
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
  const uint32_t items = k * side * blocks / LANES, width = side == 4 ? LANES : side;
  const uint32_t rows = side * side * blocks / LANES;
  const int type_a = (int)f[A_ELEMENT], type_b = (int)f[B_ELEMENT], integer = type_a == I8;
  const Packing of_a = packing(type_a, items, width), of_b = packing(type_b, items, width);
  const Row *a = (const Row *)&w->vgpr[f[A_ROW]], *b = (const Row *)&w->vgpr[f[B_ROW]];
  Scratch s;
  Row turned_a[MAX_INPUT_ROWS], turned_b[MAX_INPUT_ROWS];
  if (f[LANE_CONTROL]) {
    broadcast_a(a, items * (uint32_t)element_bits(type_a) / 32, f[LANE_CONTROL], turned_a);
    permute_b(b, items * (uint32_t)element_bits(type_b) / 32, f[LANE_CONTROL], turned_b);
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
  const Product all = {s.a, s.b, k, prepare_c(w, op, rows, s.c), &w->vgpr[f[D_ROW]], (flags & CLAMP) != 0};
  if (far)
    multiply_scaled(&all, s.scale_a, s.scale_b, side);
  else if (side == 4)
    multiply_fours(&all, integer);
  else
    for (uint32_t block = 0; block < blocks; block++) {
      uint32_t first = block * k * side, row = block * side * side / LANES;
      const Product one = {s.a + first, s.b + first, k, all.c + row, all.d + row, all.clamp};
      multiply_dense(&one, side, integer);
    }
  if (all.clamp && !integer) clamp_overflow(&all, 0, side, blocks);
  return NEXT;
}

/* The hottest instructions with everything but the rows known: plain ones, of one block and 16-bit floats. */
INLINE int32_t plain(Wave *w, const uint32_t *f, int type, uint32_t side, uint32_t k) {
  const Packing p = packing(type, k * side / LANES, side);
  float a[32 * 16] __attribute__((aligned(64))), b[32 * 16] __attribute__((aligned(64)));
  expand((const Row *)&w->vgpr[f[A_ROW]], type, &p, 0, 0, a);
  expand((const Row *)&w->vgpr[f[B_ROW]], type, &p, 0, 0, b);
  const Product x = {a, b, k, (const Row *)&w->vgpr[f[C_ROW]], &w->vgpr[f[D_ROW]], 0};
  multiply_side(&x, 0, side, 0);
  return NEXT;
}

#define PLAIN(name, type, side, k) \
  WIDE int32_t mfma_##name##_##side##x##k(Wave *w, const Op *op) { return plain(w, op->f, type, side, k); }
PLAIN(bf16, BF16, 16, 16)
PLAIN(bf16, BF16, 16, 32)
PLAIN(bf16, BF16, 32, 8)
PLAIN(bf16, BF16, 32, 16)
PLAIN(f16, F16, 16, 16)
PLAIN(f16, F16, 16, 32)
PLAIN(f16, F16, 32, 8)
PLAIN(f16, F16, 32, 16)

WIDE int32_t smfmac(Wave *w, const Op *op) {
  const uint32_t *f = op->f, side = f[SIDE], flags = f[FLAGS], rows = side * side / LANES;
  const int type_a = (int)f[A_ELEMENT], type_b = (int)f[B_ELEMENT];
  const Packing of_b = packing(type_b, f[K] * side / LANES, side), of_a = {of_b.items / 2, of_b.run / 2, side};
  Row *d = &w->vgpr[f[D_ROW]];
  Scratch s;
  uint32_t pick[MAX_ELEMENTS / 2] __attribute__((aligned(64)));
  for (uint32_t first = 0; first < LANES; first += 16)
    for (uint32_t item = 0; item < of_a.items; item++) {
      uint32_t k = item % of_a.run + of_a.run * (first / side + LANES / side * (item / of_a.run));
      u32x16 two_bits = load_part(w->vgpr[f[C_ROW]] + first) >> (f[LANE_CONTROL] + 2 * item) & 3u;
      store_part(pick + k * side + first % side, (two_bits + k / 2 * 4) * side);
    }
  expand_elements((const Row *)&w->vgpr[f[A_ROW]], type_a, &of_a, 0, s.a);
  expand_elements((const Row *)&w->vgpr[f[B_ROW]], type_b, &of_b, 0, s.b);
  for (uint32_t i = 0; i < rows; i++)
    for (uint32_t j = 0; j < LANES; j += 16) store_part(s.c[i] + j, load_part(d[i] + j));
  const Product x = {s.a, s.b, f[K] / 2, (const Row *)s.c, d, (flags & CLAMP) != 0};
  multiply_sparse(&x, pick, side, type_a == I8);
  if (x.clamp && type_a != I8) clamp_overflow(&x, pick, side, 1);
  return NEXT;
}
