/* Records what waves execute: each operation's index and, for memory instructions, the registers that address it. */
#include "regions.h"

typedef struct MemoryRecord {
  uint64_t step, active, order;
  uint32_t m0, soffset, base[4], rows[2][LANES];
} MemoryRecord;

/* Of one wave. Counts go on when the arrays are full. Python lays it out too. */
typedef struct Recorder {
  uint32_t *ops;
  MemoryRecord *memory;
  uint64_t capacity, count, memory_capacity, memory_count;
  uint64_t limit;    /* instructions after which the wave ends */
  uint64_t order;    /* of the first wave's: how many memory instructions there were in the workgroup */
  uint64_t one_loop; /* 1: it also ends where a loop turns in which a vector or LDS access was its last one */
  uint64_t last;     /* index of the last vector or LDS access, plus 1; 0: none so far */
} Recorder;

/* Fields of an operation: around which operation (2), the first wave's recorder (2), index, and for a memory instruction
 * 1 (scalar) or 2, its address registers' first row and count, its base's first SGPR and count, its scalar offset's SGPR. */
enum Field { INNER = 0, RECORDERS = 2, INDEX = 4, MEMORY = 5, ROW = 6, ROWS = 7, BASE = 8, BASES = 9, SOFFSET = 10 };
enum { VECTOR = 2 };

static void record_memory(const Wave *w, const Op *op, Recorder *r, uint64_t order) {
  uint64_t n = r->memory_count++;
  if (n >= r->memory_capacity) return;
  MemoryRecord *m = &r->memory[n];
  m->step = r->count, m->active = exec_mask(w), m->order = order, m->m0 = w->sgpr[M0];
  m->soffset = op->f[SOFFSET] == NONE ? 0 : w->sgpr[op->f[SOFFSET]];
  for (uint32_t i = 0; i < 4; i++) m->base[i] = i < op->f[BASES] ? w->sgpr[op->f[BASE] + i] : 0;
  for (uint32_t i = 0; i < op->f[ROWS]; i++) __builtin_memcpy(m->rows[i], w->vgpr[op->f[ROW] + i], sizeof m->rows[i]);
}

int32_t traced(Wave *w, const Op *op) {
  const Op *inner = (const Op *)(uintptr_t)(op->f[INNER] | (uint64_t)op->f[INNER + 1] << 32);
  Recorder *first = (Recorder *)(uintptr_t)(op->f[RECORDERS] | (uint64_t)op->f[RECORDERS + 1] << 32), *r = first + w->id;
  if (op->f[MEMORY]) record_memory(w, op, r, first->order++);
  if (op->f[MEMORY] == VECTOR) r->last = op->f[INDEX] + 1;
  if (r->count < r->capacity) r->ops[r->count] = op->f[INDEX];
  r->count++;
  int32_t event = inner->handler(w, inner);
  if (event != NEXT && event != BARRIER) return event;
  int back = r->one_loop && w->pc <= op->f[INDEX] && r->last > w->pc;
  return back || r->count >= r->limit ? ENDED : event;
}
