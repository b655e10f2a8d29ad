/* Checked mode: what is remembered beside a workgroup while its operations run, to tell what no order of them may hide.
 *
 * Time is counted per wave: an access has a sequence number in its class, the waits say which numbers have completed,
 * and the barriers that a wave has arrived at are its epoch. An access comes before another wave's if it had completed
 * when its wave arrived at the last barrier that the other wave has passed. That does not depend on the turns that
 * waves happen to take here. */
#ifndef PYKITTENS_CHECKED_H
#define PYKITTENS_CHECKED_H

#include "lanes.h"

enum { MASK_WORDS = 11, SCALAR_BIT = 512, SCC_BIT = 640, HISTORY = 4, EVENTS = 1024, OUTSTANDING = 160, READS = 1024,
       RELEASES = 65536, ACQUIRES = 16 };

enum { NO_LANE = 0xFF };
/* Of an origin: a register that nobody wrote; memory that holds undefined data, but has been written. */
#define NEVER_WRITTEN 0x40000000u
#define CARRIED 0x20000000u
/* What the flag of a byte of memory says. */
enum Defined { DEFINED = 0, NOBODY_WROTE = 1, HOLDS_UNDEFINED = 2 };
/* Which lanes an instruction of arithmetic writes whole. */
enum Exact { SOMETHING = 0, ACTIVE_LANES = 1, ALL_LANES = 2 };

/* Classes of accesses that complete in order among themselves: the LDS instructions, vector memory. Scalar memory is
 * counted beside them and known to be complete only when all of it is. */
enum Class { DS = 0, VM = 1, CLASSES = 2, SCALAR_MEMORY = 2, COUNTED = 3, FLAT_MEMORY = 3 };

/* What an operation is to the checker. Python writes it. */
enum Role {
  PLAIN, ARITHMETIC, WAITS, ARRIVES, ENDS, BRANCHES, LDS_LOADS, LDS_STORES, LDS_ATOMIC, LOADS_TO_LDS, LOADS, STORES,
  ATOMIC_MEMORY, SCALAR_LOADS, SCALAR_STORES, PERMUTES, READS_LANE, SCALAR_ATOMIC,
  GIVES_UP,
};

/* Where an access to memory goes. */
enum Space { NO_SPACE, LDS_SPACE, BUFFER_SPACE, GLOBAL_SPACE, FLAT_SPACE, SCRATCH_SPACE, SCALAR_SPACE, SCALAR_BUFFER };

/* One operation of a checked program. Masks: effects.mask_of in Python. */
typedef struct Watch {
  const Op *inner;  /* what it does */
  Op access;        /* fields as the memory routines take them; the handler is not called */
  uint64_t reads[MASK_WORDS], writes[MASK_WORDS];
  uint64_t address[MASK_WORDS]; /* of the registers read, those that decide where an access goes */
  uint32_t index, role, space, in; /* in: Class whose numbers it takes, or CLASSES for none */
  uint32_t bytes, pieces, offset[2], row, m0;  /* LDS: bytes a piece at row + offset; m0: added to it */
  uint32_t pitch, single;       /* bytes from lane to lane, where row is NONE; single: one access a wave */
  uint32_t data[2], halves;     /* first row of each piece's data; halves: bits of a 16-bit access, 1 low, 2 high */
  uint32_t first_result, results; /* bits of the result */
  uint32_t vmcnt, lgkmcnt;
  uint32_t exact;               /* it writes all bits of its destinations in the lanes of EXEC */
  uint32_t extent, transpose;   /* bytes a lane of an access to memory; bits an element of a transposing LDS read */
  uint32_t format, swaps;       /* elements are converted by a format; an atomic that keeps nothing of the old value */
  uint8_t lanes[LANES];         /* for LANE_TABLE: the lane that each lane reads, or NO_LANE */
} Watch;

/* A result that has not been waited for. */
typedef struct Due {
  uint64_t number;
  uint32_t in, op, first, count, vm_seen, ds_seen;
} Due;

