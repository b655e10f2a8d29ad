// Atomics of every type in LDS and in global memory, by their own instructions; sums that are exact in every order.
#include "corpus.h"
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef __bf16 bf16x2 __attribute__((ext_vector_type(2)));
typedef short s16x2 __attribute__((ext_vector_type(2)));

struct lds_atomics_shared {
  u32 w[12];
  u64 d[12];
  f32 f[4];
  f64 g[4];
  u32 p[4];
};
#ifdef __AMDGCN__
#define LDS __attribute__((address_space(3)))
#define ORDER __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP
#else
#define LDS
#endif
static u32 pair_f16(f32 x, f32 y) { return bits<u16>((f16)x) | (u32)bits<u16>((f16)y) << 16; }
static u32 pair_bf16(f32 x, f32 y) { return bits<u32>(x) >> 16 | (bits<u32>(y) & 0xFFFF0000u); }
// What each work-item adds to a pair of bf16: small integers.
static s16x2 ones_bf16(u32 x) { return __builtin_bit_cast(s16x2, pair_bf16((f32)(x & 1), -(f32)(x >> 1 & 1))); }
static void lds_atomics(u32 phase, u32 t, u32 group, lds_atomics_shared &s, const u64 *a, const u64 *b, u64 *out) {
  u32 i = group * GROUP + t;
  if (phase == 0) {
    if (t < 12) s.w[t] = t == 3 ? 0x7FFFFFFF : t == 5 ? 0xFFFFFFFF : t == 8 ? 100 : 0;
    if (t < 12) s.d[t] = t == 3 ? 0x7FFFFFFFFFFFFFFFull : t == 5 ? ~0ull : t == 8 ? 100 : 0;
    if (t < 4) s.f[t] = 0, s.g[t] = 0, s.p[t] = 0;
  } else if (phase == 1) {
    u32 x = (u32)a[i];
    u64 y = a[i];
    f32 v = (f32)(i8)x;
#ifdef __AMDGCN__
    LDS lds_atomics_shared *l = (LDS lds_atomics_shared *)&s;
    __scoped_atomic_fetch_add(&l->w[0], x, ORDER);
    __scoped_atomic_fetch_sub(&l->w[1], x, ORDER);
    __scoped_atomic_fetch_max((LDS i32 *)&l->w[2], (i32)x, ORDER);
    __scoped_atomic_fetch_min((LDS i32 *)&l->w[3], (i32)x, ORDER);
    __scoped_atomic_fetch_max(&l->w[4], x, ORDER);
    __scoped_atomic_fetch_min(&l->w[5], x, ORDER);
    __scoped_atomic_fetch_xor(&l->w[6], x, ORDER);
    __builtin_amdgcn_atomic_inc32((volatile LDS u32 *)&l->w[7], 50, __ATOMIC_RELAXED, "workgroup");
    __builtin_amdgcn_atomic_dec32((volatile LDS u32 *)&l->w[8], 60, __ATOMIC_RELAXED, "workgroup");
    __scoped_atomic_fetch_or(&l->w[9], x, ORDER);
    __scoped_atomic_fetch_add(&l->d[0], y, ORDER);
    __scoped_atomic_fetch_sub(&l->d[1], y, ORDER);
    __scoped_atomic_fetch_max((LDS i64 *)&l->d[2], (i64)y, ORDER);
    __scoped_atomic_fetch_min((LDS i64 *)&l->d[3], (i64)y, ORDER);
    __scoped_atomic_fetch_max(&l->d[4], y, ORDER);
    __scoped_atomic_fetch_min(&l->d[5], y, ORDER);
    __scoped_atomic_fetch_xor(&l->d[6], y, ORDER);
    __builtin_amdgcn_atomic_inc64((volatile LDS u64 *)&l->d[7], 50, __ATOMIC_RELAXED, "workgroup");
    __builtin_amdgcn_atomic_dec64((volatile LDS u64 *)&l->d[8], 60, __ATOMIC_RELAXED, "workgroup");
    __scoped_atomic_fetch_or(&l->d[9], y, ORDER);
    __builtin_amdgcn_ds_faddf(&l->f[0], v, 0, 0, false);
    __builtin_amdgcn_ds_fmaxf(&l->f[1], v, 0, 0, false);
    __builtin_amdgcn_ds_fminf(&l->f[2], v, 0, 0, false);
    __builtin_amdgcn_ds_atomic_fadd_f64(&l->g[0], (f64)v);
    __scoped_atomic_fetch_max(&l->g[1], (f64)v, ORDER);
    __scoped_atomic_fetch_min(&l->g[2], (f64)v, ORDER);
    __builtin_amdgcn_ds_atomic_fadd_v2f16((LDS f16x2 *)&l->p[0], f16x2{(f16)(i8)(x & 3), (f16)-(i8)(x & 7)});
    __builtin_amdgcn_ds_atomic_fadd_v2bf16((LDS s16x2 *)&l->p[1], ones_bf16(x));
#else
    s.w[0] += x, s.w[1] -= x;
    if ((i32)x > (i32)s.w[2]) s.w[2] = x;
    if ((i32)x < (i32)s.w[3]) s.w[3] = x;
    if (x > s.w[4]) s.w[4] = x;
    if (x < s.w[5]) s.w[5] = x;
    s.w[6] ^= x, s.w[9] |= x;
    s.w[7] = s.w[7] >= 50 ? 0 : s.w[7] + 1;
    s.w[8] = s.w[8] == 0 || s.w[8] > 60 ? 60 : s.w[8] - 1;
    s.d[0] += y, s.d[1] -= y;
    if ((i64)y > (i64)s.d[2]) s.d[2] = y;
    if ((i64)y < (i64)s.d[3]) s.d[3] = y;
    if (y > s.d[4]) s.d[4] = y;
    if (y < s.d[5]) s.d[5] = y;
    s.d[6] ^= y, s.d[9] |= y;
    s.d[7] = s.d[7] >= 50 ? 0 : s.d[7] + 1;
    s.d[8] = s.d[8] == 0 || s.d[8] > 60 ? 60 : s.d[8] - 1;
    s.f[0] += v, s.f[1] = s.f[1] > v ? s.f[1] : v, s.f[2] = s.f[2] < v ? s.f[2] : v;
    s.g[0] += v, s.g[1] = s.g[1] > v ? s.g[1] : v, s.g[2] = s.g[2] < v ? s.g[2] : v;
    static f32 sums[4];
    if (t == 0) sums[0] = sums[1] = sums[2] = sums[3] = 0;
    sums[0] += (f32)(x & 3), sums[1] -= (f32)(x & 7), sums[2] += (f32)(x & 1), sums[3] -= (f32)(x >> 1 & 1);
    s.p[0] = pair_f16(sums[0], sums[1]), s.p[1] = pair_bf16(sums[2], sums[3]);
#endif
  } else if (t < 12) {
    u64 *to = out + i * OUTS;
    to[0] = s.w[t], to[1] = s.d[t], to[2] = t < 3 ? result(s.f[t]) : 0, to[3] = t < 3 ? result(s.g[t]) : 0;
    to[4] = t < 2 ? s.p[t] : 0;
  }
}
GROUP_KERNEL(lds_atomics, 3)

