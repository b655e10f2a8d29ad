// Integers of all widths: arithmetic, division, shifts, bits, overflow.
#include "corpus.h"

template <class T> static inline void arithmetic(T x, T y, u64 *out) {
  out[0] = (u64)(T)(x + y);
  out[1] = (u64)(T)(x - y);
  out[2] = (u64)(T)(x * y);
  out[3] = (u64)(T)(x & ~y);
  out[4] = (u64)(T)((x ^ y) | (T)5);
  out[5] = (u64)(x < y ? x : y);
  out[6] = (u64)(T)-x + (x == y) * 2 + (x >= y) * 4;
  out[7] = (u64)(T)(x * (T)3 + y * (T)77 - (T)(x >> 1));
}
static void i8_arithmetic(u32 i, const u64 *a, const u64 *b, u64 *out) { arithmetic((i8)a[i], (i8)b[i], out); }
static void u8_arithmetic(u32 i, const u64 *a, const u64 *b, u64 *out) { arithmetic((u8)a[i], (u8)b[i], out); }
static void i16_arithmetic(u32 i, const u64 *a, const u64 *b, u64 *out) { arithmetic((i16)a[i], (i16)b[i], out); }
static void u16_arithmetic(u32 i, const u64 *a, const u64 *b, u64 *out) { arithmetic((u16)a[i], (u16)b[i], out); }
static void u32_arithmetic(u32 i, const u64 *a, const u64 *b, u64 *out) { arithmetic((u32)a[i], (u32)b[i], out); }
static void u64_arithmetic(u32 i, const u64 *a, const u64 *b, u64 *out) { arithmetic(a[i], b[i], out); }
KERNEL(i8_arithmetic)
KERNEL(u8_arithmetic)
KERNEL(i16_arithmetic)
KERNEL(u16_arithmetic)
KERNEL(u32_arithmetic)
KERNEL(u64_arithmetic)

template <class T> static inline void division(T x, T y, u64 *out) {
  if (y == 0 || (y == (T)-1 && (T)-1 < 0)) y = 3;
  out[0] = (u64)(x / y);
  out[1] = (u64)(x % y);
  out[2] = (u64)(x / (T)7);
  out[3] = (u64)(x % (T)10);
  out[4] = (u64)(x / (T)16);
  out[5] = (u64)(y / (T)((x | 1) == (T)-1 ? 1 : x | 1));
}
static void i16_division(u32 i, const u64 *a, const u64 *b, u64 *out) { division((i16)a[i], (i16)b[i], out); }
static void u16_division(u32 i, const u64 *a, const u64 *b, u64 *out) { division((u16)a[i], (u16)b[i], out); }
static void i32_division(u32 i, const u64 *a, const u64 *b, u64 *out) { division((i32)a[i], (i32)b[i], out); }
static void u32_division(u32 i, const u64 *a, const u64 *b, u64 *out) { division((u32)a[i], (u32)b[i], out); }
static void i64_division(u32 i, const u64 *a, const u64 *b, u64 *out) { division((i64)a[i], (i64)b[i], out); }
static void u64_division(u32 i, const u64 *a, const u64 *b, u64 *out) { division(a[i], b[i], out); }
KERNEL(i16_division)
KERNEL(u16_division)
KERNEL(i32_division)
KERNEL(u32_division)
KERNEL(i64_division)
KERNEL(u64_division)

static void shifts(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u64 x = a[i];
  u32 n = (u32)b[i];
  out[0] = x << (n & 63);
  out[1] = x >> (n & 63);
  out[2] = (u64)((i64)x >> (n & 63));
  out[3] = (u32)x << (n & 31);
  out[4] = (u64)(i64)((i32)x >> (n & 31));
  out[5] = (u32)x << (n & 31) | (u32)x >> (-n & 31);
  out[6] = (u16)((u16)x >> (n & 15));
  out[7] = x << (n & 63) | x >> (-n & 63);
}
KERNEL(shifts)

static void bit_tricks(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u64 x = a[i], y = b[i];
  out[0] = (u64)__builtin_popcountll(x) | (u64)__builtin_popcount((u32)y) << 32;
  out[1] = (u64)__builtin_clzll(x | 1) | (u64)__builtin_clz((u32)y | 1) << 32;
  out[2] = (u64)__builtin_ctzll(x | 1ull << 63) | (u64)__builtin_ctz((u32)y | 1u << 31) << 32;
  out[3] = __builtin_bswap64(x) ^ __builtin_bswap32((u32)y);
  out[4] = __builtin_bitreverse64(x) + __builtin_bitreverse32((u32)y);
  out[5] = (x >> (y & 31) & 0xFFF) | (y & ~0xFFFull);
  out[6] = (u64)__builtin_bswap16((u16)x) << 16 | (u8)(y >> 24);
  out[7] = (x & y) | (~x & (x >> 32 | x << 32));
}
KERNEL(bit_tricks)

static void wide_products(u32 i, const u64 *a, const u64 *b, u64 *out) {
  unsigned __int128 p = (unsigned __int128)a[i] * b[i];
  __int128 q = (__int128)(i64)a[i] * (i64)b[i];
  out[0] = (u64)p;
  out[1] = (u64)(p >> 64);
  out[2] = (u64)(q >> 64);
  out[3] = (u64)(u32)a[i] * (u32)b[i];
  out[4] = (u64)((i64)(i32)a[i] * (i32)b[i] + (i64)a[i]);
  out[5] = (u64)((p + a[i]) >> 37);
  out[6] = ((u64)(u32)a[i] * (u32)b[i] >> 32) + ((u32)a[i] & 0xFFFFFF) * ((u32)b[i] & 0xFFFFFF);
  out[7] = (u64)((q - (i64)b[i]) >> 3);
}
KERNEL(wide_products)

static void overflow(u32 i, const u64 *a, const u64 *b, u64 *out) {
  i32 x = (i32)a[i], y = (i32)b[i], sum, product;
  u64 wide;
  i64 signed_wide;
  out[0] = __builtin_add_overflow(x, y, &sum), out[0] |= (u64)(u32)sum << 32;
  out[1] = __builtin_mul_overflow(x, y, &product), out[1] |= (u64)(u32)product << 32;
  out[2] = __builtin_sub_overflow(a[i], b[i], &wide), out[2] ^= wide << 1;
  out[3] = __builtin_mul_overflow(a[i] >> 20, b[i] >> 20, &wide), out[3] ^= wide << 1;
  out[4] = __builtin_add_overflow((i64)a[i], (i64)b[i], &signed_wide), out[4] ^= (u64)signed_wide << 1;
  out[5] = __builtin_elementwise_add_sat((u16)a[i], (u16)b[i]);
  out[6] = (u64)__builtin_elementwise_sub_sat(x, y);
  out[7] = (u64)__builtin_elementwise_add_sat((i16)a[i], (i16)b[i]);
}
KERNEL(overflow)
