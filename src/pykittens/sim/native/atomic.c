/* What an atomic does to one value in memory: integers, floats and packed halves. */
#include "atomic.h"

#include "vectors.h"

INLINE float as_f32(uint32_t bits) { return __builtin_bit_cast(float, bits); }
INLINE uint32_t f32_bits(float value) { return __builtin_bit_cast(uint32_t, value); }
INLINE double as_f64(uint64_t bits) { return __builtin_bit_cast(double, bits); }
INLINE uint64_t f64_bits(double value) { return __builtin_bit_cast(uint64_t, value); }

/* NaN results are the first NaN operand, quiet, or the positive quiet NaN: the same on every host. */
INLINE uint32_t add_f32(uint32_t a, uint32_t b) {
  float sum = as_f32(a) + as_f32(b);
  if (sum == sum) return f32_bits(sum);
  if ((a & 0x7FFFFFFF) > 0x7F800000) return a | 0x00400000;
  return (b & 0x7FFFFFFF) > 0x7F800000 ? b | 0x00400000 : 0x7FC00000;
}

INLINE uint64_t add_f64(uint64_t a, uint64_t b) {
  double sum = as_f64(a) + as_f64(b);
  if (sum == sum) return f64_bits(sum);
  const uint64_t infinity = 0x7FF0000000000000ull, quiet = 0x0008000000000000ull;
  if ((a & ~(1ull << 63)) > infinity) return a | quiet;
  return (b & ~(1ull << 63)) > infinity ? b | quiet : infinity | quiet;
}

INLINE uint32_t f16_to_f32(uint32_t half) {
  uint32_t sign = (half & 0x8000) << 16, rest = half & 0x7FFF;
  if (rest >= 0x7C00) return sign | 0x7F800000 | (rest & 0x3FF) << 13;
  return sign | f32_bits(as_f32(rest << 13) * 0x1p112f); /* exact: the exponent moves from bias 15 to 127 */
}

/* Rounds to nearest even. No NaN comes here. */
INLINE uint32_t f32_to_f16(uint32_t bits) {
  uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
  if (rest >= 0x47800000) return sign | 0x7C00; /* 65536 and above; from 65520 on the carry below does it */
  if (rest < 0x38800000) /* subnormal halves: the unit is 2^-24, and adding 0.5 puts it in f32's last place */
    return sign | (f32_bits(as_f32(rest) + 0.5f) - f32_bits(0.5f));
  return sign | ((rest + 0xFFF + (rest >> 13 & 1) - (112u << 23)) >> 13);
}

INLINE uint32_t add_f16(uint32_t a, uint32_t b) {
  if ((a & 0x7FFF) > 0x7C00) return a | 0x200;
  if ((b & 0x7FFF) > 0x7C00) return b | 0x200;
  uint32_t sum = add_f32(f16_to_f32(a), f16_to_f32(b));
  return (sum & 0x7FFFFFFF) > 0x7F800000 ? 0x7E00 : f32_to_f16(sum);
}

INLINE uint32_t add_bf16(uint32_t a, uint32_t b) {
  uint32_t sum = add_f32(a << 16, b << 16);
  if ((sum & 0x7FFFFFFF) > 0x7F800000) return sum >> 16;
  return (sum + 0x7FFF + (sum >> 16 & 1)) >> 16;
}

INLINE int float_below(uint32_t bits, uint64_t a, uint64_t b) {
  return bits == 64 ? as_f64(a) < as_f64(b) : as_f32((uint32_t)a) < as_f32((uint32_t)b);
}

INLINE int float_equal(uint32_t bits, uint64_t a, uint64_t b) {
  return bits == 64 ? as_f64(a) == as_f64(b) : as_f32((uint32_t)a) == as_f32((uint32_t)b);
}

INLINE int64_t extended(uint32_t bits, uint64_t value) { return bits == 64 ? (int64_t)value : (int32_t)value; }

uint64_t atomic_result(uint32_t operation, uint32_t bits, uint64_t old, uint64_t value, uint64_t second) {
  switch (operation) {
    case SWAP: return value;
    case CMPSWAP: return old == second ? value : old;
    case ADD: return old + value;
    case SUB: return old - value;
    case SMIN: return extended(bits, value) < extended(bits, old) ? value : old;
    case UMIN: return value < old ? value : old;
    case SMAX: return extended(bits, value) > extended(bits, old) ? value : old;
    case UMAX: return value > old ? value : old;
    case AND: return old & value;
    case OR: return old | value;
    case XOR: return old ^ value;
    case INC: return old >= value ? 0 : old + 1;
    case DEC: return old == 0 || old > value ? value : old - 1;
    case RSUB: return value - old;
    case MSKOR: return (old & ~value) | second;
    case WRAP: return old >= value ? old - value : old + second;
    case CONDXCHG: {
      uint64_t low = value & 0x80000000ull ? value & 0x7FFFFFFF : old & 0xFFFFFFFF;
      uint64_t high = value >> 63 ? value >> 32 & 0x7FFFFFFF : old >> 32;
      return high << 32 | low;
    }
    case FLOAT_ADD: return bits == 64 ? add_f64(old, value) : add_f32((uint32_t)old, (uint32_t)value);
    case FLOAT_MIN: return float_below(bits, value, old) ? value : old;
    case FLOAT_MAX: return float_below(bits, old, value) ? value : old;
    case FLOAT_CMPSWAP: return float_equal(bits, old, second) ? value : old;
    case ADD_F16:
      return add_f16(old & 0xFFFF, value & 0xFFFF) | (uint64_t)add_f16(old >> 16 & 0xFFFF, value >> 16 & 0xFFFF) << 16;
    default: /* ADD_BF16 */
      return add_bf16(old & 0xFFFF, value & 0xFFFF) | (uint64_t)add_bf16(old >> 16 & 0xFFFF, value >> 16 & 0xFFFF) << 16;
  }
}

uint64_t atomic_shared(uint8_t *at, uint32_t operation, uint32_t bits, uint64_t value, uint64_t second) {
  uint64_t address = (uint64_t)(uintptr_t)at;
  if (bits == 64) {
    if (address % 8) { /* host memory that is less aligned than device memory: only one thread can be meant */
      uint64_t old = *(u64_any *)at;
      *(u64_any *)at = atomic_result(operation, bits, old, value, second);
      return old;
    }
    uint64_t *word = (uint64_t *)address, old = __atomic_load_n(word, __ATOMIC_RELAXED), result;
    do result = atomic_result(operation, bits, old, value, second);
    while (!__atomic_compare_exchange_n(word, &old, result, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return old;
  }
  if (address % 4) {
    uint32_t old = *(u32_any *)at;
    *(u32_any *)at = (uint32_t)atomic_result(operation, bits, old, value, second);
    return old;
  }
  uint32_t *word = (uint32_t *)address, old = __atomic_load_n(word, __ATOMIC_RELAXED), result;
  do result = (uint32_t)atomic_result(operation, bits, old, value, second);
  while (!__atomic_compare_exchange_n(word, &old, result, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  return old;
}
