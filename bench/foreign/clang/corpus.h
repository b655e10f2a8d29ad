// What the corpus is made of: each function is compiled for the GPU and, from the same text, for the host.
#pragma once
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;

enum { OUTS = 8, GROUP = 128 }; // results of a work-item, and work-items of a workgroup in GROUP_KERNEL

template <class To, class From> static inline To bits(From x) {
  static_assert(sizeof(To) <= sizeof(From), "");
  To to;
  __builtin_memcpy(&to, &x, sizeof to);
  return to;
}
// Results as u64: NaNs all alike, since their bits are nobody's promise.
static inline u64 result(f32 x) { return x == x ? bits<u32>(x) : 0x7FC00000u; }
static inline u64 result(f64 x) { return x == x ? bits<u64>(x) : 0x7FF8000000000000ull; }
static inline u64 result(f16 x) { return x == x ? bits<u16>(x) : 0x7E00u; }

#ifdef __AMDGCN__
#define ENTRY extern "C" __attribute__((amdgpu_kernel, visibility("protected"), amdgpu_flat_work_group_size(1, 256)))
#define SHARED static __attribute__((address_space(3), loader_uninitialized))
#define CONSTANT __attribute__((address_space(4)))
static inline u32 group_size() {
  return ((const CONSTANT u16 *)__builtin_amdgcn_implicitarg_ptr())[6];
}
static inline u32 work_item() {
  return __builtin_amdgcn_workgroup_id_x() * group_size() + __builtin_amdgcn_workitem_id_x();
}
static inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
// void name(u32 i, const u64 *a, const u64 *b, u64 *out): one work-item; out has room for OUTS results of its own.
#define KERNEL(name)                                                                                                   \
  ENTRY void name##_kernel(const u64 *a, const u64 *b, u64 *out, u32 n) {                                              \
    u32 i = work_item();                                                                                               \
    if (i < n) name(i, a, b, out + i * OUTS);                                                                          \
  }
// void name(u32 phase, u32 t, u32 group, name_shared &s, const u64 *a, const u64 *b, u64 *out): between phases all wait.
#define GROUP_KERNEL(name, phases)                                                                                     \
  SHARED name##_shared name##_lds;                                                                                     \
  ENTRY void name##_kernel(const u64 *a, const u64 *b, u64 *out, u32 n) {                                              \
    for (u32 phase = 0; phase < phases; phase++) {                                                                     \
      name(phase, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workgroup_id_x(), (name##_shared &)name##_lds, a, \
           b, out);                                                                                                    \
      barrier();                                                                                                       \
    }                                                                                                                  \
  }
// void name(u32 lane, const u64 *a, const u64 *b, u64 *out): one lane of a wave, whose 64 elements of a and b it may read.
#define WAVE_KERNEL(name)                                                                                              \
  ENTRY void name##_kernel(const u64 *a, const u64 *b, u64 *out, u32 n) {                                              \
    u32 i = work_item();                                                                                               \
    name(i & 63, a + (i & ~63u), b + (i & ~63u), out + i * OUTS);                                                      \
  }
#else
#define CONSTANT
#define WAVE_KERNEL(name)                                                                                              \
  extern "C" void name##_host(const u64 *a, const u64 *b, u64 *out, u32 n) {                                           \
    for (u32 i = 0; i < n; i++) name(i & 63, a + (i & ~63u), b + (i & ~63u), out + i * OUTS);                          \
  }
#define KERNEL(name)                                                                                                   \
  extern "C" void name##_host(const u64 *a, const u64 *b, u64 *out, u32 n) {                                           \
    for (u32 i = 0; i < n; i++) name(i, a, b, out + i * OUTS);                                                         \
  }
#define GROUP_KERNEL(name, phases)                                                                                     \
  extern "C" void name##_host(const u64 *a, const u64 *b, u64 *out, u32 n) {                                           \
    static name##_shared shared;                                                                                       \
    for (u32 group = 0; group * GROUP < n; group++)                                                                    \
      for (u32 phase = 0; phase < phases; phase++)                                                                     \
        for (u32 t = 0; t < GROUP; t++) name(phase, t, group, shared, a, b, out);                                      \
  }
#endif
