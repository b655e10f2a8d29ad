/* The event loop of the cycle model: one compute unit, its SIMDs, and the waves of the workgroups that live on it. */
#include "cu_memory.h"

void *memset(void *, int, __SIZE_TYPE__);

enum { RING = 64 };

typedef struct Wave {
  const Stream *stream;
  uint64_t at, cost;           /* next instruction, next memory cost */
  uint64_t ready, mark, age;   /* first chance; since when it waits; order of arrival */
  uint64_t alu_ok, packed_ok, lds_ok, give_ok; /* what its last matrix or LDS instruction still blocks */
  uint64_t vm_done[RING], lgkm_done[RING];
  uint64_t vm_last, lgkm_last; /* latest of them: results come in order */
  uint32_t vm, lgkm;           /* how many were ever raised */
  uint8_t lgkm_scalar[RING];
  uint32_t priority, reason, simd, slot, live, waiting;
  uint32_t *issued;
  uint8_t *why;
} Wave;

typedef struct Slot {
  uint64_t group, start;
  uint32_t live, arrived, busy, first;
  uint32_t posts[FLAGS];   /* of each flag, and when the last one was done */
  uint64_t posted[FLAGS];
} Slot;

typedef struct Unit {
  Work *work;
  const Machine *machine;
  Memory memory;
  Wave wave[CU_WAVES];
  Slot slot[CU_WAVES];
  uint64_t pipe_free[SIMDS], port_free[SIMDS][PORTS], wake[SIMDS];
  uint32_t order[SIMDS][SIMD_WAVES], waves[SIMDS]; /* by priority, then age */
  uint64_t served[SIMDS];                          /* when a SIMD last used what all share */
  uint64_t next_group, finished, ages;
} Unit;

static void sort(Unit *u, uint32_t simd) {
  uint32_t *order = u->order[simd];
  for (uint32_t i = 1; i < u->waves[simd]; i++)
    for (uint32_t j = i; j; j--) {
      const Wave *a = &u->wave[order[j - 1]], *b = &u->wave[order[j]];
      if (a->priority > b->priority || (a->priority == b->priority && a->age < b->age)) break;
      uint32_t swap = order[j];
      order[j] = order[j - 1], order[j - 1] = swap;
    }
}

static int32_t emptiest(const Unit *u, uint32_t from) {
  int32_t best = -1;
  for (uint32_t i = 0; i < SIMDS; i++) {
    uint32_t simd = (from + i) % SIMDS;
    if (u->waves[simd] < SIMD_WAVES && (best < 0 || u->waves[simd] < u->waves[best])) best = (int32_t)simd;
  }
  return best;
}

static int start_group(Unit *u, Slot *s, uint64_t now) {
  Work *work = u->work;
  if (u->next_group == work->groups) return 0;
  uint64_t group = u->next_group++;
  s->group = group, s->live = (uint32_t)work->waves, s->arrived = 0, s->busy = 1;
  memset(s->posts, 0, sizeof s->posts);
  work->started[group] = now;
  for (uint32_t i = 0; i < work->waves; i++) {
    uint32_t number = s->first + i;
    Wave *w = &u->wave[number];
    int32_t simd = emptiest(u, i % SIMDS);
    if (simd < 0) return 1;
    memset(w, 0, sizeof *w);
    uint64_t stream = group % work->patterns * work->waves + i;
    w->stream = &work->streams[stream];
    w->ready = w->mark = now, w->age = u->ages++, w->simd = (uint32_t)simd, w->slot = (uint32_t)(s - u->slot), w->live = 1;
    if (group < work->patterns && work->issued) w->issued = work->issued[stream], w->why = work->reason[stream];
    u->order[simd][u->waves[simd]++] = number;
    sort(u, w->simd);
    if (u->wake[simd] > now) u->wake[simd] = now;
  }
  return 0;
}

