/* Checked mode: undefined bytes of memory, and what loads, stores, atomics and copies carry between them and the
 * registers. A store of undefined data is told, and what it leaves behind is followed on; scratch is a wave's own, so
 * that nothing is told there. */
#include "buffer_format.h"
#include "checked_memory.h"

enum { MOST_BYTES = 16 };

/* The flags of the bytes from a host address on, or null where all is defined for ever. */
static uint8_t *flags_of(Access *x, uint64_t host, uint32_t bytes) {
  const Group *g = x->w->group;
  uint64_t scratch = host - (uint64_t)(uintptr_t)g->scratch;
  uint64_t size = (uint64_t)g->launch->waves * g->launch->private_bytes * LANES;
  if (scratch < size) return x->c->scratch_undefined + scratch;
  Shadow *s = check_shadow(x->c, host);
  return s && s->undefined && host - s->host + bytes <= s->size ? s->undefined + (host - s->host) : 0;
}

static int is_scratch(const Access *x, uint64_t host) {
  const Group *g = x->w->group;
  return host - (uint64_t)(uintptr_t)g->scratch < (uint64_t)g->launch->waves * g->launch->private_bytes * LANES;
}

/* The flags of what an active lane reaches, byte by byte; DEFINED for what is in no memory. */
static int lane_flags(Access *x, const Lanes *at, uint32_t lane, uint8_t *flags) {
  uint32_t any = 0;
  __builtin_memset(flags, DEFINED, MOST_BYTES);
  if (at->whole >> lane & 1) {
    const uint8_t *from = flags_of(x, at->pointer[lane], x->extent);
    for (uint32_t i = 0; from && i < x->extent; i++) any |= flags[i] = from[i];
  } else if (at->cut >> lane & 1) {
    for (uint32_t i = 0; i < at->in_range[lane]; i++) {
      const uint8_t *host = check_host(x->w, at->address[lane] + i, 1);
      const uint8_t *from = host ? flags_of(x, (uint64_t)(uintptr_t)host, 1) : 0;
      if (from) any |= flags[i] = *from;
    }
  }
  return (int)any;
}

static void put_flags(Access *x, const Lanes *at, uint32_t lane, const uint8_t *flags) {
  if (at->whole >> lane & 1) {
    uint8_t *to = flags_of(x, at->pointer[lane], x->extent);
    if (to) __builtin_memcpy(to, flags, x->extent);
    return;
  }
  for (uint32_t i = 0; i < at->in_range[lane]; i++) {
    uint8_t *host = check_host(x->w, at->address[lane] + i, 1);
    uint8_t *to = host ? flags_of(x, (uint64_t)(uintptr_t)host, 1) : 0;
    if (to) *to = flags[i];
  }
}

/* -- loads --------------------------------------------------------------------------------------------------- */
static void load_bits(const Access *x, uint32_t lane, const uint8_t *flags, Bits bits) {
  const Watch *a = x->a;
  if (a->format) {
    for (uint32_t i = 0; i < a->access.f[COMPONENTS]; i++) {
      uint32_t bytes = format_source(x->w, &a->access, i), unknown = 0, packing = a->access.f[PACKING];
      for (uint32_t b = 0; b < x->extent; b++) unknown |= (bytes >> b & 1) && flags[b];
      if (!unknown) continue;
      if (packing == WHOLE) bits[i][lane] = ~0u;
      else bits[packing == UPPER_HALF ? 0 : i / 2][lane] |= packing == UPPER_HALF || i % 2 ? 0xFFFF0000u : 0x0000FFFFu;
    }
  } else if (x->extent < 4) {
    bits[0][lane] = flags[0] | flags[x->extent - 1] ? ~0u : 0; /* extended, by its sign perhaps */
  } else {
    for (uint32_t i = 0; i < x->extent; i++)
      if (flags[i]) bits[i / 4][lane] |= 0xFFu << (8 * (i % 4));
  }
}

static void loaded(Access *x, const Lanes *at, int clean) {
  Bits bits;
  uint32_t kinds = 0;
  if (!clean) {
    __builtin_memset(bits, 0, sizeof bits);
    EACH_LANE(lane, at->whole | at->cut) {
      uint8_t flags[MOST_BYTES];
      if (!lane_flags(x, at, (uint32_t)lane, flags)) continue;
      for (uint32_t i = 0; i < x->extent; i++) kinds |= flags[i];
      load_bits(x, (uint32_t)lane, flags, bits);
    }
  }
  uint32_t origin = kinds & NOBODY_WROTE ? x->a->index : x->a->index | CARRIED;
  check_load_result(x->w, x->a, kinds ? (const uint32_t(*)[LANES])bits : 0, origin);
}

/* What a copy brings to LDS, which is put there behind this. */
static void copied(Access *x, const Lanes *at, int clean) {
  Checker *c = x->c;
  c->carries = 0;
  if (clean) return;
  EACH_LANE(lane, at->whole | at->cut)
  if (lane_flags(x, at, (uint32_t)lane, c->carried[lane])) c->carries |= 1ull << lane;
}

/* -- stores -------------------------------------------------------------------------------------------------- */
/* The undefined bytes of what a lane stores, one bit a byte; of an element that is converted all or none. */
static uint32_t stored_bytes(const Access *x, uint32_t lane, uint32_t *row) {
  const Watch *a = x->a;
  const Watched *me = &x->c->wave[x->w->id];
  if (!a->format) {
    uint32_t bytes = check_data_bytes(me, a->data[0], lane, x->extent, a->halves);
    if (bytes) *row = a->data[0] + (uint32_t)__builtin_ctz(bytes) / 4;
    return bytes;
  }
  uint32_t packing = a->access.f[PACKING];
  for (uint32_t i = 0; i < a->access.f[COMPONENTS]; i++) {
    if (!format_keeps(x->w, &a->access, i)) break;
    uint32_t used = packing == WHOLE ? ~0u : packing == UPPER_HALF || i % 2 ? 0xFFFF0000u : 0x0000FFFFu;
    *row = a->data[0] + (packing == WHOLE ? i : i / 2);
    if (me->vector_undefined[*row][lane] & used) return (1u << x->extent) - 1;
  }
  return 0;
}

