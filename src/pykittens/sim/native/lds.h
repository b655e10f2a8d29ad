/* Addresses in LDS: what all DS instructions do first. */
#ifndef PYKITTENS_LDS_H
#define PYKITTENS_LDS_H

#include "gather.h"

enum { LDS_PADDING = 256 }; /* bytes behind the LDS that nobody's data is in: where stores go that have no place */

/* The lanes of EXEC that are wholly inside the LDS; the other lanes' offsets become `elsewhere`. */
uint64_t lds_inside(Wave *w, uint32_t bytes, uint32_t elsewhere, uint32_t *offset);

/* offset[lane] = addr[lane] + constant, wrapping at 32 bits, for the lanes of EXEC that are wholly inside the LDS; the
 * others get `elsewhere`. Gives the mask of the lanes inside. `bytes` is one lane's access, `align` what it should have. */
INLINE uint64_t lds_offsets(Wave *w, uint32_t row, uint32_t constant, uint32_t bytes, uint32_t align,
                            uint32_t elsewhere, uint32_t *offset) {
  Group *g = w->group;
  uint64_t exec = exec_mask(w);
  uint32_t size = g->launch->lds_bytes;
  const row_part *from = (const row_part *)w->vgpr[row];
  row_part *to = (row_part *)offset;
  u32x16 odd = {};
  i32x16 outside = {};
  for (int q = 0; q < QUARTERS; q++) {
    u32x16 a = from[q] + constant;
    i32x16 on = lanes16(exec >> (16 * q));
    odd |= a & (u32x16)on;
    outside |= (a > size - bytes) & on;
    to[q] = a;
  }
  if (__builtin_reduce_or(odd) & (align - 1)) g->counter[LDS_MISALIGNED]++;
  if (exec == ~0ull && size >= bytes && !__builtin_reduce_or(outside)) return exec;
  return lds_inside(w, bytes, elsewhere, offset);
}

/* Lanes that read outside the LDS get zeros. */
INLINE void clear_outside(Rows data, int dwords, uint64_t inside, uint64_t exec) {
  if (inside == exec) return;
  for (int d = 0; d < dwords; d++)
    for (int q = 0; q < QUARTERS; q++) data[d][q] &= (u32x16)lanes16(inside >> (16 * q));
}

#endif