static void release(Unit *u, Slot *s, uint64_t now) {
  if (!s->arrived || s->arrived < s->live) return;
  s->arrived = 0;
  for (uint32_t i = 0; i < u->work->waves; i++) {
    Wave *w = &u->wave[s->first + i];
    if (!w->live || !w->waiting) continue;
    uint64_t ready = later(w->ready, now + u->machine->barrier_clk);
    uint32_t barrier = w->stream->ops[w->at - 1];
    u->work->stall[(uint64_t)barrier * REASONS + AT_BARRIER] += ready - w->mark;
    w->waiting = 0, w->ready = w->mark = ready;
    if (u->wake[w->simd] > w->ready) u->wake[w->simd] = w->ready;
  }
}

static void end_wave(Unit *u, Wave *w, uint64_t now) {
  Slot *s = &u->slot[w->slot];
  uint32_t *order = u->order[w->simd], number = (uint32_t)(w - u->wave), kept = 0;
  for (uint32_t i = 0; i < u->waves[w->simd]; i++)
    if (order[i] != number) order[kept++] = order[i];
  u->waves[w->simd] = kept, w->live = 0;
  if (--s->live) {
    release(u, s, now);
    return;
  }
  s->busy = 0, u->finished++, u->work->ended[s->group] = now;
  start_group(u, s, now + u->machine->start_gap);
}

static inline uint64_t vm_time(const Wave *w, uint32_t left) { return w->vm > left ? w->vm_done[(w->vm - 1 - left) % RING] : 0; }

static inline uint64_t lgkm_time(const Wave *w, uint32_t left) {
  return w->lgkm > left ? w->lgkm_done[(w->lgkm - 1 - left) % RING] : 0;
}

/* When a poll finds the posts that it waits for: its loop looks once a turn. */
static uint64_t poll_time(const Unit *u, const Wave *w, const TimingOp *op) {
  const Cost *cost = &w->stream->costs[w->cost];
  const Slot *s = &u->slot[w->slot];
  uint32_t flag = cost->lines - 1u;
  if (s->posts[flag] < (cost->l1_clk | (uint32_t)cost->latency << 16)) return NEVER * 2ull;
  uint64_t waited = s->posted[flag] > w->ready ? s->posted[flag] - w->ready : 0;
  return w->ready + (op->value ? (waited + op->value - 1) / op->value * op->value : waited);
}

/* The first time from now on at which the wave's next instruction may issue, and what it waits for until then. */
static uint64_t earliest(Unit *u, const Wave *w, const TimingOp *op, uint64_t now, uint32_t *reason) {
  const Machine *c = u->machine;
  uint64_t at = now;
#define NEED(time, why)                                  \
  do {                                                   \
    uint64_t needed = (time);                            \
    if (needed > at) at = needed, *reason = (why);       \
  } while (0)
  if (op->port != NO_PORT) NEED(u->port_free[w->simd][op->port], PORT_BUSY);
  switch (op->kind) {
    case MATRIX: NEED(u->pipe_free[w->simd], MATRIX_PIPE); break;
    case VECTOR: case TRANSCENDENTAL: case PACKED:
      NEED(op->kind == PACKED ? w->packed_ok : w->alu_ok, MATRIX_SOURCES);
      if (op->flags & THREE_SOURCES) NEED(registers_free(&u->memory, w->simd, at), PORT_BUSY);
      break;
    case LDS:
      NEED(w->lds_ok, PORT_BUSY);
      if (op->flags & GIVES_DATA) NEED(w->give_ok, MATRIX_SOURCES);
      NEED(lds_room(&u->memory, c, w->simd / 2), LDS_QUEUE);
      if (op->flags & POLLS) NEED(poll_time(u, w, op), AT_FLAG);
      break;
    case LOAD: case STORE: NEED(vmem_room(&u->memory, c), VMEM_QUEUE); break;
    case WAIT: {
      uint32_t vm = op->value & 0xFF, lgkm = op->value >> 8 & 0xFF;
      if (vm != 0xFF) NEED(vm_time(w, vm), WAIT_VMEM);
      if (lgkm != 0xFF) NEED(lgkm_time(w, lgkm), w->lgkm && w->lgkm_scalar[(w->lgkm - 1) % RING] ? WAIT_SCALAR : WAIT_LDS);
      break;
    }
    default: break;
  }
  if (op->flags & RAISES_VM) NEED(vm_time(w, c->max_vm - 1), COUNTER_FULL);
  if (op->flags & RAISES_LGKM) NEED(lgkm_time(w, c->max_lgkm - 1), COUNTER_FULL);
#undef NEED
  return (at + QUAD - 1) / QUAD * QUAD;
}

