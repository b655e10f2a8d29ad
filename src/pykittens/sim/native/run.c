/* The run loop: gives the waves of a workgroup their turns, and takes one workgroup after the other. */
#include "pending.h"

void *memset(void *, int, __SIZE_TYPE__);

/* Why `run` came back to Python. */
enum Outcome { DONE = 0, SLICE = 1, ASKED = 2, FAILED = 3, STOPPED = 4 };

/* Floats behave as IEEE says while a launch runs, whatever the host program has set up. */
INLINE uint64_t default_float_state(void) {
#if defined(__x86_64__)
  uint32_t before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(0x1F80);
  return before;
#elif defined(__aarch64__)
  uint64_t before;
  __asm__ volatile("mrs %0, fpcr\n\tmsr fpcr, xzr" : "=r"(before));
  return before;
#else
  return 0;
#endif
}

INLINE void restore_float_state(uint64_t state) {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr((uint32_t)state);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(state));
#else
  (void)state;
#endif
}

int32_t fault(Wave *w, uint32_t code, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t purpose) {
  w->group->fault = (FaultRecord){code, w->id, w->pc - 1, lane, address, bytes, purpose};
  return FAULT;
}

/* A multiplicative hash over a counter (SplitMix64): the same numbers everywhere, for the random order only. */
static uint64_t next_random(Group *g) {
  uint64_t z = (g->random += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

static void start_wave(Group *g, uint32_t number) {
  const Launch *l = g->launch;
  Wave *w = &g->wave[number];
  const uint32_t *block = l->block;
  for (int i = 0; i < 128; i++) w->sgpr[i] = l->sgpr[i];
  for (int i = 0; i < 3; i++)
    if (l->group_id_sgpr[i] != NONE) w->sgpr[l->group_id_sgpr[i]] = g->coordinate[i];
  if (l->group_id_sgpr[3] != NONE) w->sgpr[l->group_id_sgpr[3]] = l->waves | (number == 0 ? 1u << 31 : 0);
  uint32_t items = block[0] * block[1] * block[2], first = number * LANES;
  w->lanes = items - first < LANES ? items - first : LANES;
  uint64_t exec = w->lanes == LANES ? ~0ull : (1ull << w->lanes) - 1;
  w->sgpr[EXEC] = (uint32_t)exec, w->sgpr[EXEC + 1] = (uint32_t)(exec >> 32);
  memset(w->vgpr, (int)(l->fill & 0xFF), (uint64_t)l->rows * LANES * 4);
  uint32_t x = first % block[0], y = first / block[0] % block[1], z = first / block[0] / block[1];
  for (uint32_t lane = 0; lane < LANES; lane++) {
    w->vgpr[0][lane] = x | (l->id_dimensions > 1 ? y << 10 : 0) | (l->id_dimensions > 2 ? z << 20 : 0);
    if (++x == block[0]) x = 0, y++;
    if (y == block[1]) y = 0, z++;
  }
  w->scc = 0, w->mode = l->mode, w->pc = l->entry, w->status = NEXT, w->count = 0, w->group = g, w->id = number;
  w->private_bytes = l->private_bytes;
  w->private_memory = g->scratch + (uint64_t)number * l->private_bytes * LANES;
  w->scratch = l->scratch_base + (uint64_t)number * l->private_bytes * LANES;
  w->sgpr[102] = (uint32_t)w->scratch, w->sgpr[103] = (uint32_t)(w->scratch >> 32);
  w->ops = g->variant[0].ops, w->op_count = g->variant[0].op_count;
  w->variant = l->variant;
  w->pending = l->late ? pending_of(g, number) : 0;
}

static void start_group(Group *g, uint64_t id) {
  const Launch *l = g->launch;
  g->id = id;
  g->coordinate[0] = (uint32_t)(id % l->grid[0]);
  g->coordinate[1] = (uint32_t)(id / l->grid[0] % l->grid[1]);
  g->coordinate[2] = (uint32_t)(id / l->grid[0] / l->grid[1]);
  g->random = l->seed ^ (id * 0xD1342543DE82EF95ull);
  memset(g->lds, (int)(l->fill & 0xFF), l->lds_bytes);
  memset(g->scratch, (int)(l->fill & 0xFF), (uint64_t)l->waves * l->private_bytes * LANES);
  for (uint32_t i = 0; i < l->waves; i++) start_wave(g, i);
  g->position = 0;
  g->cursor = 0, g->left = 0, g->waiting = 0, g->ended = 0, g->running = 1;
}

/* Runs until the turn is over or something happens; `g->left` is what remains of the turn. */
static int32_t turn(Group *g, Wave *w) {
  uint8_t *seen = g->seen;
  uint32_t budget = g->left, left = budget;
  int32_t event;
  do {
    uint32_t pc = w->pc;
    const Op *op = &w->ops[pc];
    w->pc = pc + 1;
    seen[pc] = 1;
    g->left = --left;
    event = op->handler(w, op);
  } while (event == NEXT && left);
  w->count += budget - left;
  g->executed += budget - left;
  return event;
}

/* Everybody who has not ended has arrived: all go on. Ended waves count as arrived, as in hardware. */
static void release(Group *g) {
  const Launch *l = g->launch;
  uint32_t place = NONE, divergent = 0;
  for (uint32_t i = 0; i < l->waves; i++) {
    Wave *w = &g->wave[i];
    if (w->status != BARRIER) continue;
    w->status = NEXT;
    if (place == NONE) place = w->barrier;
    if (w->barrier != place) divergent = w->barrier;
  }
  if (divergent) g->counter[DIVERGENT_BARRIERS]++;
  if (g->ended) g->counter[ENDED_AT_BARRIER]++;
  g->waiting = 0;
}

/* Lets the current wave run and books what came of it. NEXT: go on with the next wave. */
static int32_t one_turn(Group *g, Wave *w) {
  const Launch *l = g->launch;
  int32_t event = turn(g, w);
  if (event == HOST) {
    g->asking = w->id;
    return HOST;
  }
  g->left = 0;
  if (event == BARRIER) {
    w->status = BARRIER, w->barrier = w->pc - 1, g->waiting++;
  } else if (event == ENDED) {
    w->status = ENDED, g->ended++;
  } else if (event == FAULT) {
    return FAULT;
  }
  if (g->waiting && g->waiting + g->ended == l->waves) release(g);
  if (w->count >= l->max_count && event != ENDED) {
    fault(w, BUDGET, NONE, 0, 0, 0);
    g->fault.op = w->pc; /* where it would go on; what it executed last may have been a branch, even to the entry */
    return FAULT;
  }
  return NEXT;
}

static Wave *random_wave(Group *g) {
  uint32_t ready = 0, chosen = 0;
  for (uint32_t i = 0; i < g->launch->waves; i++) ready += g->wave[i].status == NEXT;
  uint32_t pick = (uint32_t)(next_random(g) % ready);
  for (uint32_t i = 0; i < g->launch->waves; i++)
    if (g->wave[i].status == NEXT && pick-- == 0) chosen = i;
  g->cursor = chosen;
  g->left = 1 + (uint32_t)(next_random(g) % g->launch->turn);
  return &g->wave[chosen];
}

/* Gives the waves the turns that the launch lists; NEXT when the list is over. A wave that cannot go on loses its turn. */
static int32_t listed_turns(Group *g) {
  Launch *l = g->launch;
  while (g->left || g->position < l->turn_count) {
    if (!g->left) {
      const uint32_t *entry = &l->turns[2 * g->position++];
      if (g->wave[entry[0]].status != NEXT) continue;
      g->cursor = entry[0], g->left = entry[1];
    }
    int32_t event = one_turn(g, &g->wave[g->cursor]);
    if (event != NEXT) return event;
    if (__atomic_load_n(&l->stop, __ATOMIC_RELAXED) || __atomic_load_n(&l->limit, __ATOMIC_RELAXED) < g->id) return YIELD;
    if (--g->rounds == 0) return YIELD;
  }
  g->position = l->turn_count + 1;
  g->cursor = 0;
  return NEXT;
}

/* Runs the workgroup: NEXT when it is done, else HOST, FAULT or YIELD (a slice is over, or somebody said stop). */
static int32_t run_group(Group *g) {
  Launch *l = g->launch;
  uint32_t waves = l->waves;
  while (g->ended < waves) {
    if (l->turn_count && g->position <= l->turn_count) {
      int32_t event = listed_turns(g);
      if (event != NEXT) return event;
    } else if (l->random) {
      Wave *w = g->left ? &g->wave[g->cursor] : random_wave(g);
      int32_t event = one_turn(g, w);
      if (event != NEXT) return event;
    } else {
      for (; g->cursor < waves; g->cursor++) {
        Wave *w = &g->wave[g->cursor];
        if (w->status != NEXT) continue;
        if (!g->left) g->left = l->turn;
        int32_t event = one_turn(g, w);
        if (event == HOST && !g->left) g->cursor++; /* turns are the same whether Python was asked or not */
        if (event != NEXT) return event;
      }
      g->cursor = 0;
    }
    if (__atomic_load_n(&l->stop, __ATOMIC_RELAXED) || __atomic_load_n(&l->limit, __ATOMIC_RELAXED) < g->id) return YIELD;
    if (--g->rounds == 0) return YIELD;
  }
  return NEXT;
}

/* The lowest workgroup that fails decides what is reported: those above it are not needed any more. */
static void lower_limit(Launch *l, uint64_t id) {
  uint64_t old = __atomic_load_n(&l->limit, __ATOMIC_RELAXED);
  while (id < old && !__atomic_compare_exchange_n(&l->limit, &old, id, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

static int32_t run_groups(Group *g) {
  Launch *l = g->launch;
  g->rounds = l->slice;
  for (;;) {
    if (__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) return STOPPED;
    if (!g->running) {
      uint64_t id = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED);
      if (id >= l->groups || id >= __atomic_load_n(&l->limit, __ATOMIC_RELAXED)) return DONE;
      start_group(g, id);
    }
    int32_t event = run_group(g);
    if (event == NEXT) {
      g->running = 0;
    } else if (event == HOST) {
      return ASKED;
    } else if (event == FAULT) {
      lower_limit(l, g->id);
      return FAILED;
    } else if (__atomic_load_n(&l->limit, __ATOMIC_RELAXED) < g->id) {
      return DONE;
    } else if (g->rounds == 0) {
      return SLICE;
    }
  }
}

/* Runs workgroups of a launch on this thread until there are none left or Python is needed. */
int32_t run(Group *g) {
  uint64_t state = default_float_state();
  int32_t outcome = run_groups(g);
  restore_float_state(state);
  return outcome;
}

/* The layout as this compiler sees it; Python compares it with its own. */
void layout(uint64_t *sizes) {
  sizes[0] = sizeof(Wave), sizes[1] = sizeof(Op), sizes[2] = sizeof(Region), sizes[3] = sizeof(Launch);
  sizes[4] = sizeof(Group), sizes[5] = sizeof(Variant), sizes[6] = sizeof(FaultRecord), sizes[7] = pending_bytes();
}
