// Generic pointers: the same code on LDS, scratch and global memory, and stacks whose size is only known as it runs.
#include "corpus.h"
struct generic_pointers_shared {
  u64 w[GROUP];
  u8 bytes[GROUP * 4];
};
#ifdef __AMDGCN__
#define OPAQUE(p) asm("" : "+v"(p))
#else
#define OPAQUE(p)
#endif
static u64 walk(u64 *p, u32 n, u64 salt) {
  u64 sum = 0;
  for (u32 k = 0; k < n; k++) {
    u8 *bytes = (u8 *)(p + k);
    bytes[3] ^= (u8)salt;
    *(u16 *)(bytes + 4) += (u16)(salt >> 8);
    sum = sum * 31 + p[k] + (i64)(i8)bytes[7] + *(i16 *)(bytes + 2);
  }
  return sum;
}
static void generic_pointers(u32 phase, u32 t, u32 group, generic_pointers_shared &s, const u64 *a, const u64 *b,
    u64 *out) {
  u32 i = group * GROUP + t;
  u64 *own = out + i * OUTS;
  u64 stack[4];
  for (u32 k = 0; k < 4; k++) stack[k] = b[i] + k;
  s.w[t] = a[i];
  own[7] = a[i] ^ b[i];
  u32 choice = (u32)(a[i] + t) % 3;
  u64 *p = choice == 0 ? stack + (b[i] & 3) : choice == 1 ? s.w + t : own + 7;
  OPAQUE(p);
  own[0] = walk(p, 1, b[i]);
  own[1] = stack[b[i] & 3], own[2] = s.w[t], own[3] = own[7];
#ifdef __AMDGCN__
  own[4] = __builtin_amdgcn_is_private((const __attribute__((address_space(0))) void *)p) ? 1
      : __builtin_amdgcn_is_shared((const __attribute__((address_space(0))) void *)p) ? 2 : 3;
#else
  own[4] = choice + 1;
#endif
  if (choice) {
    u64 *q = p;
    OPAQUE(q);
    own[5] = __atomic_fetch_add(q, 5, __ATOMIC_RELAXED);
    own[6] = __atomic_exchange_n((u32 *)q, (u32)i, __ATOMIC_RELAXED);
    own[2] += s.w[t];
  } else {
    own[5] = own[6] = 0;
  }
}
GROUP_KERNEL(generic_pointers, 1)

static u64 __attribute__((noinline)) on_stack(u32 n, u64 seed) {
  u64 *p = (u64 *)__builtin_alloca((n + 1) * 8);
  for (u32 k = 0; k <= n; k++) p[k] = seed * (k + 1);
  u64 sum = 0;
  for (u32 k = 0; k <= n; k++) sum += p[(k * 7 + 3) % (n + 1)] ^ k;
  return n > 3 ? sum + on_stack(n / 2, sum) : sum;
}
static void dynamic_stack(u32 i, const u64 *a, const u64 *b, u64 *out) {
  out[0] = on_stack((u32)a[i] % 21, b[i]);
  u64 total = 0;
  for (u32 k = 0; k < (b[i] & 3); k++) total += on_stack(k + (u32)(a[i] & 7), total + k);
  out[1] = total;
}
KERNEL(dynamic_stack)

struct Big {
  u64 v[9];
  u8 odd[3];
};
static Big __attribute__((noinline)) mix(Big x, u8 c, Big y, i16 s, f64 d, f16 h) {
  for (u32 k = 0; k < 9; k++) x.v[k] += y.v[8 - k] * c + (u64)s;
  x.odd[1] = y.odd[2] + c, x.odd[0] = (u8)bits<u64>(d), x.odd[2] = (u8)bits<u16>(h);
  return x;
}
struct Shape {
  virtual u64 area(u64 x) const { return x; }
  virtual u64 twice(u64 x) const { return 2 * area(x) + 1; }
};
struct Square : Shape {
  u64 area(u64 x) const override { return x * x; }
};
struct Line : Shape {
  u64 k;
  u64 area(u64 x) const override { return k + x; }
  u64 twice(u64 x) const override { return area(area(x)); }
};
static void by_value(u32 i, const u64 *a, const u64 *b, u64 *out) {
  Big x, y;
  for (u32 k = 0; k < 9; k++) x.v[k] = a[i] + k, y.v[k] = b[i] * k;
  for (u32 k = 0; k < 3; k++) x.odd[k] = y.odd[k] = (u8)(a[i] >> 8 * k);
  for (u32 turn = 0; turn < (a[i] & 3); turn++) x = mix(x, (u8)b[i], y, (i16)a[i], bits<f64>(b[i]), bits<f16>(a[i]));
  u64 sum = 0;
  for (u32 k = 0; k < 9; k++) sum = sum * 3 + x.v[k];
  out[0] = sum, out[1] = x.odd[0] | x.odd[1] << 8 | x.odd[2] << 16;
  Square square;
  Line line;
  line.k = b[i];
  const Shape *shape = a[i] & 4 ? (const Shape *)&square : &line;
  out[2] = shape->area(a[i]), out[3] = shape->twice(b[i]);
}
KERNEL(by_value)
static u64 __attribute__((noinline)) variadic(u32 n, ...) {
  __builtin_va_list list;
  __builtin_va_start(list, n);
  u64 sum = 0;
  for (u32 k = 0; k < n; k++) sum = sum * 5 + (k & 1 ? bits<u64>(__builtin_va_arg(list, f64)) : __builtin_va_arg(list,
      u64));
  __builtin_va_end(list);
  return sum;
}
static void variable_arguments(u32 i, const u64 *a, const u64 *b, u64 *out) {
  out[0] = variadic((u32)a[i] & 3, a[i], 2.5, b[i], -3.25);
  out[1] = variadic(4, b[i], (f64)(i32)a[i], a[i], 1e300);
}
KERNEL(variable_arguments)
// More values alive than there are registers for.
#ifdef __AMDGCN__
#define FEW __attribute__((amdgpu_num_vgpr(32)))
#else
#define FEW
#endif
static void spills(u32 i, const u64 *a, const u64 *b, u64 *out) {
  u64 v[40];
#pragma unroll
  for (u32 k = 0; k < 40; k++) v[k] = a[(i + k) % 512] * (b[(i + 3 * k) % 512] | 1);
#pragma unroll 1
  for (u32 turn = 0; turn < 3; turn++) {
#pragma unroll
    for (u32 k = 0; k < 40; k++) v[k] = v[k] * v[(k * 7 + 1) % 40] + v[(k + 13) % 40] + turn;
  }
#pragma unroll
  for (u32 k = 0; k < OUTS; k++) out[k] = v[k] ^ v[k + 8] ^ v[k + 16] ^ v[k + 24] ^ v[k + 32];
}
#ifdef __AMDGCN__
FEW ENTRY void spills_kernel(const u64 *a, const u64 *b, u64 *out, u32 n) {
  u32 i = work_item();
  if (i < n) spills(i, a, b, out + i * OUTS);
}
#undef KERNEL
#define KERNEL(name)
#endif
KERNEL(spills)
