/* Buffer addresses: descriptors, range checks and swizzled layouts (ISA manual, buffer addressing). */
#include "lanes.h"

typedef struct Descriptor {
  uint64_t base;
  uint32_t stride, records, index_stride, add_lane, swizzle;
} Descriptor;

static Descriptor read_descriptor(const Wave *w, uint32_t number) {
  const uint32_t *word = &w->sgpr[number];
  Descriptor d;
  d.base = (word[0] | (uint64_t)word[1] << 32) & 0xFFFFFFFFFFFFull;
  d.stride = word[1] >> 16 & 0x3FFF;
  d.swizzle = word[1] >> 31;
  d.records = word[2];
  d.index_stride = 8u << (word[3] >> 21 & 3);
  d.add_lane = word[3] >> 23 & 1;
  if (d.add_lane) d.stride |= (word[3] >> 15 & 0xF) << 14; /* DATA_FORMAT holds more of the stride then */
  return d;
}

/* A load whose lane is cut, by the descriptor's range or by the end of owned memory: what is out of the descriptor's
 * range reads as 0, and bytes behind the owned memory, inside a dword that begins in it, as 0xFF, a NaN of every type. */
static int32_t spill(Wave *w, uint32_t lane, uint32_t bytes, Lanes *at) {
  uint8_t *to = at->spill[lane];
  *(u32x4_any *)to = (u32x4){};
  uint32_t step = bytes < 4 ? bytes : 4;
  for (uint32_t done = 0; done < at->in_range[lane]; done += step)
    for (uint32_t i = 0; i < step; i++) {
      uint64_t address = at->address[lane] + done + i;
      const Region *r = find_region(w->group, address, 1);
      if (!r && i == 0) return fault(w, WILD, lane, address, step, 0);
      to[done + i] = r ? r->host[address - r->base] : 0xFF;
    }
  at->pointer[lane] = (uint64_t)(uintptr_t)to;
  return NEXT;
}

/* Index, offset and range of every lane by the letter of the manual. Fills pointer (device addresses), whole and cut. */
static void general(Wave *w, const Op *op, Descriptor d, uint64_t start, uint32_t bytes, Lanes *at) {
  uint32_t idxen = op->f[FLAGS] & IDXEN, offen = op->f[FLAGS] & OFFEN;
  const uint32_t *indices = idxen ? w->vgpr[op->f[VADDR]] : 0;
  const uint32_t *offsets = offen ? w->vgpr[op->f[VADDR] + (idxen ? 1 : 0)] : 0;
  at->whole = 0, at->cut = 0;
  EACH_LANE(lane, exec_mask(w)) {
    uint64_t index = (indices ? indices[lane] : 0) + (d.add_lane ? lane : 0);
    uint64_t offset = (uint64_t)op->f[OFFSET] + (offsets ? offsets[lane] : 0);
    uint64_t linear = d.stride * index + offset;
    if (d.swizzle) {
      uint64_t row = (index / d.index_stride * d.stride + offset / 4 * 4) * d.index_stride;
      linear = row + index % d.index_stride * 4 + offset % 4;
    }
    uint64_t address = start + linear;
    at->pointer[lane] = bytes >= 4 ? address & ~3ull : address;
    if (idxen ? index >= d.records : offset >= d.records) continue;
    uint64_t left = idxen ? bytes : (d.records - offset + 3) / 4 * 4;
    if (left >= bytes) {
      at->whole |= 1ull << lane;
    } else {
      at->cut |= 1ull << lane, at->in_range[lane] = (uint8_t)left, at->address[lane] = at->pointer[lane];
    }
  }
}

/* Without index: offset = vaddr + constant against the number of records in bytes, all lanes at once. False if a lane is
 * cut. */
