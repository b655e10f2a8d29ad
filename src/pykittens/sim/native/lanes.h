/* Where the lanes of a vector memory instruction reach, whatever its address space. */
#ifndef PYKITTENS_LANES_H
#define PYKITTENS_LANES_H

#include "gather.h"

/* Fields of an operation on buffer, global, flat and scratch memory. */
enum Field {
  DATA = 0,     /* row of the data: destination of a load, source of a store or atomic */
  VADDR = 1,    /* first row of the address, or NONE */
  BASE = 2,     /* SGPR of the descriptor (buffer) or of the base address, or NONE */
  SOFFSET = 3,  /* SGPR of the buffer's scalar offset, or NONE: */
  CONSTANT = 4, /* the scalar offset itself */
  OFFSET = 5,   /* the instruction's own offset in bytes, two's complement */
  FLAGS = 6,
  RETURN = 7,   /* row where an atomic's old value goes, or NONE */
};
/* More of an atomic: the operation (atomic.h), and the second operand's row (the value to compare with, …). */
enum AtomicField { OPERATION = 8, SECOND = 9 };
enum Flag { IDXEN = 1, OFFEN = 2 };

typedef struct Lanes {
  _Alignas(64) uint64_t pointer[LANES]; /* host addresses; of lanes without memory the substitute's */
  uint64_t whole;                       /* active lanes that are in range */
  uint64_t cut;                         /* active lanes of which only the first dwords are in range */
  uint8_t in_range[LANES];              /* bytes, of lanes in `cut` */
  uint64_t address[LANES];              /* device addresses, of lanes in `cut` */
  uint8_t spill[LANES][16];             /* what lanes in `cut` load */
  uint8_t substitute[16];               /* zeros to load; a sink for stores */
} Lanes;

typedef int32_t (*Reach)(Wave *, const Op *, uint32_t bytes, uint32_t purpose, Lanes *);

int32_t buffer_lanes(Wave *w, const Op *op, uint32_t bytes, uint32_t purpose, Lanes *at);
int32_t global_lanes(Wave *w, const Op *op, uint32_t bytes, uint32_t purpose, Lanes *at);
int32_t flat_lanes(Wave *w, const Op *op, uint32_t bytes, uint32_t purpose, Lanes *at);
int32_t scratch_lanes(Wave *w, const Op *op, uint32_t bytes, uint32_t purpose, Lanes *at);

/* Points the lanes outside `whole` to the substitute. */
INLINE void substitute(Lanes *at) {
  if (at->whole == ~0ull) return;
  *(u32x4_any *)at->substitute = (u32x4){};
  uint64_t instead = (uint64_t)(uintptr_t)at->substitute;
  pointer_part *part = (pointer_part *)at->pointer;
  for (int i = 0; i < 8; i++) {
    u64x8 on = lanes8(at->whole >> (8 * i));
    part[i] = (part[i] & on) | (instead & ~on);
  }
}

#endif
