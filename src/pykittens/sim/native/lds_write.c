/* DS writes. f: address row, first data row, offset in bytes, second data row, second offset in bytes. */
#include "lds.h"

/* Lanes without a place in LDS write behind it. */
INLINE uint32_t behind(const Wave *w) { return w->group->launch->lds_bytes; }

INLINE int32_t write_wide(Wave *w, uint32_t address, uint32_t data, uint32_t constant, int dwords) {
  _Alignas(64) uint32_t offset[LANES];
  uint32_t bytes = 4 * (uint32_t)dwords;
  lds_offsets(w, address, constant, bytes, dwords == 3 ? 16 : bytes, behind(w), offset);
  scatter(w, (Places){w->group->lds, offset, 0}, data, dwords);
  return NEXT;
}

INLINE int32_t write_two(Wave *w, const Op *op, int dwords) {
  write_wide(w, op->f[0], op->f[1], op->f[2], dwords);
  return write_wide(w, op->f[0], op->f[3], op->f[4], dwords);
}

INLINE int32_t write_small(Wave *w, const Op *op, int bits, int high) {
  _Alignas(64) uint32_t offset[LANES];
  lds_offsets(w, op->f[0], op->f[2], (uint32_t)bits / 8, (uint32_t)bits / 8, behind(w), offset);
  scatter_elements(w, (Places){w->group->lds, offset, 0}, op->f[1], bits, high);
  return NEXT;
}

#define WRITE(name, call) \
  int32_t name(Wave *w, const Op *op) { return call; }

WRITE(lds_write_32, write_wide(w, op->f[0], op->f[1], op->f[2], 1))
WRITE(lds_write_64, write_wide(w, op->f[0], op->f[1], op->f[2], 2))
WRITE(lds_write_96, write_wide(w, op->f[0], op->f[1], op->f[2], 3))
WRITE(lds_write_128, write_wide(w, op->f[0], op->f[1], op->f[2], 4))
WRITE(lds_write2_32, write_two(w, op, 1))
WRITE(lds_write2_64, write_two(w, op, 2))
WRITE(lds_write_8, write_small(w, op, 8, 0))
WRITE(lds_write_16, write_small(w, op, 16, 0))
WRITE(lds_write_8_hi, write_small(w, op, 8, 1))
WRITE(lds_write_16_hi, write_small(w, op, 16, 1))
