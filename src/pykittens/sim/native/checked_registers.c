/* Checked mode: undefined bits of registers. What arithmetic makes of them is found by experiment: the instruction runs
 * with the undefined bits set in several ways, and result bits that differ are undefined. So constants that absorb,
 * selections and shifts need no rules of their own. */
#include "checked.h"

enum { ROWS = 96, TRIALS = 4 };

INLINE int has(const uint64_t *mask, uint32_t bit) { return mask[bit / 64] >> (bit % 64) & 1; }

void check_begin_registers(Checker *c, Group *g, uint32_t number) {
  Watched *me = &c->wave[number];
  uint32_t rows = g->launch->rows < VECTOR_ROWS ? g->launch->rows : VECTOR_ROWS;
  me->vector_undefined = c->vector_undefined + (uint64_t)number * VECTOR_ROWS;
  __builtin_memset(me->vector_undefined, 0xFF, (uint64_t)rows * sizeof *me->vector_undefined);
  __builtin_memset(me->vector_undefined, 0, sizeof *me->vector_undefined); /* v0: the work-item */
  for (uint32_t i = 0; i < MASK_WORDS; i++) me->undefined[i] = me->placed[i] = 0;
  for (uint32_t row = 1; row < rows; row++) me->undefined[row / 64] |= 1ull << (row % 64);
  for (uint32_t i = 0; i < 128; i++) check_define_scalar(me, i, c->undefined_scalar[i] ? ~0u : 0);
  check_define_scalar(me, 128, 1);
  for (uint32_t i = 0; i < VECTOR_ROWS + 129; i++) me->origin[i] = NONE;
}

void check_define_scalar(Watched *me, uint32_t number, uint32_t undefined) {
  uint32_t bit = SCALAR_BIT + number;
  me->scalar_undefined[number] = undefined;
  if (undefined) me->undefined[bit / 64] |= 1ull << (bit % 64);
  else me->undefined[bit / 64] &= ~(1ull << (bit % 64));
}

void check_define_row(Watched *me, uint32_t row) {
  uint32_t any = 0;
  for (uint32_t lane = 0; lane < LANES; lane++) any |= me->vector_undefined[row][lane];
  if (any) me->undefined[row / 64] |= 1ull << (row % 64);
  else me->undefined[row / 64] &= ~(1ull << (row % 64));
}

int check_row(const Watched *me, uint32_t row, uint64_t lanes, uint32_t bits, uint32_t *which) {
  if (!has(me->undefined, row)) return 0;
  EACH_LANE(lane, lanes) {
    if (!(me->vector_undefined[row][lane] & bits)) continue;
    *which = (uint32_t)lane;
    return 1;
  }
  return 0;
}

uint32_t check_data_bytes(const Watched *me, uint32_t row, uint32_t lane, uint32_t bytes, uint32_t halves) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < bytes; i++) {
    uint32_t shift = 8 * (i % 4) + (halves == 2 ? 16 : 0);
    found |= (uint32_t)((me->vector_undefined[row + i / 4][lane] >> shift & 0xFF) != 0) << i;
  }
  return found;
}

uint32_t check_first_undefined(const Watched *me, const uint64_t *mask, uint64_t lanes, uint32_t *lane) {
  *lane = NONE;
  for (uint32_t word = 0; word < MASK_WORDS; word++)
    for (uint64_t rest = mask[word] & me->undefined[word]; rest; rest &= rest - 1) {
      uint32_t bit = 64 * word + (uint32_t)__builtin_ctzll(rest);
      if (bit >= SCALAR_BIT || check_row(me, bit, lanes, ~0u, lane)) return bit;
    }
  return NONE;
}

uint32_t check_origin(const Watched *me, uint32_t bit) {
  return me->origin[bit] == NONE ? NEVER_WRITTEN | bit : me->origin[bit];
}

void check_undefined(Wave *w, const Watch *a, uint32_t kind, uint32_t bit, uint32_t lane, uint64_t address) {
  uint32_t origin = check_origin(&w->group->checker->wave[w->id], bit), never = origin & NEVER_WRITTEN;
  uint32_t before = never ? NONE : origin & ~CARRIED;
  CheckEvent *e = check_event(w, kind, a->index, before, lane, never ? origin & ~NEVER_WRITTEN : address, 0);
  if (e) e->unfinished = !never && origin & CARRIED;
}

