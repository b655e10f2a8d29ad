/* Checked mode: races in memory that workgroups share, between workgroups and between the waves of one.
 *
 * Cells hold the last write of a byte and who has read it. Reads of one workgroup are kept by its waves too, so that a
 * write is held against each of them that does not come before it. */
#include "checked_memory.h"

enum { BLOCK = 16 };

static CheckEvent *race(Access *x, const Shadow *s, uint64_t at, uint32_t kind, uint64_t cell, uint32_t group) {
  if (x->same && kind == GROUPS_WRITE_AFTER_WRITE) kind = GROUPS_SAME_VALUE;
  if (x->same && kind == GLOBAL_WRITE_AFTER_WRITE) kind = GLOBAL_SAME_VALUE;
  CheckEvent *e = check_event(x->w, kind, x->a->index, CELL_OP(cell), x->lane, s->base + at, x->extent);
  if (!e) return 0;
  e->other_group = group == MANY_GROUPS ? ~0ull : group - 1;
  e->before_wave = CELL_WAVE(cell);
  if (group == x->group) e->unfinished = check_was_issued(x->w, cell);
  return e;
}

/* An access against the last write of one byte. */
INLINE void against_writer(Access *x, const Shadow *s, uint64_t at) {
  uint32_t group = s->writer_group[at] & ~REWRITTEN;
  if (!group) return;
  uint64_t cell = s->writer[at];
  if (CELL_ATOMIC(cell) && x->atomic) return;
  if (group == x->group && (CELL_WAVE(cell) == x->w->id || cell < x->limit[CELL_INDEX(cell)])) return;
  if (check_is_ordered(x, group, cell)) return;
  if (group != x->group) {
    if (x->writes) s->writer_group[at] |= REWRITTEN;
    race(x, s, at, x->writes ? GROUPS_WRITE_AFTER_WRITE : GROUPS_READ_AFTER_WRITE, cell, group);
  } else {
    race(x, s, at, x->writes ? GLOBAL_WRITE_AFTER_WRITE : GLOBAL_READ_AFTER_WRITE, cell, group);
  }
}

/* Reads of other waves of this workgroup that a write need not come after. */
static void against_reads(Access *x, const Shadow *s, uint64_t at) {
  const Watched *me = &x->c->wave[x->w->id];
  uint64_t host = s->host + at;
  for (uint32_t i = 0; i < x->w->group->launch->waves; i++) {
    const Watched *other = &x->c->wave[i];
    if (other == me) continue;
    uint64_t kept = other->reads < READS ? other->reads : READS, done[COUNTED];
    for (uint32_t k = 0; k < CLASSES; k++) done[k] = (x->limit[2 * i + k] >> 32) - 1;
    done[SCALAR_MEMORY] = check_at_barrier(me, other, SCALAR_MEMORY, 0);
    if (kept == READS && other->read[other->reads % READS].number > done[other->read[other->reads % READS].in])
      check_gives_up(x->w, x->a, TOO_MANY_READS);
    for (uint64_t n = 0; n < kept; n++) {
      const Read *r = &other->read[n];
      if (r->number <= done[r->in]) continue;
      uint32_t meets = 0;
      for (uint32_t lane = 0; lane < LANES; lane++) meets |= host - r->host[lane] < r->bytes;
      if (!meets) continue;
      CheckEvent *e = race(x, s, at, GLOBAL_WRITE_AFTER_READ, CELL(0, 0, i, VM, r->op), x->group);
      if (e) e->unfinished = r->number <= check_at_barrier(me, other, r->in, 1);
    }
  }
}

INLINE void against_readers(Access *x, const Shadow *s, uint64_t at, uint64_t cell) {
  uint32_t readers = (uint32_t)(cell >> 32);
  if (!readers) return; /* none of them is an atomic: those are writes */
  if (readers != x->group) race(x, s, at, GROUPS_WRITE_AFTER_READ, cell, readers);
  else if (CELL_WAVE(cell) != x->w->id || cell & SEVERAL_WAVES) against_reads(x, s, at);
}

static void write_bytes(Access *x, Shadow *s, uint64_t at, uint32_t bytes) {
  s->written = 1;
  for (uint64_t i = at; i < at + bytes; i++) {
    against_writer(x, s, i);
    against_readers(x, s, i, s->reader[i]);
    if (i == at || i % BLOCK == 0) against_readers(x, s, i, s->block_reader[i / BLOCK]);
    s->writer[i] = x->stamp, s->writer_group[i] = x->group | (s->writer_group[i] & REWRITTEN);
    s->reader[i] = 0; /* who comes after this write comes after these reads */
  }
  for (uint64_t i = (at + BLOCK - 1) / BLOCK; (i + 1) * BLOCK <= at + bytes; i++) s->block_reader[i] = 0;
}

INLINE void add_reader(const Access *x, uint64_t *cell) {
  uint64_t old = *cell;
  if (!old) *cell = x->reader;
  else if (old >> 32 != x->group) *cell = x->reader | (uint64_t)MANY_GROUPS << 32;
  else *cell = x->reader | (old & SEVERAL_WAVES) | (CELL_WAVE(old) != x->w->id ? SEVERAL_WAVES : 0);
}

static void read_bytes(Access *x, Shadow *s, uint64_t at, uint32_t bytes) {
  if (s->written)
    for (uint64_t i = at; i < at + bytes; i++) against_writer(x, s, i);
  if (at % BLOCK == 0 && bytes == BLOCK) add_reader(x, &s->block_reader[at / BLOCK]);
  else
    for (uint32_t i = 0; i < bytes; i++) add_reader(x, &s->reader[at + i]);
  x->recorded = 1;
}

void check_races(Access *x, Shadow *s, uint64_t at, uint32_t bytes) {
  if (x->writes) write_bytes(x, s, at, bytes);
  else read_bytes(x, s, at, bytes);
}

void check_keep_read(Access *x, const uint64_t *host, uint64_t lanes) {
  Watched *me = &x->c->wave[x->w->id];
  Read *r = &me->read[me->reads++ % READS];
  int is_scalar = x->a->space >= SCALAR_SPACE;
  r->in = is_scalar ? SCALAR_MEMORY : VM, r->number = me->issued[r->in];
  r->op = x->a->index, r->bytes = is_scalar ? 4 : x->extent;
  for (uint32_t lane = 0; lane < LANES; lane++) r->host[lane] = lanes >> lane & 1 ? host[lane] : ~0ull;
}
