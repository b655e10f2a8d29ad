/* Checked mode: undefined bytes of LDS, and what loads, stores and copies carry between them and the registers. */
#include "checked.h"

static void copied(Wave *w, const Watch *a, const LdsPlaces *to) {
  const Checker *c = w->group->checker;
  EACH_LANE(lane, to->inside[0]) {
    uint8_t *flags = c->lds_undefined + to->at[0][lane];
    const uint8_t *from = c->carried[lane];
    __builtin_memset(flags, DEFINED, a->bytes);
    if (!(c->carries >> lane & 1)) continue;
    if (a->extent < 4) __builtin_memset(flags, from[0] | from[a->extent - 1], a->bytes); /* extended, by its sign perhaps */
    else __builtin_memcpy(flags, from, a->bytes);
  }
}

static void stored(Wave *w, const Watch *a, const LdsPlaces *place) {
  Checker *c = w->group->checker;
  const Watched *me = &c->wave[w->id];
  uint32_t lane_of;
  for (uint32_t piece = 0; piece < a->pieces; piece++) {
    int any = 0;
    for (uint32_t i = 0; i < (a->bytes + 3) / 4; i++) any |= check_row(me, a->data[piece] + i, exec_mask(w), ~0u, &lane_of);
    EACH_LANE(lane, place->inside[piece]) {
      uint32_t bytes = any ? check_data_bytes(me, a->data[piece], (uint32_t)lane, a->bytes, a->halves) : 0;
      uint8_t *to = c->lds_undefined + place->at[piece][lane];
      if (!bytes && a->bytes == 16) *(u32x4_any *)to = (u32x4){};
      else if (!bytes && a->bytes == 8) *(u64_any *)to = 0;
      else for (uint32_t i = 0; i < a->bytes; i++) to[i] = bytes >> i & 1 ? HOLDS_UNDEFINED : DEFINED;
    }
  }
}

/* The undefined bytes that are loaded from a place, one bit a byte; what all flags say goes to `kinds`. */
static uint32_t loaded_bytes(const uint8_t *flags, uint32_t count, uint32_t *kinds) {
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < count; i++) bytes |= (uint32_t)(flags[i] != DEFINED) << i, *kinds |= flags[i];
  return bytes;
}

/* Whether all that is loaded is defined. */
static int all_defined(const Checker *c, const Watch *a, const LdsPlaces *from, uint32_t piece) {
  const uint8_t *flags = c->lds_undefined;
  uint64_t any = 0;
  uint32_t kinds = 0;
  EACH_LANE(lane, from->inside[piece]) {
    const uint8_t *at = flags + from->at[piece][lane];
    if (a->bytes == 16) any |= *(const u64_any *)at | *(const u64_any *)(at + 8);
    else if (a->bytes == 8) any |= *(const u64_any *)at;
    else any |= loaded_bytes(at, a->bytes, &kinds);
  }
  return !any;
}

/* What a transposing read makes of the lanes' undefined bytes: see lds_lanes.c. */
static void transpose(const Watch *a, const uint32_t *in, Bits bits) {
  uint32_t width = a->transpose, n = 8 * a->bytes / width, step = 16 / n;
  for (uint32_t lane = 0; lane < LANES; lane++)
    for (uint32_t e = 0; e < n; e++) {
      uint32_t q = lane & 15, from = (lane & ~15u) + e * step + q / n, first = width * (q % n);
      if (!(in[from] >> (first / 8) & 1) && !(in[from] >> ((first + width - 1) / 8) & 1)) continue;
      for (uint32_t b = width * e; b < width * (e + 1); b++) bits[b / 32][lane] |= 1u << (b % 32);
    }
}

static void loaded(Wave *w, const Watch *a, const LdsPlaces *from) {
  const Checker *c = w->group->checker;
  if (all_defined(c, a, from, 0) && (a->pieces == 1 || all_defined(c, a, from, 1))) {
    check_load_result(w, a, 0, 0);
    return;
  }
  uint32_t in[2][LANES] = {{0}}, kinds = 0;
  for (uint32_t piece = 0; piece < a->pieces; piece++)
    EACH_LANE(lane, from->inside[piece])
    in[piece][lane] = loaded_bytes(c->lds_undefined + from->at[piece][lane], a->bytes, &kinds);
  if (a->single) EACH_LANE(lane, exec_mask(w)) in[0][lane] = in[0][__builtin_ctzll(exec_mask(w))];
  Bits bits = {{0}};
  if (a->transpose) {
    transpose(a, in[0], bits);
  } else {
    EACH_LANE(lane, exec_mask(w))
    for (uint32_t piece = 0; piece < a->pieces; piece++) {
      if (a->bytes < 4) bits[0][lane] = in[0][lane] ? ~0u : 0; /* extended, by its sign perhaps */
      else
        for (uint32_t i = 0; i < a->bytes; i++)
          if (in[piece][lane] >> i & 1) bits[(piece * a->bytes + i) / 4][lane] |= 0xFFu << (8 * (i % 4));
    }
  }
  check_load_result(w, a, (const uint32_t(*)[LANES])bits, kinds & NOBODY_WROTE ? a->index : a->index | CARRIED);
}

/* An atomic leaves memory as undefined as its data, and where it works on the old value as that. Its result may lie over
 * its data. */
static void updated(Wave *w, const Watch *a, const LdsPlaces *at) {
  Checker *c = w->group->checker;
  const Watched *me = &c->wave[w->id];
  uint8_t next[2][LANES];
  for (uint32_t piece = 0; piece < a->pieces; piece++)
    EACH_LANE(lane, at->inside[piece]) {
      uint32_t kinds = DEFINED, unknown = 0, first = a->pieces == 2 ? piece : 0, last = a->pieces == 2 ? piece : 1;
      for (uint32_t i = first; i <= last; i++)
        if (a->data[i] != NONE) unknown |= check_data_bytes(me, a->data[i], (uint32_t)lane, a->bytes, 0);
      if (!a->swaps) unknown |= loaded_bytes(c->lds_undefined + at->at[piece][lane], a->bytes, &kinds);
      next[piece][lane] = kinds & NOBODY_WROTE ? NOBODY_WROTE : unknown ? HOLDS_UNDEFINED : DEFINED;
    }
  loaded(w, a, at);
  for (uint32_t piece = 0; piece < a->pieces; piece++)
    EACH_LANE(lane, at->inside[piece])
    __builtin_memset(c->lds_undefined + at->at[piece][lane], next[piece][lane], a->bytes);
}

void check_lds_data(Wave *w, const Watch *a, const LdsPlaces *at) {
  if (a->role == LOADS_TO_LDS) copied(w, a, at);
  else if (a->role == LDS_STORES) stored(w, a, at);
  else if (a->role == LDS_ATOMIC) updated(w, a, at);
  else loaded(w, a, at);
}
