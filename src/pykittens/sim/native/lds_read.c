/* DS reads. f: destination row, address row, offset in bytes, second offset in bytes. */
#include "lds.h"

INLINE int32_t read_wide(Wave *w, const Op *op, int dwords) {
  _Alignas(64) uint32_t offset[LANES];
  uint32_t bytes = 4 * (uint32_t)dwords;
  uint64_t inside = lds_offsets(w, op->f[1], op->f[2], bytes, dwords == 3 ? 16 : bytes, 0, offset);
  Rows data;
  gather((Places){w->group->lds, offset, 0}, data, dwords);
  clear_outside(data, dwords, inside, exec_mask(w));
  commit(w, op->f[0], data, dwords, 0xFFFFFFFFu);
  return NEXT;
}

INLINE int32_t read_two(Wave *w, const Op *op, int dwords) {
  _Alignas(64) uint32_t offset[LANES];
  Rows data[2];
  for (int i = 0; i < 2; i++) {
    uint64_t inside = lds_offsets(w, op->f[1], op->f[2 + i], 4 * (uint32_t)dwords, 4 * (uint32_t)dwords, 0, offset);
    gather((Places){w->group->lds, offset, 0}, data[i], dwords);
    clear_outside(data[i], dwords, inside, exec_mask(w));
  }
  for (int i = 0; i < 2; i++) commit(w, op->f[0] + (uint32_t)(i * dwords), data[i], dwords, 0xFFFFFFFFu);
  return NEXT;
}

/* half: 0 the whole register, 1 its lower, 2 its upper 16 bits. */
INLINE int32_t read_small(Wave *w, const Op *op, int bits, int is_signed, int half) {
  _Alignas(64) uint32_t offset[LANES];
  uint64_t inside = lds_offsets(w, op->f[1], op->f[2], (uint32_t)bits / 8, (uint32_t)bits / 8, 0, offset);
  Rows data;
  gather_elements((Places){w->group->lds, offset, 0}, data, bits, is_signed);
  clear_outside(data, 1, inside, exec_mask(w));
  if (half == 2)
    for (int q = 0; q < QUARTERS; q++) data[0][q] <<= 16;
  commit(w, op->f[0], data, 1, half == 0 ? 0xFFFFFFFFu : half == 1 ? 0x0000FFFFu : 0xFFFF0000u);
  return NEXT;
}

#define READ(name, call) \
  int32_t name(Wave *w, const Op *op) { return call; }

READ(lds_read_32, read_wide(w, op, 1))
READ(lds_read_64, read_wide(w, op, 2))
READ(lds_read_96, read_wide(w, op, 3))
READ(lds_read_128, read_wide(w, op, 4))
READ(lds_read2_32, read_two(w, op, 1))
READ(lds_read2_64, read_two(w, op, 2))
READ(lds_read_u8, read_small(w, op, 8, 0, 0))
READ(lds_read_i8, read_small(w, op, 8, 1, 0))
READ(lds_read_u16, read_small(w, op, 16, 0, 0))
READ(lds_read_i16, read_small(w, op, 16, 1, 0))
READ(lds_read_u8_lo, read_small(w, op, 8, 0, 1))
READ(lds_read_i8_lo, read_small(w, op, 8, 1, 1))
READ(lds_read_u16_lo, read_small(w, op, 16, 0, 1))
READ(lds_read_u8_hi, read_small(w, op, 8, 0, 2))
READ(lds_read_i8_hi, read_small(w, op, 8, 1, 2))
READ(lds_read_u16_hi, read_small(w, op, 16, 0, 2))
