/* Checked mode: races in LDS, between waves and between what one wave does in classes that complete out of order.
 *
 * Cells hold the last write and each wave's last read of a dword; accesses to a part of a dword give its bytes cells of
 * their own. A race-free access replaces older ones: whatever comes after it also comes after them. */
#include "checked.h"

/* One access of a wave as it goes over lanes and cells. */
typedef struct Access {
  Wave *w;
  const Watch *a;
  Checker *c;
  const uint64_t *limit;
  uint64_t stamp;
  uint32_t me, waves, writes, atomic;
  uint32_t lane, at, value, known; /* where it is; the value it stores, if known */
} Access;

static void race(Access *x, uint64_t cell, int was_write) {
  uint32_t own = CELL_WAVE(cell) == x->me, kind;
  if (!x->writes) kind = own ? OWN_READ_AFTER_WRITE : LDS_READ_AFTER_WRITE;
  else if (!was_write) kind = own ? OWN_WRITE_AFTER_READ : LDS_WRITE_AFTER_READ;
  else kind = own ? OWN_WRITE_AFTER_WRITE : LDS_WRITE_AFTER_WRITE;
  if (kind == LDS_WRITE_AFTER_WRITE && x->known) {
    const uint8_t *old = x->w->group->lds + x->at;
    uint32_t held = x->known == 4 ? *(const u32_any *)old : x->known == 2 ? *(const u16_any *)old : *old;
    if (held == (x->known == 4 ? x->value : x->value & ((1u << 8 * x->known) - 1))) kind = LDS_SAME_VALUE;
  }
  CheckEvent *e = check_event(x->w, kind, x->a->index, CELL_OP(cell), x->lane, x->at, x->a->bytes);
  if (e) e->before_wave = CELL_WAVE(cell), e->unfinished = check_was_issued(x->w, cell);
}

INLINE int late_cell(const Access *x, uint64_t cell) { return cell >= x->limit[CELL_INDEX(cell)]; }

/* Atomics of other waves, which plain accesses must not meet. */
static void against_atomics(Access *x, uint32_t dword) {
  for (uint32_t i = 0; i < x->waves; i++) {
    uint64_t cell = x->c->atomic[i * x->c->lds_dwords + dword];
    if (i != x->me && late_cell(x, cell)) race(x, cell, 1);
  }
}

/* Checks one cell and takes it. `stride`: cells from one wave's readers to the next one's. */
INLINE void one_cell(Access *x, uint64_t *writer, uint64_t *reader, uint64_t stride) {
  if (late_cell(x, *writer) && !(x->atomic && CELL_ATOMIC(*writer))) race(x, *writer, 1);
  if (!x->writes) {
    reader[x->me * stride] = x->stamp;
    return;
  }
  for (uint32_t i = 0; i < x->waves; i++)
    if (late_cell(x, reader[i * stride])) race(x, reader[i * stride], 0);
  *writer = x->stamp;
}

/* Gives the bytes of a dword cells of their own, equal to the dword's. */
static void split_dword(Checker *c, uint32_t dword, uint32_t waves) {
  c->split[dword] = 1;
  for (uint32_t b = 0; b < 4; b++) {
    c->byte_writer[4 * dword + b] = c->writer[dword];
    for (uint32_t i = 0; i < waves; i++)
      c->byte_reader[4 * i * c->lds_dwords + 4 * dword + b] = c->reader[i * c->lds_dwords + dword];
  }
}

static void some_bytes(Access *x, uint32_t at, uint32_t bytes) {
  Checker *c = x->c;
  for (uint32_t i = 0; i < bytes; i++) {
    uint32_t dword = (at + i) / 4;
    if (!c->split[dword]) split_dword(c, dword, x->waves);
    if (c->atomics && !x->atomic) against_atomics(x, dword);
    one_cell(x, &c->byte_writer[at + i], &c->byte_reader[at + i], 4 * c->lds_dwords);
  }
}

static void one_dword(Access *x, uint32_t at) {
  Checker *c = x->c;
  uint32_t dword = at / 4;
  if (c->split[dword]) {
    some_bytes(x, at, 4);
    return;
  }
  if (c->atomics && !x->atomic) against_atomics(x, dword);
  one_cell(x, &c->writer[dword], &c->reader[dword], c->lds_dwords);
}

/* The waves with reads that do not come before this write, as a list. */
static uint32_t readers_to_ask(const Access *x, uint32_t *list) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < x->waves; i++)
    if (x->c->wave[i].last_read >= x->limit[2 * i + DS]) list[count++] = i;
  return count;
}

/* Lanes whose dwords all have the same last write, and that are in order: takes them. Gives the lanes that are left. */
INLINE uint64_t sweep(Access *x, uint64_t lanes, const uint32_t *at, uint32_t dwords, int writes) {
  Checker *c = x->c;
  uint32_t ask[MAX_WAVES], asked = writes ? readers_to_ask(x, ask) : 0;
  uint64_t *mine = c->reader + x->me * c->lds_dwords, left = 0;
  EACH_LANE(lane, lanes) {
    uint64_t *writer = &c->writer[at[lane] / 4], *reader = mine + at[lane] / 4;
    const uint8_t *split = &c->split[at[lane] / 4];
    uint64_t first = writer[0], bad = (at[lane] & 3) | (first >= x->limit[CELL_INDEX(first)]);
    for (uint32_t i = 0; i < dwords; i++) bad |= (writer[i] ^ first) | split[i];
    for (uint32_t k = 0; k < asked; k++) {
      const uint64_t *other = c->reader + ask[k] * c->lds_dwords + at[lane] / 4;
      for (uint32_t i = 0; i < dwords; i++) bad |= other[i] >= x->limit[2 * ask[k] + DS];
    }
    if (bad) left |= 1ull << lane;
    else
      for (uint32_t i = 0; i < dwords; i++) *(writes ? writer + i : reader + i) = x->stamp;
  }
  return left;
}

