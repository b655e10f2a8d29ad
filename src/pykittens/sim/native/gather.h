/* Moving data between 64 places in host memory and register rows. The places are always valid: who calls has put a
 * block of zeros, or a sink, where a lane has no memory. */
#ifndef PYKITTENS_GATHER_H
#define PYKITTENS_GATHER_H

#include "regions.h"

/* Where each lane's bytes are: base + offset[lane] (in LDS), or pointer[lane] if base is null. */
typedef struct Places {
  uint8_t *base;
  const uint32_t *offset;
  const uint64_t *pointer;
} Places;

INLINE uint8_t *place(Places p, uint32_t lane) {
  return p.base ? p.base + p.offset[lane] : (uint8_t *)(uintptr_t)p.pointer[lane];
}

/* dwords 0..3 of up to four consecutive registers, 16 lanes each: data[dword][quarter]. */
typedef u32x16 Rows[4][QUARTERS];

INLINE u32x4 four_dwords(const uint8_t *at, int dwords) {
  if (dwords == 4) return *(const u32x4_any *)at;
  u32x4 v = {};
  v[0] = ((const u32_any *)at)[0], v[1] = ((const u32_any *)at)[1], v[2] = ((const u32_any *)at)[2];
  return v;
}

/* Lane l = 16 q + 4 i + j is put into part i of vector j, so that 4 x 4 transposes within the parts order it. */
INLINE void gather_wide(Places p, Rows data, int dwords) {
  for (uint32_t q = 0; q < QUARTERS; q++) {
    u32x16 z[4];
    for (uint32_t j = 0; j < 4; j++) {
      uint32_t lane = 16 * q + j;
      z[j] = join4(four_dwords(place(p, lane), dwords), four_dwords(place(p, lane + 4), dwords),
                   four_dwords(place(p, lane + 8), dwords), four_dwords(place(p, lane + 12), dwords));
    }
    transpose4(z);
    for (int d = 0; d < dwords; d++) data[d][q] = z[d];
  }
}

INLINE void gather_pairs(Places p, Rows data) {
  for (uint32_t q = 0; q < QUARTERS; q++) {
    u64x8 a, b;
    for (uint32_t i = 0; i < 8; i++) {
      a[i] = *(const u64_any *)place(p, 16 * q + i);
      b[i] = *(const u64_any *)place(p, 16 * q + 8 + i);
    }
    u32x16 x = (u32x16)a, y = (u32x16)b;
    data[0][q] = __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    data[1][q] = __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  }
}

/* One element of up to 32 bits a lane, extended to 32. */
INLINE uint32_t element(const uint8_t *at, int bits, int is_signed) {
  if (bits == 8) return is_signed ? (uint32_t)(int32_t)(int8_t)*at : *at;
  if (bits == 16) return is_signed ? (uint32_t)(int32_t)(int16_t)*(const u16_any *)at : *(const u16_any *)at;
  return *(const u32_any *)at;
}

INLINE void gather_elements(Places p, Rows data, int bits, int is_signed) {
  for (uint32_t q = 0; q < QUARTERS; q++) {
    u32x16 v;
    for (uint32_t i = 0; i < 16; i++) v[i] = element(place(p, 16 * q + i), bits, is_signed);
    data[0][q] = v;
  }
}

INLINE void gather(Places p, Rows data, int dwords) {
  if (dwords == 1) gather_elements(p, data, 32, 0);
  else if (dwords == 2) gather_pairs(p, data);
  else gather_wide(p, data, dwords);
}

/* Registers row.. take the data in the lanes of EXEC. `bits` are those that change: all, or one half. */
INLINE void commit(Wave *w, uint32_t row, Rows data, int dwords, uint32_t bits) {
  uint64_t exec = exec_mask(w);
  for (int d = 0; d < dwords; d++) {
    row_part *r = (row_part *)w->vgpr[row + (uint32_t)d];
    if (exec == ~0ull && bits == 0xFFFFFFFFu) {
      for (int q = 0; q < QUARTERS; q++) r[q] = data[d][q];
      continue;
    }
    for (int q = 0; q < QUARTERS; q++) {
      i32x16 on = lanes16(exec >> (16 * q)) & (int32_t)bits;
      r[q] = blend(on, data[d][q], r[q]);
    }
  }
}

/* Stores `dwords` registers from `row` on, every lane at its place (inactive lanes have a sink).
 * Where places overlap, the highest lane wins. */
INLINE void scatter(Wave *w, Places p, uint32_t row, int dwords) {
  if (dwords == 1) {
    for (uint32_t lane = 0; lane < LANES; lane++) *(u32_any *)place(p, lane) = w->vgpr[row][lane];
  } else if (dwords == 2) {
    for (uint32_t q = 0; q < QUARTERS; q++) {
      u32x16 x = ((row_part *)w->vgpr[row])[q], y = ((row_part *)w->vgpr[row + 1])[q];
      u64x8 a = (u64x8)__builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      u64x8 b = (u64x8)__builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
      for (uint32_t i = 0; i < 8; i++) *(u64_any *)place(p, 16 * q + i) = a[i];
      for (uint32_t i = 0; i < 8; i++) *(u64_any *)place(p, 16 * q + 8 + i) = b[i];
    }
  } else {
    for (uint32_t q = 0; q < QUARTERS; q++) {
      u32x16 z[4] = {};
      for (uint32_t d = 0; d < (uint32_t)dwords; d++) z[d] = ((row_part *)w->vgpr[row + d])[q];
      transpose4(z);
      for (uint32_t i = 0; i < 4; i++)
        for (uint32_t j = 0; j < 4; j++) {
          uint8_t *at = place(p, 16 * q + 4 * i + j);
          if (dwords == 4) {
            *(u32x4_any *)at = (u32x4){z[j][4 * i], z[j][4 * i + 1], z[j][4 * i + 2], z[j][4 * i + 3]};
          } else {
            for (uint32_t d = 0; d < 3; d++) ((u32_any *)at)[d] = z[j][4 * i + d];
          }
        }
    }
  }
}

/* The low bits of one register per lane, or with `high` its upper half. */
INLINE void scatter_elements(Wave *w, Places p, uint32_t row, int bits, int high) {
  for (uint32_t lane = 0; lane < LANES; lane++) {
    uint32_t value = w->vgpr[row][lane] >> (high ? 16 : 0);
    if (bits == 8) *place(p, lane) = (uint8_t)value;
    else *(u16_any *)place(p, lane) = (uint16_t)value;
  }
}

#endif
