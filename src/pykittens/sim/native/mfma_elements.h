/* Elements of A and B from their registers to f32, in the order in which the products need them. */
#ifndef PYKITTENS_MFMA_ELEMENTS_H
#define PYKITTENS_MFMA_ELEMENTS_H

#include "mfma.h"

/* Elements come in order of k. `width` of one k stand together: one for each row of a block of side 16 or 32, or for
   all blocks of side 4 (64); other blocks follow each other. A lane holds `items` elements in runs of `run` along k. */
typedef struct {
  uint32_t items, run, width;
} Packing;

/* At most four registers of k stand in a run, but all of them where elements have 6 bits (mfma_layout.py). */
INLINE Packing packing(int type, uint32_t items, uint32_t width) {
  uint32_t bits = (uint32_t)element_bits(type), most = 128 / bits;
  return (Packing){items, bits == 6 || items < most ? items : most, width};
}

/* sixteen lanes of one element type; `registers` are the one or (6 bits) three that hold the group of elements. */
INLINE f32x16 element(const u32x16 *registers, int type, int number, int flush) {
  const int bits = element_bits(type), position = number * bits, shift = position % 32;
  u32x16 lanes = registers[position / 32];
  if (type == BF16) return (f32x16)(shift ? lanes & 0xFFFF0000u : lanes << 16);
  if (type == I8) return __builtin_convertvector((i32x16)(lanes << (24 - shift)) >> 24, f32x16);
  if (type == F32 || type == XF32) {
    u32x16 magnitude = lanes & 0x7FFFFFFFu;
    if (flush) lanes = blend((i32x16)(magnitude < 0x00800000u), lanes & 0x80000000u, lanes);
    if (type == XF32) lanes = blend((i32x16)(magnitude > 0x7F800000u), lanes, lanes & 0xFFFFE000u);
    return (f32x16)lanes;
  }
  if (shift + bits > 32) return small_values(lanes >> shift | registers[position / 32 + 1] << (32 - shift), type, 0);
  return small_values(lanes, type, shift);
}

/* f16: the pair of elements of sixteen registers. */
INLINE void half_pair(u32x16 lanes, f32x16 *low, f32x16 *high) {
#if defined(__F16C__) || defined(__aarch64__)
  typedef _Float16 f16x16 __attribute__((ext_vector_type(16)));
  typedef _Float16 f16x32 __attribute__((ext_vector_type(32)));
  f16x32 both = (f16x32)lanes;
  f32x16 first = __builtin_convertvector((f16x16)both.lo, f32x16);
  f32x16 second = __builtin_convertvector((f16x16)both.hi, f32x16);
  *low = __builtin_shufflevector(first, second, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  *high = __builtin_shufflevector(first, second, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#else
  for (int i = 0; i < 2; i++) {
    u32x16 half = i ? lanes >> 16 : lanes & 0xFFFFu, magnitude = half & 0x7FFFu;
    f32x16 small = __builtin_convertvector((i32x16)magnitude, f32x16) * (f32x16)0x1p-24f;
    u32x16 normal = (magnitude << 13) + ((127u - 15u) << 23), top = magnitude << 13 | 0x7F800000u;
    u32x16 value = blend((i32x16)(magnitude < 0x0400u), (u32x16)small, normal);
    value = blend((i32x16)(magnitude >= 0x7C00u), top, value) | (half & 0x8000u) << 16;
    *(i ? high : low) = (f32x16)value;
  }
#endif
}

/* Rewrites the elements that are no numbers; they are rare. */
static void expand_specials(const Row *rows, int type, const Packing *p, const float *scales, float *out) {
  for (uint32_t lane = 0; lane < LANES; lane++)
    for (uint32_t item = 0; item < p->items; item++) {
      union { uint32_t bits; float number; } value = {special_value(rows[item / 4][lane] >> item % 4 * 8 & 0xFF, type)};
      if (!value.bits) continue;
      uint32_t k = item % p->run + p->run * (lane / p->width + LANES / p->width * (item / p->run));
      uint32_t row = lane % p->width;
      out[k * p->width + row] = value.number * (scales ? scales[k / SCALE_BLOCK * p->width + row] : 1.0f);
    }
}

/* All but the pointers and the packing is constant where this is inlined; without scales the pointer is 0. */
INLINE void expand(const Row *rows, int type, const Packing *p, int flush, const float *scales, float *out) {
  const int bits = element_bits(type), registers = bits == 6 ? 3 : 1, group = 32 * registers / bits;
  const uint32_t width = p->width, run = p->run, step = width / 16, shift = (uint32_t)__builtin_ctz(width);
  u32x16 special = {0};
  for (uint32_t first = 0; first < LANES; first += 16) {
    const uint32_t *from = rows[0] + first, column = first & (width - 1);
    uint32_t k = run * (first >> shift);
    for (uint32_t item = 0; item < p->items; k += run * (LANES >> shift)) {
      f32x16 scale = scales ? *(const f32_part *)(scales + k / SCALE_BLOCK * width + column) : (f32x16)1.0f;
      f32_part *to = (f32_part *)(out + k * width + column);
      for (uint32_t end = item + run; item < end; item += group, from += registers * LANES, to += group * step) {
        u32x16 lanes[3] = {load_part(from)};
        if (registers == 3) lanes[1] = load_part(from + LANES), lanes[2] = load_part(from + 2 * LANES);
        if (type == F16) {
          half_pair(lanes[0], (f32x16 *)to, (f32x16 *)(to + step));
          continue;
        }
        if (bits == 8 && type != I8) special |= special_codes(lanes[0], type);
        UNROLL for (int number = 0; number < group; number++) {
          f32x16 value = element(lanes, type, number, flush);
          to[number * step] = scales ? value * scale : value;
        }
      }
    }
  }
  if (bits == 8 && type != I8 && __builtin_reduce_or(special)) expand_specials(rows, type, p, scales, out);
}

ROUTINE void expand_elements(const Row *rows, int type, const Packing *p, int flush, float *out) {
#define CASE(name) case name: expand(rows, name, p, 0, 0, out); break
  switch (type) {
    case F32: expand(rows, F32, p, flush, 0, out); break;
    case XF32: expand(rows, XF32, p, flush, 0, out); break;
    CASE(F16); CASE(BF16); CASE(I8);
    CASE(E4M3FN); CASE(E5M2); CASE(E4M3FNUZ); CASE(E5M2FNUZ); CASE(E2M3FN); CASE(E3M2FN); CASE(E2M1FN);
  }
#undef CASE
}

/* Of the f8f6f4 formats, times their scales[block of k][row]. */
ROUTINE void expand_scaled(const Row *rows, int type, const Packing *p, const float *scales, float *out) {
#define CASE(name) case name: expand(rows, name, p, 0, scales, out); break
  switch (type) {
    CASE(E4M3FN); CASE(E5M2); CASE(E2M3FN); CASE(E3M2FN); CASE(E2M1FN);
  }
#undef CASE
}

#endif