/* All lanes of the destinations that the instruction writes become defined. */
static void define_results(Watched *me, const Watch *a, uint64_t lanes) {
  for (uint32_t word = 0; word < MASK_WORDS; word++)
    for (uint64_t rest = a->writes[word] & me->undefined[word]; rest; rest &= rest - 1) {
      uint32_t bit = 64 * word + (uint32_t)__builtin_ctzll(rest);
      if (bit >= SCALAR_BIT) {
        check_define_scalar(me, bit - SCALAR_BIT, 0);
        continue;
      }
      if (lanes == ~0ull) __builtin_memset(me->vector_undefined[bit], 0, sizeof *me->vector_undefined);
      else EACH_LANE(lane, lanes) me->vector_undefined[bit][lane] = 0;
      check_define_row(me, bit);
    }
}

INLINE uint32_t pattern(uint32_t trial, uint32_t row, uint32_t lane) {
  uint32_t hash = (row * LANES + lane + 1) * 0x9E3779B1u;
  hash ^= hash >> 15;
  return trial == 0 ? 0 : trial == 1 ? ~0u : trial == 2 ? hash : ~hash;
}

/* What an experiment must put back: rows that are written or filled, and all scalars. */
typedef struct Trial {
  uint32_t rows, row[ROWS];
  uint32_t saved[ROWS][LANES], first[ROWS][LANES], differs[ROWS][LANES];
  uint32_t sgpr[128], first_sgpr[128], sgpr_differs[128], scc, first_scc, scc_differs;
} Trial;

static void restore(Wave *w, const Trial *t) {
  for (uint32_t i = 0; i < t->rows; i++) __builtin_memcpy(w->vgpr[t->row[i]], t->saved[i], sizeof t->saved[i]);
  __builtin_memcpy(w->sgpr, t->sgpr, sizeof t->sgpr);
  w->scc = t->scc;
}

static void fill(Wave *w, const Watched *me, const Trial *t, uint32_t trial) {
  for (uint32_t i = 0; i < t->rows; i++) {
    uint32_t row = t->row[i];
    if (!has(me->undefined, row)) continue;
    for (uint32_t lane = 0; lane < LANES; lane++) {
      uint32_t unknown = me->vector_undefined[row][lane];
      w->vgpr[row][lane] = (w->vgpr[row][lane] & ~unknown) | (pattern(trial, row, lane) & unknown);
    }
  }
  for (uint32_t i = 0; i < 128; i++)
    w->sgpr[i] = (w->sgpr[i] & ~me->scalar_undefined[i]) | (pattern(trial, 1000, i) & me->scalar_undefined[i]);
  if (me->scalar_undefined[128]) w->scc = trial & 1;
}

static void compare(const Wave *w, Trial *t, uint32_t trial) {
  for (uint32_t i = 0; i < t->rows; i++)
    for (uint32_t lane = 0; lane < LANES; lane++) {
      uint32_t value = w->vgpr[t->row[i]][lane];
      if (!trial) t->first[i][lane] = value, t->differs[i][lane] = 0;
      else t->differs[i][lane] |= value ^ t->first[i][lane];
    }
  for (uint32_t i = 0; i < 128; i++) {
    if (!trial) t->first_sgpr[i] = w->sgpr[i], t->sgpr_differs[i] = 0;
    else t->sgpr_differs[i] |= w->sgpr[i] ^ t->first_sgpr[i];
  }
  if (!trial) t->first_scc = w->scc, t->scc_differs = 0;
  else t->scc_differs |= w->scc ^ t->first_scc;
}