struct memory_atomics_shared {};
#ifdef __AMDGCN__
#define GLOBAL __attribute__((address_space(1)))
#define FLAT __attribute__((address_space(0)))
#define DEVICE __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE
#endif
// Through pointers to global memory for even groups and through flat ones for odd.
static void memory_atomics(u32 phase, u32 t, u32 group, memory_atomics_shared &, const u64 *a, const u64 *b, u64 *out) {
  u32 i = group * GROUP + t, x = (u32)a[i];
  f32 v = (f32)(i8)x;
  u64 *to = out + group * GROUP * OUTS;
#ifdef __AMDGCN__
#define ATOMICS(space, as)                                                                                             \
  __scoped_atomic_fetch_add((as u32 *)to, x, DEVICE);                                                                  \
  __scoped_atomic_fetch_xor((as u32 *)to + 1, x, DEVICE);                                                              \
  __scoped_atomic_fetch_add((as u64 *)to + 1, a[i], DEVICE);                                                           \
  __scoped_atomic_fetch_max((as i64 *)to + 2, (i64)a[i], DEVICE);                                                      \
  __scoped_atomic_fetch_max((as u64 *)to + 3, a[i], DEVICE);                                                           \
  __builtin_amdgcn_atomic_inc32((as u32 *)to + 8, 50, __ATOMIC_RELAXED, "agent");                                      \
  __builtin_amdgcn_atomic_dec32((as u32 *)to + 9, 60, __ATOMIC_RELAXED, "agent");                                      \
  __builtin_amdgcn_##space##_atomic_fadd_f32((as f32 *)(to + 5), v);                                                   \
  __builtin_amdgcn_##space##_atomic_fadd_f64((as f64 *)(to + 6), (f64)v);                                              \
  __builtin_amdgcn_##space##_atomic_fadd_v2f16((as f16x2 *)(to + 7), f16x2{(f16)(i8)(x & 3), (f16)-(i8)(x & 7)});      \
  __builtin_amdgcn_##space##_atomic_fadd_v2bf16((as s16x2 *)(to + 8), ones_bf16(x));                                   \
  __builtin_amdgcn_##space##_atomic_fmax_f64((as f64 *)(to + 9), (f64)v);                                              \
  __builtin_amdgcn_##space##_atomic_fmin_f64((as f64 *)(to + 10), (f64)v);
  if (group & 1) {
    ATOMICS(flat, FLAT)
  } else {
    ATOMICS(global, GLOBAL)
  }
#else
  u32 *w = (u32 *)to;
  w[0] += x, w[1] ^= x, to[1] += a[i];
  if ((i64)a[i] > (i64)to[2]) to[2] = a[i];
  if (a[i] > to[3]) to[3] = a[i];
  w[8] = w[8] >= 50 ? 0 : w[8] + 1;
  w[9] = w[9] == 0 || w[9] > 60 ? 60 : w[9] - 1;
  static f32 sums[4];
  static f64 sum, most, least;
  if (t == 0) sums[0] = sums[1] = sums[2] = sums[3] = 0, sum = most = least = 0;
  sums[0] += (f32)(x & 3), sums[1] -= (f32)(x & 7), sums[2] += (f32)(x & 1), sums[3] -= (f32)(x >> 1 & 1);
  sum += v, most = most > v ? most : v, least = least < v ? least : v;
  to[5] = bits<u32>((f32)sum), to[6] = bits<u64>(sum), to[7] = pair_f16(sums[0], sums[1]), to[8] = pair_bf16(sums[2],
      sums[3]);
  to[9] = bits<u64>(most), to[10] = bits<u64>(least);
#endif
}
GROUP_KERNEL(memory_atomics, 1)
