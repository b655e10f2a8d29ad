/* Formatted buffer accesses: elements of one to four components, converted as the descriptor (MUBUF) or the instruction
 * (MTBUF) says. Stores clamp to what the format holds. */
#include "buffer_format.h"

enum NumberFormat { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, RESERVED, FLOAT };
enum Select { SELECT_0 = 0, SELECT_1 = 1, SELECT_X = 4 };

typedef struct Layout {
  uint8_t bytes, count, bits[4]; /* of the components from x on; x is in the lowest bits */
} Layout;

/* By DATA_FORMAT; names list the widths from the highest bits down, these from the lowest up (ISA manual). */
static const Layout layouts[16] = {
    [1] = {1, 1, {8}},           [2] = {2, 1, {16}},           [3] = {2, 2, {8, 8}},
    [4] = {4, 1, {32}},          [5] = {4, 2, {16, 16}},       [6] = {4, 3, {11, 11, 10}},
    [7] = {4, 3, {10, 11, 11}},  [8] = {4, 4, {2, 10, 10, 10}}, [9] = {4, 4, {10, 10, 10, 2}},
    [10] = {4, 4, {8, 8, 8, 8}}, [11] = {8, 2, {32, 32}},      [12] = {8, 4, {16, 16, 16, 16}},
    [13] = {12, 3, {32, 32, 32}}, [14] = {16, 4, {32, 32, 32, 32}},
};

static uint32_t f32_bits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}

static float f32_of(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}

/* Floats with 5 bits of exponent and so many of mantissa; those of 10 and 11 bits have no sign. */
static uint32_t widen(uint32_t code, int mantissa, uint32_t sign) {
  uint32_t magnitude = code & ((1u << (mantissa + 5)) - 1), exponent = magnitude >> mantissa;
  if (exponent == 0) return sign | f32_bits((float)magnitude * f32_of((uint32_t)(127 - 14 - mantissa) << 23));
  if (exponent == 31) return sign | 0x7F800000u | (magnitude << (23 - mantissa) & 0x7FFFFF ? 0x400000u : 0);
  return sign | (magnitude << (23 - mantissa)) + (112u << 23);
}

/* An f32 to such a float, to nearest even; what is too large becomes infinity. */
static uint32_t narrow(uint32_t f32, int mantissa) {
  uint32_t magnitude = f32 & 0x7FFFFFFF, infinity = 31u << mantissa;
  if (magnitude > 0x7F800000u) return infinity | 1u << (mantissa - 1);
  if (magnitude < 113u << 23) { /* the sum rounds to multiples of the smallest number */
    float shift = f32_of((uint32_t)(127 - 14 + 23 - mantissa) << 23);
    return f32_bits(f32_of(magnitude) + shift) - f32_bits(shift);
  }
  int dropped = 23 - mantissa;
  magnitude += ((1u << (dropped - 1)) - 1) + (magnitude >> dropped & 1);
  uint32_t result = (magnitude - (112u << 23)) >> dropped;
  return result < infinity ? result : infinity;
}

static uint32_t decoded(uint32_t code, int bits, uint32_t number) {
  int32_t is_signed = (int32_t)(code << (32 - bits)) >> (32 - bits);
  double most = (double)(0xFFFFFFFFu >> (33 - bits));
  switch (number) {
  case UNORM: return f32_bits((float)(code / (double)(0xFFFFFFFFu >> (32 - bits))));
  case SNORM: return f32_bits((float)(is_signed < -most ? -1.0 : is_signed / most));
  case USCALED: return f32_bits((float)code);
  case SSCALED: return f32_bits((float)is_signed);
  case SINT: return (uint32_t)is_signed;
  case FLOAT:
    if (bits == 16) return widen(code, 10, code << 16 & 0x80000000u);
    if (bits == 10 || bits == 11) return widen(code, bits - 5, 0);
  }
  return code;
}

static double clamped(double value, double least, double most) {
  return !(value > least) ? least : value > most ? most : value; /* a NaN counts as the least */
}

/* To nearest even: the sum has no bits for fractions. */
static double rounded(double value) {
  const double shift = 0x1.8p52;
  return (value + shift) - shift;
}

static uint32_t encoded(uint32_t value, int bits, uint32_t number) {
  uint32_t mask = 0xFFFFFFFFu >> (32 - bits), half = mask >> 1;
  double f = f32_of(value), most = (double)mask, half_most = (double)half;
  int32_t is_signed = (int32_t)value, least = -(int32_t)half - 1;
  switch (number) {
  case UNORM: return (uint32_t)rounded(clamped(f, 0, 1) * most);
  case SNORM: return (uint32_t)(int32_t)rounded((f != f ? 0 : clamped(f, -1, 1)) * half_most) & mask;
  case USCALED: return (uint32_t)clamped(f, 0, most);
  case SSCALED: return (uint32_t)(int32_t)(f != f ? 0 : clamped(f, -half_most - 1, half_most)) & mask;
  case UINT: return value < mask ? value : mask;
  case SINT: return (uint32_t)(is_signed < least ? least : is_signed > (int32_t)half ? (int32_t)half : is_signed) & mask;
  case FLOAT:
    if (bits == 16) return narrow(value, 10) | (value >> 16 & 0x8000);
    if (bits == 10 || bits == 11) return value >> 31 && (value << 1) <= 0xFF000000u ? 0 : narrow(value, bits - 5);
  }
  return value & mask;
}

typedef struct Format {
  Layout layout;
  uint32_t number, select[4];
} Format;

