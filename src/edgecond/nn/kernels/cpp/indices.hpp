// Checks on the numbers of edges and vertices, by which the kernels address memory. Each is one pass without branches.
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

template <class T>
bool check(const Problem<T> &g) {
  return check_pointer(g.pointer, g.rows, g.edges) && check_range("the vertices of edges", g.column, g.edges, g.columns) &&
         check_range("the numbers of edges", g.edge, g.edges, g.edges) &&
         check_range("the index of labels", g.index, g.edges, g.channels);
}

template <class T>
bool check(const Runs<T> &g) {
  return check_pointer(g.pointer, g.runs, g.edges) && check_range("the sources of edges", g.source, g.edges, g.sources) &&
         check_range("the targets of edges", g.target, g.edges, g.targets);
}

}  // namespace edgecond
