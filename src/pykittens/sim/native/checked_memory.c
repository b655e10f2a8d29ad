/* Checked mode: where accesses to memory go, accesses beside the buffers, and LDS that is reached through FLAT. */
#include "buffer_format.h"
#include "checked_memory.h"

Shadow *check_shadow(Checker *c, uint64_t host) {
  uint64_t low = 0, high = c->shadows;
  while (low < high) { /* the first one that begins above it */
    uint64_t middle = (low + high) / 2;
    if (c->shadow[middle].host <= host) low = middle + 1;
    else high = middle;
  }
  if (!low || host - c->shadow[low - 1].host >= c->shadow[low - 1].size) return 0;
  return &c->shadow[low - 1];
}

uint8_t *check_host(Wave *w, uint64_t address, uint32_t bytes) {
  const Region *r = find_region(w->group, address, bytes);
  return r ? r->host + (address - r->base) : 0;
}

static void touch(Access *x, uint64_t host, uint32_t bytes) {
  Shadow *s = check_shadow(x->c, host);
  if (!s) return;
  uint64_t at = host - s->host;
  if (s->beside) {
    check_event(x->w, OUTSIDE_BUFFERS, x->a->index, NONE, x->lane, s->base + at, bytes);
    return;
  }
  if (x->base && x->base != s) check_event(x->w, OTHER_BUFFER, x->a->index, NONE, x->lane, s->base + at, bytes);
  if (s->writer && at + bytes <= s->size) check_races(x, s, at, bytes); /* else memory that nobody can write */
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

/* The dwords in range of lanes that are partly out of it. */
static void cut_lanes(Access *x, const Lanes *at) {
  uint32_t step = x->extent < 4 ? x->extent : 4;
  x->same = 0;
  EACH_LANE(lane, at->cut) {
    x->lane = (uint32_t)lane;
    for (uint32_t done = 0; done < at->in_range[lane]; done += step) {
      uint8_t *host = check_host(x->w, at->address[lane] + done, step);
      if (host) touch(x, (uint64_t)(uintptr_t)host, step);
    }
  }
}

static const Shadow *base_of(Wave *w, uint64_t address) {
  const uint8_t *host = check_host(w, address, 1);
  return host ? check_shadow(w->group->checker, (uint64_t)(uintptr_t)host) : 0;
}

/* The lanes that lead to LDS. */
static uint64_t lanes_in_lds(const Wave *w, const Lanes *at) {
  uint64_t lds = (uint64_t)(uintptr_t)w->group->lds, size = w->group->launch->lds_bytes, found = 0;
  EACH_LANE(lane, at->whole) found |= (uint64_t)(at->pointer[lane] - lds < size) << lane;
  return found;
}

static int32_t reach(const Access *x, Lanes *at) {
  uint32_t purpose = x->atomic ? ATOMIC : x->writes ? STORE : LOAD;
  switch (x->a->space) {
    case BUFFER_SPACE: return buffer_lanes(x->w, &x->a->access, x->extent, purpose, at);
    case GLOBAL_SPACE: return global_lanes(x->w, &x->a->access, x->extent, purpose, at);
    case FLAT_SPACE: return flat_lanes(x->w, &x->a->access, x->extent, purpose, at);
    default: return scratch_lanes(x->w, &x->a->access, x->extent, purpose, at);
  }
}

static int32_t vector(Access *x) {
  Wave *w = x->w;
  const Watch *a = x->a;
  if (a->format) x->extent = format_bytes(w, &a->access, !x->writes);
  Lanes at;
  if (!x->extent) { /* a format without data */
    at.whole = at.cut = 0;
    check_vector_data(x, &at);
    return NEXT;
  }
  uint64_t out_of_range = w->group->counter[BUFFER_OUT_OF_RANGE];
  if (reach(x, &at) != NEXT) return FAULT;
  w->group->counter[BUFFER_OUT_OF_RANGE] = out_of_range; /* the operation itself counts it */
  uint64_t in_lds = a->space == FLAT_SPACE ? lanes_in_lds(w, &at) : 0;
  if (in_lds && in_lds == at.whole) {
    check_flat_lds(w, a, &at);
    return NEXT;
  }
  if (in_lds) check_gives_up(w, a, FLAT_TO_LDS);
  if (a->space != SCRATCH_SPACE) {
    if (a->space != FLAT_SPACE && a->access.f[BASE] != NONE) {
      uint64_t base = scalar_pair(w, a->access.f[BASE]);
      x->base = base_of(w, a->space == BUFFER_SPACE ? base & 0xFFFFFFFFFFFFull : base);
    }
    EACH_LANE(lane, at.whole) {
      x->lane = (uint32_t)lane;
      x->same = x->writes && !x->atomic && !a->format && holds(w, a, x->lane, at.pointer[lane]);
      touch(x, at.pointer[lane], x->extent);
    }
    if (at.cut) cut_lanes(x, &at);
    if (x->atomic && at.whole && !(at.whole & (at.whole - 1))) check_atomic(x, at.pointer[x->lane]);
    if (x->recorded) check_keep_read(x, at.pointer, at.whole);
  }
  if (a->role == LOADS_TO_LDS)
    for (uint32_t lane = 0; lane < LANES; lane++)
      x->c->source[lane] = at.whole >> lane & 1 ? at.pointer[lane] : 0;
  check_vector_data(x, &at);
  return NEXT;
}

/* f: see scalar_memory.c */
static void scalar(Access *x) {
  Wave *w = x->w;
  const uint32_t *f = x->a->access.f, *word = &w->sgpr[f[1]];
  uint64_t offset = (uint64_t)(int64_t)(int32_t)f[3] + (f[2] == NONE ? 0 : (uint64_t)w->sgpr[f[2]] * f[5]);
  uint64_t base = scalar_pair(w, f[1]), records = ~0ull, stride = word[1] >> 16 & 0x3FFF, host[LANES] = {0};
  if (x->a->space == SCALAR_BUFFER) base &= 0xFFFFFFFFFFFCull, records = stride ? stride * word[2] : word[2], offset &= ~3ull;
  x->base = base_of(w, base);
  for (uint32_t i = 0; i < x->extent; i += 4) {
    if (offset + i >= records) continue;
    host[i / 4] = (uint64_t)(uintptr_t)check_host(w, (base + offset + i) & ~3ull, 4);
    if (host[i / 4]) touch(x, host[i / 4], 4);
  }
  if (x->recorded) check_keep_read(x, host, (1ull << x->extent / 4) - 1);
  check_scalar_data(x, host, x->extent / 4);
}

int32_t check_memory(Wave *w, const Watch *a) {
  Checker *c = w->group->checker;
  Access x = {.w = w, .a = a, .c = c, .limit = check_limits(w, VM), .group = (uint32_t)w->group->id + 1, .lane = NONE};
  x.extent = a->extent;
  x.atomic = a->role == ATOMIC_MEMORY || a->role == SCALAR_ATOMIC;
  x.writes = x.atomic || a->role == STORES || a->role == SCALAR_STORES;
  x.reader = (uint64_t)x.group << 32 | CELL(0, 0, w->id, VM, a->index);
  x.stamp = CELL(c->wave[w->id].issued[VM], x.atomic, w->id, VM, a->index);
  if (a->space < SCALAR_SPACE) return vector(&x);
  scalar(&x);
  return NEXT;
}