/* An LDS atomic on a flag is done at `done`: who polls it may look again. */
static void post(Unit *u, Slot *s, uint32_t flag, uint64_t done, uint64_t now) {
  s->posts[flag]++, s->posted[flag] = later(s->posted[flag], done);
  for (uint32_t simd = 0; simd < SIMDS; simd++)
    if (u->wake[simd] > now) u->wake[simd] = now;
}

static void raise_vm(Wave *w, uint64_t done) {
  w->vm_last = later(w->vm_last, done);
  w->vm_done[w->vm++ % RING] = w->vm_last;
}

static void raise_lgkm(Wave *w, uint64_t done, int scalar) {
  w->lgkm_last = later(w->lgkm_last, done);
  w->lgkm_scalar[w->lgkm % RING] = (uint8_t)scalar;
  w->lgkm_done[w->lgkm++ % RING] = w->lgkm_last;
}

/* Keeps the wave from issuing until then. */
static void hold(Unit *u, Wave *w, uint32_t index, uint64_t until) {
  if (until <= w->ready) return;
  until = (until + QUAD - 1) / QUAD * QUAD;
  u->work->held[index] += until - w->ready;
  w->ready = w->mark = until;
}

static void execute(Unit *u, Wave *w, const TimingOp *op, uint32_t index, uint64_t now) {
  Work *work = u->work;
  const Cost *cost = &w->stream->costs[w->cost];
  uint64_t done = 0;
  switch (op->kind) {
    case MATRIX:
      u->pipe_free[w->simd] = now + op->pipe_clk, work->matrix_busy[w->simd] += op->pipe_clk;
      w->alu_ok = now + op->first_alu, w->packed_ok = now + op->first_packed, w->lds_ok = later(w->lds_ok, now + op->first_lds);
      w->give_ok = now + op->first_write;
      break;
    case VECTOR: case TRANSCENDENTAL: case PACKED: work->vector_busy[w->simd] += op->port_clk; break;
    case LDS:
      done = serve_lds(&u->memory, op, cost, w->simd / 2, now, work);
      if (op->flags & GIVES_DATA) hold(u, w, index, done); /* its registers are read when its turn comes */
      done += op->latency;
      if (!(op->flags & (GIVES_DATA | POLLS))) give_back(&u->memory, w->simd, done);
      if (cost->lines && !(op->flags & POLLS)) post(u, &u->slot[w->slot], cost->lines - 1u, done, now);
      w->lds_ok = now + u->machine->lds_gap, w->cost++, u->served[w->simd] = now;
      break;
    case LOAD:
      done = serve_load(&u->memory, u->machine, op, cost, now, work);
      w->cost++, u->served[w->simd] = now;
      break;
    case STORE:
      done = serve_store(&u->memory, u->machine, cost, now, work);
      w->cost++, u->served[w->simd] = now;
      break;
    case SCALAR_LOAD: done = now + cost->latency, w->cost++; break;
    case BARRIER: w->waiting = 1, u->slot[w->slot].arrived++; break;
    case PRIORITY: w->priority = op->value, sort(u, w->simd); break;
    default: break;
  }
  if (op->flags & RAISES_VM) raise_vm(w, done);
  if (op->flags & RAISES_LGKM) raise_lgkm(w, done, op->kind == SCALAR_LOAD);
}

