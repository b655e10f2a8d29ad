/* Checked mode: the order that LDS atomics bring about between waves, as flags and counters in LDS are used for it.
 *
 * An atomic hands on what its wave knows to have completed: all that it has waited for itself, and what came to it so. An
 * atomic that returns what was there learns, once it has been waited for, what the atomics before it on that dword have
 * handed on; one that returns the old value and leaves it as it was only learns. Plain reads learn nothing. */
#include "checked.h"

static uint32_t find(const Flags *f, uint32_t at) {
  for (uint32_t i = 0; i < f->count; i++)
    if (f->at[i] == at) return i;
  return NONE;
}

void check_told(uint64_t *known, const uint64_t *more) {
  for (uint32_t i = 0; i < 2 * MAX_WAVES; i++)
    if (more[i] > known[i]) known[i] = more[i];
}

/* With no room for another dword its atomics order nothing, as if they were plain. */
static void hand_on(Wave *w, Flags *f, uint32_t at) {
  uint32_t i = find(f, at);
  if (i == NONE) {
    if (f->count == FLAG_DWORDS) return;
    i = (uint32_t)f->count++, f->at[i] = at;
    for (uint32_t k = 0; k < 2 * MAX_WAVES; k++) f->known[i][k] = 0;
  }
  check_told(f->known[i], check_limits(w, CLASSES));
}

int32_t check_flag(Wave *w, const Watch *a) {
  Flags *f = &w->group->checker->flags;
  const uint8_t *lds = w->group->lds;
  uint32_t size = w->group->launch->lds_bytes, at[LANES], before[LANES];
  if (a->row == NONE || a->pieces != 1 || a->m0) return a->inner->handler(w, a->inner);
  uint64_t inside = 0, lanes = exec_mask(w);
  EACH_LANE(lane, lanes) {
    at[lane] = a->offset[0] + w->vgpr[a->row][lane];
    if (size < 4 || at[lane] > size - 4) continue;
    inside |= 1ull << lane, before[lane] = *(const u32_any *)(lds + at[lane]);
    uint32_t i = a->results ? find(f, at[lane]) : NONE;
    if (i == NONE) continue;
    check_told(f->coming[w->id], f->known[i]);
    f->number[w->id] = w->group->checker->wave[w->id].issued[DS];
  }
  int32_t event = a->inner->handler(w, a->inner);
  EACH_LANE(lane, inside)
  if (!a->results || before[lane] != *(const u32_any *)(lds + at[lane])) hand_on(w, f, at[lane]);
  return event;
}

void check_flags_settled(Checker *c, Watched *me, uint32_t wave) {
  Flags *f = &c->flags;
  if (!f->number[wave] || me->done[DS] < f->number[wave]) return;
  check_told(f->acquired[wave], f->coming[wave]);
  f->number[wave] = 0, me->limits_of = NONE;
}
