/* Finding the host memory behind device addresses. */
#ifndef PYKITTENS_REGIONS_H
#define PYKITTENS_REGIONS_H

#include "group.h"

/* What an access does; anything but LOAD needs writable memory, ATOMIC an address that is a multiple of its size. */
enum Purpose { LOAD = 0, STORE = 1, ATOMIC = 2 };

/* The region that holds bytes address..address+bytes-1, or null. Remembers the last one. */
const Region *find_region(Group *g, uint64_t address, uint64_t bytes);

/* The host address of one access, or null after recording a fault. */
uint8_t *host_address(Wave *w, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t purpose);

/* Whether the active lanes' accesses all lie in one region; then it turns their addresses (all 64) into host addresses. */
int one_region(Wave *w, uint64_t *address, uint64_t active, uint32_t bytes, uint32_t purpose);

/* Turns the active lanes' device addresses into host addresses, in place; FAULT if one of them is not owned (or not
 * writable). `bytes` each. */
int32_t host_addresses(Wave *w, uint64_t *address, uint64_t active, uint32_t bytes, uint32_t purpose);

/* NEXT if the active lanes' addresses are multiples of `bytes`, else FAULT. */
int32_t check_aligned(Wave *w, const uint64_t *address, uint64_t active, uint32_t bytes);

INLINE uint64_t exec_mask(const Wave *w) { return w->sgpr[EXEC] | (uint64_t)w->sgpr[EXEC + 1] << 32; }

INLINE uint64_t scalar_pair(const Wave *w, uint32_t number) {
  return w->sgpr[number] | (uint64_t)w->sgpr[number + 1] << 32;
}

/* Loops over the set bits of a lane mask. */
#define EACH_LANE(lane, mask) \
  for (uint64_t rest_ = (mask), lane = 0; rest_ && (lane = (uint64_t)__builtin_ctzll(rest_), 1); rest_ &= rest_ - 1)

#endif
