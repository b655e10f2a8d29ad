/* Stores to buffer, global, flat and scratch memory. */
#include "lanes.h"

/* The dwords in range of lanes that are partly out of a buffer's range. */
static int32_t store_cut(Wave *w, const Op *op, Lanes *at) {
  EACH_LANE(lane, at->cut) {
    for (uint32_t done = 0; done < at->in_range[lane]; done += 4) {
      uint8_t *host = host_address(w, (uint32_t)lane, at->address[lane] + done, 4, STORE);
      if (!host) return FAULT;
      *(u32_any *)host = w->vgpr[op->f[DATA] + done / 4][lane];
    }
  }
  return NEXT;
}

INLINE int32_t store_wide(Wave *w, const Op *op, Reach reach, int dwords) {
  Lanes at;
  if (reach(w, op, 4 * (uint32_t)dwords, STORE, &at) != NEXT) return FAULT;
  scatter(w, (Places){0, 0, at.pointer}, op->f[DATA], dwords);
  return at.cut ? store_cut(w, op, &at) : NEXT;
}

INLINE int32_t store_small(Wave *w, const Op *op, Reach reach, int bits, int high) {
  Lanes at;
  if (reach(w, op, (uint32_t)bits / 8, STORE, &at) != NEXT) return FAULT;
  scatter_elements(w, (Places){0, 0, at.pointer}, op->f[DATA], bits, high);
  return NEXT;
}

#define HANDLER(name, call) \
  int32_t name(Wave *w, const Op *op) { return call; }

#define SPACE(space, reach)                                  \
  HANDLER(space##_store_32, store_wide(w, op, reach, 1))       \
  HANDLER(space##_store_64, store_wide(w, op, reach, 2))       \
  HANDLER(space##_store_96, store_wide(w, op, reach, 3))       \
  HANDLER(space##_store_128, store_wide(w, op, reach, 4))      \
  HANDLER(space##_store_8, store_small(w, op, reach, 8, 0))    \
  HANDLER(space##_store_16, store_small(w, op, reach, 16, 0))  \
  HANDLER(space##_store_8_hi, store_small(w, op, reach, 8, 1)) \
  HANDLER(space##_store_16_hi, store_small(w, op, reach, 16, 1))

SPACE(buffer, buffer_lanes)
SPACE(global, global_lanes)
SPACE(flat, flat_lanes)
SPACE(scratch, scratch_lanes)
