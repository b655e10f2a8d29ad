/* What an atomic does to one value in memory. */
#ifndef PYKITTENS_ATOMIC_H
#define PYKITTENS_ATOMIC_H

#include <stdint.h>

/* Operations; the binder writes these numbers (memory_handlers.py). */
enum Atomic {
  SWAP, CMPSWAP, ADD, SUB, SMIN, UMIN, SMAX, UMAX, AND, OR, XOR, INC, DEC, RSUB, MSKOR, WRAP, CONDXCHG,
  FLOAT_ADD, FLOAT_MIN, FLOAT_MAX, FLOAT_CMPSWAP, ADD_F16, ADD_BF16,
};

/* The new value for `old`. `bits` is 32 or 64; `second` is the value to compare with, or an operation's second operand. */
uint64_t atomic_result(uint32_t operation, uint32_t bits, uint64_t old, uint64_t value, uint64_t second);

/* Replaces the value in memory that other threads may change too, and gives the old one. */
uint64_t atomic_shared(uint8_t *at, uint32_t operation, uint32_t bits, uint64_t value, uint64_t second);

#endif