INLINE int plain(Wave *w, const Op *op, uint32_t records, uint64_t start, uint32_t bytes, Lanes *at) {
  u32x16 constant = (u32x16){} + op->f[OFFSET];
  const row_part *from = (const row_part *)w->vgpr[op->f[FLAGS] & OFFEN ? op->f[VADDR] : 0];
  pointer_part *to = (pointer_part *)at->pointer;
  uint64_t exec = exec_mask(w), whole = 0;
  uint64_t align = bytes >= 4 ? ~3ull : ~0ull;
  i32x16 cut = {};
  for (int q = 0; q < QUARTERS; q++) {
    u32x16 offset = op->f[FLAGS] & OFFEN ? from[q] + constant : constant;
    i32x16 on = lanes16(exec >> (16 * q)) & (offset >= constant); /* the sum does not wrap */
    i32x16 some = on & (offset < records);
    i32x16 all = some & (records - offset >= bytes);
    cut |= some & ~all;
    for (int half = 0; half < 2; half++) {
      u32x8 part = half ? __builtin_shufflevector(offset, offset, 8, 9, 10, 11, 12, 13, 14, 15)
                        : __builtin_shufflevector(offset, offset, 0, 1, 2, 3, 4, 5, 6, 7);
      to[2 * q + half] = (__builtin_convertvector(part, u64x8) + start) & align;
    }
    whole |= mask16(all) << (16 * q);
  }
  at->whole = whole, at->cut = 0;
  return !__builtin_reduce_or(cut);
}

/* Host addresses of lanes that do not all lie in one region. What begins in owned memory and ends behind it is cut. */
static int32_t one_by_one(Wave *w, uint32_t bytes, uint32_t purpose, Lanes *at) {
  EACH_LANE(each, at->whole) {
    uint32_t lane = (uint32_t)each;
    uint64_t address = at->pointer[lane];
    if (purpose == LOAD && !find_region(w->group, address, bytes)) {
      at->address[lane] = address, at->in_range[lane] = (uint8_t)bytes;
      at->cut |= 1ull << lane;
      continue;
    }
    uint8_t *host = host_address(w, lane, address, bytes, purpose);
    if (!host) return FAULT;
    at->pointer[lane] = (uint64_t)(uintptr_t)host;
  }
  at->whole &= ~at->cut;
  return NEXT;
}

int32_t buffer_lanes(Wave *w, const Op *op, uint32_t bytes, uint32_t purpose, Lanes *at) {
  Descriptor d = read_descriptor(w, op->f[BASE]);
  uint32_t soffset = op->f[SOFFSET] == NONE ? op->f[CONSTANT] : w->sgpr[op->f[SOFFSET]];
  uint64_t start = d.base + soffset;
  /* The manual's limit is records - soffset, LLVM's leaves soffset out. Code relies on the latter, but for offsets that
   * are negative (a prefetch before the first tile, in loops that run backwards): these it expects to be out of range. */
  if (soffset >> 31 && soffset > d.records) d.records = 0;
  int simple = !(op->f[FLAGS] & IDXEN) && !d.add_lane && !d.swizzle && plain(w, op, d.records, start, bytes, at);
  if (!simple) general(w, op, d, start, bytes, at);
  if (at->whole != exec_mask(w)) w->group->counter[BUFFER_OUT_OF_RANGE]++;
  if (purpose == ATOMIC && check_aligned(w, at->pointer, at->whole, bytes) != NEXT) return FAULT;
  const Region *r = simple && start % 4 == 0 && at->whole ? find_region(w->group, start, d.records) : 0;
  if (r && !(purpose != LOAD && r->flags & READ_ONLY)) {
    uint64_t delta = (uint64_t)(uintptr_t)r->host - r->base;
    for (int i = 0; i < 8; i++) ((pointer_part *)at->pointer)[i] += delta;
  } else if (!one_region(w, at->pointer, at->whole, bytes, purpose) && one_by_one(w, bytes, purpose, at) != NEXT) {
    return FAULT;
  }
  substitute(at);
  if (purpose != LOAD) return NEXT;
  EACH_LANE(lane, at->cut) if (spill(w, (uint32_t)lane, bytes, at) != NEXT) return FAULT;
  return NEXT;
}