static int32_t experiment(Wave *w, const Watch *a, uint32_t origin) {
  Watched *me = &w->group->checker->wave[w->id];
  Trial t = {.rows = 0, .scc = w->scc};
  for (uint32_t row = 0; row < VECTOR_ROWS; row++) {
    if (!has(a->writes, row) && !(has(a->reads, row) && has(me->undefined, row))) continue;
    if (t.rows == ROWS) return a->inner->handler(w, a->inner); /* no instruction has so many */
    __builtin_memcpy(t.saved[t.rows], w->vgpr[row], sizeof t.saved[0]);
    t.row[t.rows++] = row;
  }
  __builtin_memcpy(t.sgpr, w->sgpr, sizeof t.sgpr);
  for (uint32_t trial = 0; trial < TRIALS; trial++) {
    fill(w, me, &t, trial);
    int32_t event = a->inner->handler(w, a->inner);
    if (event != NEXT) return event;
    compare(w, &t, trial);
    restore(w, &t);
  }
  for (uint32_t i = 0; i < t.rows; i++) {
    uint32_t row = t.row[i];
    if (!has(a->writes, row)) continue;
    __builtin_memcpy(me->vector_undefined[row], t.differs[i], sizeof t.differs[i]);
    check_define_row(me, row);
    if (has(me->undefined, row)) me->origin[row] = origin;
  }
  for (uint32_t i = 0; i < 129; i++) {
    if (!has(a->writes, SCALAR_BIT + i)) continue;
    check_define_scalar(me, i, i == 128 ? t.scc_differs : t.sgpr_differs[i]);
    me->origin[SCALAR_BIT + i] = origin;
  }
  return a->inner->handler(w, a->inner);
}

/* Undefined bits in EXEC decide which lanes work: said once, then they count as defined. */
static void check_exec(Wave *w, const Watch *a) {
  Watched *me = &w->group->checker->wave[w->id];
  for (uint32_t i = EXEC; i <= EXEC + 1; i++) {
    if (!me->scalar_undefined[i]) continue;
    check_undefined(w, a, UNDEFINED_EXEC, SCALAR_BIT + i, NONE, 0);
    check_define_scalar(me, i, 0);
  }
}

int32_t check_arithmetic(Wave *w, const Watch *a) {
  Watched *me = &w->group->checker->wave[w->id];
  uint64_t lanes = a->exact == ACTIVE_LANES ? exec_mask(w) : ~0ull;
  uint32_t lane, source = check_first_undefined(me, a->reads, lanes, &lane);
  if (a->exact && source == NONE) {
    define_results(me, a, lanes);
    return a->inner->handler(w, a->inner);
  }
  uint32_t origin = source == NONE ? NONE : check_origin(me, source);
  int32_t event = experiment(w, a, origin);
  check_exec(w, a);
  return event;
}

void check_operands(Wave *w, const Watch *a) {
  Watched *me = &w->group->checker->wave[w->id];
  uint32_t lane, bit;
  if (a->role == BRANCHES) {
    bit = check_first_undefined(me, a->reads, 0, &lane);
    if (bit != NONE) check_undefined(w, a, UNDEFINED_BRANCH, bit, NONE, 0);
    define_results(me, a, ~0ull); /* a call's return address */
  } else if (a->role >= LDS_LOADS && a->role != PERMUTES) {
    uint64_t lanes = a->space >= SCALAR_SPACE ? ~0ull : exec_mask(w);
    bit = lanes ? check_first_undefined(me, a->address, lanes, &lane) : NONE;
    if (bit != NONE) check_undefined(w, a, UNDEFINED_ADDRESS, bit, lane, 0);
  } else if (a->role == PLAIN) {
    define_results(me, a, exec_mask(w));
  }
}

/* The result of a load: undefined bits `bits` in each lane that is active; null for none. The half that a d16 load does
   not write is undefined after it: with SRAM ECC, which both chips have on, it is not kept (llvm merges by v_perm). */
void check_load_result(Wave *w, const Watch *a, const uint32_t (*bits)[LANES], uint32_t origin) {
  Watched *me = &w->group->checker->wave[w->id];
  uint32_t part = a->halves == 1 ? 0x0000FFFFu : a->halves == 2 ? 0xFFFF0000u : ~0u;
  uint64_t lanes = exec_mask(w);
  for (uint32_t i = 0; i < a->results; i++) {
    uint32_t bit = a->first_result + i;
    if (bit >= SCALAR_BIT) {
      check_define_scalar(me, bit - SCALAR_BIT, 0);
      continue;
    }
    if (!bits && !a->halves && !has(me->undefined, bit)) continue;
    EACH_LANE(lane, lanes) me->vector_undefined[bit][lane] = ~part | (bits ? bits[i][lane] & part : 0);
    check_define_row(me, bit);
    if (bits || a->halves) me->origin[bit] = bits ? origin : a->index;
  }
}
