// Scratch, the stack, vectors, unaligned and small accesses.
#include "corpus.h"

typedef f32 f32x4 __attribute__((ext_vector_type(4)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef u32 u32x8 __attribute__((ext_vector_type(8)));
typedef i16 i16x8 __attribute__((ext_vector_type(8)));
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef f16 f16x4 __attribute__((ext_vector_type(4)));
typedef u8 u8x16 __attribute__((ext_vector_type(16)));
typedef f64 f64x2 __attribute__((ext_vector_type(2)));

static void local_arrays(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u32 words[40];
  u8 bytes[24];
  for (u32 k = 0; k < 40; k++) words[k] = (u32)(a[i] >> (k % 33)) + k;
  for (u32 k = 0; k < 24; k++) bytes[k] = (u8)(b[i] >> (k % 57));
  for (u32 k = 0; k < 60; k++) words[words[k % 40] % 40] += bytes[(k * 7 + words[3]) % 24];
  u64 sum = 0;
  for (u32 k = 0; k < 40; k++) sum = sum * 3 + words[k];
  out[0] = sum, out[1] = words[a[i] % 40], out[2] = bytes[b[i] % 24];
}
KERNEL(local_arrays)

static void insertion_sort(u32 i, const u64 *a, const u64 *b, u64 *out) {
  i16 x[16];
  for (u32 k = 0; k < 16; k++) x[k] = (i16)((k < 8 ? a[i] : b[i]) >> (k % 8 * 6));
  for (u32 k = 1; k < 16; k++) {
    i16 value = x[k];
    i32 at = (i32)k - 1;
    for (; at >= 0 && x[at] > value; at--) x[at + 1] = x[at];
    x[at + 1] = value;
  }
  for (u32 k = 0; k < 8; k++) out[k] = (u64)x[2 * k] * 65536 + (u16)x[2 * k + 1];
}
KERNEL(insertion_sort)

__attribute__((noinline)) static u64 on_stack(u64 x, u32 depth) {
  volatile u64 frame[6];
  for (u32 k = 0; k < 6; k++) frame[k] = x * (k + 1);
  if (depth == 0) return frame[x % 6];
  u64 below = on_stack(x ^ frame[depth % 6], depth - 1);
  return below + frame[(depth + 1) % 6];
}
static void stack_frames(u32 i, const u64 *a, const u64 *b, u64 *out) { out[0] = on_stack(a[i], b[i] % 6); }
KERNEL(stack_frames)

static void small_accesses(u32 i, const u64 *a, const u64 *b, u64 *out) {
  const u8 *bytes = (const u8 *)(a + i);
  const i16 *halves = (const i16 *)(b + i);
  out[0] = bytes[0] + 256u * bytes[3] + 65536u * bytes[7];
  out[1] = (u64)(halves[0] * halves[3]);
  out[2] = (u64)(i64)((const i8 *)bytes)[5];
  u32 unaligned;
  __builtin_memcpy(&unaligned, bytes + 3, 4);
  out[3] = unaligned;
  u8 *to = (u8 *)(out + 4);
  to[1] = bytes[2];
  *(u16 *)(to + 4) = (u16)(halves[1] + 1);
  __builtin_memcpy(to + 9, bytes + 1, 6);
}
KERNEL(small_accesses)

static void f32_vectors(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f32x4 x = {(f32)(i32)a[i], (f32)(u8)b[i], (f32)(i16)(a[i] >> 16), 2};
  f32x4 y = x.wzyx * 0.5f + x.yyxx - (f32x4)(3);
  y = x > y ? x : y;
  out[0] = result(y.x), out[1] = result(y.y), out[2] = result(y.z + y.w);
  y[b[i] & 3] = 7;
  out[3] = result(y.x * y.y - y.z * y.w);
}
KERNEL(f32_vectors)

static void integer_vectors(u32 i, const u64 *a, const u64 *b, u64 *out) {
  i16x8 x, y;
  for (u32 k = 0; k < 8; k++) x[k] = (i16)(a[i] >> (k * 7)), y[k] = (i16)(b[i] >> (k * 5));
  i16x8 z = x * y + (x >> 3) - (y << 2);
  z = z < x ? z : (x ^ y);
  for (u32 k = 0; k < 4; k++) out[k] = (u64)(u16)z[2 * k] << 16 | (u16)z[2 * k + 1];
  u32x8 w = {(u32)a[i], (u32)b[i], 3, 4, 5, 6, 7, (u32)(a[i] >> 32)};
  w = w * w.s76543210 + 1;
  out[4] = w[b[i] & 7], out[5] = w.s0 ^ w.s3 ^ w.s7;
}
KERNEL(integer_vectors)

static void f16_vectors(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f16x2 x = {bits<f16>(a[i]), (f16)1.5}, y = {(f16)(i32)(b[i] & 63), bits<f16>((u32)b[i])};
  f16x2 z = x * y + x;
  f16x4 w = {z.y, z.x, y.x, x.y};
  w = w - w.wzyx;
  out[0] = result(z.x), out[1] = result(z.y), out[2] = result(w.x), out[3] = result((f16)(w.y * w.z));
}
KERNEL(f16_vectors)

static void f64_vectors(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f64x2 x = {(f64)(i32)a[i], (f64)(i32)b[i]}, y = x.yx * x - (f64x2)(0.125);
  out[0] = result(y.x), out[1] = result(y.y / (x.x * x.x + 1));
}
KERNEL(f64_vectors)

static void copies(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u8 from[64], to[64];
  __builtin_memset(to, 0x5A, sizeof to);
  __builtin_memcpy(from, &a[i], 8);
  __builtin_memcpy(from + 8, &b[i], 8);
  for (u32 k = 16; k < 64; k++) from[k] = (u8)(from[k - 16] * 5 + k);
  __builtin_memcpy(to + 1, from + (a[i] & 15), 33);
  for (u32 k = 0; k < 8; k++) __builtin_memcpy(&out[k], to + 8 * k, 8);
}
KERNEL(copies)

static void random_numbers(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u64 s[4] = {a[i], b[i], a[i] ^ 0x9E3779B97F4A7C15ull, 1};
  for (u32 k = 0; k < 50; k++) {
    u64 r = s[1] * 5, t = s[1] << 17;
    r = (r << 7 | r >> 57) * 9;
    s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3], s[2] ^= t;
    s[3] = s[3] << 45 | s[3] >> 19;
    out[k & 7] ^= r;
  }
}
KERNEL(random_numbers)