/* A wave's read of memory that kernels can write: where its lanes read, 0 for those that did not. */
typedef struct Read {
  uint64_t number;
  uint32_t in, op, bytes;
  uint64_t host[LANES];
} Read;

/* An atomic by which a workgroup lets others go on: what its waves had completed by then (cells below come before it). */
typedef struct Release {
  uint64_t host;
  uint32_t group, unused; /* workgroup + 1 */
  uint64_t limit[MAX_WAVES];
} Release;

/* An atomic whose result a wave waits for: it comes after the releases at this address among the first `upto`. */
typedef struct Acquire {
  uint64_t host, upto, number;
} Acquire;

/* What all workgroups of a launch share. */
typedef struct Shared {
  uint64_t tainted; /* whether some byte of device memory may be undefined */
  uint64_t releases;
  Release release[RELEASES];
} Shared;

/* What is known of a wave. Numbers grow through all workgroups of a launch, so that old cells need no clearing. */
typedef struct Watched {
  uint64_t issued[COUNTED], done[COUNTED], start[COUNTED];
  uint64_t arrived_done[HISTORY][COUNTED], arrived_issued[HISTORY][COUNTED];
  uint64_t limit[2 * MAX_WAVES]; /* cells below it come before this wave's next access */
  uint64_t last_read;            /* number of the last LDS read */
  uint64_t pending[MASK_WORDS], undefined[MASK_WORDS];
  uint64_t placed[MASK_WORDS]; /* rows that may hold scalars, one a lane (checked_lanes.c) */
  uint32_t epoch, ended, limits_of, barrier_op[HISTORY];
  uint32_t due_count;
  Due due[OUTSTANDING];
  uint32_t scalar_undefined[129]; /* bits of s0.., then SCC */
  uint32_t origin[VECTOR_ROWS + 129]; /* where undefined bits come from: NEVER_WRITTEN and a register, or an operation */
  uint32_t (*vector_undefined)[LANES];
  uint64_t reads; /* how many it has made of memory that kernels can write; the last READS of them are kept */
  Read *read;
  uint64_t acquires; /* the last ACQUIRES of them are kept */
  Acquire acquire[ACQUIRES];
  uint32_t ordered_group, ordered_wave; /* whose cells below `ordered_below` are known to come before this wave */
  uint64_t ordered_below;
} Watched;

/* How an instruction names the lane that it reads: the first active one; by a scalar; by a constant; each its own. And
 * that it writes a lane whether that is active or not, or each lane of one source to its own. */
enum LaneName { LANE_FIRST = 1, LANE_SCALAR, LANE_CONSTANT, LANE_TABLE, LANE_WRITTEN, LANE_COPIED };

/* What happened, each kind once for each pair of operations. Python words it. */
enum EventKind {
  NO_EVENT, LDS_READ_AFTER_WRITE, LDS_WRITE_AFTER_READ, LDS_WRITE_AFTER_WRITE, LDS_SAME_VALUE, OWN_READ_AFTER_WRITE,
  OWN_WRITE_AFTER_READ, OWN_WRITE_AFTER_WRITE, REGISTER_NOT_WAITED, REGISTER_OVERWRITTEN, BARRIERS_DIFFER,
  BARRIER_MISSED, LDS_OUTSIDE, GLOBAL_READ_AFTER_WRITE, GLOBAL_WRITE_AFTER_READ, GLOBAL_WRITE_AFTER_WRITE,
  GLOBAL_SAME_VALUE, GROUPS_READ_AFTER_WRITE, GROUPS_WRITE_AFTER_READ, GROUPS_WRITE_AFTER_WRITE, GROUPS_SAME_VALUE,
  UNDEFINED_STORE, UNDEFINED_BRANCH, UNDEFINED_ADDRESS, UNDEFINED_EXEC, OUTSIDE_BUFFERS, OTHER_BUFFER, INACTIVE_LANE,
  NOT_CHECKED,
};

