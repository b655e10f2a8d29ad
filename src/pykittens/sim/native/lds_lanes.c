/* DS instructions that are about lanes: the bounds of irregular accesses, permutes, swizzle and transposing reads. */
#include "lds.h"

uint64_t lds_inside(Wave *w, uint32_t bytes, uint32_t elsewhere, uint32_t *offset) {
  uint64_t exec = exec_mask(w), inside = 0;
  uint32_t size = w->group->launch->lds_bytes;
  for (uint32_t lane = 0; lane < LANES; lane++) {
    int ok = (exec >> lane & 1) && size >= bytes && offset[lane] <= size - bytes;
    inside |= (uint64_t)ok << lane;
    offset[lane] = ok ? offset[lane] : elsewhere;
  }
  if (inside != exec) w->group->counter[LDS_OUT_OF_RANGE]++;
  return inside;
}

/* Backward permute. f: destination row, address row, data row, offset. Each lane takes the data of the lane that its
 * address / 4 names (modulo 64); an inactive lane's data reads as 0. */
int32_t lds_bpermute(Wave *w, const Op *op) {
  uint64_t exec = exec_mask(w);
  Rows data;
  for (uint32_t q = 0; q < QUARTERS; q++)
    for (uint32_t i = 0; i < 16; i++) {
      uint32_t from = (w->vgpr[op->f[1]][16 * q + i] + op->f[3]) / 4 % LANES;
      data[0][q][i] = exec >> from & 1 ? w->vgpr[op->f[2]][from] : 0;
    }
  commit(w, op->f[0], data, 1, 0xFFFFFFFFu);
  return NEXT;
}

/* Forward permute. f: as above. Each lane sends its data to the lane that its address names; of two the higher lane
 * wins, and a lane that gets nothing gets 0. */
int32_t lds_permute(Wave *w, const Op *op) {
  _Alignas(64) uint32_t sent[LANES] = {0};
  EACH_LANE(lane, exec_mask(w)) {
    uint32_t to = (w->vgpr[op->f[1]][lane] + op->f[3]) / 4 % LANES;
    sent[to] = w->vgpr[op->f[2]][lane];
  }
  Rows data;
  for (int q = 0; q < QUARTERS; q++) data[0][q] = ((row_part *)sent)[q];
  commit(w, op->f[0], data, 1, 0xFFFFFFFFu);
  return NEXT;
}

/* f: destination row, source row, then for every lane the lane of its half that it reads: 5 bits, six to a number. */
int32_t lds_swizzle(Wave *w, const Op *op) {
  uint64_t exec = exec_mask(w);
  Rows data;
  for (uint32_t q = 0; q < QUARTERS; q++)
    for (uint32_t i = 0; i < 16; i++) {
      uint32_t lane = 16 * q + i, from = (lane & 32) | (op->f[2 + lane / 6] >> (5 * (lane % 6)) & 31);
      data[0][q][i] = exec >> from & 1 ? w->vgpr[op->f[1]][from] : 0;
    }
  commit(w, op->f[0], data, 1, 0xFFFFFFFFu);
  return NEXT;
}

#define COLUMN8(q) q, q + 8, q + 16, q + 24, q + 32, q + 40, q + 48, q + 56
#define TRANSPOSE8 COLUMN8(0), COLUMN8(1), COLUMN8(2), COLUMN8(3), COLUMN8(4), COLUMN8(5), COLUMN8(6), COLUMN8(7)

/* Transposing reads: every lane reads 8 bytes (12 for 6-bit elements) at its own address; then inside each group of 16
 * lanes element e of lane q is element q % n of what lane e * (16 / n) + q / n read, for n elements a lane. */
INLINE int32_t read_transposed(Wave *w, const Op *op, uint32_t bits) {
  _Alignas(64) uint32_t offset[LANES];
  uint32_t bytes = bits == 6 ? 12 : 8, n = 8 * bytes / bits, step = 16 / n;
  if (exec_mask(w) != ~0ull) return fault(w, PARTIAL_EXEC, NONE, 0, 0, 0);
  uint64_t inside = lds_offsets(w, op->f[1], op->f[2], bytes, 1, 0, offset);
  EACH_LANE(lane, inside) if (offset[lane] % (bits == 6 ? 4 : 8)) {
    return fault(w, MISALIGNED, (uint32_t)lane, offset[lane], bytes, 0);
  }
  const uint8_t *lds = w->group->lds;
  unsigned __int128 in[LANES];
  for (uint32_t lane = 0; lane < LANES; lane++) {
    in[lane] = *(const u64_any *)(lds + offset[lane]);
    if (bits == 6) in[lane] |= (unsigned __int128)*(const u32_any *)(lds + offset[lane] + 8) << 64;
    if (!(inside >> lane & 1)) in[lane] = 0;
  }
  for (uint32_t lane = 0; lane < LANES; lane++) {
    uint32_t group = lane & ~15u, q = lane & 15;
    unsigned __int128 out = 0;
    for (uint32_t e = 0; e < n; e++) {
      uint64_t part = (uint64_t)(in[group + e * step + q / n] >> (bits * (q % n))) & ((1u << bits) - 1);
      out |= (unsigned __int128)part << (bits * e);
    }
    for (uint32_t d = 0; d < bytes / 4; d++) w->vgpr[op->f[0] + d][lane] = (uint32_t)(out >> (32 * d));
  }
  return NEXT;
}

