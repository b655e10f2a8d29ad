/* Checked mode: waves of all workgroups that are ordered by atomics in memory. What had completed when a wave changed a
 * counter or a lock comes before what another one does once it has waited for the result of its own atomic there. Atomics
 * of one lane count as such; wider ones are sums. Caches are not modelled. */
#include "checked_memory.h"

void check_atomic(Access *x, uint64_t host) {
  Shared *shared = x->c->shared;
  Watched *me = &x->c->wave[x->w->id];
  if (x->a->results) {
    me->acquire[me->acquires++ % ACQUIRES] = (Acquire){host, shared->releases, me->issued[VM]};
  }
  if (shared->releases == RELEASES) {
    check_gives_up(x->w, x->a, TOO_MANY_ATOMICS);
    return;
  }
  Release *r = &shared->release[shared->releases++];
  *r = (Release){.host = host, .group = x->group};
  for (uint32_t i = 0; i < x->w->group->launch->waves; i++) r->limit[i] = x->limit[2 * i + VM];
  r->limit[x->w->id] = (me->done[VM] + 1) << 32;
}

int check_is_ordered(const Access *x, uint32_t group, uint64_t cell) {
  const Shared *shared = x->c->shared;
  Watched *me = &x->c->wave[x->w->id];
  if (group == me->ordered_group && CELL_WAVE(cell) == me->ordered_wave && cell < me->ordered_below) return 1;
  for (uint32_t i = 0; shared->releases && i < x->w->group->launch->waves; i++) {
    const Watched *other = &x->c->wave[i];
    uint64_t done = i == x->w->id ? other->done[VM] + 1 : x->limit[2 * i + VM] >> 32;
    for (uint64_t n = 0; n < other->acquires && n < ACQUIRES; n++) {
      const Acquire *a = &other->acquire[n];
      if (a->number >= done) continue;
      for (uint64_t k = a->upto; k-- > 0;) {
        const Release *r = &shared->release[k];
        if (r->group != group || r->host != a->host || cell >= r->limit[CELL_WAVE(cell)]) continue;
        me->ordered_group = group, me->ordered_wave = CELL_WAVE(cell), me->ordered_below = r->limit[CELL_WAVE(cell)];
        return 1;
      }
    }
  }
  return 0;
}
