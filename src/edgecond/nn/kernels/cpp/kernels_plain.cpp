// The kernels for any processor.
#define EDGECOND_ISA plain
#define EDGECOND_VECTOR_BYTES 16
#define EDGECOND_TILE_ROWS 6
#include "kernels.inl"
