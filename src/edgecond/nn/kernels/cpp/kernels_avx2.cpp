// The kernels for processors with AVX2 and FMA; empty elsewhere.
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define EDGECOND_ISA avx2
#define EDGECOND_VECTOR_BYTES 32
#define EDGECOND_TILE_ROWS 6
#include "kernels.inl"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
