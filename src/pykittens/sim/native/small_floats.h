/* Float formats of 4, 6 and 8 bits as f32: sixteen elements at a time, one in each 32-bit lane. */
#ifndef PYKITTENS_SMALL_FLOATS_H
#define PYKITTENS_SMALL_FLOATS_H

#include "vectors.h"

typedef float f32x16 __attribute__((ext_vector_type(16)));

/* Element types of A and B; the binder writes these numbers (mfma_handlers.py). */
enum Element { F32, XF32, F16, BF16, I8, E4M3FN, E5M2, E4M3FNUZ, E5M2FNUZ, E2M3FN, E3M2FN, E2M1FN };

INLINE int element_bits(int element) {
  if (element <= XF32) return 32;
  if (element <= BF16) return 16;
  if (element <= E5M2FNUZ) return 8;
  return element == E2M1FN ? 4 : 6;
}

INLINE int mantissa_bits(int element) {
  if (element == E4M3FN || element == E4M3FNUZ || element == E2M3FN) return 3;
  return element == E2M1FN ? 1 : 2;
}

INLINE int exponent_bias(int element) {
  if (element == E2M3FN || element == E2M1FN) return 1;
  if (element == E3M2FN) return 3;
  if (element == E4M3FN) return 7;
  return element == E4M3FNUZ ? 8 : element == E5M2 ? 15 : 16;
}

/* The elements whose lowest bit is bit `shift` of each lane; bits around them do not matter. Codes that are no numbers
   come out as numbers: see `special_codes`. The magnitude's bits become an f32 with exponent field + 127 - bias, which
   is right but for subnormals: those have 1.m at that exponent where 2 * 0.m is meant, so twice the value less its
   leading one. No step takes a subnormal f32, which are slow on some hosts. */
INLINE f32x16 small_values(u32x16 lanes, int element, int shift) {
  const int bits = element_bits(element), mantissa = mantissa_bits(element), bias = exponent_bias(element);
  const int left = 23 - mantissa - shift;
  const uint32_t mask = ((1u << (bits - 1)) - 1) << (23 - mantissa);
  u32x16 magnitude = (left >= 0 ? lanes << left : lanes >> -left) & mask;
  f32x16 number = (f32x16)(magnitude + ((127u - (uint32_t)bias) << 23));
  const f32x16 least = (f32x16)((u32x16){} + ((128u - (uint32_t)bias) << 23));
  f32x16 doubled = __builtin_elementwise_fma(number, (f32x16)2.0f, -least);
  number = number < least ? doubled : number;
  return (f32x16)((u32x16)number | (lanes << (32 - bits - shift) & 0x80000000u));
}

/* Non-zero bits where one of the four bytes of a lane is a NaN or an infinity of an 8-bit format. */
INLINE u32x16 special_codes(u32x16 bytes, int element) {
  if (element == E4M3FN) return ((bytes & 0x7F7F7F7Fu) + 0x01010101u) & 0x80808080u;
  if (element == E5M2) return ((bytes & 0x7F7F7F7Fu) + 0x04040404u) & 0x80808080u;
  return ~((bytes & 0x7F7F7F7Fu) + 0x7F7F7F7Fu) & bytes & 0x80808080u;
}

/* The f32 bits of such a byte, or 0 if it is a number. */
INLINE uint32_t special_value(uint32_t byte, int element) {
  uint32_t magnitude = byte & 0x7F;
  if (element == E4M3FN) return magnitude == 0x7F ? 0x7FC00000u : 0;
  if (element == E5M2) return magnitude < 0x7C ? 0 : magnitude > 0x7C ? 0x7FC00000u : 0x7F800000u | (byte & 0x80) << 24;
  return byte == 0x80 ? 0x7FC00000u : 0;
}

/* E8M0 scales, one code (0 to 255) in each lane: 2 ** (code - 127), NaN for 255. */
INLINE f32x16 scale_values(u32x16 codes) {
  u32x16 smallest = (u32x16)(codes == 0) & 0x00400000u, nan = (u32x16)(codes == 255) & 0x00400000u;
  return (f32x16)(codes << 23 | smallest | nan);
}

#endif
