// Dot products, packed arithmetic, saturation, byte and bit instructions, by their builtins.
#include "corpus.h"
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef f32 f32x2 __attribute__((ext_vector_type(2)));
#ifdef __AMDGCN__
#define G(x) __builtin_amdgcn_##x
#define ON_GPU(gpu, host) (gpu)
#else
#define ON_GPU(gpu, host) (host)
#endif
template <class T, u32 Bits> static i64 dot(u32 x, u32 y, i64 sum) {
  for (u32 k = 0; k < 32; k += Bits) {
    i64 p = (T)-1 < 0 ? (i64)((i32)(x << (32 - Bits - k)) >> (32 - Bits)) : (x >> k) & ((1u << Bits) - 1);
    i64 q = (T)-1 < 0 ? (i64)((i32)(y << (32 - Bits - k)) >> (32 - Bits)) : (y >> k) & ((1u << Bits) - 1);
    sum += p * q;
  }
  return sum;
}
static i64 within(i64 x, i64 low, i64 high) { return x < low ? low : x > high ? high : x; }
static void dots(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u32 x = (u32)a[i], y = (u32)b[i], z = (u32)(a[i] >> 32);
  out[0] = ON_GPU((u32)G(sdot4)((i32)x, (i32)y, (i32)z, false), (u32)(dot<i8, 8>)(x, y, (i32)z));
  out[1] = ON_GPU((u32)G(sdot4)((i32)x, (i32)y, (i32)z, true), (u32)within((dot<i8, 8>)(x, y, (i32)z), -0x80000000ll,
      0x7FFFFFFF));
  out[2] = ON_GPU(G(udot4)(x, y, z, true), (u32)within((dot<u8, 8>)(x, y, z), 0, 0xFFFFFFFF));
  out[3] = ON_GPU((u32)G(sdot8)((i32)x, (i32)y, (i32)z, true), (u32)within((dot<i8, 4>)(x, y, (i32)z), -0x80000000ll,
      0x7FFFFFFF));
  out[4] = ON_GPU(G(udot8)(x, y, z, false), (u32)(dot<u8, 4>)(x, y, z));
  out[5] = ON_GPU((u32)G(sdot2)(__builtin_bit_cast(i16x2, x), __builtin_bit_cast(i16x2, y), (i32)z, true),
      (u32)within((dot<i16, 16>)(x, y, (i32)z), -0x80000000ll, 0x7FFFFFFF));
  out[6] = ON_GPU(G(udot2)(__builtin_bit_cast(u16x2, x), __builtin_bit_cast(u16x2, y), z, true), (u32)within((dot<u16,
      16>)(x, y, z), 0, 0xFFFFFFFF));
  f16x2 p = {(f16)(i8)x, (f16)(i8)(x >> 8)}, q = {(f16)(i8)y, (f16)(i8)(y >> 8)};
  out[7] = result(ON_GPU(G(fdot2)(p, q, (f32)(i16)z, false), (f32)((i8)x * (i8)y + (i8)(x >> 8) * (i8)(y >> 8)
      + (i16)z)));
}
KERNEL(dots)
static u32 byte(u64 x, u32 k) { return (u32)(x >> (8 * k)) & 0xFF; }
static u32 apart(u32 x, u32 y) { return x > y ? x - y : y - x; }
static void bytes(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u32 x = (u32)a[i], y = (u32)b[i], z = (u32)(a[i] >> 32), w = (u32)(b[i] >> 32);
  u32 sad = z, msad = z, lerp = 0, perm = 0, words = z;
  for (u32 k = 0; k < 4; k++) {
    sad += apart(byte(x, k), byte(y, k)), msad += byte(y, k) ? apart(byte(x, k), byte(y, k)) : 0;
    lerp |= ((byte(x, k) + byte(y, k) + (z >> 8 * k & 1)) >> 1) << 8 * k;
    u32 s = byte(z, k);
    u64 both = (u64)x << 32 | y;
    u32 v = s >= 13 ? 0xFF : s == 12 ? 0 : s >= 8 ? (both >> (16 * (s - 8) + 15) & 1 ? 0xFF : 0) : byte(both, s);
    perm |= v << 8 * k;
  }
  words += apart(x & 0xFFFF, y & 0xFFFF) + apart(x >> 16, y >> 16);
  out[0] = ON_GPU(G(sad_u8)(x, y, z), sad), out[1] = ON_GPU(G(msad_u8)(x, y, z), msad);
  out[2] = ON_GPU(G(lerp)(x, y, z), lerp), out[3] = ON_GPU(G(perm)(x, y, z), perm);
  out[4] = ON_GPU(G(sad_u16)(x, y, z), words), out[5] = ON_GPU(G(alignbyte)(x, y, z), (u32)(((u64)x << 32 | y) >> 8 * (z
      & 3)));
  u64 quad = 0, masked = 0;
  for (u32 k = 0; k < 4; k++) {
    u32 sum = 0, some = 0;
    for (u32 j = 0; j < 4; j++) {
      u32 from = byte(a[i], k + j), ref = byte(y, j);
      sum += apart(from, ref), some += ref ? apart(from, ref) : 0;
    }
    quad |= (u64)((sum + (b[i] >> 16 * k & 0xFFFF)) & 0xFFFF) << 16 * k, masked |= (u64)((some + (b[i] >> 16 * k
        & 0xFFFF)) & 0xFFFF) << 16 * k;
  }
  out[6] = ON_GPU(G(qsad_pk_u16_u8)(a[i], y, b[i]), quad), out[7] = ON_GPU(G(mqsad_pk_u16_u8)(a[i], y, b[i]), masked);
}
KERNEL(bytes)
static void fields(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u32 x = (u32)a[i], y = (u32)b[i], at = y & 31, wide = y >> 8 & 31;
  out[0] = ON_GPU(G(ubfe)(x, y, y >> 8), x >> at & ((1u << wide) - 1));
  out[1] = ON_GPU((u32)G(sbfe)((i32)x, y, y >> 8), wide ? at + wide < 32
      ? (u32)((i32)(x << (32 - at - wide)) >> (32 - wide)) : (u32)((i32)x >> at) : 0);
  i32 p = (i16)x, q = (i16)y, r = (i16)(x >> 16), s = (i16)(y >> 16);
  i16x2 v = __builtin_bit_cast(i16x2, x), u = __builtin_bit_cast(i16x2, y);
  out[2] = __builtin_bit_cast(u32, __builtin_elementwise_add_sat(v, u)), out[3] = __builtin_bit_cast(u32,
      __builtin_elementwise_sub_sat(v, u));
  u16x2 uv = __builtin_bit_cast(u16x2, x), uu = __builtin_bit_cast(u16x2, y);
  out[4] = __builtin_bit_cast(u32, __builtin_elementwise_add_sat(uv, uu)) | (u64)__builtin_elementwise_sub_sat(x,
      y) << 32;
  out[5] = (u32)__builtin_elementwise_add_sat((i32)x, (i32)y) | (u64)(u32)__builtin_elementwise_sub_sat((i32)x,
      (i32)y) << 32;
  out[6] = __builtin_bit_cast(u32, v * u + __builtin_elementwise_max(v, u)) ^ __builtin_bit_cast(u32, uv >> (uu & 15))
      ^ __builtin_bit_cast(u32, v >> (u & 15)) ^ __builtin_bit_cast(u32, uv << (uu & 15));
  out[7] = (u32)((i32)(x << 8) >> 8) * (u32)((i32)(y << 8) >> 8) | ((u64)(x & 0xFFFFFF) * (y & 0xFFFFFF) >> 32) << 32;
}
KERNEL(fields)
static void packed_floats(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f32x2 x = __builtin_bit_cast(f32x2, a[i]), y = __builtin_bit_cast(f32x2, b[i]), z = {1.5f, -0.25f};
  f32x2 sum = x + y, product = x * y.yx, fused = __builtin_elementwise_fma(x, y, z.yx), mixed = x.yy * y - z;
  out[0] = result(sum.x) | result(sum.y) << 32, out[1] = result(product.x) | result(product.y) << 32;
  out[2] = result(fused.x) | result(fused.y) << 32, out[3] = result(mixed.x) | result(mixed.y) << 32;
  f16x2 p = __builtin_bit_cast(f16x2, (u32)a[i]), q = __builtin_bit_cast(f16x2, (u32)b[i]);
  f16x2 s = p + q, t = __builtin_elementwise_fma(p, q.yx, s), m = __builtin_elementwise_max(p * q, -s);
  out[4] = result(s.x) | result(s.y) << 16 | result(t.x) << 32 | result(t.y) << 48;
  f16x2 n = -p * __builtin_elementwise_abs(q);
  out[5] = result(n.x) | result(n.y) << 16;
  out[6] = result(__builtin_fmaf((f32)p.x, (f32)q.y, x.x)) | result(__builtin_fmaf((f32)p.y, -y.x, (f32)q.x)) << 32;
  out[7] = result((f16)__builtin_fmaf((f32)p.x, (f32)p.y, (f32)q.x));
}
KERNEL(packed_floats)
typedef _BitInt(128) i128;
typedef unsigned _BitInt(128) u128;
#ifdef __AMDGCN__
static u128 quotient(u128 x, u128 y) { return x / y; }
static i128 quotient_of_signed(i128 x, i128 y) { return x / y; }
#else // The host would call a library.
static u128 quotient(u128 x, u128 y) {
  u128 q = 0, r = 0;
  for (u32 k = 128; k--;) {
    r = r << 1 | (x >> k & 1);
    if (r >= y) r -= y, q |= (u128)1 << k;
  }
  return q;
}
static i128 quotient_of_signed(i128 x, i128 y) {
  u128 q = quotient(x < 0 ? -(u128)x : (u128)x, y < 0 ? -(u128)y : (u128)y);
  return (i128)((x < 0) != (y < 0) ? -q : q);
}
#endif
static void wide_integers(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u128 x = (u128)a[i] << 64 | b[i], y = ((u128)b[i] << 20 ^ a[i]) | 1;
  u128 q = quotient(x, y), r = x - q * y;
  i128 s = quotient_of_signed((i128)x, (i128)y), t = (i128)x - s * (i128)y;
  u128 p = x * y + (x >> (u32)(b[i] % 128)) - (y << (u32)(a[i] % 128));
  out[0] = (u64)q, out[1] = (u64)(q >> 64), out[2] = (u64)r, out[3] = (u64)(r >> 64);
  out[4] = (u64)s ^ (u64)(s >> 64), out[5] = (u64)t ^ (u64)(t >> 64), out[6] = (u64)p, out[7] = (u64)(p >> 64)
      + ((i128)x < (i128)y);
}
KERNEL(wide_integers)
