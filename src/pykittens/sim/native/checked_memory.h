/* Checked mode: one access to memory that workgroups share, as the parts of the checker see it. */
#ifndef PYKITTENS_CHECKED_MEMORY_H
#define PYKITTENS_CHECKED_MEMORY_H

#include "checked.h"

/* One access of a wave as it goes over lanes. */
typedef struct Access {
  Wave *w;
  const Watch *a;
  Checker *c;
  const uint64_t *limit;
  const Shadow *base; /* the buffer that the base address is in, if it is in one */
  uint64_t stamp, reader;
  uint32_t writes, atomic, group, lane, same;
  uint32_t extent;  /* bytes a lane, or of a scalar access */
  uint32_t recorded; /* whether it read memory that kernels can write */
} Access;

/* The memory that a host address is in, or null: the kernel's arguments, LDS and scratch are in none. */
Shadow *check_shadow(Checker *c, uint64_t host);
/* Races of an access to these bytes with those of other waves and workgroups; remembers it. */
void check_races(Access *x, Shadow *s, uint64_t at, uint32_t bytes);
/* Keeps what the lanes of a load read, for later writes of other waves. */
void check_keep_read(Access *x, const uint64_t *host, uint64_t lanes);
/* Atomics order workgroups: remembers one; whether what another workgroup's cell says comes before this access. */
void check_atomic(Access *x, uint64_t host);
int check_is_ordered(const Access *x, uint32_t group, uint64_t cell);
/* Which of the data that it moves is undefined, between registers, memory and LDS. */
void check_vector_data(Access *x, const Lanes *at);
void check_scalar_data(Access *x, const uint64_t *host, uint32_t dwords);
/* The host address of `bytes` bytes at a device address, or null. */
uint8_t *check_host(Wave *w, uint64_t address, uint32_t bytes);

#endif
