/* Formatted buffer accesses: their fields, and which bytes of an element are whose. */
#ifndef PYKITTENS_BUFFER_FORMAT_H
#define PYKITTENS_BUFFER_FORMAT_H

#include "lanes.h"

/* Fields behind those of lanes.h. */
enum FormatField { COMPONENTS = 7, PACKING = 8, FORMAT = 9 };
enum Packing { WHOLE = 0, HALVES = 1, UPPER_HALF = 2 }; /* a register a component, two in one, or the upper half of one */

/* Bytes of an element; 0 if the format has no data. */
uint32_t format_bytes(const Wave *w, const Op *op, int is_load);
/* Whether a store's component `i` goes to memory. */
int format_keeps(const Wave *w, const Op *op, uint32_t i);
/* The bytes of the element that a load's component `i` comes from, one bit each; 0 for a constant. */
uint32_t format_source(const Wave *w, const Op *op, uint32_t i);

#endif
