/* Checked mode: undefined bytes of LDS, and what loads, stores and copies carry between them and the registers. */
#include "checked.h"

enum { MOST_ROWS = 4 };
typedef uint32_t Bits[MOST_ROWS][LANES];

/* Where piece `piece` of a lane's access is; NONE outside of the LDS. */
static uint32_t place_of(const Wave *w, const Watch *a, uint32_t piece, uint32_t lane) {
  uint32_t size = w->group->launch->lds_bytes, base = a->m0 ? w->sgpr[M0] & a->m0 : 0;
  uint32_t at = a->offset[piece] + base + (a->row == NONE ? lane * a->pitch : w->vgpr[a->row][lane]);
  return size < a->bytes || at > size - a->bytes ? NONE : at;
}

static void copied(Wave *w, const Watch *a) {
  EACH_LANE(lane, exec_mask(w)) {
    uint32_t at = place_of(w, a, 0, (uint32_t)lane);
    if (at != NONE) __builtin_memset(w->group->checker->lds_undefined + at, 0, a->bytes);
  }
}

/* The undefined bytes of a lane's data in registers, one bit a byte. */
static uint32_t data_bytes(const Watched *me, const Watch *a, uint32_t piece, uint32_t lane) {
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < a->bytes; i++) {
    uint32_t shift = 8 * (i % 4) + (a->halves == 2 ? 16 : 0);
    bytes |= (uint32_t)((me->vector_undefined[a->data[piece] + i / 4][lane] >> shift & 0xFF) != 0) << i;
  }
  return bytes;
}

static void stored(Wave *w, const Watch *a) {
  Checker *c = w->group->checker;
  const Watched *me = &c->wave[w->id];
  uint32_t lane_of;
  for (uint32_t piece = 0; piece < a->pieces; piece++) {
    int any = 0;
    for (uint32_t i = 0; i < (a->bytes + 3) / 4; i++) any |= check_row(me, a->data[piece] + i, exec_mask(w), ~0u, &lane_of);
    EACH_LANE(each, exec_mask(w)) {
      uint32_t lane = (uint32_t)each, at = place_of(w, a, piece, lane);
      if (at == NONE) continue;
      uint32_t bytes = any ? data_bytes(me, a, piece, lane) : 0;
      uint8_t *to = c->lds_undefined + at;
      if (!bytes && a->bytes == 16) *(u32x4_any *)to = (u32x4){};
      else for (uint32_t i = 0; i < a->bytes; i++) to[i] = bytes >> i & 1;
    }
  }
}

/* The undefined bytes that a lane loads, one bit a byte. */
static uint32_t loaded_bytes(Wave *w, const Watch *a, uint32_t piece, uint32_t lane) {
  const uint8_t *flags = w->group->checker->lds_undefined;
  uint32_t at = place_of(w, a, piece, lane), bytes = 0;
  if (at == NONE) return 0;
  if (a->bytes == 16) {
    u32x4 all = *(const u32x4_any *)(flags + at);
    if (!(all[0] | all[1] | all[2] | all[3])) return 0;
  }
  for (uint32_t i = 0; i < a->bytes; i++) bytes |= (uint32_t)flags[at + i] << i;
  return bytes;
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

static void loaded(Wave *w, const Watch *a) {
  uint32_t in[2][LANES] = {{0}}, any = 0;
  for (uint32_t piece = 0; piece < a->pieces; piece++)
    EACH_LANE(lane, exec_mask(w)) any |= in[piece][lane] = loaded_bytes(w, a, piece, (uint32_t)lane);
  if (!any) {
    check_load_result(w, a, 0, 0);
    return;
  }
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
  check_load_result(w, a, (const uint32_t(*)[LANES])bits, a->index);
}

void check_lds_data(Wave *w, const Watch *a) {
  if (a->role == LOADS_TO_LDS) copied(w, a);
  else if (a->role == LDS_STORES) stored(w, a);
  else loaded(w, a); /* an atomic leaves memory as undefined as it was, which is told when its result is used */
}
