/* Checked mode: values that an instruction takes from lanes that are not active. */
#include "checked.h"

/* Compilers keep scalars in the lanes of a row, which they write and read one by one, active or not, and
 * bring such rows to AGPRs or scratch and back with all lanes active. That is no mistake. */
int check_holds_scalars(const Watched *me, const Watch *a) {
  uint64_t rows = 0;
  for (uint32_t i = 0; i < SCALAR_BIT / 64; i++) rows |= a->reads[i] & me->placed[i];
  return rows != 0;
}

/* Fields of a Watch are used here so: row, the lanes' numbers times 4 (permutes); data[0], the row that is read;
 * single, how the lane is named: LANE_SCALAR and LANE_CONSTANT in offset[0], LANE_TABLE in lanes. */
void check_lanes(Wave *w, const Watch *a) {
  uint64_t exec = exec_mask(w);
  if (a->role == PERMUTES && a->single != LANE_TABLE) {
    if (a->row == NONE) return; /* a push: who is not active sends nothing */
    EACH_LANE(lane, exec) {
      uint32_t from = (w->vgpr[a->row][lane] + a->offset[0]) / 4 % LANES;
      if (!(exec >> from & 1)) check_event(w, INACTIVE_LANE, a->index, NONE, (uint32_t)lane, from, 0);
    }
    return;
  }
  if (a->single == LANE_TABLE) {
    EACH_LANE(lane, exec)
    if (a->lanes[lane] != NO_LANE && !(exec >> a->lanes[lane] & 1))
      check_event(w, INACTIVE_LANE, a->index, NONE, (uint32_t)lane, a->lanes[lane], 0);
    return;
  }
  uint32_t from = a->single == LANE_SCALAR ? w->sgpr[a->offset[0]] % LANES : a->offset[0] % LANES;
  if (a->single == LANE_FIRST) {
    if (!exec) check_event(w, INACTIVE_LANE, a->index, NONE, NONE, 0, 0);
  } else if (!(exec >> from & 1) && !check_holds_scalars(&w->group->checker->wave[w->id], a)) {
    check_event(w, INACTIVE_LANE, a->index, NONE, NONE, from, 0);
  }
}
