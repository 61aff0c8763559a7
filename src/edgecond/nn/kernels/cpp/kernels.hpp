// The sums behind the exact algorithms for Equation 1, as chains of small matrix products.
//
// The factored sums read a graph row by row: by target, or by source for the form that multiplies first. Row r has
// signal z_r (width `row_width`), the vertex at the other end of edge e has signal y_e (width `column_width`), and a_e
// are the `channels` activations of the edge. With W_c the weight matrices:
//
//   gather   out_r  = sum_e sum_c a_ec W_c y_e          blend first (A_r = sum_e a_e (x) y_e), multiply after
//   spread   out_j += sum_c a_ec W_c^T z_r              multiply first (V_r = W^T z_r), blend after
//            da_ec  = z_r . W_c y_e                     from the same V_r: the gradient of the activations
//            dW_c   = sum_r z_r (x) sum_e a_ec y_e      from the blends A_r: the gradient of the weight
//
// Activations are in memory, or one-hot, or computed where they are needed by the hidden layers of F, which take the
// labels l_e to a_e = relu(... relu(W_1 l_e + b_1)). In the last case nothing of the size of the edges is written.
//
// Every element is summed in the order of the edges, or in chunks that depend on the problem alone, whatever the number
// of threads. No header of torch or of the C++ library is included here: the file is compiled once per instruction set,
// and an inline library function compiled for AVX2 could be linked into the plain build.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace edgecond {

constexpr int64_t kMaxLayers = 8;
constexpr int64_t kMaxThreads = 1024;

template <class T>
struct Problem {
  int64_t threads;
  int64_t rows, columns, edges;
  const int64_t *pointer;  // (rows + 1) first edge of each row
  const int64_t *column;   // (edges) the vertex at the other end
  const int64_t *edge;     // (edges) the row of the edge's activations or labels; null if that is the edge itself
  const int64_t *index;    // (edges) the one channel that is 1, for one-hot activations; else null
  const T *hidden;         // (edges, hidden_width) activations, or (edges, widths[0]) labels if there are layers
  int64_t hidden_width;
  int64_t channels;        // hidden_width, or one more for a constant channel of 1 (the bias of F's last layer)
  int64_t row_width, column_width;
  const T *row_signal;     // (rows, row_width)
  const T *column_signal;  // (columns, column_width)
  const T *weight;         // element (c, r, j) at c * weight_channel + r * weight_row + j * weight_column
  int64_t weight_channel, weight_row, weight_column;
  int64_t layers;          // number of hidden layers of F to compute; 0 if activations are given
  int64_t widths[kMaxLayers + 1];
  const T *weights[kMaxLayers];  // (widths[l], widths[l - 1])
  const T *biases[kMaxLayers];
};

// The results of `spread`; null for one that is not needed. `spread` adds to `out` and overwrites the rest.
template <class T>
struct Gradients {
  T *out;     // (columns, column_width)
  T *weight;  // with the strides of the problem's weight
  T *hidden;  // (edges, hidden_width), or (edges, widths[0]) if there are layers
  bool want_layers;
  T *weights[kMaxLayers];
  T *biases[kMaxLayers];
};

// Edges sorted by filter, in runs that share one: for few distinct filters, and for those that are linear in a scale.
//
//   products    out_i += sum_e sum_c s_ec M_cr x_j      s_e = (1, scale_e), or (1) with a single channel
//   outer sums  out_cr = sum_e s_ec z_i (x) x_j         over the edges e = (j, i) of run r: the gradient of M_cr
template <class T>
struct Runs {
  int64_t threads;
  int64_t runs, sources, targets, edges;
  const int64_t *pointer;         // (runs + 1) first edge of each run
  const int64_t *source, *target; // (edges)
  const T *scale;                 // (edges) if there are two channels
  int64_t channels, row_width, column_width;
  const T *row_signal;            // z, (targets, row_width), for outer sums
  const T *column_signal;         // x, (sources, column_width)
  const T *weight;                // M, for products
  int64_t weight_run, weight_channel, weight_row, weight_column;
};

// Each returns false if memory runs out.
#define EDGECOND_KERNELS(T)                                       \
  bool gather(const Problem<T> &problem, T *out);                 \
  bool spread(const Problem<T> &problem, const Gradients<T> &to); \
  bool products(const Runs<T> &runs, T *out);                     \
  bool outer_sums(const Runs<T> &runs, T *out);

namespace plain {
EDGECOND_KERNELS(float)
EDGECOND_KERNELS(double)
}  // namespace plain
namespace avx2 {
EDGECOND_KERNELS(float)
EDGECOND_KERNELS(double)
}  // namespace avx2
namespace avx512 {
EDGECOND_KERNELS(float)
EDGECOND_KERNELS(double)
}  // namespace avx512

}  // namespace edgecond
