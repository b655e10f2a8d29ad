/* Checked mode: memory that workgroups share: races between them and between waves, undefined data that is stored, and
 * accesses beside the buffers. */
#include "checked.h"

enum { BLOCK = 16 };

/* One access of a wave as it goes over lanes. */
typedef struct Access {
  Wave *w;
  const Watch *a;
  Checker *c;
  const uint64_t *limit;
  const Shadow *base; /* the buffer that the base address is in, if it is in one */
  uint64_t stamp, reader;
  uint32_t writes, atomic, group, lane, same;
} Access;

static Shadow *shadow_of(Checker *c, uint64_t host) {
  uint64_t low = 0, high = c->shadows;
  while (low < high) { /* the first one that begins above it */
    uint64_t middle = (low + high) / 2;
    if (c->shadow[middle].host <= host) low = middle + 1;
    else high = middle;
  }
  if (!low || host - c->shadow[low - 1].host >= c->shadow[low - 1].size) return 0;
  return &c->shadow[low - 1];
}

static void race(Access *x, const Shadow *s, uint64_t at, uint32_t kind, uint64_t cell, uint32_t group) {
  if (x->same && kind == GROUPS_WRITE_AFTER_WRITE) kind = GROUPS_SAME_VALUE;
  if (x->same && kind == GLOBAL_WRITE_AFTER_WRITE) kind = GLOBAL_SAME_VALUE;
  CheckEvent *e = check_event(x->w, kind, x->a->index, CELL_OP(cell), x->lane, s->base + at, x->a->extent);
  if (!e) return;
  e->other_group = group == MANY_GROUPS ? ~0ull : group - 1;
  e->before_wave = CELL_WAVE(cell);
  if (group == x->group) e->unfinished = check_was_issued(x->w, cell);
}

/* An access against the last write of one byte. */
INLINE void against_writer(Access *x, const Shadow *s, uint64_t at) {
  uint32_t group = s->writer_group[at];
  if (!group) return;
  uint64_t cell = s->writer[at];
  if (CELL_ATOMIC(cell) && x->atomic) return;
  if (group != x->group) {
    race(x, s, at, x->writes ? GROUPS_WRITE_AFTER_WRITE : GROUPS_READ_AFTER_WRITE, cell, group);
  } else if (CELL_WAVE(cell) != x->w->id && cell >= x->limit[CELL_INDEX(cell)]) {
    race(x, s, at, x->writes ? GLOBAL_WRITE_AFTER_WRITE : GLOBAL_READ_AFTER_WRITE, cell, group);
  }
}

INLINE void against_readers(Access *x, const Shadow *s, uint64_t at, uint64_t cell) {
  uint32_t readers = (uint32_t)(cell >> 32);
  if (readers && readers != x->group && !x->atomic) race(x, s, at, GROUPS_WRITE_AFTER_READ, cell, readers);
}

static void write_bytes(Access *x, Shadow *s, uint64_t at, uint32_t bytes) {
  s->written = 1;
  for (uint64_t i = at; i < at + bytes; i++) {
    against_writer(x, s, i);
    against_readers(x, s, i, s->reader[i]);
    if (i == at || i % BLOCK == 0) against_readers(x, s, i, s->block_reader[i / BLOCK]);
    s->writer[i] = x->stamp, s->writer_group[i] = x->group;
  }
}

INLINE void add_reader(const Access *x, uint64_t *cell) {
  int alone = !*cell || *cell >> 32 == x->group;
  *cell = alone ? x->reader : x->reader | (uint64_t)MANY_GROUPS << 32;
}

static void read_bytes(Access *x, Shadow *s, uint64_t at, uint32_t bytes) {
  if (s->written)
    for (uint64_t i = at; i < at + bytes; i++) against_writer(x, s, i);
  if (at % BLOCK == 0 && bytes == BLOCK) add_reader(x, &s->block_reader[at / BLOCK]);
  else
    for (uint32_t i = 0; i < bytes; i++) add_reader(x, &s->reader[at + i]);
}

static void touch(Access *x, uint64_t host, uint32_t bytes) {
  Shadow *s = shadow_of(x->c, host);
  if (!s) return; /* the kernel's own arguments, LDS, scratch */
  uint64_t at = host - s->host;
  if (s->beside) {
    check_event(x->w, OUTSIDE_BUFFERS, x->a->index, NONE, x->lane, s->base + at, bytes);
    return;
  }
  if (x->base && x->base != s) check_event(x->w, OTHER_BUFFER, x->a->index, NONE, x->lane, s->base + at, bytes);
  if (!s->writer || at + bytes > s->size) return; /* memory that nobody can write */
  if (x->writes) write_bytes(x, s, at, bytes);
  else read_bytes(x, s, at, bytes);
}