/* Offsets of a transposing read of 8 bytes a lane, if it has nothing out of the ordinary. */
INLINE int plain_offsets(Wave *w, const Op *op, uint32_t *offset) {
  if (exec_mask(w) != ~0ull || lds_offsets(w, op->f[1], op->f[2], 8, 1, 0, offset) != ~0ull) return 0;
  uint32_t odd = 0;
  for (uint32_t lane = 0; lane < LANES; lane++) odd |= offset[lane];
  return odd % 8 == 0;
}

/* The same for 16-bit elements, which attention kernels live on: out[lane][e] = in[group + 4 e + q / 4][q % 4]. */
int32_t lds_read_tr_16(Wave *w, const Op *op) {
  _Alignas(64) uint32_t offset[LANES];
  _Alignas(64) uint16_t in[LANES][4];
  if (!plain_offsets(w, op, offset)) return read_transposed(w, op, 16);
  for (uint32_t lane = 0; lane < LANES; lane++) *(u64_any *)in[lane] = *(const u64_any *)(w->group->lds + offset[lane]);
  for (uint32_t q = 0; q < QUARTERS; q++) {
    const uint16_t(*from)[4] = &in[16 * q];
    u32x16 low, high;
    for (uint32_t i = 0; i < 16; i++) {
      low[i] = from[i / 4][i % 4] | (uint32_t)from[4 + i / 4][i % 4] << 16;
      high[i] = from[8 + i / 4][i % 4] | (uint32_t)from[12 + i / 4][i % 4] << 16;
    }
    ((row_part *)w->vgpr[op->f[0]])[q] = low;
    ((row_part *)w->vgpr[op->f[0] + 1])[q] = high;
  }
  return NEXT;
}

/* The same for bytes: the even lanes of a group hold an 8 x 8 block for lanes 0 to 7, the odd ones one for 8 to 15. */
int32_t lds_read_tr_8(Wave *w, const Op *op) {
  _Alignas(64) uint32_t offset[LANES];
  if (!plain_offsets(w, op, offset)) return read_transposed(w, op, 8);
  for (uint32_t q = 0; q < QUARTERS; q++) {
    u32x16 half[2];
    for (uint32_t odd = 0; odd < 2; odd++) {
      u64x8 rows;
      for (uint32_t e = 0; e < 8; e++) rows[e] = *(const u64_any *)(w->group->lds + offset[16 * q + 2 * e + odd]);
      u8x64 bytes = (u8x64)rows;
      half[odd] = (u32x16)__builtin_shufflevector(bytes, bytes, TRANSPOSE8);
    }
    ((row_part *)w->vgpr[op->f[0]])[q] =
        __builtin_shufflevector(half[0], half[1], 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    ((row_part *)w->vgpr[op->f[0] + 1])[q] =
        __builtin_shufflevector(half[0], half[1], 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  }
  return NEXT;
}

int32_t lds_read_tr_4(Wave *w, const Op *op) { return read_transposed(w, op, 4); }
int32_t lds_read_tr_6(Wave *w, const Op *op) { return read_transposed(w, op, 6); }

/* The add-tid forms: M0[15:0] + constant + 4 * lane. */
INLINE uint64_t lane_offsets(Wave *w, uint32_t constant, uint32_t elsewhere, uint32_t *offset) {
  for (uint32_t lane = 0; lane < LANES; lane++) offset[lane] = (w->sgpr[M0] & 0xFFFF) + constant + 4 * lane;
  return lds_inside(w, 4, elsewhere, offset);
}

/* f: destination row, -, constant */
int32_t lds_read_addtid(Wave *w, const Op *op) {
  _Alignas(64) uint32_t offset[LANES];
  uint64_t inside = lane_offsets(w, op->f[2], 0, offset);
  Rows data;
  gather((Places){w->group->lds, offset, 0}, data, 1);
  clear_outside(data, 1, inside, exec_mask(w));
  commit(w, op->f[0], data, 1, 0xFFFFFFFFu);
  return NEXT;
}

/* f: -, data row, constant */
int32_t lds_write_addtid(Wave *w, const Op *op) {
  _Alignas(64) uint32_t offset[LANES];
  lane_offsets(w, op->f[2], w->group->launch->lds_bytes, offset);
  scatter(w, (Places){w->group->lds, offset, 0}, op->f[1], 1);
  return NEXT;
}
