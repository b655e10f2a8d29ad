/* Results that have not landed: registers and LDS keep their old content until a wait forces the new one. */
#ifndef PYKITTENS_PENDING_H
#define PYKITTENS_PENDING_H

#include "group.h"

/* The queue of one wave, and how many bytes it takes. */
Pending *pending_of(Group *g, uint32_t wave);
uint64_t pending_bytes(void);

#endif