/* Why something is not checked: the `address` of such an event. */
enum Unchecked { FLAT_TO_LDS = 1, TOO_MANY_READS = 2, TOO_MANY_EVENTS = 3, TOO_MANY_ATOMICS = 4, DISCARDS = 5 };

typedef struct Event_ {
  uint64_t address, group, other_group, times;
  uint32_t kind, op, wave, lane, bytes;
  uint32_t before_op, before_wave, unfinished; /* unfinished: the earlier one had begun before the last barrier */
} CheckEvent;

/* Device memory by host address, sorted. Cells exist for each byte; none for memory that kernels cannot write. */
typedef struct Shadow {
  uint64_t host, size, base;   /* base: device address */
  uint64_t *writer;            /* stamp of the last write */
  uint32_t *writer_group;      /* workgroup + 1 of the last write, REWRITTEN if there were others */
  uint64_t *reader;            /* workgroup + 1 of the reads, MANY_GROUPS for several, then SEVERAL_WAVES, wave and
                                * operation of the last */
  uint64_t *block_reader;      /* the same for every 16 bytes that were read whole */
  uint8_t *undefined;          /* for each byte one of Defined */
  uint32_t written, beside;    /* whether anything was written; whether it is the space beside buffers */
} Shadow;

#define MANY_GROUPS 0xFFFFFFFFu
#define REWRITTEN 0x80000000u
#define SEVERAL_WAVES (1ull << 30)

/* What LDS atomics put in order (checked_flags.c), as limits of cells like Watched.limit: `known` by dword `at`; `coming`
 * to a wave with its DS instruction `number`, and `acquired` by it. */
enum { FLAG_DWORDS = 64 };
typedef struct Flags {
  uint64_t count, at[FLAG_DWORDS], known[FLAG_DWORDS][2 * MAX_WAVES];
  uint64_t number[MAX_WAVES], coming[MAX_WAVES][2 * MAX_WAVES], acquired[MAX_WAVES][2 * MAX_WAVES];
} Flags;

struct Checker {
  uint64_t *writer;        /* per dword of LDS: stamp of the last write */
  uint64_t *reader;        /* [wave][dword]: stamp of the last read */
  uint64_t *byte_writer, *byte_reader; /* the same by byte, for dwords that are split */
  uint64_t *atomic;        /* [wave][dword]: stamp of the last atomic */
  uint8_t *split;          /* per dword: 1 if its bytes have cells of their own */
  uint8_t *lds_undefined;  /* for each byte one of Defined */
  uint8_t *scratch_undefined; /* the same for the waves' scratch */
  Read *read;              /* [wave][READS] */
  uint32_t (*vector_undefined)[LANES]; /* of all waves */
  Shadow *shadow;
  const uint8_t *undefined_scalar; /* [128]: 1 for what no wave starts with */
  CheckEvent *event;
  uint64_t shadows, group, atomics, event_count, lds_dwords;
  uint64_t apart; /* whether waves have met at different barriers */
  Shared *shared;
  uint64_t source[LANES]; /* host addresses of what the lanes of a copy to LDS read; 0: zeros */
  uint8_t carried[LANES][16]; /* of what a copy to LDS reads, for each byte one of Defined; where `carries` says so */
  uint64_t carries;
  Flags flags;
  Watched wave[MAX_WAVES];
};

/* A cell: the access's number, whether it is atomic, its wave and class, the operation. */
#define CELL(number, atomic, wave, in, op) \
  ((uint64_t)(number) << 32 | (uint64_t)(atomic) << 29 | (uint64_t)(wave) << 25 | (uint64_t)(in) << 24 | (op))
#define CELL_INDEX(cell) ((uint32_t)((cell) >> 24) & 31)
#define CELL_WAVE(cell) ((uint32_t)((cell) >> 25) & 15)
#define CELL_CLASS(cell) ((uint32_t)((cell) >> 24) & 1)
#define CELL_OP(cell) ((uint32_t)(cell) & 0xFFFFFF)
#define CELL_ATOMIC(cell) ((uint32_t)((cell) >> 29) & 1)
#define CELL_NUMBER(cell) ((cell) >> 32)

