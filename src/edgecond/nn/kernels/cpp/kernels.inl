// The kernels of kernels.hpp for the instruction set EDGECOND_ISA; included once per set.
#include "kernels.hpp"
#include "parallel.hpp"

namespace edgecond {
namespace EDGECOND_ISA {
namespace {

#include "matrix.inl"
#include "rows.inl"
#include "perceptron.inl"
#include "gather.inl"
#include "spread.inl"
#include "grouped.inl"

}  // namespace

#define EDGECOND_DEFINE(T)                                                               \
  bool gather(const Problem<T> &g, T *out) { return gather_all(g, out); }                \
  bool spread(const Problem<T> &g, const Gradients<T> &to) { return spread_all(g, to); } \
  bool products(const Runs<T> &g, T *out) { return products_all(g, out); }               \
  bool outer_sums(const Runs<T> &g, T *out) { return outer_sums_all(g, out); }
EDGECOND_DEFINE(float)
EDGECOND_DEFINE(double)
#undef EDGECOND_DEFINE

}  // namespace EDGECOND_ISA
}  // namespace edgecond
