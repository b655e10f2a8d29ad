// What only GPUs have: cross-lane moves, matrix instructions, hidden arguments, dynamic LDS. The host says it in loops.
#include "corpus.h"

typedef f32 f32x4 __attribute__((ext_vector_type(4)));
typedef i32 i32x4 __attribute__((ext_vector_type(4)));
typedef f32 f32x16 __attribute__((ext_vector_type(16)));
typedef f64 f64x4 __attribute__((ext_vector_type(4)));
typedef f16 f16x4 __attribute__((ext_vector_type(4)));
typedef i16 i16x4 __attribute__((ext_vector_type(4)));

#ifdef __AMDGCN__
// Lane l of row-major 16 x K operands has row l % 16 and K / 4 elements from l / 16 * (K / 4) on.
static void wave_f16(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  f16x4 x, y;
  for (u32 k = 0; k < 4; k++) x[k] = (f16)(i8)(a[lane] >> (8 * k)), y[k] = (f16)(i8)(b[lane] >> (8 * k));
  f32x4 c = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, f32x4{1, 2, 3, 4}, 0, 0, 0);
  for (u32 k = 0; k < 4; k++) out[k] = result(c[k]);
}
static void wave_bf16(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  i16x4 x, y;
  for (u32 k = 0; k < 4; k++) {
    x[k] = (i16)(bits<u32>((f32)(i8)(a[lane] >> (8 * k))) >> 16);
    y[k] = (i16)(bits<u32>((f32)(i8)(b[lane] >> (8 * k))) >> 16);
  }
  f32x16 c = {};
  c = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x, y, c, 0, 0, 0);
  for (u32 k = 0; k < 8; k++) out[k] = result(c[2 * k]) << 32 | result(c[2 * k + 1]);
}
static void wave_i8(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  i32x4 c = __builtin_amdgcn_mfma_i32_16x16x32_i8((i64)a[lane], (i64)b[lane], i32x4{-5, 5, 50, 500}, 0, 0, 0);
  for (u32 k = 0; k < 4; k++) out[k] = (u64)c[k];
}
static void wave_f64(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  f64x4 c = {0.5, 0.25, 0, -1};
  c = __builtin_amdgcn_mfma_f64_16x16x4f64((f64)(i32)a[lane], (f64)(i16)b[lane], c, 0, 0, 0);
  for (u32 k = 0; k < 4; k++) out[k] = result(c[k]);
}
static void lanes(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  i32 x = (i32)a[lane];
  out[0] = (u32)__builtin_amdgcn_update_dpp(7, x, 0x111, 0xF, 0xF, false); // row_shr:1
  out[1] = (u32)__builtin_amdgcn_mov_dpp(x, 0x1B, 0xF, 0xF, true);         // quad_perm:[3,2,1,0]
  out[2] = (u32)__builtin_amdgcn_ds_bpermute((i32)(b[lane] & 63) * 4, x);
  out[3] = (u32)__builtin_amdgcn_readlane(x, (i32)(b[0] & 63));
  out[4] = (u32)__builtin_amdgcn_ds_swizzle(x, 0x041F); // xor 1
  out[5] = __builtin_amdgcn_ballot_w64(x & 1);
  out[6] = __builtin_amdgcn_mbcnt_hi((u32)(b[0] >> 32), __builtin_amdgcn_mbcnt_lo((u32)b[0], 5));
  out[7] = (u32)__builtin_amdgcn_readfirstlane(x ^ 3);
}
extern "C" __attribute__((address_space(3))) u32 dynamic[];
ENTRY void hidden_arguments_kernel(const u64 *a, const u64 *b, u64 *out, u32 n) {
  const CONSTANT u32 *hidden = (const CONSTANT u32 *)__builtin_amdgcn_implicitarg_ptr();
  const CONSTANT u16 *halves = (const CONSTANT u16 *)hidden;
  u32 i = work_item();
  if (i >= n) return;
  dynamic[__builtin_amdgcn_workitem_id_x()] = (u32)a[i];
  barrier();
  u64 *to = out + i * OUTS;
  to[0] = hidden[0], to[1] = hidden[1] * 10 + hidden[2], to[2] = halves[6], to[3] = halves[7] * 10 + halves[8];
  to[4] = halves[9] + halves[10] + halves[11], to[5] = halves[32], to[6] = hidden[30];
  to[7] = dynamic[(__builtin_amdgcn_workitem_id_x() + 1) % group_size()];
}
#else
template <u32 Size, u32 Depth> static f64 product(const u64 *a, const u64 *b, u32 row, u32 column, u32 bytes) {
  f64 sum = 0;
  for (u32 k = 0; k < Depth; k++) {
    u32 lane = k / bytes * Size, byte = k % bytes * 8;
    sum += (f64)(i8)(a[lane + row] >> byte) * (f64)(i8)(b[lane + column] >> byte);
  }
  return sum;
}
static void wave_f16(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  for (u32 k = 0; k < 4; k++)
    out[k] = result((f32)(product<16, 16>(a, b, lane / 16 * 4 + k, lane % 16, 4) + 1 + k));
}
static void wave_bf16(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  for (u32 k = 0; k < 16; k++) {
    u64 value = result((f32)product<32, 8>(a, b, k / 4 * 8 + lane / 32 * 4 + k % 4, lane % 32, 4));
    out[k / 2] = k % 2 ? out[k / 2] | value : value << 32;
  }
}
static void wave_i8(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  const i32 start[4] = {-5, 5, 50, 500};
  for (u32 k = 0; k < 4; k++)
    out[k] = (u64)(i64)(product<16, 32>(a, b, lane / 16 * 4 + k, lane % 16, 8) + start[k]);
}
static void wave_f64(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  const f64 start[4] = {0.5, 0.25, 0, -1};
  for (u32 r = 0; r < 4; r++) {
    f64 sum = start[r];
    u32 row = lane / 16 + 4 * r;
    for (u32 k = 0; k < 4; k++) sum += (f64)(i32)a[16 * k + row] * (f64)(i16)b[16 * k + lane % 16];
    out[r] = result(sum);
  }
}
static void lanes(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  out[0] = lane % 16 == 0 ? 7 : (u32)a[lane - 1];
  out[1] = (u32)a[lane ^ 3];
  out[2] = (u32)a[b[lane] & 63];
  out[3] = (u32)a[b[0] & 63];
  out[4] = (u32)a[lane ^ 1];
  out[5] = 0, out[6] = 5;
  for (u32 k = 0; k < 64; k++) out[5] |= (a[k] & 1) << k, out[6] += k < lane && b[0] >> k & 1;
  out[7] = (u32)a[0] ^ 3;
}
extern "C" void hidden_arguments_host(const u64 *a, const u64 *b, u64 *out, u32 n) {
  for (u32 i = 0; i < n; i++) {
    u64 *to = out + i * OUTS;
    to[0] = n / GROUP, to[1] = 11, to[2] = GROUP, to[3] = 11, to[4] = 0, to[5] = 3, to[6] = GROUP * 4;
    to[7] = (u32)a[i / GROUP * GROUP + (i + 1) % GROUP];
  }
}
#endif
WAVE_KERNEL(wave_f16)
WAVE_KERNEL(wave_bf16)
WAVE_KERNEL(wave_i8)
WAVE_KERNEL(wave_f64)
WAVE_KERNEL(lanes)
