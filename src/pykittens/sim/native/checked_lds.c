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

typedef uint64_t u64x4 __attribute__((vector_size(32)));
typedef u64x4 cells_any __attribute__((aligned(8), may_alias));

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

/* Four dwords whose last write is one and the same, or not at all. False if they are not that simple. */
INLINE int quad(Access *x, uint32_t at) {
  Checker *c = x->c;
  uint32_t dword = at / 4;
  u64x4 writer = *(const cells_any *)&c->writer[dword];
  uint64_t first = writer[0];
  u64x4 differ = writer ^ first;
  if ((differ[0] | differ[1] | differ[2] | differ[3]) || *(const u32_any *)&c->split[dword] || late_cell(x, first)) return 0;
  if (!x->writes) {
    *(cells_any *)&c->reader[x->me * c->lds_dwords + dword] = (u64x4){} + x->stamp;
    return 1;
  }
  for (uint32_t i = 0; i < x->waves; i++) {
    uint64_t limit = x->limit[2 * i + DS];
    if (c->wave[i].last_read < limit) continue;
    u64x4 late = (u64x4)(*(const cells_any *)&c->reader[i * c->lds_dwords + dword] >= limit);
    if (late[0] | late[1] | late[2] | late[3]) return 0;
  }
  *(cells_any *)&c->writer[dword] = (u64x4){} + x->stamp;
  return 1;
}

/* The value that a lane stores in a dword, where it is in a register. */
static void stored_value(Access *x, uint32_t piece, uint32_t word) {
  const Watch *a = x->a;
  x->known = a->role == LDS_STORES ? a->bytes < 4 ? a->bytes : 4 : 0;
  if (x->known) x->value = x->w->vgpr[a->data[piece] + word][x->lane] >> (a->halves == 2 ? 16 : 0);
}

static void touch(Access *x, uint32_t piece, uint32_t at, uint32_t bytes) {
  uint32_t done = 0;
  x->at = at;
  if ((at | bytes) & 3) {
    stored_value(x, piece, 0);
    if (at & 3 && bytes > 4) x->known = 0;
    some_bytes(x, at, bytes);
    return;
  }
  for (; !x->c->atomics && !x->atomic && done + 16 <= bytes; done += 16)
    if (!quad(x, at + done)) break;
  for (; done < bytes; done += 4) {
    x->at = at + done;
    if (x->writes) stored_value(x, piece, done / 4);
    one_dword(x, at + done);
  }
}

void check_lds(Wave *w, const Watch *a) {
  Checker *c = w->group->checker;
  Watched *me = &c->wave[w->id];
  uint32_t in = a->in == VM ? VM : DS, size = w->group->launch->lds_bytes;
  Access x = {.w = w, .a = a, .c = c, .limit = check_limits(w, in), .me = w->id, .waves = w->group->launch->waves};
  x.atomic = a->role == LDS_ATOMIC, x.writes = a->role != LDS_LOADS;
  x.stamp = CELL(me->issued[in], x.atomic, w->id, in, a->index);
  if (!x.writes) me->last_read = x.stamp;
  uint64_t lanes = exec_mask(w);
  if (a->single) lanes &= -lanes;
  uint32_t base = a->m0 ? w->sgpr[M0] & a->m0 : 0;
  for (uint32_t piece = 0; piece < a->pieces; piece++)
    EACH_LANE(each, lanes) {
      uint32_t lane = (uint32_t)each;
      uint32_t at = a->offset[piece] + base + (a->row == NONE ? lane * a->pitch : w->vgpr[a->row][lane]);
      x.lane = lane;
      if (size < a->bytes || at > size - a->bytes) {
        check_event(w, LDS_OUTSIDE, a->index, NONE, lane, at, a->bytes);
        continue;
      }
      touch(&x, piece, at, a->bytes);
      if (x.atomic)
        for (uint32_t i = 0; i < a->bytes; i += 4) c->atomic[w->id * c->lds_dwords + (at + i) / 4] = x.stamp;
    }
  if (x.atomic) c->atomics = 1;
  check_lds_data(w, a);
}
