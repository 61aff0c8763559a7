// The kernels for processors with AVX-512 (F, VL, DQ and BW); empty elsewhere.
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")
#endif
#define EDGECOND_ISA avx512
#define EDGECOND_VECTOR_BYTES 64
#define EDGECOND_TILE_ROWS 12
#include "kernels.inl"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
