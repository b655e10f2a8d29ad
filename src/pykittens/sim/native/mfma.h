/* What the matrix routines share: how an operation is laid out, rows of registers, and where elements of D live. */
#ifndef PYKITTENS_MFMA_H
#define PYKITTENS_MFMA_H

#include "small_floats.h"
#include "wave.h"

typedef double f64x16 __attribute__((ext_vector_type(16)));
typedef uint64_t u64x16 __attribute__((ext_vector_type(16)));
typedef uint32_t Row[LANES];
typedef f32x16 f32_part __attribute__((may_alias));

/* Compilers keep to 256-bit vectors on some hosts that have 512-bit ones; these routines gain from all of them. */
#ifdef __AVX512F__
#define WIDE __attribute__((min_vector_width(512)))
#else
#define WIDE
#endif
#define ROUTINE static __attribute__((noinline)) WIDE
#define UNROLL _Pragma("clang loop unroll(full)")

/* The numbers of an operation, in order (mfma_handlers.py). Rows are those of the wave's one register file. */
enum Field {
  A_ROW, B_ROW, C_ROW, D_ROW, /* C_ROW of a sparse instruction is its index register */
  C_BITS,                     /* C if it is a constant; upper half of an f64 in C_HIGH */
  A_ELEMENT, B_ELEMENT,       /* enum Element */
  SIDE, K, BLOCKS,
  FLAGS,
  LANE_CONTROL,               /* cbsz | abid << 4 | blgp << 8; sparse: lowest bit of the set of indices */
  SCALE_A, SCALE_B,           /* rows */
  C_HIGH = A_ELEMENT
};
enum Flag {
  C_CONSTANT = 1,
  C_KEPT = 2,       /* C is needed after parts of D are written */
  CLAMP = 4,        /* MODE.FP16_OVFL */
  FLUSH = 8,        /* f32 inputs: subnormals are zeros */
  SCALED = 16,
  NEGATE_A = 32, NEGATE_B = 64, NEGATE_C = 128,
  BYTE_A = 8, BYTE_B = 10 /* lowest bit of the number of the scale's byte */
};
/* A and B have at most 128 x 16 or 64 x 32 elements. */
enum { MAX_C_ROWS = 32, MAX_INPUT_ROWS = 8, MAX_ELEMENTS = 128 * 16, SCALE_BLOCK = 32 };

/* Row i of a block of D: its register and first lane. */
INLINE uint32_t d_register(uint32_t i, uint32_t side) { return i % 4 + 4 * (i / (256 / side)); }
INLINE uint32_t d_lane(uint32_t i, uint32_t side) { return side * (i / 4 % (LANES / side)); }

INLINE u32x16 load_part(const uint32_t *at) { return *(const row_part *)at; }
INLINE void store_part(uint32_t *at, u32x16 value) { *(row_part *)at = value; }

INLINE u32x16 one_nan(f32x16 value) { return (u32x16)(value != value ? (f32x16)__builtin_nanf("") : value); }

#endif
