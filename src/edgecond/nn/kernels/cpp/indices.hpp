// Checks on sizes, and on the numbers of edges and vertices, by which the kernels address memory. Those on numbers are one
// pass each, without branches.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kernels.hpp"

namespace edgecond {

// Returns whether every number is from 0 to limit - 1: then neither it nor limit - 1 minus it has its sign bit set.
inline bool in_range(const int64_t *numbers, int64_t count, int64_t limit) {
  uint64_t signs = 0;
  for (int64_t i = 0; i < count; ++i) signs |= uint64_t(numbers[i]) | (uint64_t(limit) - 1 - uint64_t(numbers[i]));
  return !(signs >> 63);
}

// Returns whether `pointer` divides the edges into rows: it ascends from 0 to their number.
inline bool divides(const int64_t *pointer, int64_t rows, int64_t edges) {
  if (rows < 0 || pointer[0] != 0 || pointer[rows] != edges || !in_range(pointer, rows + 1, edges + 1)) return false;
  uint64_t signs = 0;
  for (int64_t r = 0; r < rows; ++r) signs |= uint64_t(pointer[r + 1] - pointer[r]);
  return !(signs >> 63);
}

// Sets an error that names a number out of range; returns whether there is none. Numbers that are not given are right.
inline bool check_range(const char *what, const int64_t *numbers, int64_t count, int64_t limit) {
  if (!numbers || in_range(numbers, count, limit)) return true;
  int64_t i = 0;
  while (numbers[i] >= 0 && numbers[i] < limit) ++i;
  PyErr_Format(PyExc_ValueError,
               "%s must be from 0 to %lld: found %lld at position %lld. Build graphs with Graph.from_edges, and leave "
               "their tensors as they are.",
               what, (long long)(limit - 1), (long long)numbers[i], (long long)i);
  return false;
}

inline bool check_pointer(const int64_t *pointer, int64_t rows, int64_t edges) {
  if (pointer && divides(pointer, rows, edges)) return true;
  PyErr_Format(PyExc_ValueError,
               "the pointer of a graph must ascend from 0 to its number of edges, %lld: this one does not. Build graphs "
               "with Graph.from_edges, and leave their tensors as they are.",
               (long long)edges);
  return false;
}

// Sets an error unless there are matrices of at least one element, and so few elements that no size in bytes overflows,
// with all padding and for kMaxThreads threads. A tensor that repeats its elements can have any number.
inline bool check_matrices(int64_t channels, int64_t row_width, int64_t column_width) {
  constexpr int64_t kMost = int64_t(1) << 38;
  if (channels > 0 && row_width > 0 && column_width > 0 && channels <= kMost / row_width &&
      channels * row_width <= kMost / column_width)
    return true;
  PyErr_Format(PyExc_ValueError, "the weight must have from 1 to %lld elements: got %lld x %lld x %lld.",
               (long long)kMost, (long long)channels, (long long)row_width, (long long)column_width);
  return false;
}

// Sets an error unless what must hold does; returns whether it does.
inline bool check_that(bool holds, const char *what) {
  if (!holds) PyErr_Format(PyExc_ValueError, "the kernel needs %s.", what);
  return holds;
}

template <class T>
bool check(const Problem<T> &g) {
  const int64_t computed = g.layers ? g.widths[g.layers] : g.hidden_width, constant = g.channels - g.hidden_width;
  for (int64_t l = 0; l <= g.layers; ++l)
    if (g.layers && !check_that(g.widths[l] > 0 && (!l || (g.weights[l - 1] && g.biases[l - 1])), "layers with addresses"))
      return false;
  return check_matrices(g.channels, g.row_width, g.column_width) &&
         check_that(g.column && g.weight, "the addresses of column and weight") &&
         check_that(!g.hidden != !g.index, "the address of either hidden or index") &&
         check_that(g.index ? !g.layers : computed == g.hidden_width && (constant == 0 || constant == 1),
                    "as many channels as activations, or one more") &&
         check_pointer(g.pointer, g.rows, g.edges) && check_range("the vertices of edges", g.column, g.edges, g.columns) &&
         check_range("the numbers of edges", g.edge, g.edges, g.edges) &&
         check_range("the index of labels", g.index, g.edges, g.channels) &&
         check_that(g.column_signal || !g.edges, "the address of column_signal");
}

template <class T>
bool check(const Runs<T> &g) {
  return check_matrices(g.channels, g.row_width, g.column_width) &&
         check_that(g.source && g.target, "the addresses of source and target") &&
         check_that(g.channels == (g.scale ? 2 : 1), "one channel, or two and a scale") &&
         check_pointer(g.pointer, g.runs, g.edges) && check_range("the sources of edges", g.source, g.edges, g.sources) &&
         check_range("the targets of edges", g.target, g.edges, g.targets) &&
         check_that(g.column_signal || !g.edges, "the address of column_signal");
}

}  // namespace edgecond
