/* Atomics of the vector memory instructions and of DS. Lanes act one after the other, lowest first. */
#include "atomic.h"
#include "lanes.h"
#include "lds.h"

INLINE uint64_t lane_value(const Wave *w, uint32_t row, uint64_t lane, uint32_t bits) {
  uint64_t low = w->vgpr[row][lane];
  return bits == 64 ? low | (uint64_t)w->vgpr[row + 1][lane] << 32 : low;
}

INLINE void set_lane_value(Wave *w, uint32_t row, uint64_t lane, uint32_t bits, uint64_t value) {
  w->vgpr[row][lane] = (uint32_t)value;
  if (bits == 64) w->vgpr[row + 1][lane] = (uint32_t)(value >> 32);
}

/* Lanes out of a buffer's range get 0 back. */
INLINE int32_t vector_atomic(Wave *w, const Op *op, Reach reach, uint32_t bits) {
  Lanes at;
  if (reach(w, op, bits / 8, ATOMIC, &at) != NEXT) return FAULT;
  EACH_LANE(lane, exec_mask(w)) {
    uint64_t old = 0;
    if (at.whole >> lane & 1) {
      uint64_t value = lane_value(w, op->f[DATA], lane, bits), second = lane_value(w, op->f[SECOND], lane, bits);
      old = atomic_shared((uint8_t *)(uintptr_t)at.pointer[lane], op->f[OPERATION], bits, value, second);
    }
    if (op->f[RETURN] != NONE) set_lane_value(w, op->f[RETURN], lane, bits, old);
  }
  return NEXT;
}

#define ATOMIC_OF(space, reach)                                                                       \
  int32_t space##_atomic_32(Wave *w, const Op *op) { return vector_atomic(w, op, reach, 32); }        \
  int32_t space##_atomic_64(Wave *w, const Op *op) { return vector_atomic(w, op, reach, 64); }

ATOMIC_OF(buffer, buffer_lanes)
ATOMIC_OF(global, global_lanes)
ATOMIC_OF(flat, flat_lanes)

/* LDS float atomics obey MODE's denormal bits: 5:4 for f32, 7:6 for the others; 0 flushes what comes in and goes out. */
INLINE uint64_t flushed(const Wave *w, uint32_t operation, uint32_t bits, uint64_t value) {
  if (operation < FLOAT_ADD) return value;
  int is_f32 = bits == 32 && operation < ADD_F16;
  if (w->mode >> (is_f32 ? 4 : 6) & 3) return value;
  if (operation == ADD_BF16) return value;
  if (operation == ADD_F16) {
    uint64_t low = value & 0x7C00 ? value & 0xFFFF : value & 0x8000;
    return low | (value & 0x7C000000 ? value & 0xFFFF0000 : value & 0x80000000);
  }
  if (is_f32) return value & 0x7F800000 ? value : value & 0x80000000;
  return value & 0x7FF0000000000000ull ? value : value & (1ull << 63);
}

INLINE uint64_t lds_update(Wave *w, uint32_t offset, uint32_t operation, uint32_t bits, uint64_t value, uint64_t second) {
  uint8_t *at = w->group->lds + offset;
  uint64_t old = bits == 64 ? *(u64_any *)at : *(u32_any *)at;
  uint64_t in = flushed(w, operation, bits, old);
  uint64_t result = atomic_result(operation, bits, in, flushed(w, operation, bits, value), second);
  result = flushed(w, operation, bits, result);
  if (bits == 64) *(u64_any *)at = result;
  else *(u32_any *)at = (uint32_t)result;
  return old;
}

/* Of the active lanes one after the other, at address + constant. */
INLINE int32_t lds_atomic(Wave *w, const Op *op, uint32_t constant, uint32_t data, uint32_t result, uint32_t bits) {
  _Alignas(64) uint32_t offset[LANES];
  uint64_t inside = lds_offsets(w, op->f[VADDR], constant, bits / 8, 1, 0, offset);
  EACH_LANE(lane, exec_mask(w)) {
    uint64_t old = 0;
    if (inside >> lane & 1) {
      if (offset[lane] % (bits / 8)) return fault(w, MISALIGNED, (uint32_t)lane, offset[lane], bits / 8, 1);
      uint64_t value = lane_value(w, data, lane, bits), second = lane_value(w, op->f[SECOND], lane, bits);
      old = lds_update(w, offset[lane], op->f[OPERATION], bits, value, second);
    }
    if (result != NONE) set_lane_value(w, result, lane, bits, old);
  }
  return NEXT;
}

int32_t lds_atomic_32(Wave *w, const Op *op) {
  return lds_atomic(w, op, op->f[OFFSET], op->f[DATA], op->f[RETURN], 32);
}

int32_t lds_atomic_64(Wave *w, const Op *op) {
  return lds_atomic(w, op, op->f[OFFSET], op->f[DATA], op->f[RETURN], 64);
}

/* Two addresses, two values: f[6] is the second constant. The results may lie over the second value or the address. */
INLINE int32_t lds_exchange2(Wave *w, const Op *op, uint32_t bits) {
  _Alignas(64) uint32_t kept[4][LANES];
  uint32_t rows = bits / 32, data[2] = {op->f[DATA], op->f[SECOND]};
  for (uint32_t d = 0; d < 2; d++) {
    _Alignas(64) uint32_t offset[LANES];
    uint64_t inside = lds_offsets(w, op->f[VADDR], op->f[d ? 6 : OFFSET], bits / 8, 1, 0, offset);
    EACH_LANE(lane, exec_mask(w)) {
      uint64_t old = 0;
      if (inside >> lane & 1) {
        if (offset[lane] % (bits / 8)) return fault(w, MISALIGNED, (uint32_t)lane, offset[lane], bits / 8, 1);
        old = lds_update(w, offset[lane], SWAP, bits, lane_value(w, data[d], lane, bits), 0);
      }
      kept[d * rows][lane] = (uint32_t)old;
      if (bits == 64) kept[d * rows + 1][lane] = (uint32_t)(old >> 32);
    }
  }
  for (uint32_t i = 0; i < 2 * rows; i++)
    EACH_LANE(lane, exec_mask(w)) w->vgpr[op->f[RETURN] + i][lane] = kept[i][lane];
  return NEXT;
}

int32_t lds_exchange2_32(Wave *w, const Op *op) { return lds_exchange2(w, op, 32); }
int32_t lds_exchange2_64(Wave *w, const Op *op) { return lds_exchange2(w, op, 64); }

/* Once per wave, at M0[15:0] + constant: the number of active lanes is added (f[OPERATION] ADD) or subtracted. */
int32_t lds_append(Wave *w, const Op *op) {
  uint32_t offset = (w->sgpr[M0] & 0xFFFF) + op->f[OFFSET], size = w->group->launch->lds_bytes, old = 0;
  uint64_t exec = exec_mask(w);
  if (offset % 4) return fault(w, MISALIGNED, NONE, offset, 4, 1);
  if (size >= 4 && offset <= size - 4)
    old = (uint32_t)lds_update(w, offset, op->f[OPERATION], 32, (uint32_t)__builtin_popcountll(exec), 0);
  else
    w->group->counter[LDS_OUT_OF_RANGE]++;
  EACH_LANE(lane, exec) w->vgpr[op->f[RETURN]][lane] = old;
  return NEXT;
}
