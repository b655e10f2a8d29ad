// Floats of all widths: arithmetic, division, roots, rounding, comparison, conversion.
#include "corpus.h"

template <class T> static inline void arithmetic(T x, T y, u64 *out) {
  out[0] = result((T)(x + y));
  out[1] = result((T)(x - y));
  out[2] = result((T)(x * y));
  out[3] = result((T)(-x * (T)0.5 + y));
  out[4] = (x < y) | (x <= y) << 1 | (x == y) << 2 | (x != y) << 3 | (x > y) << 4 | __builtin_isunordered(x, y) << 5;
  out[5] = result(x < y ? x : y);
  out[6] = result((T)__builtin_elementwise_abs(x));
  out[7] = result((T)(x * x + y * y));
}
static void f32_arithmetic(u32 i, const u64 *a, const u64 *b, u64 *out) { arithmetic(bits<f32>(a[i]), bits<f32>(b[i]), out); }
static void f64_arithmetic(u32 i, const u64 *a, const u64 *b, u64 *out) { arithmetic(bits<f64>(a[i]), bits<f64>(b[i]), out); }
static void f16_arithmetic(u32 i, const u64 *a, const u64 *b, u64 *out) { arithmetic(bits<f16>(a[i]), bits<f16>(b[i]), out); }
KERNEL(f32_arithmetic)
KERNEL(f64_arithmetic)
KERNEL(f16_arithmetic)

static void f32_division(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f32 x = bits<f32>(a[i]), y = bits<f32>(b[i]);
  out[0] = result(x / y);
  out[1] = result(1.0f / y);
  out[2] = result(x / 3.0f);
  out[3] = result((f32)(i32)a[i] / (f32)((i32)b[i] | 1));
}
KERNEL(f32_division)

static void f64_division(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f64 x = bits<f64>(a[i]), y = bits<f64>(b[i]);
  out[0] = result(x / y);
  out[1] = result(1.0 / y);
  out[2] = result(x / 10.0);
  out[3] = result((f64)(i32)a[i] / (f64)((i32)b[i] | 1));
}
KERNEL(f64_division)

static void f16_division(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f16 x = bits<f16>(a[i]), y = bits<f16>(b[i]);
  out[0] = result((f16)(x / y));
  out[1] = result((f16)((f16)1 / y));
  out[2] = result((f16)(x / (f16)3));
}
KERNEL(f16_division)

static void square_roots(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f32 x = bits<f32>(a[i]), y = (f32)(u32)b[i];
  f64 z = bits<f64>(a[i]), w = (f64)b[i];
  out[0] = result(__builtin_sqrtf(x));
  out[1] = result(__builtin_sqrtf(y));
  out[2] = result(__builtin_sqrt(z));
  out[3] = result(__builtin_sqrt(w));
  out[4] = result(1.0 / __builtin_sqrt(w + 1));
  out[5] = result(__builtin_sqrtf(y * y + 1.0f) - y);
}
KERNEL(square_roots)

static void fused(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f32 x = bits<f32>(a[i]), y = bits<f32>(b[i]), z = bits<f32>((u32)(a[i] >> 32));
  f64 u = bits<f64>(a[i]), v = bits<f64>(b[i]);
  out[0] = result(__builtin_fmaf(x, y, z));
  out[1] = result(__builtin_fmaf(-x, 1.5f, y));
  out[2] = result(__builtin_fma(u, v, 1.0));
  out[3] = result(__builtin_fma(u, -v, u));
  f64 sum = 0;
  for (u32 k = 0; k < 8; k++) sum = __builtin_fma(sum, 0.75, (f64)(i32)(a[i] >> k));
  out[4] = result(sum);
}
KERNEL(fused)

static void rounding(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f32 x = (f32)(i32)a[i] / 4096.0f;
  f64 y = (f64)(i64)b[i] / 65536.0;
  out[0] = result(__builtin_floorf(x));
  out[1] = result(__builtin_ceilf(x));
  out[2] = result(__builtin_truncf(x));
  out[3] = result(__builtin_rintf(x));
  out[4] = result(__builtin_floor(y));
  out[5] = result(__builtin_ceil(y));
  out[6] = result(__builtin_trunc(y));
  out[7] = result(__builtin_rint(y));
}
KERNEL(rounding)

static void from_integers(u32 i, const u64 *a, const u64 *b, u64 *out) {
  out[0] = result((f32)(i32)a[i]) | result((f32)(u32)b[i]) << 32;
  out[1] = result((f32)(i64)a[i]) | result((f32)b[i]) << 32;
  out[2] = result((f64)(i32)a[i]);
  out[3] = result((f64)(u32)a[i]);
  out[4] = result((f64)(i64)a[i]);
  out[5] = result((f64)a[i]);
  out[6] = result((f16)(i16)a[i]) | result((f16)(u16)b[i]) << 16;
  out[7] = result((f32)(u8)a[i] + (f32)(u8)(a[i] >> 8) * (f32)(u8)(a[i] >> 16));
}
KERNEL(from_integers)

static void to_integers(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f32 x = (f32)(i32)a[i] * 0.37f;
  f64 y = (f64)(i64)b[i] * 0.37;
  out[0] = (u64)(i32)x;
  out[1] = (u32)(x < 0 ? -x : x);
  out[2] = (u64)(i64)x;
  out[3] = (u64)(i64)y;
  out[4] = (u64)(y < 0 ? -y : y);
  out[5] = (u64)(i32)(y * 0x1p-33);
  out[6] = (u64)(i16)(x * 0x1p-16f);
  out[7] = (u64)(u8)(f32)(u8)a[i];
}
KERNEL(to_integers)

static void between_floats(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f32 x = bits<f32>(a[i]);
  f64 y = bits<f64>(b[i]);
  out[0] = result((f64)x);
  out[1] = result((f32)y);
  out[2] = result((f32)bits<f16>(a[i]));
  out[3] = result((f64)bits<f16>(a[i]));
  out[4] = result((f16)((f32)(i32)a[i] * 0x1p-18f));
  out[5] = result((f32)bits<__bf16>(a[i]));
  __bf16 narrow = (__bf16)((f32)(i32)a[i] * 0x1p-3f);
  out[6] = bits<u16>(narrow);
  out[7] = result((f32)(__bf16)((f32)narrow * 1.25f));
}
KERNEL(between_floats)

// Newton, series and continued fractions: long chains in which one wrong bit shows.
static void series(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f64 x = (f64)(a[i] >> 11) * 0x1p-53, term = 1, exponential = 1, y = 1;
  for (u32 k = 1; k < 20; k++) exponential += term *= x / k;
  for (u32 k = 0; k < 6; k++) y = 0.5 * (y + (x + 1) / y);
  f32 z = (f32)x, sine = z, power = z;
  for (u32 k = 1; k < 7; k++) sine += power *= -z * z / (f32)(2 * k * (2 * k + 1));
  out[0] = result(exponential);
  out[1] = result(y);
  out[2] = result(sine);
  out[3] = result((f32)exponential * sine);
}
KERNEL(series)
