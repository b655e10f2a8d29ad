/* The state of a wave and the operations of a translated program: the contract between C routines and generated code. */
#ifndef PYKITTENS_WAVE_H
#define PYKITTENS_WAVE_H

#include <stdint.h>

enum { LANES = 64, VECTOR_ROWS = 512, VCC = 106, M0 = 124, EXEC = 126 };

/* What an operation returns: NEXT, or why the wave's turn ends. */
enum Event { NEXT = 0, ENDED = 1, BARRIER = 2, YIELD = 3, FAULT = 4, HOST = 5 };

typedef struct Group Group;
typedef struct Op Op;
typedef struct Pending Pending;
typedef struct Checker Checker;

/* Offsets are fixed and tested from Python: generated code addresses these fields by number. */
typedef struct Wave {
  uint32_t sgpr[128]; /* 0: by scalar operand number, VCC, M0, EXEC and trap registers included */
  uint32_t scc;       /* 512: 0 or 1 */
  uint32_t mode;      /* 516: the MODE register */
  uint32_t pc;        /* 520: index of the next operation in the program */
  uint32_t status;    /* 524: last event of this wave */
  uint64_t count;     /* 528: instructions executed */
  Group *group;       /* 536: the workgroup */
  uint32_t id;        /* 544: wave number in the workgroup */
  uint32_t lanes;     /* 548: work-items in this wave at launch */
  uint64_t scratch;   /* 552: device address of this wave's scratch; one lane's after the other's */
  const Op *ops;      /* 560: the operations of the variant in force */
  uint32_t op_count;  /* 568: how many; indices at or above it are not in this array */
  uint32_t barrier;   /* 572: index of the barrier it waits at */
  uint8_t *private_memory;  /* 576: host memory behind `scratch` */
  uint64_t private_bytes;   /* 584: of it, per lane */
  Pending *pending;         /* 592: results that have not landed; null when results land at issue */
  uint32_t variant;         /* 600: key of the variant in force */
  uint8_t reserved[1024 - 604];
  uint32_t vgpr[VECTOR_ROWS][LANES] __attribute__((aligned(64))); /* 1024: v0.., a0 is row accum_offset */
} Wave;

typedef int32_t (*Handler)(Wave *, const Op *);

/* One translated instruction, 64 bytes. The meaning of `f` belongs to the handler: register rows, SGPR numbers, constants. */
struct Op {
  Handler handler;
  uint32_t f[14];
};

#endif