/* Issues the wave's next instruction now. */
static void issue(Unit *u, Wave *w, const TimingOp *op, uint32_t index, uint64_t now) {
  Work *work = u->work;
  if (now > w->mark) work->stall[(uint64_t)index * REASONS + w->reason] += now - w->mark;
  if (w->issued) w->issued[w->at] = (uint32_t)now, w->why[w->at] = now > w->mark ? (uint8_t)w->reason : REASONS;
  work->executed[index]++, work->held[index] += op->issue, work->instructions++;
  if (op->port != NO_PORT) u->port_free[w->simd][op->port] = now + op->port_clk;
  w->at++, w->ready = w->mark = now + op->issue, w->reason = TURN;
  execute(u, w, op, index, now);
  if (op->kind == BARRIER) release(u, &u->slot[w->slot], now);
  if (op->kind == END || w->at == w->stream->length) end_wave(u, w, now);
}

/* One issue slot of a SIMD; gives when to look again. */
static uint64_t slot_of(Unit *u, uint32_t simd, uint64_t now) {
  uint32_t order[SIMD_WAVES], count = u->waves[simd];
  for (uint32_t i = 0; i < count; i++) order[i] = u->order[simd][i];
  uint64_t next = NEVER * 2ull;
  for (uint32_t i = 0; i < count; i++) {
    Wave *w = &u->wave[order[i]];
    if (w->waiting) continue;
    if (w->ready > now) {
      if (w->ready < next) next = w->ready;
      continue;
    }
    uint32_t index = w->stream->ops[w->at], reason = w->reason;
    const TimingOp *op = &u->work->ops[index];
    uint64_t at = earliest(u, w, op, now, &reason);
    if (at <= now) {
      issue(u, w, op, index, now);
      if (w->live && !w->waiting && w->ready < next) next = w->ready;
      continue;
    }
    if (now > w->mark) u->work->stall[(uint64_t)index * REASONS + w->reason] += now - w->mark, w->mark = now;
    w->reason = reason;
    if (at < next) next = at;
  }
  return next;
}

/* The SIMDs by who has been without a shared queue longest: he gets the place that comes free. */
static void by_turn(const Unit *u, uint32_t *simds) {
  for (uint32_t i = 0; i < SIMDS; i++) simds[i] = i;
  for (uint32_t i = 1; i < SIMDS; i++)
    for (uint32_t j = i; j && u->served[simds[j]] < u->served[simds[j - 1]]; j--) {
      uint32_t swap = simds[j];
      simds[j] = simds[j - 1], simds[j - 1] = swap;
    }
}

/* Runs the work; gives 0, or 1 where the clk limit was reached or the waves wait for ever. `unit` is zeroed memory of
 * `cu_bytes`. */
int32_t cu_run(Work *work, Unit *u) {
  u->work = work, u->machine = work->machine;
  uint32_t slots = (uint32_t)work->slots;
  for (uint32_t i = 0; i < slots; i++) u->slot[i].first = i * (uint32_t)work->waves;
  for (uint32_t i = 0; i < slots; i++) start_group(u, &u->slot[i], 0);
  uint64_t now = 0;
  while (u->finished < work->groups) {
    uint64_t soonest = NEVER * 2ull;
    uint32_t turn[SIMDS];
    by_turn(u, turn);
    for (uint32_t i = 0; i < SIMDS; i++) {
      uint32_t simd = turn[i];
      if (u->wake[simd] <= now) {
        u->wake[simd] = NEVER * 2ull; /* what issues now may wake it earlier than the waves looked at */
        uint64_t next = slot_of(u, simd, now);
        if (next < u->wake[simd]) u->wake[simd] = next;
      }
    }
    for (uint32_t simd = 0; simd < SIMDS; simd++)
      if (u->wake[simd] < soonest) soonest = u->wake[simd];
    if (u->finished == work->groups) break;
    if (soonest >= NEVER || soonest > work->limit) return 1;
    now = soonest > now ? soonest : now + QUAD;
  }
  work->clk = later(now, u->memory.dirty_free / 256); /* what is written must be out of the L2s */
  return 0;
}

uint64_t cu_bytes(void) { return sizeof(Unit); }
