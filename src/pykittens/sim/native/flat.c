/* Global, flat and scratch addresses. */
#include "lanes.h"

/* The lanes' 64-bit addresses: a register pair, or a scalar base with a 32-bit register or without one. */
static void addresses(Wave *w, const Op *op, uint64_t *address) {
  uint64_t constant = (uint64_t)(int64_t)(int32_t)op->f[OFFSET];
  const uint32_t *low = op->f[VADDR] == NONE ? 0 : w->vgpr[op->f[VADDR]];
  if (op->f[BASE] != NONE) {
    constant += scalar_pair(w, op->f[BASE]);
    for (int lane = 0; lane < LANES; lane++) address[lane] = constant + (low ? low[lane] : 0);
  } else {
    const uint32_t *high = w->vgpr[op->f[VADDR] + 1];
    for (int lane = 0; lane < LANES; lane++) address[lane] = constant + (low[lane] | (uint64_t)high[lane] << 32);
  }
}

int32_t global_lanes(Wave *w, const Op *op, uint32_t bytes, uint32_t purpose, Lanes *at) {
  addresses(w, op, at->pointer);
  at->whole = exec_mask(w), at->cut = 0;
  if (purpose == ATOMIC && check_aligned(w, at->pointer, at->whole, bytes) != NEXT) return FAULT;
  if (host_addresses(w, at->pointer, at->whole, bytes, purpose) != NEXT) return FAULT;
  substitute(at);
  return NEXT;
}

/* A private address of a lane: `offset` in its own scratch. */
INLINE uint8_t *private_address(Wave *w, uint32_t lane, uint64_t offset, uint32_t bytes, uint32_t purpose) {
  if (offset >= w->private_bytes || bytes > w->private_bytes - offset) {
    fault(w, PRIVATE_RANGE, lane, offset, bytes, purpose);
    return 0;
  }
  return w->private_memory + lane * w->private_bytes + offset;
}

/* An address in the window on the workgroup's LDS. */
INLINE uint8_t *shared_address(Wave *w, uint32_t lane, uint64_t offset, uint32_t bytes, uint32_t purpose) {
  uint32_t size = w->group->launch->lds_bytes;
  if (bytes > size || offset > size - bytes) {
    fault(w, SHARED_RANGE, lane, offset, bytes, purpose);
    return 0;
  }
  return w->group->lds + offset;
}

INLINE int is_window(uint64_t address, uint64_t base) { return address / APERTURE_BYTES == base / APERTURE_BYTES; }

int32_t flat_lanes(Wave *w, const Op *op, uint32_t bytes, uint32_t purpose, Lanes *at) {
  addresses(w, op, at->pointer);
  at->whole = exec_mask(w), at->cut = 0;
  if (purpose == ATOMIC && check_aligned(w, at->pointer, at->whole, bytes) != NEXT) return FAULT;
  uint64_t windowed = 0;
  for (uint32_t lane = 0; lane < LANES; lane++) {
    uint64_t yes = is_window(at->pointer[lane], SHARED_BASE) | is_window(at->pointer[lane], PRIVATE_BASE);
    windowed |= yes << lane;
  }
  if (!(windowed & at->whole)) {
    if (host_addresses(w, at->pointer, at->whole, bytes, purpose) != NEXT) return FAULT;
  } else {
    EACH_LANE(each, at->whole) {
      uint32_t lane = (uint32_t)each;
      uint64_t address = at->pointer[lane], offset = address % APERTURE_BYTES;
      uint8_t *host = is_window(address, SHARED_BASE)    ? shared_address(w, lane, offset, bytes, purpose)
                      : is_window(address, PRIVATE_BASE) ? private_address(w, lane, offset, bytes, purpose)
                                                         : host_address(w, lane, address, bytes, purpose);
      if (!host) return FAULT;
      at->pointer[lane] = (uint64_t)(uintptr_t)host;
    }
  }
  substitute(at);
  return NEXT;
}

/* Offsets in the lane's own scratch: address register, scalar register and constant, each 32 bits wide or absent. */
int32_t scratch_lanes(Wave *w, const Op *op, uint32_t bytes, uint32_t purpose, Lanes *at) {
  int64_t constant = (int64_t)(int32_t)op->f[OFFSET];
  if (op->f[BASE] != NONE) constant += (int32_t)w->sgpr[op->f[BASE]];
  const int32_t *low = op->f[VADDR] == NONE ? 0 : (const int32_t *)w->vgpr[op->f[VADDR]];
  uint64_t outside = 0;
  at->whole = exec_mask(w), at->cut = 0;
  for (uint32_t lane = 0; lane < LANES; lane++) {
    uint64_t offset = (uint64_t)(constant + (low ? low[lane] : 0));
    at->pointer[lane] = (uint64_t)(uintptr_t)w->private_memory + lane * w->private_bytes + offset;
    outside |= (uint64_t)(offset >= w->private_bytes || bytes > w->private_bytes - offset) << lane;
  }
  if (outside & at->whole) {
    uint32_t lane = (uint32_t)__builtin_ctzll(outside & at->whole);
    uint64_t offset = at->pointer[lane] - (uint64_t)(uintptr_t)w->private_memory - lane * w->private_bytes;
    return fault(w, PRIVATE_RANGE, lane, offset, bytes, purpose);
  }
  substitute(at);
  return NEXT;
}
