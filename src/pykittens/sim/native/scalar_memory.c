/* Scalar loads, stores and atomics, and the clocks. f: data, base, offset register or NONE, constant (two's complement),
 * dwords, what the offset register is multiplied by. */
#include "atomic.h"
#include "regions.h"

INLINE uint64_t scalar_offset(const Wave *w, const Op *op) {
  uint64_t offset = (uint64_t)(int64_t)(int32_t)op->f[3];
  return op->f[2] == NONE ? offset : offset + (uint64_t)w->sgpr[op->f[2]] * op->f[5];
}

/* The two low bits of an address are ignored. */
INLINE uint64_t scalar_address(const Wave *w, const Op *op) {
  return (scalar_pair(w, op->f[1]) + scalar_offset(w, op)) & ~3ull;
}

int32_t scalar_load(Wave *w, const Op *op) {
  uint32_t dwords = op->f[4];
  const uint8_t *from = host_address(w, NONE, scalar_address(w, op), 4 * dwords, LOAD);
  if (!from) return FAULT;
  for (uint32_t i = 0; i < dwords; i++) w->sgpr[op->f[0] + i] = ((const u32_any *)from)[i];
  return NEXT;
}

int32_t scalar_store(Wave *w, const Op *op) {
  uint32_t dwords = op->f[4];
  uint8_t *to = host_address(w, NONE, scalar_address(w, op), 4 * dwords, STORE);
  if (!to) return FAULT;
  for (uint32_t i = 0; i < dwords; i++) ((u32_any *)to)[i] = w->sgpr[op->f[0] + i];
  return NEXT;
}

/* The range of a buffer in bytes, and its base: a scalar access has no index. */
INLINE uint64_t buffer_range(const Wave *w, const Op *op, uint64_t *base) {
  const uint32_t *word = &w->sgpr[op->f[1]];
  uint64_t stride = word[1] >> 16 & 0x3FFF;
  *base = (word[0] | (uint64_t)word[1] << 32) & 0xFFFFFFFFFFFCull;
  return stride ? stride * word[2] : word[2];
}

int32_t scalar_buffer_load(Wave *w, const Op *op) {
  uint64_t base, records = buffer_range(w, op, &base), offset = scalar_offset(w, op) & ~3ull;
  uint32_t loaded[16];
  for (uint32_t i = 0; i < op->f[4]; i++) {
    loaded[i] = 0;
    if (offset + 4 * i >= records) continue;
    const uint8_t *from = host_address(w, NONE, base + offset + 4 * i, 4, LOAD);
    if (!from) return FAULT;
    loaded[i] = *(const u32_any *)from;
  }
  for (uint32_t i = 0; i < op->f[4]; i++) w->sgpr[op->f[0] + i] = loaded[i];
  return NEXT;
}

int32_t scalar_buffer_store(Wave *w, const Op *op) {
  uint64_t base, records = buffer_range(w, op, &base), offset = scalar_offset(w, op) & ~3ull;
  for (uint32_t i = 0; i < op->f[4]; i++) {
    if (offset + 4 * i >= records) continue;
    uint8_t *to = host_address(w, NONE, base + offset + 4 * i, 4, STORE);
    if (!to) return FAULT;
    *(u32_any *)to = w->sgpr[op->f[0] + i];
  }
  return NEXT;
}

/* f: as above, then the operation; f[7]: whether the old value replaces the data. The compared value follows the new one. */
INLINE int32_t atomic(Wave *w, const Op *op, uint64_t address, uint32_t bits) {
  uint32_t *data = &w->sgpr[op->f[0]];
  if (address % (bits / 8)) return fault(w, MISALIGNED, NONE, address, bits / 8, STORE);
  uint8_t *at = host_address(w, NONE, address, bits / 8, STORE);
  if (!at) return FAULT;
  uint64_t value = bits == 64 ? *(u64_any *)data : *data, second = bits == 64 ? *(u64_any *)(data + 2) : data[1];
  uint64_t old = atomic_shared(at, op->f[6], bits, value, second);
  if (op->f[7] && bits == 64) *(u64_any *)data = old;
  else if (op->f[7]) *data = (uint32_t)old;
  return NEXT;
}

int32_t scalar_atomic_32(Wave *w, const Op *op) { return atomic(w, op, scalar_address(w, op), 32); }
int32_t scalar_atomic_64(Wave *w, const Op *op) { return atomic(w, op, scalar_address(w, op), 64); }

INLINE int32_t buffer_atomic(Wave *w, const Op *op, uint32_t bits) {
  uint64_t base, records = buffer_range(w, op, &base), offset = scalar_offset(w, op) & ~3ull;
  if (offset + bits / 8 <= records) return atomic(w, op, base + offset, bits);
  if (op->f[7])
    for (uint32_t i = 0; i < bits / 32; i++) w->sgpr[op->f[0] + i] = 0;
  return NEXT;
}

int32_t scalar_buffer_atomic_32(Wave *w, const Op *op) { return buffer_atomic(w, op, 32); }
int32_t scalar_buffer_atomic_64(Wave *w, const Op *op) { return buffer_atomic(w, op, 64); }

/* Time is what the wave has executed: four clocks an instruction, the same in every run. f: destination, divisor */
int32_t scalar_time(Wave *w, const Op *op) {
  uint64_t clocks = 4 * (w->count + w->group->launch->turn - w->group->left) / op->f[1];
  w->sgpr[op->f[0]] = (uint32_t)clocks, w->sgpr[op->f[0] + 1] = (uint32_t)(clocks >> 32);
  return NEXT;
}
