/* The checked operation: counts, waits, barriers and results that are due; what memory holds is checked elsewhere. */
#include "checked.h"

static void begin_wave(Checker *c, Group *g, uint32_t number) {
  Watched *me = &c->wave[number];
  for (int i = 0; i < COUNTED; i++) me->done[i] = me->start[i] = me->issued[i];
  me->acquires = 0, me->ordered_below = 0, me->reads = 0, me->read = c->read + (uint64_t)number * READS;
  me->epoch = 0, me->ended = 0, me->limits_of = NONE, me->due_count = 0;
  for (int i = 0; i < MASK_WORDS; i++) me->pending[i] = 0;
  check_begin_registers(c, g, number);
}

static void begin_group(Checker *c, Group *g) {
  c->group = g->id + 1, c->apart = 0;
  __builtin_memset(&c->flags, 0, sizeof c->flags);
  for (uint32_t i = 0; i < g->launch->waves; i++) begin_wave(c, g, i);
  __builtin_memset(c->lds_undefined, NOBODY_WROTE, 4 * c->lds_dwords);
  __builtin_memset(c->scratch_undefined, NOBODY_WROTE, (uint64_t)g->launch->waves * g->launch->private_bytes * LANES);
}

CheckEvent *check_event(Wave *w, uint32_t kind, uint32_t op, uint32_t before_op, uint32_t lane, uint64_t address,
                        uint32_t bytes) {
  Checker *c = w->group->checker;
  uint64_t hash = ((uint64_t)kind * 0x9E3779B97F4A7C15ull ^ op) * 0xD1342543DE82EF95ull ^ before_op;
  hash = (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9ull;
  for (uint64_t i = hash >> 32;; i++) {
    CheckEvent *e = &c->event[i % EVENTS];
    if (e->kind == kind && e->op == op && e->before_op == before_op) {
      e->times++;
      return 0;
    }
    if (e->kind != NO_EVENT) continue;
    if (c->event_count == EVENTS - 1) return 0; /* one stays free, so that every search ends */
    c->event_count++;
    *e = (CheckEvent){.address = address, .group = w->group->id, .times = 1, .kind = kind, .op = op, .wave = w->id,
                      .lane = lane, .bytes = bytes, .other_group = w->group->id, .before_op = before_op, .before_wave = NONE};
    return e;
  }
}

void check_gives_up(Wave *w, const Watch *a, uint32_t why) { check_event(w, NOT_CHECKED, a->index, NONE, NONE, why, 0); }

uint64_t check_at_barrier(const Watched *me, const Watched *other, uint32_t in, int issued) {
  if (!me->epoch) return other->start[in];
  uint32_t last = me->epoch - 1;
  if (other->ended && last >= other->epoch) return issued ? other->issued[in] : other->done[in];
  return (issued ? other->arrived_issued : other->arrived_done)[last % HISTORY][in];
}

const uint64_t *check_limits(Wave *w, uint32_t in) {
  Checker *c = w->group->checker;
  Watched *me = &c->wave[w->id];
  if (me->limits_of != me->epoch) {
    me->limits_of = me->epoch;
    for (uint32_t i = 0; i < w->group->launch->waves; i++)
      for (uint32_t k = 0; k < CLASSES; k++) me->limit[2 * i + k] = (check_at_barrier(me, &c->wave[i], k, 0) + 1) << 32;
    check_told(me->limit, c->flags.acquired[w->id]);
  }
  for (uint32_t k = 0; k < CLASSES; k++) me->limit[2 * w->id + k] = k == in ? ~0ull : (me->done[k] + 1) << 32;
  return me->limit;
}

uint32_t check_was_issued(Wave *w, uint64_t cell) {
  Checker *c = w->group->checker;
  return CELL_NUMBER(cell) <= check_at_barrier(&c->wave[w->id], &c->wave[CELL_WAVE(cell)], CELL_CLASS(cell), 1);
}

/* -- results that are due ------------------------------------------------------------------------------------ */
INLINE int mask_has(const uint64_t *mask, uint32_t first, uint32_t count) {
  for (uint32_t bit = first; bit < first + count; bit++)
    if (mask[bit / 64] >> (bit % 64) & 1) return 1;
  return 0;
}

INLINE void mask_add(uint64_t *mask, uint32_t first, uint32_t count) {
  for (uint32_t bit = first; bit < first + count; bit++) mask[bit / 64] |= 1ull << (bit % 64);
}

/* An instruction uses registers of results that have not been waited for. Later results of one class overwrite earlier
 * ones in order, so that these need no wait. */
static void check_due(Wave *w, const Watch *a) {
  const Watched *me = &w->group->checker->wave[w->id];
  for (uint32_t i = 0; i < me->due_count; i++) {
    const Due *due = &me->due[i];
    int written = mask_has(a->writes, due->first, due->count);
    if (written && due->in == a->in && due->in < CLASSES) continue;
    int read = mask_has(a->reads, due->first, due->count);
    if (!read && !written) continue;
    check_event(w, read ? REGISTER_NOT_WAITED : REGISTER_OVERWRITTEN, a->index, due->op, NONE, due->first, due->count);
  }
}

static void settle(Watched *me, uint32_t vmcnt, uint32_t lgkmcnt) {
  const uint32_t left[COUNTED] = {lgkmcnt, vmcnt, lgkmcnt ? NONE : 0};
  for (int k = 0; k < COUNTED; k++)
    if (me->issued[k] - me->done[k] > left[k]) me->done[k] = me->issued[k] - left[k];
  if (!me->due_count) return;
  uint32_t kept = 0;
  uint64_t *pending = me->pending;
  for (int i = 0; i < MASK_WORDS; i++) pending[i] = 0;
  for (uint32_t i = 0; i < me->due_count; i++) {
    Due due = me->due[i];
    due.vm_seen |= vmcnt == 0, due.ds_seen |= lgkmcnt == 0;
    int landed = due.in < CLASSES ? due.number <= me->done[due.in] : due.ds_seen && (due.in != FLAT_MEMORY || due.vm_seen);
    if (landed) continue;
    me->due[kept++] = due;
    mask_add(pending, due.first, due.count);
  }
  me->due_count = kept;
}

static void issue(Watched *me, const Watch *a) {
  if (a->in == DS || a->in == FLAT_MEMORY) me->issued[DS]++;
  if (a->in == VM || a->in == FLAT_MEMORY) me->issued[VM]++;
  if (a->in == SCALAR_MEMORY) me->issued[SCALAR_MEMORY]++;
  /* A counter at its end makes the next instruction wait. */
  if (me->issued[DS] - me->done[DS] > 15 || me->issued[VM] - me->done[VM] > 63) settle(me, 63, 15);
}

static void owe(Watched *me, const Watch *a) {
  if (!a->results) return;
  if (me->due_count == OUTSTANDING) {
    me->due_count--;
    for (uint32_t i = 0; i < me->due_count; i++) me->due[i] = me->due[i + 1];
  }
  uint64_t number = a->in < CLASSES ? me->issued[a->in] : 0;
  me->due[me->due_count++] = (Due){number, a->in, a->index, a->first_result, a->results, 0, 0};
  mask_add(me->pending, a->first_result, a->results);
}

/* -- barriers ------------------------------------------------------------------------------------------------ */
static void missed(Wave *w, uint32_t barrier, uint32_t waiting, uint32_t end, uint32_t ended) {
  CheckEvent *e = check_event(w, BARRIER_MISSED, barrier, end, NONE, 0, 0);
  if (e) e->wave = waiting, e->before_wave = ended;
}

static void arrive(Wave *w, const Watch *a) {
  Checker *c = w->group->checker;
  Watched *me = &c->wave[w->id];
  uint32_t slot = me->epoch % HISTORY;
  for (int k = 0; k < COUNTED; k++) {
    me->arrived_done[slot][k] = me->done[k];
    me->arrived_issued[slot][k] = me->issued[k];
  }
  me->barrier_op[slot] = a->index;
  for (uint32_t i = 0; i < w->group->launch->waves; i++) {
    const Watched *other = &c->wave[i];
    if (other->ended && other->epoch == me->epoch) {
      missed(w, a->index, w->id, other->barrier_op[slot], i);
    } else if (!c->apart && other->epoch > me->epoch && other->barrier_op[slot] != a->index) {
      c->apart = 1; /* from here on they may differ at each */
      CheckEvent *e = check_event(w, BARRIERS_DIFFER, a->index, other->barrier_op[slot], NONE, 0, 0);
      if (e) e->before_wave = i;
    }
  }
  me->epoch++;
}

static void end(Wave *w, const Watch *a) {
  Checker *c = w->group->checker;
  Watched *me = &c->wave[w->id];
  me->ended = 1;
  me->barrier_op[me->epoch % HISTORY] = a->index; /* where it is instead of at the barrier */
  for (uint32_t i = 0; i < w->group->launch->waves; i++) {
    const Watched *other = &c->wave[i];
    if (!other->ended && other->epoch > me->epoch)
      missed(w, other->barrier_op[me->epoch % HISTORY], i, a->index, w->id);
  }
}

/* Whether the rows that it writes hold scalars in their lanes from now on (checked_lanes.c). */
static void fill_rows(Wave *w, Watched *me, const Watch *a) {
  int scalars = a->single == LANE_WRITTEN;
  if (exec_mask(w) == ~0ull) scalars |= a->role == LOADS || (a->single == LANE_COPIED && check_holds_scalars(me, a));
  for (int i = 0; i < MASK_WORDS; i++)
    me->placed[i] = scalars ? me->placed[i] | a->writes[i] : me->placed[i] & ~a->writes[i];
}

/* -- the operation ------------------------------------------------------------------------------------------- */
/* f: the address of a Watch (2) */
int32_t checked(Wave *w, const Op *op) {
  const Watch *a = (const Watch *)(uintptr_t)(op->f[0] | (uint64_t)op->f[1] << 32);
  Group *g = w->group;
  Checker *c = g->checker;
  if (c->group != g->id + 1) begin_group(c, g);
  Watched *me = &c->wave[w->id];
  uint64_t due = 0, undefined = 0;
  for (int i = 0; i < MASK_WORDS; i++) {
    uint64_t used = a->reads[i] | a->writes[i];
    due |= used & me->pending[i], undefined |= used & me->undefined[i];
  }
  if (due) check_due(w, a);
  if (a->role == ARITHMETIC || a->role == READS_LANE) {
    if (a->role == READS_LANE) check_lanes(w, a);
    fill_rows(w, me, a);
    return undefined ? check_arithmetic(w, a) : a->inner->handler(w, a->inner);
  }
  if (undefined) check_operands(w, a);
  switch (a->role) {
    case WAITS:
      settle(me, a->vmcnt, a->lgkmcnt);
      check_flags_settled(c, me, w->id);
      break;
    case ARRIVES: arrive(w, a); break;
    case ENDS: end(w, a); break;
    case PLAIN: break;
    case GIVES_UP: check_gives_up(w, a, a->single); break;
    default:
      issue(me, a);
      if (a->space == SCRATCH_SPACE && a->role == LOADS) fill_rows(w, me, a);
      if (a->space > LDS_SPACE && check_memory(w, a) != NEXT) return FAULT; /* of a copy to LDS this first */
      if (a->space == LDS_SPACE || a->role == LOADS_TO_LDS) check_lds(w, a);
      owe(me, a);
      if (a->role == LDS_ATOMIC) return check_flag(w, a);
      if (a->role == PERMUTES) {
        check_lanes(w, a);
        return undefined ? check_arithmetic(w, a) : a->inner->handler(w, a->inner);
      }
  }
  return a->inner->handler(w, a->inner);
}

/* Sizes as this compiler sees them; Python compares them with its own. */
void checked_layout(uint64_t *sizes) {
  sizes[0] = sizeof(Watch), sizes[1] = sizeof(Watched), sizes[2] = sizeof(CheckEvent), sizes[3] = sizeof(Shadow);
  sizes[4] = sizeof(Checker), sizes[5] = sizeof(Read), sizes[6] = sizeof(Shared);
}
