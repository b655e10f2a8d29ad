// Workgroups: LDS, barriers, atomics of every kind in LDS and in global memory.
#include "corpus.h"

typedef u32 u32x4 __attribute__((ext_vector_type(4)));

struct reduction_shared {
  u64 part[GROUP];
};
static void reduction(u32 phase, u32 t, u32 group, reduction_shared &s, const u64 *a, const u64 *b, u64 *out) {
  u32 i = group * GROUP + t;
  if (phase == 0) s.part[t] = a[i] ^ b[i] >> 3;
  else if (t < GROUP >> phase) s.part[t] = s.part[t] * 3 + s.part[t + (GROUP >> phase)];
  if (phase == 7 && t == 0) out[i * OUTS] = s.part[0];
}
GROUP_KERNEL(reduction, 8)

struct transpose_shared {
  u32 tile[16][9];
};
static void transpose(u32 phase, u32 t, u32 group, transpose_shared &s, const u64 *a, const u64 *b, u64 *out) {
  u32 i = group * GROUP + t;
  if (phase == 0) s.tile[t / 8][t % 8] = (u32)a[i] + t;
  else out[i * OUTS] = s.tile[t % 16][t / 16], out[i * OUTS + 1] = s.tile[t / 8][(t + 3) % 8];
}
GROUP_KERNEL(transpose, 2)

struct histogram_shared {
  u32 count[64];
  u64 sum, largest;
  u32 any, all, odd;
  i32 lowest;
};
static void histogram(u32 phase, u32 t, u32 group, histogram_shared &s, const u64 *a, const u64 *b, u64 *out) {
  u32 i = group * GROUP + t;
  if (phase == 0) {
    if (t < 64) s.count[t] = 0;
    if (t == 0) s.sum = s.largest = 0, s.any = s.odd = 0, s.all = ~0u, s.lowest = 0x7FFFFFFF;
  } else if (phase == 1) {
    __atomic_fetch_add(&s.count[a[i] & 63], 1 + (u32)(b[i] & 3), __ATOMIC_RELAXED);
    __atomic_fetch_add(&s.sum, a[i], __ATOMIC_RELAXED);
    __atomic_fetch_max(&s.largest, b[i], __ATOMIC_RELAXED);
    __atomic_fetch_or(&s.any, 1u << (a[i] & 31), __ATOMIC_RELAXED);
    __atomic_fetch_and(&s.all, (u32)b[i] | 0xFFFF0000u, __ATOMIC_RELAXED);
    __atomic_fetch_xor(&s.odd, (u32)a[i], __ATOMIC_RELAXED);
    __atomic_fetch_min(&s.lowest, (i32)a[i], __ATOMIC_RELAXED);
  } else {
    u64 *to = out + i * OUTS;
    to[0] = s.count[t & 63], to[1] = s.sum, to[2] = s.largest, to[3] = s.any, to[4] = s.all, to[5] = s.odd;
    to[6] = (u64)s.lowest;
  }
}
GROUP_KERNEL(histogram, 3)

struct global_atomics_shared {
  u32 nothing;
};
// Results go to the group's first work-item; which are commutative, so that no order matters.
static void global_atomics(u32 phase, u32 t, u32 group, global_atomics_shared &s, const u64 *a, const u64 *b, u64 *out) {
  u32 i = group * GROUP + t;
  u64 *to = out + group * GROUP * OUTS;
  u32 *words = (u32 *)to;
  __atomic_fetch_add(&to[0], a[i], __ATOMIC_RELAXED);
  __atomic_fetch_max((i64 *)&to[1], (i64)b[i], __ATOMIC_RELAXED);
  __atomic_fetch_xor(&to[2], a[i] * 3, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&words[6], (u32)b[i], __ATOMIC_RELAXED);
  __atomic_fetch_or(&words[7], 1u << (b[i] & 31), __ATOMIC_ACQ_REL);
  __atomic_fetch_sub(&words[8], (u32)a[i] | 1, __ATOMIC_RELAXED);
  __atomic_fetch_max(&words[9], (u32)a[i], __ATOMIC_RELAXED);
  // A sum of floats by compare and swap; small integers, exact in every order.
  u32 seen = __atomic_load_n(&words[10], __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&words[10], &seen, bits<u32>(bits<f32>(seen) + (f32)(i32)(a[i] & 255)), false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  __atomic_fetch_add((f64 *)&to[6], (f64)(i32)(b[i] & 1023) - 512.0, __ATOMIC_RELAXED);
  __atomic_fetch_add((f32 *)&to[7], (f32)(i32)(a[i] & 63), __ATOMIC_RELAXED);
}
GROUP_KERNEL(global_atomics, 1)

struct matrix_shared {
  f32 x[16][17], y[16][17];
};
static void matrix(u32 phase, u32 t, u32 group, matrix_shared &s, const u64 *a, const u64 *b, u64 *out) {
  u32 i = group * GROUP + t;
  if (phase == 0) {
    for (u32 k = 0; k < 2; k++) {
      s.x[t / 8][t % 8 * 2 + k] = (f32)(i8)(a[i] >> (8 * k));
      s.y[t / 8][t % 8 * 2 + k] = (f32)(i8)(b[i] >> (8 * k)) * 0.25f;
    }
  } else {
    for (u32 half = 0; half < 2; half++) {
      f32 sum = 0;
      for (u32 k = 0; k < 16; k++) sum += s.x[t / 8][k] * s.y[k][t % 8 + 8 * half];
      out[i * OUTS + half] = result(sum);
    }
  }
}
GROUP_KERNEL(matrix, 2)

// Small and wide LDS accesses, and a struct of odd layout.
struct layouts_shared {
  struct {
    u8 byte;
    u16 half;
    u64 wide;
  } odd[GROUP];
  u32x4 vectors[GROUP];
  u8 bytes[GROUP * 3];
};
static void layouts(u32 phase, u32 t, u32 group, layouts_shared &s, const u64 *a, const u64 *b, u64 *out) {
  u32 i = group * GROUP + t, other = (t * 37 + 11) % GROUP;
  if (phase == 0) {
    s.odd[t] = {(u8)a[i], (u16)b[i], a[i] + b[i]};
    s.vectors[t] = u32x4{(u32)a[i], (u32)b[i], t, (u32)(a[i] >> 32)};
    for (u32 k = 0; k < 3; k++) s.bytes[3 * t + k] = (u8)(a[i] >> (9 * k));
  } else {
    u64 *to = out + i * OUTS;
    to[0] = s.odd[other].byte + 1000u * s.odd[other].half;
    to[1] = s.odd[other].wide;
    u32x4 v = s.vectors[other] + s.vectors[(other + 1) % GROUP];
    to[2] = v.x ^ v.y, to[3] = (u64)v.z << 32 | v.w;
    u32 unaligned;
    __builtin_memcpy(&unaligned, s.bytes + other, 4);
    to[4] = unaligned;
  }
}
GROUP_KERNEL(layouts, 2)
