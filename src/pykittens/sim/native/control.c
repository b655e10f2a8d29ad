/* Control flow: branches, jumps by address, barriers, the end, hardware registers and switches of the program's variant. */
#include "group.h"

/* Places in MODE of what selects a variant: rounding, denormals, DX10_CLAMP, IEEE; FP16_OVFL; GPR_IDX_EN; VSKIP. */
#define FLOAT_BITS 0x008003FFu
#define GPR_INDEX (1u << 27)
#define VSKIP (1u << 28)

#define HANDLER(name) int32_t name(Wave *w, const Op *op)
#define IGNORE_OP (void)op

INLINE uint64_t pair(const Wave *w, uint32_t number) { return w->sgpr[number] | (uint64_t)w->sgpr[number + 1] << 32; }

INLINE void set_pair(Wave *w, uint32_t number, uint64_t value) {
  w->sgpr[number] = (uint32_t)value, w->sgpr[number + 1] = (uint32_t)(value >> 32);
}

INLINE uint64_t field_pair(const Op *op, int at) { return op->f[at] | (uint64_t)op->f[at + 1] << 32; }

static uint32_t variant_key(const Wave *w) {
  uint32_t key = w->mode & (FLOAT_BITS | GPR_INDEX | VSKIP);
  return key & GPR_INDEX ? key | (w->sgpr[M0] & 0xF000) : key;
}

static int32_t ask(Wave *w, uint32_t request, uint64_t value) {
  w->group->request = request, w->group->request_value = value;
  return HOST;
}

int32_t select_variant(Wave *w) {
  uint32_t key = variant_key(w);
  if (key == w->variant) return NEXT;
  w->variant = key;
  const Variant *known = w->group->variant;
  for (uint32_t i = 0; i < VARIANTS && known[i].ops; i++)
    if (known[i].key == key && w->pc < known[i].op_count) {
      w->ops = known[i].ops, w->op_count = known[i].op_count;
      return NEXT;
    }
  return ask(w, WANT_VARIANT, key);
}

int32_t jump(Wave *w, uint64_t target) {
  const Launch *l = w->group->launch;
  uint64_t offset = target - l->code_base;
  if (offset >= l->code_bytes || offset & 3) return fault(w, BAD_JUMP, NONE, target, 4, 0);
  uint32_t index = l->index_of[offset / 4];
  if (index >= w->op_count) return ask(w, WANT_CODE, target); /* NONE too: then it must be decoded first */
  w->pc = index;
  return NEXT;
}

HANDLER(control_nothing) {
  (void)w, IGNORE_OP;
  return NEXT;
}

/* Joins code that was decoded later to what it runs into; it is no instruction. f: the next operation's index */
HANDLER(control_join) {
  w->pc = op->f[0];
  w->count--, w->group->executed--;
  return NEXT;
}

/* Branches have f: the target's index. */
HANDLER(control_branch) {
  w->pc = op->f[0];
  return NEXT;
}

/* A taken branch where f[1], 0 or 1, is the condition's value. */
HANDLER(control_branch_scc) {
  if (w->scc == op->f[1]) w->pc = op->f[0];
  return NEXT;
}

HANDLER(control_branch_vccz) {
  if ((pair(w, VCC) == 0) == op->f[1]) w->pc = op->f[0];
  return NEXT;
}

HANDLER(control_branch_exec) {
  if ((pair(w, EXEC) != 0) == op->f[1]) w->pc = op->f[0];
  return NEXT;
}

/* f: target's index, destination, byte address of the next instruction (2) */
HANDLER(control_call) {
  set_pair(w, op->f[1], field_pair(op, 2));
  w->pc = op->f[0];
  return NEXT;
}

/* f: destination, byte address of the next instruction (2) */
HANDLER(control_getpc) {
  set_pair(w, op->f[0], field_pair(op, 1));
  return NEXT;
}

/* f: source */
HANDLER(control_setpc) { return jump(w, pair(w, op->f[0])); }

/* f: destination, source, byte address of the next instruction (2) */
HANDLER(control_swappc) {
  uint64_t target = pair(w, op->f[1]);
  set_pair(w, op->f[0], field_pair(op, 2));
  return jump(w, target);
}

HANDLER(control_end) {
  IGNORE_OP;
  land(w, 0, 0);
  return ENDED;
}

HANDLER(control_barrier) {
  (void)w, IGNORE_OP;
  return BARRIER;
}

