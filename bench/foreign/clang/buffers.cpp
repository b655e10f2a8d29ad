// Buffer descriptors of any length, copies into LDS, scalar loads: out of range is read as 0 and never written.
#include "corpus.h"
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x3 __attribute__((ext_vector_type(3)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
#ifdef __AMDGCN__
#define LDS __attribute__((address_space(3)))
static __amdgpu_buffer_rsrc_t buffer(const void *p, u32 bytes) {
  return __builtin_amdgcn_make_buffer_rsrc((void *)p, 0, bytes, 0x00027000);
}
#else
// Of the bytes of a wave's 64 elements; dwords that begin out of range are 0, smaller ones whole.
static u64 load(const u64 *a, u32 at, u32 bytes, u32 limit) {
  u64 value = 0;
  for (u32 k = 0; k < bytes; k++) {
    u32 begin = bytes < 4 ? at : at + k / 4 * 4;
    value |= begin < limit ? (u64)((const u8 *)a)[at + k] << 8 * k : 0;
  }
  return value;
}
#endif
static void tails(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  u32 limit = (u32)b[0] % 400 / 4 * 4, at = (u32)b[lane] % 480 / 4 * 4;
#ifdef __AMDGCN__
  __amdgpu_buffer_rsrc_t r = buffer(a, limit);
  out[0] = __builtin_amdgcn_raw_buffer_load_b8(r, at + 1, 0, 0);
  out[1] = __builtin_amdgcn_raw_buffer_load_b16(r, at + 2, 0, 0);
  out[2] = __builtin_amdgcn_raw_buffer_load_b32(r, at, 0, 0);
  u32x2 two = __builtin_amdgcn_raw_buffer_load_b64(r, at, 0, 0);
  u32x3 three = __builtin_amdgcn_raw_buffer_load_b96(r, at, 0, 0);
  u32x4 four = __builtin_amdgcn_raw_buffer_load_b128(r, at, 0, 0);
  out[3] = two.x | (u64)two.y << 32, out[4] = three.x | (u64)three.y << 32, out[5] = three.z;
  out[6] = four.x ^ (u64)four.y << 32 ^ (u64)four.z << 7, out[7] = four.w;
#else
  out[0] = load(a, at + 1, 1, limit), out[1] = load(a, at + 2, 2, limit), out[2] = load(a, at, 4, limit);
  out[3] = load(a, at, 8, limit), out[4] = out[3], out[5] = load(a, at + 8, 4, limit);
  u64 x = load(a, at, 4, limit), y = load(a, at + 4, 4, limit);
  out[6] = x ^ y << 32 ^ out[5] << 7, out[7] = load(a, at + 12, 4, limit);
#endif
}
WAVE_KERNEL(tails)
// Each lane stores into its own results as far as they reach.
static void stores(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  u64 *wave = out - lane * OUTS;
  u32 limit = (u32)(64 * OUTS * 8 - (b[1] & 0xFC));
  for (u32 k = 0; k < OUTS; k++) out[k] = k;
  u32 at = lane * OUTS * 8;
#ifdef __AMDGCN__
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __amdgpu_buffer_rsrc_t r = buffer(wave, limit);
  u32x4 x = {(u32)a[lane], (u32)b[lane], 3, lane};
  __builtin_amdgcn_raw_buffer_store_b128(x, r, at, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b96(x.wzx, r, at + 16, 4, 0);
  __builtin_amdgcn_raw_buffer_store_b64(x.yw, r, at, 32, 0);
  __builtin_amdgcn_raw_buffer_store_b8((u8)a[lane], r, at + 41, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b16((u16)b[lane], r, at + 44, 2, 0);
  __builtin_amdgcn_raw_ptr_buffer_atomic_add_i32((i32)a[lane], r, at + 48, 0, 0);
#else
  auto put = [&](u32 offset, u32 constant, u32 bytes, u32 value) {
    if (at + offset < limit) __builtin_memcpy((u8 *)out + offset + constant, &value, bytes);
  };
  u32 x = (u32)a[lane], y = (u32)b[lane];
  put(0, 0, 4, x), put(4, 0, 4, y), put(8, 0, 4, 3), put(12, 0, 4, lane);
  put(16, 4, 4, lane), put(20, 4, 4, 3), put(24, 4, 4, x), put(0, 32, 4, y), put(4, 32, 4, lane);
  put(41, 0, 1, x), put(44, 2, 2, y), put(48, 0, 4, 6 + x);
#endif
}
WAVE_KERNEL(stores)
struct into_lds_shared {
  u32 w[4][2 * GROUP];
};
static void into_lds(u32 phase, u32 t, u32 group, into_lds_shared &s, const u64 *a, const u64 *b, u64 *out) {
  u32 i = group * GROUP + t, limit = 8 * (group + 1) * GROUP - 20;
  if (phase == 0) {
#ifdef __AMDGCN__
    const u32 *from = (const u32 *)(a + group * GROUP);
    LDS u32 *to = (LDS u32 *)&((LDS into_lds_shared *)&s)->w[0][t & 64];
    __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void *)(from + t), to, 4, 0, 0);
    __builtin_amdgcn_raw_ptr_buffer_load_lds(buffer(a, limit), to + 2 * GROUP, 4, 4 * (t ^ 1), group * GROUP * 8 + 0,
        4 * GROUP, 0);
    __builtin_amdgcn_s_waitcnt(0x0F70);
#else
    s.w[0][t] = ((const u32 *)(a + group * GROUP))[t];
    u32 at = 4 * (t ^ 1) + 4 * GROUP;
    s.w[1][GROUP + t] = at < limit ? ((const u32 *)(a + group * GROUP))[(t ^ 1) + GROUP] : 0;
#endif
  } else {
    out[i * OUTS] = s.w[0][(t * 5 + 1) % GROUP], out[i * OUTS + 1] = s.w[1][2 * GROUP - 1 - t];
  }
}
GROUP_KERNEL(into_lds, 2)
static void scalar_loads(u32 lane, const u64 *a, const u64 *b, u64 *out) {
  u32 at = (u32)b[2] % 40;
#ifdef __AMDGCN__
  at = (u32)__builtin_amdgcn_readfirstlane((i32)at);
  const CONSTANT u64 *p = (const CONSTANT u64 *)a;
#else
  const u64 *p = a;
#endif
  u64 sum = 0;
  for (u32 k = 0; k < 8; k++) sum = sum * 7 + p[at + k];
  out[0] = sum;
  out[1] = ((const CONSTANT u8 *)p)[at * 8 + 3] + ((const CONSTANT i16 *)p)[at + 5] + ((const CONSTANT i8 *)p)[at];
}
WAVE_KERNEL(scalar_loads)
