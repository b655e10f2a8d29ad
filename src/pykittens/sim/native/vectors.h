/* Vectors of the host: a register row is four u32x16. Portable clang extensions; the compiler splits what is too wide. */
#ifndef PYKITTENS_VECTORS_H
#define PYKITTENS_VECTORS_H

#include <stdint.h>

typedef uint32_t u32x2 __attribute__((vector_size(8)));
typedef uint32_t u32x4 __attribute__((vector_size(16)));
typedef uint32_t u32x8 __attribute__((vector_size(32)));
typedef uint32_t u32x16 __attribute__((vector_size(64)));
typedef int32_t i32x16 __attribute__((vector_size(64)));
typedef uint64_t u64x8 __attribute__((vector_size(64)));
typedef uint8_t u8x64 __attribute__((vector_size(64)));
/* The same, at any address. */
typedef uint16_t u16_any __attribute__((aligned(1), may_alias));
typedef uint32_t u32_any __attribute__((aligned(1), may_alias));
typedef uint64_t u64_any __attribute__((aligned(1), may_alias));
typedef uint32_t u32x4_any __attribute__((vector_size(16), aligned(1), may_alias));
typedef u32x16 row_part __attribute__((may_alias));
typedef u64x8 pointer_part __attribute__((may_alias));

#define INLINE static inline __attribute__((always_inline))
#define QUARTERS 4

#define BIT_OF_EACH16                                                                                             \
  {1u << 0, 1u << 1, 1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,                                   \
   1u << 8, 1u << 9, 1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15}

/* Of a lane mask's low bits: all ones in element i where bit i is set. */
INLINE i32x16 lanes16(uint64_t bits) {
  const u32x16 each = BIT_OF_EACH16;
  return (i32x16)((each & (uint32_t)bits) != 0);
}

/* The inverse: bit i is set where element i is all ones. */
INLINE uint64_t mask16(i32x16 lanes) {
  const u32x16 each = BIT_OF_EACH16;
  return __builtin_reduce_or((u32x16)lanes & each);
}

/* The same for 64-bit elements: all ones where bit i is set. */
INLINE u64x8 lanes8(uint64_t bits) {
  const u64x8 each = {1, 2, 4, 8, 16, 32, 64, 128};
  return (u64x8)((each & bits) != 0);
}

INLINE u32x16 blend(i32x16 mask, u32x16 yes, u32x16 no) { return (yes & (u32x16)mask) | (no & ~(u32x16)mask); }

INLINE u32x16 join4(u32x4 a, u32x4 b, u32x4 c, u32x4 d) {
  u32x8 low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
  u32x8 high = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/* Four 4 x 4 transposes, one in each 128-bit part of r[0..3]. */
INLINE void transpose4(u32x16 r[4]) {
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define LOW2(a, b) __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define HIGH2(a, b) __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
  u32x16 low01 = LOW(r[0], r[1]), high01 = HIGH(r[0], r[1]), low23 = LOW(r[2], r[3]), high23 = HIGH(r[2], r[3]);
  r[0] = LOW2(low01, low23), r[1] = HIGH2(low01, low23), r[2] = LOW2(high01, high23), r[3] = HIGH2(high01, high23);
#undef LOW
#undef HIGH
#undef LOW2
#undef HIGH2
}

#endif
