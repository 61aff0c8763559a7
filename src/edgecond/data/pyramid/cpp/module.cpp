// The Python interface of cells and trees, for the arrays of a batch. Built against Python's stable ABI.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cmath>
#include <limits>
#include <new>

#include "cells.hpp"
#include "tree.hpp"

namespace {

using edgecond::Cells;
using edgecond::kHuge;
using edgecond::Lists;
using edgecond::Ranked;
using edgecond::squared;
using edgecond::Tree;

// An array of Python, borrowed until the call returns.
struct Borrowed {
  Py_buffer buffer{};

  ~Borrowed() {
    if (buffer.obj) PyBuffer_Release(&buffer);
  }
  template <class T>
  const T *begin() const { return static_cast<const T *>(buffer.buf); }
  template <class T>
  int64_t size() const { return buffer.len / sizeof(T); }
  bool aligned() const { return reinterpret_cast<uintptr_t>(buffer.buf) % alignof(double) == 0; }
  bool in_range() const {
    const double *numbers = begin<double>();
    return std::all_of(numbers, numbers + size<double>(), [](double x) { return std::fabs(x) < kHuge; });
  }
};

// Sets an error unless `sizes` divides the points, of three numbers each, into clouds; returns whether it does.
bool divides(const Borrowed &sizes, const Borrowed &points) {
  constexpr int64_t kPoint = 3 * sizeof(double), kSize = sizeof(int64_t);
  int64_t rest = points.buffer.len / kPoint;
  bool fits = points.aligned() && sizes.aligned() && points.buffer.len % kPoint == 0 &&
              sizes.buffer.len % kSize == 0 && rest <= INT32_MAX;
  for (int64_t cloud = 0; fits && cloud < sizes.size<int64_t>(); ++cloud) {
    const int64_t n = sizes.begin<int64_t>()[cloud];
    fits = n >= 0 && n <= rest;
    rest -= fits ? n : 0;
  }
  if (fits && rest == 0) return true;
  PyErr_SetString(PyExc_ValueError, "clouds must be aligned arrays of three doubles per point, at most 2147483647 points, and "
                                    "their int64 sizes must add up to the number of points");
  return false;
}

// Runs `work` without Python's lock and returns its result; returns false and sets an error if memory is exhausted.
template <class Work>
bool unlocked(Work work) {
  bool done = false, memory = true;
  Py_BEGIN_ALLOW_THREADS
  try {
    done = work();
  } catch (const std::bad_alloc &) {
    memory = false;
  }
  Py_END_ALLOW_THREADS
  if (!memory) PyErr_NoMemory();
  return done;
}

template <class T>
PyObject *bytes_of(const std::vector<T> &numbers) {
  return PyByteArray_FromStringAndSize(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(T));
}

PyObject *none() { return PyErr_Occurred() ? nullptr : Py_BuildValue(""); }

PyObject *within(PyObject *, PyObject *arguments) {
  Borrowed positions, sizes;
  double radius;
  long long cap, limit;
  if (!PyArg_ParseTuple(arguments, "y*y*dLL", &positions.buffer, &sizes.buffer, &radius, &cap, &limit)) return nullptr;
  if (!divides(sizes, positions)) return nullptr;
  if (cap < 1) return PyErr_Format(PyExc_ValueError, "a point must have at least 1 neighbour, itself: got %lld", cap);
  Lists lists;
  const bool found = unlocked([&] {
    if (!positions.in_range() || !(1 / kHuge < radius && radius < kHuge)) return false;
    lists = Lists(positions.size<double>() / 3);
    int64_t first = 0, most = limit;
    for (int64_t cloud = 0; cloud < sizes.size<int64_t>(); ++cloud) {
      const int64_t n = sizes.begin<int64_t>()[cloud];
      if (!Cells(positions.begin<double>() + 3 * first, first, n, radius).within(cap, most, lists)) return false;
      first += n;
    }
    lists = lists.sorted(cap);
    return true;
  });
  return found ? Py_BuildValue("NN", bytes_of(lists.points), bytes_of(lists.count)) : none();
}

PyObject *closest(PyObject *, PyObject *arguments) {
  Borrowed positions, sizes, centroids, centroid_sizes;
  if (!PyArg_ParseTuple(arguments, "y*y*y*y*", &positions.buffer, &sizes.buffer, &centroids.buffer,
                        &centroid_sizes.buffer))
    return nullptr;
  if (!divides(sizes, positions) || !divides(centroid_sizes, centroids)) return nullptr;
  if (sizes.buffer.len != centroid_sizes.buffer.len)
    return PyErr_Format(PyExc_ValueError, "there must be as many clouds of centroids as of points: got %lld and %lld",
                        (long long)centroid_sizes.size<int64_t>(), (long long)sizes.size<int64_t>());
  std::vector<int64_t> map;
  const bool found = unlocked([&] {
    if (!positions.in_range() || !centroids.in_range()) return false;
    map.reserve(positions.size<double>() / 3);
    const double *p = positions.begin<double>(), *first = centroids.begin<double>();
    for (int64_t cloud = 0; cloud < sizes.size<int64_t>(); ++cloud) {
      const int64_t count = centroid_sizes.begin<int64_t>()[cloud];
      const int64_t start = (first - centroids.begin<double>()) / 3;
      const Tree tree(first, count);
      Ranked best(std::numeric_limits<double>::infinity(), centroids.size<double>() / 3 - start);  // none
      for (int64_t i = 0; i < sizes.begin<int64_t>()[cloud]; ++i, p += 3) {
        if (i && count) {  // the centroid of the previous point is a good guess
          const double *guess = first + 3 * best.second;
          best.first = squared(p[0] - guess[0], p[1] - guess[1], p[2] - guess[2]);
        }
        best = tree.closest(p, best);
        map.push_back(start + best.second);
      }
      first += 3 * count;
    }
    return true;
  });
  return found ? bytes_of(map) : none();
}

PyMethodDef methods[] = {
    {"within", within, METH_VARARGS, "Return sources, sorted by target and source, and the degree of each target."},
    {"closest", closest, METH_VARARGS, "Return the closest centroid of each point."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_cells", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__cells() { return PyModule_Create(&definition); }