/* Books an event; gives the entry if it is new. */
CheckEvent *check_event(Wave *w, uint32_t kind, uint32_t op, uint32_t before_op, uint32_t lane, uint64_t address,
                        uint32_t bytes);
/* Limits of this wave for the epoch it is in; `in` is the class of the access it is about to make. */
const uint64_t *check_limits(Wave *w, uint32_t in);
/* Whether the access of a cell had at least been issued before the last barrier that this wave passed. */
uint32_t check_was_issued(Wave *w, uint64_t cell);
/* Where the pieces of an LDS access are, for the lanes that are active and inside. */
typedef struct LdsPlaces {
  uint32_t at[2][LANES];
  uint64_t inside[2];
} LdsPlaces;

/* Something that is not checked, and why (Unchecked). */
void check_gives_up(Wave *w, const Watch *a, uint32_t why);
/* What wave `other` had completed, or with `issued` begun, when it arrived at the last barrier that `me` passed. */
uint64_t check_at_barrier(const Watched *me, const Watched *other, uint32_t in, int issued);
/* Does an LDS atomic, with the order that it brings about; then, when a wave has waited: what has come to it. */
int32_t check_flag(Wave *w, const Watch *a);
void check_told(uint64_t *known, const uint64_t *more);
void check_flags_settled(Checker *c, Watched *me, uint32_t wave);

/* Before an operation on LDS, and on other memory: of a copy to LDS the latter first. */
void check_lds(Wave *w, const Watch *a);
/* The same for a FLAT access whose lanes all lead to LDS. */
void check_flat_lds(Wave *w, const Watch *a, const Lanes *at);
/* Which of the data that it moves is undefined, between registers and LDS. */
void check_lds_data(Wave *w, const Watch *a, const LdsPlaces *at);
int32_t check_memory(Wave *w, const Watch *a);
/* Undefined registers: what a wave starts with; arithmetic, run here, on some of them; what other operations do to them. */
void check_begin_registers(Checker *c, Group *g, uint32_t number);
int32_t check_arithmetic(Wave *w, const Watch *a);
void check_operands(Wave *w, const Watch *a);
/* Books undefined data that decides something or leaves; `bit` is the register. */
void check_undefined(Wave *w, const Watch *a, uint32_t kind, uint32_t bit, uint32_t lane, uint64_t address);
/* Puts the undefined bits of a scalar (128: SCC), and brings the flag of a row up to date with its bits. */
void check_define_scalar(Watched *me, uint32_t number, uint32_t undefined);
void check_define_row(Watched *me, uint32_t row);
/* The undefined bytes of a lane's data in registers from a row on, one bit a byte. */
uint32_t check_data_bytes(const Watched *me, uint32_t row, uint32_t lane, uint32_t bytes, uint32_t halves);
/* Whether any of these bits is undefined in any of the lanes; which lane. */
int check_row(const Watched *me, uint32_t row, uint64_t lanes, uint32_t bits, uint32_t *which);
/* The first register of a set with something undefined (in these lanes), or NONE. */
uint32_t check_first_undefined(const Watched *me, const uint64_t *mask, uint64_t lanes, uint32_t *lane);
/* Whether an instruction reads a row that holds scalars in its lanes. */
int check_holds_scalars(const Watched *me, const Watch *a);
/* Values taken from lanes that are not active. */
void check_lanes(Wave *w, const Watch *a);
uint32_t check_origin(const Watched *me, uint32_t bit);
void check_load_result(Wave *w, const Watch *a, const uint32_t (*bits)[LANES], uint32_t origin);

/* Arrays of undefined bits of a load's result, a row for each register. */
enum { MOST_ROWS = 4 };
typedef uint32_t Bits[MOST_ROWS][LANES];

#endif