static Format format_of(const Wave *w, const Op *op, int is_load) {
  uint32_t word = w->sgpr[op->f[BASE] + 3], given = op->f[FORMAT], from_descriptor = given == 0xFFFFFFFFu;
  Format format = {layouts[from_descriptor ? word >> 15 & 15 : given & 15], from_descriptor ? word >> 12 & 7 : given >> 4 & 7,
                   {SELECT_X, SELECT_X + 1, SELECT_X + 2, SELECT_X + 3}};
  if (from_descriptor && is_load)
    for (int i = 0; i < 4; i++) format.select[i] = word >> (3 * i) & 7;
  return format;
}

/* The bits of component `i` of an element. */
static uint32_t component(const uint8_t *element, const Layout *layout, int i) {
  int start = 0;
  for (int before = 0; before < i; before++) start += layout->bits[before];
  uint32_t left = layout->bytes - (uint32_t)start / 8, bits = 0;
  __builtin_memcpy(&bits, element + start / 8, left < 4 ? left : 4);
  return bits >> start % 8 & 0xFFFFFFFFu >> (32 - layout->bits[i]);
}

uint32_t format_bytes(const Wave *w, const Op *op, int is_load) { return format_of(w, op, is_load).layout.bytes; }

int format_keeps(const Wave *w, const Op *op, uint32_t i) { return i < format_of(w, op, 0).layout.count; }

uint32_t format_source(const Wave *w, const Op *op, uint32_t i) {
  Format format = format_of(w, op, 1);
  uint32_t from = format.select[i] - SELECT_X, start = 0;
  if (format.select[i] < SELECT_X || from >= format.layout.count) return 0;
  for (uint32_t before = 0; before < from; before++) start += format.layout.bits[before];
  uint32_t first = start / 8, last = (start + format.layout.bits[from] - 1) / 8;
  return ((2u << last) - 1) & ~((1u << first) - 1);
}

int32_t buffer_load_format(Wave *w, const Op *op) {
  Format format = format_of(w, op, 1);
  int is_integer = format.number == UINT || format.number == SINT, count = (int)op->f[COMPONENTS];
  _Alignas(64) uint32_t values[4][LANES] = {};
  if (format.layout.count) { /* DATA_FORMAT 0 and 15 mean that there is no data */
    Lanes at;
    if (buffer_lanes(w, op, format.layout.bytes, LOAD, &at) != NEXT) return FAULT;
    EACH_LANE(lane, exec_mask(w)) {
      const uint8_t *element = (const uint8_t *)(uintptr_t)at.pointer[lane];
      int in_range = (at.whole | at.cut) >> lane & 1;
      for (int i = 0; i < count; i++) {
        uint32_t select = format.select[i], from = select - SELECT_X, value = 0;
        if (select >= SELECT_X && from < format.layout.count)
          value = decoded(component(element, &format.layout, (int)from), format.layout.bits[from], format.number);
        else if (in_range && (select == SELECT_1 || (select >= SELECT_X && from == 3)))
          value = is_integer ? 1 : f32_bits(1);
        if (op->f[PACKING] != WHOLE && !is_integer) value = narrow(value, 10) | (value >> 16 & 0x8000);
        if (op->f[PACKING] == WHOLE) values[i][lane] = value;
        else if (op->f[PACKING] == UPPER_HALF) values[0][lane] = value << 16;
        else values[i / 2][lane] |= (value & 0xFFFF) << 16 * (i % 2);
      }
    }
  }
  Rows data;
  int rows = op->f[PACKING] == WHOLE ? count : (count + 1) / 2;
  __builtin_memcpy(data, values, (uint32_t)rows * sizeof values[0]);
  uint32_t mask = op->f[PACKING] == UPPER_HALF ? 0xFFFF0000u : 0xFFFFFFFFu;
  commit(w, op->f[DATA], data, rows, mask);
  return NEXT;
}

int32_t buffer_store_format(Wave *w, const Op *op) {
  Format format = format_of(w, op, 0);
  const Layout *layout = &format.layout;
  int is_integer = format.number == UINT || format.number == SINT;
  if (!layout->count) return NEXT;
  Lanes at;
  if (buffer_lanes(w, op, layout->bytes, STORE, &at) != NEXT) return FAULT;
  EACH_LANE(each, at.whole | at.cut) {
    uint32_t lane = (uint32_t)each, start = 0;
    uint64_t element[2] = {};
    for (uint32_t i = 0; i < layout->count; start += layout->bits[i], i++) {
      uint32_t value = 0;
      if (i < op->f[COMPONENTS]) {
        const uint32_t *row = w->vgpr[op->f[DATA] + (op->f[PACKING] == WHOLE ? i : i / 2)];
        value = row[lane];
        if (op->f[PACKING] != WHOLE) {
          value = value >> (op->f[PACKING] == UPPER_HALF ? 16 : 16 * (i % 2)) & 0xFFFF;
          if (format.number == SINT) value = (uint32_t)(int32_t)(int16_t)value;
          else if (!is_integer) value = widen(value, 10, value << 16 & 0x80000000u);
        }
      }
      element[start / 64] |= (uint64_t)encoded(value, layout->bits[i], format.number) << start % 64;
    }
    if (at.whole >> lane & 1) {
      __builtin_memcpy((void *)(uintptr_t)at.pointer[lane], element, layout->bytes);
      continue;
    }
    for (uint32_t done = 0; done < at.in_range[lane]; done += 4) {
      uint8_t *host = host_address(w, lane, at.address[lane] + done, 4, STORE);
      if (!host) return FAULT;
      __builtin_memcpy(host, (const uint8_t *)element + done, 4);
    }
  }
  return NEXT;
}