static int data_may_be_undefined(const Access *x) {
  const Watched *me = &x->c->wave[x->w->id];
  for (uint32_t i = 0; i < MOST_ROWS; i++) {
    uint32_t row = x->a->data[0] + i;
    if (row < VECTOR_ROWS && me->undefined[row / 64] >> (row % 64) & 1) return 1;
  }
  return 0;
}

static void stored(Access *x, const Lanes *at, int clean) {
  int may_be = data_may_be_undefined(x), told = 0;
  if (clean && !may_be) return;
  EACH_LANE(lane, at->whole | at->cut) {
    uint32_t row = 0, bytes = may_be ? stored_bytes(x, (uint32_t)lane, &row) : 0;
    if (!(at->whole >> lane & 1)) bytes &= (1u << at->in_range[lane]) - 1;
    if (bytes && !told && !(at->whole >> lane & 1 && is_scratch(x, at->pointer[lane])))
      check_undefined(x->w, x->a, UNDEFINED_STORE, row, (uint32_t)lane, 0), told = 1;
    if (bytes) x->c->shared->tainted = 1;
    uint8_t flags[MOST_BYTES];
    for (uint32_t i = 0; i < x->extent; i++) flags[i] = bytes >> i & 1 ? HOLDS_UNDEFINED : DEFINED;
    put_flags(x, at, (uint32_t)lane, flags);
  }
}

/* -- atomics: they leave memory as undefined as their data, and where they work on the old value as that -------- */
static void updated(Access *x, const Lanes *at, int clean) {
  const Watch *a = x->a;
  const Watched *me = &x->c->wave[x->w->id];
  uint32_t rows = a->access.f[SECOND] == a->access.f[DATA] ? 1 : 2;
  uint8_t next[LANES] = {0};
  int told = 0, told_old = 0;
  EACH_LANE(lane, at->whole) {
    uint32_t unknown = 0, kinds = 0, row = a->data[0];
    uint8_t flags[MOST_BYTES];
    for (uint32_t i = 0; i < rows && !unknown; i++) {
      row = a->data[0] + i * x->extent / 4;
      unknown = check_data_bytes(me, row, (uint32_t)lane, x->extent, 0);
    }
    if (unknown && !told) check_undefined(x->w, a, UNDEFINED_STORE, row, (uint32_t)lane, 0), told = 1;
    if (!clean && !a->swaps && lane_flags(x, at, (uint32_t)lane, flags))
      for (uint32_t i = 0; i < x->extent; i++) kinds |= flags[i];
    if (kinds && !unknown && !told_old) {
      told_old = 1;
      CheckEvent *e = check_event(x->w, UNDEFINED_STORE, a->index, a->index, (uint32_t)lane, 0, 0);
      if (e) e->unfinished = !(kinds & NOBODY_WROTE);
    }
    next[lane] = unknown || kinds ? HOLDS_UNDEFINED : DEFINED;
    if (next[lane]) x->c->shared->tainted = 1;
  }
  loaded(x, at, clean);
  EACH_LANE(lane, at->whole) {
    uint8_t flags[MOST_BYTES];
    __builtin_memset(flags, next[lane], sizeof flags);
    if (!clean || next[lane]) put_flags(x, at, (uint32_t)lane, flags);
  }
}

void check_vector_data(Access *x, const Lanes *at) {
  /* Whether nothing that it could touch is or was undefined. */
  int clean = !x->c->shared->tainted && !x->w->group->launch->private_bytes;
  if (x->a->role == LOADS_TO_LDS) copied(x, at, clean);
  else if (x->atomic) updated(x, at, clean);
  else if (x->writes) stored(x, at, clean);
  else loaded(x, at, clean);
}

/* -- scalar memory ------------------------------------------------------------------------------------------- */
/* host: of each dword, 0 for one that is out of range */
void check_scalar_data(Access *x, const uint64_t *host, uint32_t dwords) {
  const Watch *a = x->a;
  Watched *me = &x->c->wave[x->w->id];
  for (uint32_t i = 0; i < dwords; i++) {
    uint8_t *flags = host[i] ? flags_of(x, host[i], 4) : 0;
    uint32_t unknown = 0, kinds = 0;
    for (uint32_t b = 0; flags && b < 4; b++) unknown |= flags[b] ? 0xFFu << 8 * b : 0, kinds |= flags[b];
    if (x->writes) {
      uint32_t stored = me->scalar_undefined[a->data[0] + i];
      if (stored) check_undefined(x->w, a, UNDEFINED_STORE, SCALAR_BIT + a->data[0] + i, NONE, 0);
      if (x->atomic && !a->swaps) stored |= unknown;
      if (stored) x->c->shared->tainted = 1;
      for (uint32_t b = 0; flags && b < 4; b++) flags[b] = stored >> 8 * b & 0xFF ? HOLDS_UNDEFINED : DEFINED;
    }
    if (i >= a->results) continue;
    uint32_t number = a->first_result - SCALAR_BIT + i;
    check_define_scalar(me, number, unknown);
    if (unknown) me->origin[SCALAR_BIT + number] = kinds & NOBODY_WROTE ? a->index : a->index | CARRIED;
  }
}
