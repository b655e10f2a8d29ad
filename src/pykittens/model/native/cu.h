/* One compute unit as the cycle model sees it: what Python hands over and what each part remembers. Times are in engine
 * clocks; a wave issues at multiples of 4. */
#ifndef PYKITTENS_CU_H
#define PYKITTENS_CU_H

#include <stdint.h>

enum { SIMDS = 4, SIMD_WAVES = 8, CU_WAVES = SIMDS * SIMD_WAVES, QUAD = 4, NEVER = 0x7FFFFFFF, FLAGS = 64 };

/* What an instruction is to the issue logic. */
enum Kind {
  SCALAR, VECTOR, TRANSCENDENTAL, PACKED, MATRIX, LDS, LOAD, STORE, SCALAR_LOAD, BRANCH, WAIT, BARRIER, IDLE, PRIORITY, END,
};

enum Port { NO_PORT, VECTOR_PORT, MEMORY_PORT, SCALAR_PORT, SCALAR_MEMORY_PORT, PORTS };

/* Why a wave did not issue; Python has the names. */
enum Reason {
  TURN, MATRIX_PIPE, MATRIX_SOURCES, PORT_BUSY, LDS_QUEUE, VMEM_QUEUE, WAIT_VMEM, WAIT_LDS, WAIT_SCALAR, AT_BARRIER,
  COUNTER_FULL, AT_FLAG, REASONS,
};

enum OpFlag { RAISES_VM = 1, RAISES_LGKM = 2, TO_LDS = 4, GIVES_DATA = 8, POLLS = 16, THREE_SOURCES = 32 };

/* An instruction of the program. */
typedef struct TimingOp {
  uint32_t kind, port, flags;
  uint32_t issue;      /* clk from its issue to the wave's next chance */
  uint32_t port_clk;   /* clk that its port is taken */
  uint32_t pipe_clk;   /* MATRIX: clk on the matrix core */
  uint32_t first_alu;  /* MATRIX: clk until this wave's next vector instruction */
  uint32_t first_packed; /* MATRIX: clk until this wave's next packed f32 or dot product */
  uint32_t first_lds;  /* MATRIX: clk until this wave's next LDS instruction */
  uint32_t first_write; /* MATRIX: clk until this wave's next LDS instruction that hands data over */
  uint32_t bus_clk;    /* LDS: clk on the bus of a pair of SIMDs */
  uint32_t latency;    /* LDS: from the end of its service to the data */
  uint32_t value;      /* PRIORITY: the priority; WAIT: vmcnt | lgkmcnt << 8; POLLS: clk of a turn of its loop */
} TimingOp;

/* What one execution of a memory instruction costs. LDS: passes; in `lines` the number of the flag that it posts or polls
 * plus 1, in `l1_clk` and `latency`, low half first, the posts that a poll waits for. Load: lines of 128 bytes from beyond
 * the L1, clk in the L1, LDS passes of its data. Store: parts of lines, 64 bytes each; in `passes`, lines that no store had
 * touched before. Scalar load: latency. */
typedef struct Cost {
  uint16_t passes, lines, l1_clk, latency;
} Cost;

/* One wave's way through the program. Costs are those of its memory instructions, in order. */
typedef struct Stream {
  const uint32_t *ops;
  const Cost *costs;
  uint64_t length;
} Stream;

typedef struct Machine {
  uint32_t lds_queue, lds_gap;          /* entries of a pair's queue; clk between two LDS instructions of a wave */
  uint32_t vmem_queue, l1_in_flight;    /* entries; bytes */
  uint32_t l1_latency, l2_latency, load_latency; /* of what the L1 has; of stores; of other loads, on average */
  uint32_t l2_miss, llc_miss;           /* of 65536 */
  uint32_t l2_line, llc_line, hbm_line, write_line; /* 1/256 clk that a line (a stored part) takes of this CU's share */
  uint32_t hbm_write_line, dirty_clk;   /* as they; clk of writes to the HBM that wait in the L2 before stores do */
  uint32_t barrier_clk, start_gap;      /* clk from the last arrival; from a workgroup's end to the next one's start */
  uint32_t max_vm, max_lgkm;
} Machine;

/* What to run: `groups` workgroups one after the other in `slots` places; group g's wave i follows stream
 * (g % patterns) * waves + i. */
typedef struct Work {
  const Machine *machine;
  const TimingOp *ops;
  const Stream *streams;
  uint64_t patterns, waves, groups, slots, op_count;
  uint32_t **issued;   /* per stream of the first `patterns` groups: when each instruction issued; may be null */
  uint8_t **reason;    /* and the last reason why it waited */
  uint64_t *stall;     /* [op][REASONS] wave-clk */
  uint64_t *held;      /* [op] wave-clk from its issue to the wave's next chance */
  uint64_t *executed;  /* [op] */
  uint64_t *started, *ended; /* [group] */
  uint64_t matrix_busy[SIMDS], vector_busy[SIMDS];
  uint64_t lds_busy, bus_busy, l1_busy, l2_lines, llc_lines, hbm_lines, write_lines, conflict_clk, clk, instructions;
  uint64_t limit;      /* clk after which the simulation gives up */
} Work;

#endif
