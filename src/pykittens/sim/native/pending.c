/* Late landing: memory operations run at issue, and their results are set aside until a wait forces them.
 *
 * Vector memory and LDS results land in the order of issue, each for its own counter; scalar and FLAT ones in any
 * order, so that a wait forces them only where it would under every order. FLAT must be forced by both counters. */
#include "pending.h"

#include "regions.h"

enum { MAX_PENDING = 80, MAX_VMCNT = 63, MAX_LGKMCNT = 15 };
/* What waits: an operation that counts, without a result; vector registers; scalar registers; LDS. */
enum Kind { NO_RESULT, VECTOR, SCALAR, TO_LDS };
/* Which counters an entry is in. */
enum { IN_VM = 1, IN_LGKM = 2, ANY_ORDER = 4 };

typedef struct Entry {
  uint32_t kind, in, weight;   /* weight: what it adds to its counters */
  uint32_t first, count, bits; /* registers, and the bits of each that change; LDS: first byte and bytes a lane */
  uint64_t exec;
  uint32_t data[4 * LANES];
} Entry;

struct Pending {
  uint32_t length;
  Entry entry[MAX_PENDING];
};

uint64_t pending_bytes(void) { return sizeof(Pending); }

Pending *pending_of(Group *g, uint32_t wave) {
  Pending *queue = (Pending *)((uint8_t *)g->pending + wave * sizeof(Pending));
  queue->length = 0;
  return queue;
}

INLINE uint32_t pitch_of(uint32_t bytes) { return bytes > 4 ? 16 : 4; }

/* Copies between an entry and the registers or LDS that it is about. */
static void save(Wave *w, const Entry *e, uint32_t *to) {
  if (e->kind == VECTOR) {
    __builtin_memcpy(to, w->vgpr[e->first], e->count * sizeof w->vgpr[0]);
  } else if (e->kind == SCALAR) {
    __builtin_memcpy(to, &w->sgpr[e->first], e->count * 4);
  } else if (e->kind == TO_LDS) {
    EACH_LANE(lane, e->exec) {
      uint64_t at = (uint64_t)e->first + lane * pitch_of(e->count);
      if (at + e->count <= w->group->launch->lds_bytes) __builtin_memcpy(to + 4 * lane, w->group->lds + at, e->count);
    }
  }
}

static void put(Wave *w, const Entry *e, const uint32_t *from) {
  if (e->kind == VECTOR) {
    for (uint32_t i = 0; i < e->count; i++)
      EACH_LANE(lane, e->exec) {
        uint32_t *at = &w->vgpr[e->first + i][lane];
        *at = (*at & ~e->bits) | (from[i * LANES + lane] & e->bits);
      }
  } else if (e->kind == SCALAR) {
    __builtin_memcpy(&w->sgpr[e->first], from, e->count * 4);
  } else if (e->kind == TO_LDS) {
    EACH_LANE(lane, e->exec) {
      uint64_t at = (uint64_t)e->first + lane * pitch_of(e->count);
      if (at + e->count <= w->group->launch->lds_bytes) __builtin_memcpy(w->group->lds + at, from + 4 * lane, e->count);
    }
  }
}

static uint32_t outstanding(const Pending *queue, uint32_t counter) {
  uint32_t total = 0;
  for (uint32_t i = 0; i < queue->length; i++)
    if (queue->entry[i].in & counter) total += queue->entry[i].weight;
  return total;
}

/* Takes the counter from the entries that have certainly finished once at most `left` are outstanding: those that would
 * have to finish even if all that may overtake them did. */
static void force(Pending *queue, uint32_t counter, uint32_t left) {
  uint32_t total = outstanding(queue, counter), unordered = 0, before = 0;
  if (total <= left) return;
  for (uint32_t i = 0; i < queue->length; i++)
    if (queue->entry[i].in & counter && queue->entry[i].in & ANY_ORDER) unordered += queue->entry[i].weight;
  for (uint32_t i = 0; i < queue->length; i++) {
    Entry *e = &queue->entry[i];
    if (!(e->in & counter)) continue;
    int any = e->in & ANY_ORDER;
    uint32_t overtaking = any ? total - e->weight : before + unordered;
    if (!any) before += e->weight;
    if (total - left > overtaking) e->in &= ~counter;
  }
}

void land(Wave *w, uint32_t vmcnt, uint32_t lgkmcnt) {
  Pending *queue = w->pending;
  if (!queue) return;
  force(queue, IN_VM, vmcnt);
  force(queue, IN_LGKM, lgkmcnt);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < queue->length; i++) {
    const Entry *e = &queue->entry[i];
    if (!(e->in & (IN_VM | IN_LGKM))) put(w, e, e->data);
    else if (kept++ != i) queue->entry[kept - 1] = *e;
  }
  queue->length = kept;
}

/* Runs an operation and sets its result aside. f: the operation (2), kind, counters, weight, first, count, bits. `first`
 * of LDS is the constant that M0 is added to. */
int32_t late(Wave *w, const Op *op) {
  Pending *queue = w->pending;
  const Op *inner = (const Op *)(uintptr_t)(op->f[0] | (uint64_t)op->f[1] << 32);
  if (outstanding(queue, IN_VM) >= MAX_VMCNT) land(w, MAX_VMCNT - 1, NONE);
  if (outstanding(queue, IN_LGKM) >= MAX_LGKMCNT) land(w, NONE, MAX_LGKMCNT - 1);
  if (queue->length == MAX_PENDING) land(w, 0, 0);
  Entry *e = &queue->entry[queue->length];
  e->kind = op->f[2], e->in = op->f[3], e->weight = op->f[4], e->first = op->f[5], e->count = op->f[6], e->bits = op->f[7];
  e->exec = exec_mask(w);
  if (e->kind == TO_LDS) e->first += w->sgpr[M0] & 0x3FFFF;
  uint32_t before[4 * LANES];
  save(w, e, before);
  int32_t event = inner->handler(w, inner);
  if (event != NEXT) return event;
  save(w, e, e->data);
  put(w, e, before);
  queue->length++;
  return NEXT;
}
