// Control flow, calls, recursion, function pointers, tables.
#include "corpus.h"

static void collatz(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u64 x = (a[i] & 0xFFFF) + 1, steps = 0, highest = x;
  while (x != 1) {
    x = x & 1 ? 3 * x + 1 : x / 2;
    highest = x > highest ? x : highest;
    steps++;
  }
  out[0] = steps, out[1] = highest;
}
KERNEL(collatz)

static void nested_loops(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u32 n = a[i] % 9, m = b[i] % 7, sum = 0, skipped = 0;
  for (u32 x = 0; x < n; x++) {
    for (u32 y = 0;; y++) {
      if (y > m) break;
      if ((x * y + i) % 3 == 0) {
        skipped++;
        continue;
      }
      for (u32 z = x; z < y + n; z++) {
        if (z * z > 50) goto next;
        sum += x * 100 + y * 10 + z;
      }
    }
  next:
    sum ^= x << 20;
  }
  out[0] = sum, out[1] = skipped;
}
KERNEL(nested_loops)

static void switches(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u64 x = a[i], y = 0;
  for (u32 k = 0; k < 6; k++, x >>= 4) {
    switch (x & 15) {
    case 0: y += 7; break;
    case 1: y ^= 0x55; [[fallthrough]];
    case 2: y = y * 3 + 1; break;
    case 3: y -= b[i]; break;
    case 4: y = ~y; break;
    case 5: y <<= 1; break;
    case 6: y >>= 2; [[fallthrough]];
    case 9: y += x; break;
    case 11: y |= 1ull << (k * 7); break;
    case 14: out[1] = y; return;
    default: y++;
    }
  }
  out[0] = y;
}
KERNEL(switches)

__attribute__((noinline)) static u32 gcd(u32 x, u32 y) { return y == 0 ? x : gcd(y, x % y); }
__attribute__((noinline)) static u32 ackermann(u32 m, u32 n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
static void recursion(u32 i, const u64 *a, const u64 *b, u64 *out) {
  out[0] = gcd((u32)a[i] & 0xFFFFF, (u32)b[i] & 0xFFFFF);
  out[1] = ackermann(a[i] % 3, b[i] % 4);
}
KERNEL(recursion)

__attribute__((noinline)) static u64 add_one(u64 x, u64 y) { return x + y + 1; }
__attribute__((noinline)) static u64 multiply(u64 x, u64 y) { return x * y; }
__attribute__((noinline)) static u64 mix(u64 x, u64 y) { return (x << 7 | x >> 57) ^ y; }
typedef u64 (*Binary)(u64, u64);
static void function_pointers(u32 i, const u64 *a, const u64 *b, u64 *out) {
  Binary functions[3] = {add_one, multiply, mix};
  u64 x = a[i];
  for (u32 k = 0; k < 5; k++) x = functions[(x + k) % 3](x, b[i]);
  out[0] = x;
}
KERNEL(function_pointers)

struct Wide {
  u64 first;
  f32 second[5];
  u16 third;
};
__attribute__((noinline)) static Wide by_value(Wide x, u32 k) {
  x.first += k;
  x.second[k % 5] *= 2;
  x.third ^= (u16)k;
  return x;
}
static void structs(u32 i, const u64 *a, const u64 *b, u64 *out) {
  Wide x = {a[i], {1, 2, 3, 4, 5}, (u16)b[i]};
  for (u32 k = 0; k < 7; k++) x = by_value(x, k + (u32)(b[i] & 3));
  out[0] = x.first, out[1] = result(x.second[0] + x.second[1] * 16 + x.second[4]), out[2] = x.third;
}
KERNEL(structs)

static const u8 primes[24] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89};
static const f64 factors[5] = {1.5, -2.25, 1e10, 1e-10, 0.1};
static const char *const words[4] = {"warp", "wavefront", "lane", "workgroup"};
static void tables(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u64 sum = 0;
  for (u32 k = 0; k < 4; k++) sum = sum * 101 + primes[(a[i] >> (8 * k)) % 24];
  out[0] = sum;
  out[1] = result(factors[a[i] % 5] * factors[b[i] % 5]);
  u32 length = 0;
  for (const char *c = words[b[i] & 3]; *c; c++) length = length * 31 + (u8)*c;
  out[2] = length;
}
KERNEL(tables)

static void crc32(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u32 crc = ~0u;
  for (u32 k = 0; k < 16; k++) {
    crc ^= (u8)((k < 8 ? a[i] : b[i]) >> (k % 8 * 8));
    for (u32 bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  out[0] = ~crc;
}
KERNEL(crc32)

static void early_exit(u32 i, const u64 *a, const u64 *b, u64 *out) {
  out[0] = 1;
  if (a[i] & 1) return;
  out[1] = a[i] >> 3;
  if ((a[i] & 6) == 2) return;
  for (u32 k = 0; k < 100; k++) {
    if ((a[i] >> (k & 63) & 1) && k > (b[i] & 31)) {
      out[2] = k;
      return;
    }
  }
  out[3] = 9;
}
KERNEL(early_exit)
