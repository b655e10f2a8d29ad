/* Finding the host memory behind device addresses. */
#include "regions.h"

INLINE int inside(const Region *r, uint64_t address, uint64_t bytes) {
  uint64_t offset = address - r->base;
  return offset < r->size && bytes <= r->size - offset;
}

const Region *find_region(Group *g, uint64_t address, uint64_t bytes) {
  if (g->hit && inside(g->hit, address, bytes)) return g->hit;
  const Region *regions = g->launch->regions;
  uint64_t low = 0, high = g->launch->region_count;
  while (low < high) { /* the first region with a base above the address */
    uint64_t middle = (low + high) / 2;
    if (regions[middle].base <= address) low = middle + 1;
    else high = middle;
  }
  if (!low || !inside(&regions[low - 1], address, bytes)) return 0;
  return g->hit = &regions[low - 1];
}

uint8_t *host_address(Wave *w, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t purpose) {
  const Region *r = find_region(w->group, address, bytes);
  if (!r) {
    fault(w, WILD, lane, address, bytes, purpose);
    return 0;
  }
  if (purpose != LOAD && r->flags & READ_ONLY) {
    fault(w, READ_ONLY_MEMORY, lane, address, bytes, purpose);
    return 0;
  }
  return r->host + (address - r->base);
}

int one_region(Wave *w, uint64_t *address, uint64_t active, uint32_t bytes, uint32_t purpose) {
  if (!active) return 1;
  pointer_part *part = (pointer_part *)address;
  uint64_t some = address[__builtin_ctzll(active)];
  u64x8 low = (u64x8){} + some, high = low;
  for (int i = 0; i < 8; i++) {
    u64x8 on = lanes8(active >> (8 * i));
    u64x8 a = (part[i] & on) | (some & ~on);
    u64x8 below = (u64x8)(a < low), above = (u64x8)(a > high);
    low = (a & below) | (low & ~below);
    high = (a & above) | (high & ~above);
  }
  uint64_t first = low[0], last = high[0];
  for (int i = 1; i < 8; i++) first = low[i] < first ? low[i] : first, last = high[i] > last ? high[i] : last;
  const Region *r = find_region(w->group, first, 1);
  if (!r || !inside(r, last, bytes) || (purpose != LOAD && r->flags & READ_ONLY)) return 0;
  uint64_t delta = (uint64_t)(uintptr_t)r->host - r->base;
  for (int i = 0; i < 8; i++) part[i] += delta;
  return 1;
}

int32_t host_addresses(Wave *w, uint64_t *address, uint64_t active, uint32_t bytes, uint32_t purpose) {
  if (one_region(w, address, active, bytes, purpose)) return NEXT;
  EACH_LANE(lane, active) {
    uint8_t *host = host_address(w, (uint32_t)lane, address[lane], bytes, purpose);
    if (!host) return FAULT;
    address[lane] = (uint64_t)(uintptr_t)host;
  }
  return NEXT;
}

int32_t check_aligned(Wave *w, const uint64_t *address, uint64_t active, uint32_t bytes) {
  EACH_LANE(lane, active) {
    if (address[lane] % bytes) return fault(w, MISALIGNED, (uint32_t)lane, address[lane], bytes, STORE);
  }
  return NEXT;
}