HANDLER(control_sleep) {
  (void)w, IGNORE_OP;
  return YIELD;
}

/* f: vmcnt, lgkmcnt; counts above what can be outstanding wait for nothing */
HANDLER(control_wait) {
  if (w->pending) land(w, op->f[0], op->f[1]);
  return NEXT;
}

/* f: the code, a number for the report */
HANDLER(control_fault) { return fault(w, op->f[0], NONE, op->f[1], 0, 0); }

/* Runs an operation that may change what selects the variant. f: the operation (2) */
HANDLER(control_switch) {
  IGNORE_OP;
  const Op *inner = (const Op *)(uintptr_t)field_pair(op, 0);
  int32_t event = inner->handler(w, inner);
  return event == NEXT ? select_variant(w) : event;
}

/* What the hardware registers read as: the true value where it matters to a program, else a plausible one that is the
 * same in every run. Numbers and places: LLVM's AMDGPU hardware registers, ISA manual. */
static uint32_t hardware_register(const Wave *w, uint32_t number) {
  const Group *g = w->group;
  const Launch *l = g->launch;
  uint64_t exec = pair(w, EXEC), vcc = pair(w, VCC);
  switch (number) {
    case 1: return w->mode;
    case 2: /* STATUS: SCC 0, EXECZ 9, VCCZ 10, IN_TG 11, VALID 16 */
      return w->scc | (exec == 0) << 9 | (vcc == 0) << 10 | (l->waves > 1) << 11 | 1u << 16;
    case 4: /* HW_ID: WAVE_ID 3:0, SIMD_ID 5:4, CU_ID 11:8, SE_ID 15:13 */
      return w->id / 4 | (w->id % 4) << 4 | (uint32_t)(g->id % 10) << 8 | (uint32_t)(g->id / 10 % 4) << 13;
    case 5: return (l->rows + 7) / 8 - 1 > 63 ? 63u << 8 : ((l->rows + 7) / 8 - 1) << 8; /* GPR_ALLOC: VGPR_SIZE */
    case 6: return (l->lds_bytes / 512) << 12;                                             /* LDS_ALLOC: LDS_SIZE */
    case 15: return (uint32_t)(SHARED_BASE >> 48) << 16 | (uint32_t)(PRIVATE_BASE >> 48);  /* SH_MEM_BASES */
    case 20: return (uint32_t)(g->id % 8);                                                 /* XCC_ID: round robin */
    default: return 0;
  }
}

/* f: destination, register number, first bit, width in bits */
HANDLER(control_getreg) {
  uint64_t value = hardware_register(w, op->f[1]) >> op->f[2];
  w->sgpr[op->f[0]] = (uint32_t)(value & ((1ull << op->f[3]) - 1));
  return NEXT;
}

/* f: value (an SGPR's number, or the number itself if f[4]), register number, first bit, width; only MODE matters */
HANDLER(control_setreg) {
  if (op->f[1] != 1) return NEXT;
  uint32_t value = op->f[4] ? op->f[0] : w->sgpr[op->f[0]];
  uint32_t mask = (uint32_t)(((1ull << op->f[3]) - 1) << op->f[2]);
  w->mode = (w->mode & ~mask) | (value << op->f[2] & mask);
  return select_variant(w);
}

/* M0 is added to the source's or the destination's number. f: destination, source, dwords, constant (2) if source is NONE */
static int32_t move(Wave *w, const Op *op, uint32_t destination, uint32_t source) {
  uint32_t dwords = op->f[2];
  if (destination + dwords > 128 || (op->f[1] != NONE && source + dwords > 128))
    return fault(w, ILLEGAL, NONE, destination, 0, 0);
  uint64_t value = op->f[1] == NONE ? field_pair(op, 3) : dwords == 2 ? pair(w, source) : w->sgpr[source];
  if (dwords == 2) set_pair(w, destination, value);
  else w->sgpr[destination] = (uint32_t)value;
  return NEXT;
}

HANDLER(control_move_relative_source) {
  if (w->sgpr[M0] > 127) return fault(w, ILLEGAL, NONE, w->sgpr[M0], 0, 0);
  return move(w, op, op->f[0], op->f[1] + w->sgpr[M0]);
}

HANDLER(control_move_relative_destination) {
  if (w->sgpr[M0] > 127) return fault(w, ILLEGAL, NONE, w->sgpr[M0], 0, 0);
  return move(w, op, op->f[0] + w->sgpr[M0], op->f[1]);
}
