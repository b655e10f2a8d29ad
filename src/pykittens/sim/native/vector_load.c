/* Loads from buffer, global, flat and scratch memory to registers or to LDS. */
#include "lanes.h"

INLINE int32_t load_wide(Wave *w, const Op *op, Reach reach, int dwords) {
  Lanes at;
  if (reach(w, op, 4 * (uint32_t)dwords, LOAD, &at) != NEXT) return FAULT;
  Rows data;
  gather((Places){0, 0, at.pointer}, data, dwords);
  commit(w, op->f[DATA], data, dwords, 0xFFFFFFFFu);
  return NEXT;
}

/* half: 0 the whole register, 1 its lower, 2 its upper 16 bits. */
INLINE int32_t load_small(Wave *w, const Op *op, Reach reach, int bits, int is_signed, int half) {
  Lanes at;
  if (reach(w, op, (uint32_t)bits / 8, LOAD, &at) != NEXT) return FAULT;
  Rows data;
  gather_elements((Places){0, 0, at.pointer}, data, bits, is_signed);
  if (half == 2)
    for (int q = 0; q < QUARTERS; q++) data[0][q] <<= 16;
  commit(w, op->f[DATA], data, 1, half == 0 ? 0xFFFFFFFFu : half == 1 ? 0x0000FFFFu : 0xFFFF0000u);
  return NEXT;
}

/* A lane's data goes to M0[17:0] + the instruction's offset + its place: a dword a lane, or 16 bytes a lane of which
 * dwordx3 writes 12. Lanes that the descriptor puts out of range write zeros, inactive lanes nothing. */
INLINE int32_t load_to_lds(Wave *w, const Op *op, Reach reach, int bits, int is_signed) {
  Lanes at;
  if (reach(w, op, (uint32_t)bits / 8, LOAD, &at) != NEXT) return FAULT;
  Group *g = w->group;
  uint64_t exec = exec_mask(w);
  uint32_t bytes = bits < 32 ? 4 : (uint32_t)bits / 8, pitch = bytes > 4 ? 16 : 4;
  uint32_t first = (w->sgpr[M0] & 0x3FFFF) + op->f[OFFSET], size = g->launch->lds_bytes;
  if (exec == ~0ull && first <= size && (LANES - 1) * pitch + bytes <= size - first) {
    uint8_t *to = g->lds + first;
    for (uint32_t lane = 0; lane < LANES; lane++, to += pitch) {
      const uint8_t *from = (const uint8_t *)(uintptr_t)at.pointer[lane];
      if (bits == 128) *(u32x4_any *)to = *(const u32x4_any *)from;
      else if (bits == 96) *(u64_any *)to = *(const u64_any *)from, ((u32_any *)to)[2] = ((const u32_any *)from)[2];
      else *(u32_any *)to = element(from, bits, is_signed);
    }
    return NEXT;
  }
  uint32_t outside = 0;
  EACH_LANE(lane, exec) {
    uint64_t place = (uint64_t)first + lane * pitch;
    const uint8_t *from = (const uint8_t *)(uintptr_t)at.pointer[lane];
    if (place + bytes > size) outside = 1;
    else if (bits > 32) __builtin_memcpy(g->lds + place, from, bytes);
    else *(u32_any *)(g->lds + place) = element(from, bits, is_signed);
  }
  g->counter[LDS_OUT_OF_RANGE] += outside;
  return NEXT;
}

#define HANDLER(name, call) \
  int32_t name(Wave *w, const Op *op) { return call; }

#define SPACE(space, reach)                                          \
  HANDLER(space##_load_32, load_wide(w, op, reach, 1))                  \
  HANDLER(space##_load_64, load_wide(w, op, reach, 2))                  \
  HANDLER(space##_load_96, load_wide(w, op, reach, 3))                  \
  HANDLER(space##_load_128, load_wide(w, op, reach, 4))                 \
  HANDLER(space##_load_u8, load_small(w, op, reach, 8, 0, 0))           \
  HANDLER(space##_load_i8, load_small(w, op, reach, 8, 1, 0))           \
  HANDLER(space##_load_u16, load_small(w, op, reach, 16, 0, 0))         \
  HANDLER(space##_load_i16, load_small(w, op, reach, 16, 1, 0))         \
  HANDLER(space##_load_u8_lo, load_small(w, op, reach, 8, 0, 1))        \
  HANDLER(space##_load_i8_lo, load_small(w, op, reach, 8, 1, 1))        \
  HANDLER(space##_load_u16_lo, load_small(w, op, reach, 16, 0, 1))      \
  HANDLER(space##_load_u8_hi, load_small(w, op, reach, 8, 0, 2))        \
  HANDLER(space##_load_i8_hi, load_small(w, op, reach, 8, 1, 2))        \
  HANDLER(space##_load_u16_hi, load_small(w, op, reach, 16, 0, 2))

#define TO_LDS(space, reach)                                         \
  HANDLER(space##_lds_32, load_to_lds(w, op, reach, 32, 0))             \
  HANDLER(space##_lds_96, load_to_lds(w, op, reach, 96, 0))             \
  HANDLER(space##_lds_128, load_to_lds(w, op, reach, 128, 0))           \
  HANDLER(space##_lds_u8, load_to_lds(w, op, reach, 8, 0))              \
  HANDLER(space##_lds_i8, load_to_lds(w, op, reach, 8, 1))              \
  HANDLER(space##_lds_u16, load_to_lds(w, op, reach, 16, 0))            \
  HANDLER(space##_lds_i16, load_to_lds(w, op, reach, 16, 1))

SPACE(buffer, buffer_lanes)
SPACE(global, global_lanes)
SPACE(flat, flat_lanes)
SPACE(scratch, scratch_lanes)
TO_LDS(buffer, buffer_lanes)
TO_LDS(global, global_lanes)
TO_LDS(scratch, scratch_lanes)
