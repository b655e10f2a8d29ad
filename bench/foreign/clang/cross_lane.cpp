// Reductions, scans and exchanges among the lanes of a wave, also of those that a branch has left.
#include "corpus.h"

#ifdef __AMDGCN__
#define DPP(old, x, control, rows, banks, bound) \
  ((u32)__builtin_amdgcn_update_dpp((i32)(old), (i32)(x), control, rows, banks, bound))
static u32 sum_of_wave(u32 x) {
  x += DPP(0, x, 0x111, 0xF, 0xF, true); // row_shr:1
  x += DPP(0, x, 0x112, 0xF, 0xF, true); // row_shr:2
  x += DPP(0, x, 0x114, 0xF, 0xE, false); // row_shr:4
  x += DPP(0, x, 0x118, 0xF, 0xC, false); // row_shr:8
  x += DPP(0, x, 0x142, 0xA, 0xF, false); // row_bcast:15
  x += DPP(0, x, 0x143, 0xC, 0xF, false); // row_bcast:31
  return x;                               // an inclusive scan
}
static f32 largest(f32 x) {
  x = __builtin_fmaxf(x, bits<f32>(DPP(0, bits<u32>(x), 0x128, 0xF, 0xF, false))); // row_ror:8
  x = __builtin_fmaxf(x, bits<f32>(DPP(0, bits<u32>(x), 0x124, 0xF, 0xF, false)));
  x = __builtin_fmaxf(x, bits<f32>(DPP(0, bits<u32>(x), 0x122, 0xF, 0xF, false)));
  x = __builtin_fmaxf(x, bits<f32>(DPP(0, bits<u32>(x), 0x121, 0xF, 0xF, false)));
  return x;
}
static void scans(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  u32 x = (u32)a[lane];
  out[0] = sum_of_wave(x);
  out[1] = result(largest((f32)(i16)x));
  out[2] = DPP(lane, x, 0x140, 0xF, 0xF, false); // row_mirror
  out[3] = DPP(lane, x, 0x141, 0x5, 0x6, false); // row_half_mirror, some rows and banks
  out[4] = DPP(lane, x, 0x138, 0xF, 0xF, false); // wave_shr:1
  out[5] = DPP(lane, x, 0x130, 0xF, 0xF, true);  // wave_shl:1
  out[6] = DPP(lane, x, 0x134, 0xF, 0xF, false) ^ DPP(lane, x, 0x13C, 0xF, 0xF, false); // wave_rol:1, wave_ror:1
  out[7] = DPP(lane, x, 0x155, 0xF, 0xF, false); // row_newbcast:5
}
static void some_lanes(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  u32 x = (u32)a[lane];
  for (u32 k = 0; k < 8; k++) out[k] = 77;
  if ((b[lane] >> 3) % 3) {
    out[0] = DPP(99, x, 0x111, 0xF, 0xF, false);
    out[1] = DPP(99, x, 0x111, 0xF, 0xF, true);
    out[2] = (u32)__builtin_amdgcn_ds_bpermute((i32)(lane ^ 21) * 4, (i32)x);
    out[3] = (u32)__builtin_amdgcn_ds_permute((i32)(lane ^ 21) * 4, (i32)x);
    out[4] = __builtin_amdgcn_ballot_w64(x & 2);
    out[5] = (u32)__builtin_amdgcn_readfirstlane((i32)x);
    out[6] = (u32)__builtin_amdgcn_readlane((i32)x, 63 - __builtin_clzll(__builtin_amdgcn_ballot_w64(true)));
    out[7] = (u32)__builtin_amdgcn_ds_swizzle((i32)x, 0xC0A0); // rotate
  }
}
static void waterfall(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  u32 x = (u32)b[lane] & 7, turns = 0;
  u64 sum = 0;
  for (;;) {
    u32 first = (u32)__builtin_amdgcn_readfirstlane((i32)x);
    u64 same = __builtin_amdgcn_ballot_w64(x == first);
    turns++;
    if (x == first) {
      out[0] = same, out[1] = turns, out[2] = __builtin_popcountll(same);
      out[3] = __builtin_amdgcn_mbcnt_hi((u32)(same >> 32), __builtin_amdgcn_mbcnt_lo((u32)same, 0));
      break;
    }
  }
  u32 w = (u32)a[lane];
  asm("v_writelane_b32 %0, %1, 5" : "+v"(w) : "s"(1234));
  if (lane & 1) asm volatile("v_writelane_b32 %0, %1, m0" : "+v"(w) : "s"(__builtin_amdgcn_readfirstlane(4321)),
      "{m0}"(9));
  out[4] = w;
  out[6] = __builtin_amdgcn_inverse_ballot_w64(b[0]) ? lane : 1000;
  out[7] = (u32)__builtin_amdgcn_wave_reduce_max_u32((u32)a[lane], 0);
}
static void swaps(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  u32 x = (u32)a[lane], y = (u32)b[lane];
#ifdef __gfx950__
  auto p = __builtin_amdgcn_permlane16_swap(x, y, false, false);
  auto q = __builtin_amdgcn_permlane32_swap(x, y, false, false);
  out[0] = p[0], out[1] = p[1], out[2] = q[0], out[3] = q[1];
#else
  u32 xs = (u32)__builtin_amdgcn_ds_bpermute((i32)(lane ^ 16) * 4, (i32)x), ys =
      (u32)__builtin_amdgcn_ds_bpermute((i32)(lane ^ 16) * 4, (i32)y);
  out[0] = lane & 16 ? ys : x, out[1] = lane & 16 ? y : xs;
  xs = (u32)__builtin_amdgcn_ds_bpermute((i32)(lane ^ 32) * 4, (i32)x), ys =
      (u32)__builtin_amdgcn_ds_bpermute((i32)(lane ^ 32) * 4, (i32)y);
  out[2] = lane & 32 ? ys : x, out[3] = lane & 32 ? y : xs;
#endif
}
#else
static u32 at(const u64 *a, u32 lane) { return (u32)a[lane & 63]; }
static void scans(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  u32 sum = 0, row = lane & ~15u, bank = lane / 4 % 4;
  for (u32 k = 0; k <= lane; k++) sum += (u32)a[k];
  f32 most = -1e9;
  for (u32 k = 0; k < 16; k++) most = most > (i16)a[row + k] ? most : (f32)(i16)a[row + k];
  out[0] = sum, out[1] = result(most);
  out[2] = at(a, row + 15 - lane % 16);
  out[3] = (0x5 >> row / 16 & 1) && (0x6 >> bank & 1) ? at(a, (lane & ~7u) + 7 - lane % 8) : lane;
  out[4] = lane ? at(a, lane - 1) : 0, out[5] = lane < 63 ? at(a, lane + 1) : 0;
  out[6] = at(a, lane + 1) ^ at(a, lane - 1);
  out[7] = at(a, row + 5);
}
static void some_lanes(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  for (u32 k = 0; k < 8; k++) out[k] = 77;
  auto on = [&](u32 l) { return (b[l & 63] >> 3) % 3 != 0; };
  if (!on(lane)) return;
  u32 first = 0;
  while (!on(first)) first++;
  bool left = lane % 16 && on(lane - 1);
  out[0] = left ? at(a, lane - 1) : 99, out[1] = left ? at(a, lane - 1) : 0;
  out[2] = on(lane ^ 21) ? at(a, lane ^ 21) : 0, out[3] = out[2];
  out[4] = 0;
  for (u32 k = 0; k < 64; k++) out[4] |= (u64)(on(k) && (a[k] & 2)) << k;
  u32 last = 63;
  while (!on(last)) last--;
  out[5] = at(a, first), out[6] = at(a, last);
  u32 from = (lane & 32) | ((lane + 5) & 31);
  out[7] = on(from) ? at(a, from) : 0;
}
static void waterfall(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  u32 seen = 0, turns = 0;
  for (u32 k = 0; k < 64; k++) {
    u32 v = (u32)b[k] & 7;
    if (seen >> v & 1) continue;
    seen |= 1u << v, turns++;
    if (v == ((u32)b[lane] & 7)) break;
  }
  u64 same = 0;
  for (u32 k = 0; k < 64; k++) same |= (u64)(((b[k] ^ b[lane]) & 7) == 0) << k;
  out[0] = same, out[1] = turns, out[2] = __builtin_popcountll(same), out[3] = __builtin_popcountll(same
      & ((1ull << lane) - 1));
  out[4] = lane == 5 ? 1234 : lane == 9 ? 4321 : (u32)a[lane];
  out[6] = b[0] >> lane & 1 ? lane : 1000;
  u32 most = 0;
  for (u32 k = 0; k < 64; k++) most = most > (u32)a[k] ? most : (u32)a[k];
  out[7] = most;
}
static void swaps(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  out[0] = lane & 16 ? at(b, lane ^ 16) : at(a, lane), out[1] = lane & 16 ? at(b, lane) : at(a, lane ^ 16);
  out[2] = lane & 32 ? at(b, lane ^ 32) : at(a, lane), out[3] = lane & 32 ? at(b, lane) : at(a, lane ^ 32);
}
#endif
WAVE_KERNEL(scans)
WAVE_KERNEL(some_lanes)
WAVE_KERNEL(waterfall)
WAVE_KERNEL(swaps)