/* The quick way for plain accesses; gives the lanes that need the slow one. */
static uint64_t quick(Access *x, uint64_t lanes, const uint32_t *at, uint32_t bytes) {
  if (x->atomic || x->c->atomics) return lanes;
  if (x->writes) {
    if (bytes == 16) return sweep(x, lanes, at, 4, 1);
    if (bytes == 8) return sweep(x, lanes, at, 2, 1);
    return bytes == 4 ? sweep(x, lanes, at, 1, 1) : lanes;
  }
  if (bytes == 16) return sweep(x, lanes, at, 4, 0);
  if (bytes == 8) return sweep(x, lanes, at, 2, 0);
  return bytes == 4 ? sweep(x, lanes, at, 1, 0) : lanes;
}

/* The value that a lane stores in dword `word` of its piece, where that is easily told: from registers or memory. */
static void stored_value(Access *x, uint32_t piece, uint32_t word) {
  const Watch *a = x->a;
  x->known = 0;
  if (a->role == LDS_STORES) {
    x->known = a->bytes < 4 ? a->bytes : 4;
    x->value = x->w->vgpr[a->data[piece] + word][x->lane] >> (a->halves == 2 ? 16 : 0);
  } else if (a->role == LOADS_TO_LDS && a->extent >= 4) {
    const uint8_t *from = (const uint8_t *)(uintptr_t)x->c->source[x->lane];
    x->known = 4;
    x->value = from ? ((const u32_any *)from)[word] : 0;
  }
}

static void touch(Access *x, uint32_t piece, uint32_t at, uint32_t bytes) {
  x->at = at;
  if ((at | bytes) & 3) {
    stored_value(x, piece, 0);
    if (bytes > 4) x->known = 0;
    some_bytes(x, at, bytes);
    return;
  }
  for (uint32_t done = 0; done < bytes; done += 4) {
    x->at = at + done;
    if (x->writes) stored_value(x, piece, done / 4);
    one_dword(x, at + done);
  }
}

/* Where the lanes' pieces are; the lanes that are inside the LDS. */
static uint64_t places(Access *x, uint64_t lanes, uint32_t piece, uint32_t *at) {
  Wave *w = x->w;
  const Watch *a = x->a;
  uint32_t size = w->group->launch->lds_bytes, first = a->offset[piece] + (a->m0 ? w->sgpr[M0] & a->m0 : 0);
  uint64_t inside = 0;
  const uint32_t *row = a->row == NONE ? 0 : w->vgpr[a->row];
  for (uint32_t lane = 0; lane < LANES; lane++) {
    at[lane] = first + (row ? row[lane] : lane * a->pitch);
    inside |= (uint64_t)(size >= a->bytes && at[lane] <= size - a->bytes) << lane;
  }
  EACH_LANE(lane, lanes & ~inside) check_event(w, LDS_OUTSIDE, a->index, NONE, (uint32_t)lane, at[lane], a->bytes);
  return lanes & inside;
}

/* Checks the pieces at the places of a DS instruction, or of what counts as one, with numbers of class `in`. */
static void pieces(Wave *w, const Watch *a, uint32_t in, LdsPlaces *to, uint64_t lanes) {
  Checker *c = w->group->checker;
  Watched *me = &c->wave[w->id];
  Access x = {.w = w, .a = a, .c = c, .limit = check_limits(w, in), .me = w->id, .waves = w->group->launch->waves};
  x.atomic = a->role == LDS_ATOMIC, x.writes = a->role != LDS_LOADS;
  x.stamp = CELL(me->issued[in], x.atomic, w->id, in, a->index);
  if (!x.writes) me->last_read = x.stamp;
  for (uint32_t piece = 0; piece < a->pieces; piece++) {
    if (a->space != FLAT_SPACE) to->inside[piece] = places(&x, lanes, piece, to->at[piece]);
    EACH_LANE(lane, quick(&x, to->inside[piece], to->at[piece], a->bytes)) {
      x.lane = (uint32_t)lane;
      touch(&x, piece, to->at[piece][lane], a->bytes);
    }
    if (!x.atomic) continue;
    EACH_LANE(lane, to->inside[piece])
    for (uint32_t i = 0; i < a->bytes; i += 4) c->atomic[w->id * c->lds_dwords + (to->at[piece][lane] + i) / 4] = x.stamp;
  }
  if (x.atomic) c->atomics = 1;
  check_lds_data(w, a, to);
}

void check_lds(Wave *w, const Watch *a) {
  uint64_t lanes = exec_mask(w);
  LdsPlaces to;
  pieces(w, a, a->in == VM ? VM : DS, &to, a->single ? lanes & -lanes : lanes);
}

/* Between a wave's own DS and FLAT accesses to one place the order is not checked, as if FLAT were DS. */
void check_flat_lds(Wave *w, const Watch *a, const Lanes *at) {
  Watch as = *a;
  as.role = a->role == LOADS ? LDS_LOADS : a->role == STORES ? LDS_STORES : LDS_ATOMIC;
  as.pieces = 1, as.bytes = a->extent, as.data[1] = NONE;
  LdsPlaces to = {.inside = {at->whole, 0}};
  for (uint32_t lane = 0; lane < LANES; lane++)
    to.at[0][lane] = (uint32_t)(at->pointer[lane] - (uint64_t)(uintptr_t)w->group->lds);
  pieces(w, &as, DS, &to, at->whole);
}
