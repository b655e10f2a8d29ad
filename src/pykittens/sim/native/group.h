/* A launch, a workgroup and the memory they see: what the run loop and the memory routines share with Python. */
#ifndef PYKITTENS_GROUP_H
#define PYKITTENS_GROUP_H

#include "vectors.h"
#include "wave.h"

enum { MAX_WAVES = 16, VARIANTS = 16, NONE = 0xFFFFFFFF };

/* Where the parts of a workgroup's address space lie for FLAT instructions, as the Linux driver places them. */
#define SHARED_BASE (1ull << 48)
#define PRIVATE_BASE (2ull << 48)
#define APERTURE_BYTES (1ull << 32)

enum RegionFlag { READ_ONLY = 1 };

/* Owned device memory: addresses base..base+size-1 are host..host+size-1. Sorted by base, disjoint. */
typedef struct Region {
  uint64_t base, size;
  uint8_t *host;
  uint32_t flags, unused;
} Region;

/* Why a launch stopped; `faults.py` words them. */
enum Code {
  WILD = 1, READ_ONLY_MEMORY, MISALIGNED, PRIVATE_RANGE, ILLEGAL, TRAP, END_OF_CODE, BUDGET, BAD_JUMP, HALT,
  PARTIAL_EXEC, SHARED_RANGE, NOT_SIMULATED,
};

typedef struct FaultRecord {
  uint32_t code, wave, op, lane; /* lane NONE: the whole wave */
  uint64_t address;
  uint32_t bytes, purpose; /* Purpose of regions.h */
} FaultRecord;

/* The operations of one variant of the program: what `key` of the wave's state selects. */
typedef struct Variant {
  uint32_t key, op_count;
  const Op *ops;
} Variant;

enum Request { NO_REQUEST = 0, WANT_VARIANT, WANT_CODE };

/* Shared by all threads of a launch. Python fills it in; only `next`, `limit` and `stop` change. */
typedef struct Launch {
  const Region *regions;
  uint64_t region_count;
  uint64_t groups;         /* how many in the grid */
  uint64_t next;           /* the next one to run (atomic) */
  uint64_t limit;          /* groups from here on are not wanted any more: a fault happened (atomic) */
  uint64_t max_count;      /* instructions that one wave may execute */
  uint64_t seed;           /* of the random order */
  uint64_t code_base, code_bytes;
  const uint32_t *index_of; /* per dword of the code: index of the operation there, or NONE */
  const uint32_t *turns;    /* pairs of wave and instructions, in which the waves go first */
  uint64_t scratch_base;    /* device address that the first wave's scratch seems to have */
  uint32_t stop;            /* non-zero: stop as soon as possible (atomic) */
  uint32_t grid[3], block[3];
  uint32_t waves, turn, random, slice, late, turn_count; /* slice: rounds after which Python is asked */
  uint32_t lds_bytes, private_bytes, entry, rows; /* rows: VGPRs to fill at start */
  uint32_t fill, mode, variant, id_dimensions;
  uint32_t group_id_sgpr[4]; /* where x, y, z and the info word go; NONE: nowhere */
  uint32_t sgpr[128];        /* what every wave starts with */
} Launch;

enum Counters { LDS_OUT_OF_RANGE, LDS_MISALIGNED, BUFFER_OUT_OF_RANGE, DIVERGENT_BARRIERS, ENDED_AT_BARRIER, COUNTERS };

/* One workgroup at a time; one per thread. */
struct Group {
  Launch *launch;
  Wave *wave;     /* the waves, side by side */
  uint8_t *lds;
  uint8_t *scratch; /* the waves' private memory, one after the other */
  uint8_t *seen;    /* per operation: 1 once executed */
  const Region *hit;  /* where the last accesses went */
  Variant variant[VARIANTS];
  uint64_t id;       /* number in the grid */
  uint64_t executed; /* instructions, all groups so far */
  uint64_t random;   /* state of the random order */
  uint64_t counter[COUNTERS];
  FaultRecord fault;
  uint64_t request_value;
  uint32_t request, running; /* Request; whether a workgroup is under way */
  uint32_t coordinate[3];
  uint32_t cursor, left;     /* the wave whose turn it is and what is left of the turn */
  uint32_t waiting, ended;   /* waves at the barrier, waves that are done */
  uint32_t rounds;           /* until the slice is over */
  uint32_t asking;           /* the wave whose request it is */
  uint32_t position;         /* in the launch's list of turns */
  Pending *pending;          /* one queue per wave, or null */
  Checker *checker;          /* what checked operations know of the workgroup, or null */
};

/* Records why the wave stops; gives FAULT. */
int32_t fault(Wave *w, uint32_t code, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t purpose);
/* Selects the operations for the wave's state; HOST where Python has to make them first. */
int32_t select_variant(Wave *w);
/* Continues at a byte address; HOST where it is not decoded yet. */
int32_t jump(Wave *w, uint64_t target);
/* Lets results land until at most this many loads and stores, and LDS and scalar operations, are outstanding. */
void land(Wave *w, uint32_t vmcnt, uint32_t lgkmcnt);

#endif
