// Rounding, denormals and classes of floats, by MODE or by instruction, and registers of the hardware.
#include "corpus.h"
#ifdef __AMDGCN__
#define MODE(offset, bits) (1 | (offset) << 6 | ((bits) - 1) << 11)
// In one piece, since the compiler does not know that the instruction depends on MODE.
#define IN_MODE(z, field, how, after, text, ...)                                                                       \
  asm volatile("s_setreg_b32 hwreg(HW_REG_MODE, " field "), %1\n" text "\ns_setreg_imm32_b32 hwreg(HW_REG_MODE,        \
      " field                                                                                                          \
               "), " after : "=&v"(z) : "s"(__builtin_amdgcn_readfirstlane((i32)(how))), __VA_ARGS__)
static f32 rounded(f32 x, f32 y, u32 how, bool product) {
  f32 z;

  if (product) IN_MODE(z, "0, 2", how, "0", "v_mul_f32 %0, %2, %3", "v"(x), "v"(y));
  else IN_MODE(z, "0, 2", how, "0", "v_add_f32 %0, %2, %3", "v"(x), "v"(y));
  return z;
}
#endif
// The sum of floats near each other is exact in f64; rounded to f32 by hand.
static f32 round_by_hand(f64 exact, u32 how) {
  f32 near = (f32)exact;
  if (how == 0 || exact != exact || (f64)near == exact) return near;
  u32 b = bits<u32>(near);
  if (how == 1) return (f64)near < exact ? bits<f32>(near == 0 ? 1u : exact > 0 ? b + 1 : b - 1) : near;
  if (how == 2) return (f64)near > exact ? bits<f32>(near == 0 ? 0x80000001u : exact > 0 ? b - 1 : b + 1) : near;
  f64 m = exact < 0 ? -exact : exact, n = near < 0 ? -(f64)near : near;
  return n > m ? bits<f32>(b - 1) : near;
}
static void rounding_modes(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f32 x = (f32)(i32)a[i] * 0.37f, y = (f32)(i16)b[i] * 0.001f;
  for (u32 how = 0; how < 4; how++) {
#ifdef __AMDGCN__
    out[how] = result(rounded(x, y, how, 0)), out[4 + how] = result(rounded(x, y, how, 1));
#else
    out[how] = result(round_by_hand((f64)x + (f64)y, how)), out[4 + how] = result(round_by_hand((f64)x * (f64)y, how));
#endif
  }
}
KERNEL(rounding_modes)
static f32 flushed(f32 x) { return (bits<u32>(x) & 0x7F800000) ? x : bits<f32>(bits<u32>(x) & 0x80000000); }
static void denormals(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f32 x = bits<f32>((u32)a[i] & 0x81FFFFFF), y = bits<f32>((u32)b[i] & 0xBFFFFFFF), z, w, v, u;
#ifdef __AMDGCN__
  IN_MODE(z, "4, 2", 0, "3", "v_add_f32 %0, %2, %2", "v"(x));
  IN_MODE(w, "4, 2", 0, "3", "v_mul_f32 %0, %2, %3", "v"(x), "v"(y));
  IN_MODE(v, "4, 2", 0, "3", "v_fma_f32 %0, %2, %3, %2", "v"(x), "v"(y));
  IN_MODE(u, "4, 2", 0, "3", "v_max_f32 %0, %2, %2", "v"(x));
#else
  f32 p = flushed(x), q = flushed(y);
  z = flushed(p + p), w = flushed(p * q), v = flushed(__builtin_fmaf(p, q, p)), u = p;
#endif
  out[0] = result(z), out[1] = result(w), out[2] = result(v), out[3] = result(u);
  out[4] = result(x + x), out[5] = result(x * y), out[6] = result(__builtin_fmaf(x, y, x)), out[7] = result(x * 0x1p-20f
      + y);
}
KERNEL(denormals)
static void classes(u32 i, const u64 *a, const u64 *b, u64 *out) {
  f32 x = bits<f32>((u32)a[i]);
  f64 y = bits<f64>(b[i]);
  f16 h = bits<f16>((u16)a[i]);
  u32 n = 0, m = 0, k = 0;
#define EACH_CLASS(bit)                                                                                                \
  n |= (u32)__builtin_isfpclass(x, bit) * bit, m |= (u32)__builtin_isfpclass(y, bit) * bit,                            \
      k |= (u32)__builtin_isfpclass(h, bit) * bit
  EACH_CLASS(1), EACH_CLASS(2), EACH_CLASS(4), EACH_CLASS(8), EACH_CLASS(16), EACH_CLASS(32), EACH_CLASS(64);
  EACH_CLASS(128), EACH_CLASS(256), EACH_CLASS(512);
  out[0] = n, out[1] = m, out[2] = k;
  i32 e = (i32)(i8)a[i] % 80;
#ifdef __AMDGCN__
  out[4] = result(__builtin_amdgcn_ldexp(y, e)), out[5] = result(__builtin_amdgcn_ldexpf(x, e));
  out[6] = __builtin_isfinite(y) ? (u64)(u32)__builtin_amdgcn_frexp_exp(y) : 0, out[7] = __builtin_isfinite(y)
      ? result(__builtin_amdgcn_frexp_mant(y)) : 0;
#else
  f64 scale = 1;
  for (i32 s = 0; s < (e < 0 ? -e : e); s++) scale *= 2;
  out[4] = result(e < 0 ? y / scale : y * scale), out[5] = result((f32)(e < 0 ? (f64)x / scale : (f64)x * scale));
  i32 exponent = 0;
  f64 m2 = y;
  if (__builtin_isfinite(y) && y != 0) {
    while (m2 >= 1 || m2 <= -1) m2 /= 2, exponent++;
    while (m2 < 0.5 && m2 > -0.5) m2 *= 2, exponent--;
  }
  out[6] = (u64)(u32)exponent, out[7] = __builtin_isfinite(y) ? result(m2) : 0;
#endif
}
KERNEL(classes)
static void hardware(u32 i, const u64 *a, const u64 *b, u64 *out) {
#ifdef __AMDGCN__
  u64 before = __builtin_readcyclecounter();
  u32 mode = __builtin_amdgcn_s_getreg(MODE(0, 8));
  __builtin_amdgcn_s_sleep(2);
  __builtin_amdgcn_s_setprio(3);

  u32 id = __builtin_amdgcn_s_getreg(4 | 31 << 11);
  __builtin_amdgcn_sched_barrier(0);
  u64 real = __builtin_amdgcn_s_memrealtime();
  out[0] = mode, out[1] = __builtin_readcyclecounter() > before, out[2] = (id & 0xF) < 16, out[3] = real != 1;
  out[4] = __builtin_amdgcn_wavefrontsize(), out[5] = __builtin_amdgcn_s_getreg(MODE(9, 1));
  out[6] = __builtin_popcountll(__builtin_amdgcn_read_exec());
#else
  out[0] = 0xF0, out[1] = 1, out[2] = 1, out[3] = 1, out[4] = 64, out[5] = 1, out[6] = 64;
#endif
}
KERNEL(hardware)
