// The kernels for any processor.
#define EDGECOND_ISA plain
#define EDGECOND_VECTOR_BYTES 16
#include "kernels.inl"