/* Whether memory already holds what the lane stores. */
static int holds(const Wave *w, const Watch *a, uint32_t lane, uint64_t host) {
  const uint8_t *to = (const uint8_t *)(uintptr_t)host;
  for (uint32_t i = 0; i < a->extent; i++) {
    uint32_t value = w->vgpr[a->data[0] + i / 4][lane] >> (8 * (i % 4) + (a->halves == 2 ? 16 : 0));
    if (to[i] != (uint8_t)value) return 0;
  }
  return 1;
}

static void stored(Wave *w, const Watch *a, uint64_t lanes) {
  const Watched *me = &w->group->checker->wave[w->id];
  uint32_t bits = a->extent == 1 ? 0xFF : a->extent == 2 ? 0xFFFF : ~0u, lane;
  if (a->halves == 2) bits <<= 16;
  for (uint32_t i = 0; i < (a->extent + 3) / 4; i++)
    if (check_row(me, a->data[0] + i, lanes, bits, &lane)) {
      check_undefined(w, a, UNDEFINED_STORE, a->data[0] + i, lane, 0);
      return;
    }
}

static const Shadow *base_of(Wave *w, uint64_t address) {
  const Region *r = find_region(w->group, address, 1);
  return r ? shadow_of(w->group->checker, (uint64_t)(uintptr_t)r->host + (address - r->base)) : 0;
}

static int32_t vector(Access *x) {
  static const Reach reaches[] = {[BUFFER_SPACE] = buffer_lanes, [GLOBAL_SPACE] = global_lanes,
                                  [FLAT_SPACE] = flat_lanes, [SCRATCH_SPACE] = scratch_lanes};
  Wave *w = x->w;
  const Watch *a = x->a;
  Lanes at;
  uint64_t out_of_range = w->group->counter[BUFFER_OUT_OF_RANGE];
  if (reaches[a->space](w, &a->access, a->extent, x->atomic ? ATOMIC : x->writes ? STORE : LOAD, &at) != NEXT) return FAULT;
  w->group->counter[BUFFER_OUT_OF_RANGE] = out_of_range; /* the operation itself counts it */
  if (x->writes) stored(w, a, at.whole);
  if (a->space == SCRATCH_SPACE) return NEXT;
  if (a->space != FLAT_SPACE && a->access.f[BASE] != NONE) {
    uint64_t base = scalar_pair(w, a->access.f[BASE]);
    x->base = base_of(w, a->space == BUFFER_SPACE ? base & 0xFFFFFFFFFFFFull : base);
  }
  if (a->role == LOADS_TO_LDS)
    for (uint32_t lane = 0; lane < LANES; lane++)
      x->c->source[lane] = at.whole >> lane & 1 ? at.pointer[lane] : 0;
  EACH_LANE(lane, at.whole) {
    x->lane = (uint32_t)lane;
    x->same = x->writes && !x->atomic && holds(w, a, x->lane, at.pointer[lane]);
    touch(x, at.pointer[lane], a->extent);
  }
  return NEXT;
}

/* f: see scalar_memory.c */
static void scalar(Access *x) {
  Wave *w = x->w;
  const uint32_t *f = x->a->access.f, *word = &w->sgpr[f[1]];
  uint64_t offset = (uint64_t)(int64_t)(int32_t)f[3] + (f[2] == NONE ? 0 : (uint64_t)w->sgpr[f[2]] * f[5]);
  uint64_t base = scalar_pair(w, f[1]), records = ~0ull, stride = word[1] >> 16 & 0x3FFF;
  if (x->a->space == SCALAR_BUFFER) base &= 0xFFFFFFFFFFFCull, records = stride ? stride * word[2] : word[2], offset &= ~3ull;
  x->base = base_of(w, base);
  for (uint32_t i = 0; i < x->a->extent; i += 4) {
    if (offset + i >= records) continue;
    uint64_t address = (base + offset + i) & ~3ull;
    const Region *r = find_region(w->group, address, 4);
    if (r) touch(x, (uint64_t)(uintptr_t)r->host + (address - r->base), 4);
  }
}

int32_t check_memory(Wave *w, const Watch *a) {
  Checker *c = w->group->checker;
  Access x = {.w = w, .a = a, .c = c, .limit = check_limits(w, VM), .group = (uint32_t)w->group->id + 1, .lane = NONE};
  x.atomic = a->role == ATOMIC_MEMORY, x.writes = x.atomic || a->role == STORES || a->role == SCALAR_STORES;
  x.reader = (uint64_t)x.group << 32 | CELL(0, 0, w->id, VM, a->index);
  x.stamp = CELL(c->wave[w->id].issued[VM], x.atomic, w->id, VM, a->index);
  if (a->space >= SCALAR_SPACE) scalar(&x);
  else if (vector(&x) != NEXT) return FAULT;
  check_load_result(w, a, 0, 0);
  return NEXT;
}
