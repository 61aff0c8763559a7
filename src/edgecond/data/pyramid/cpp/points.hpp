// Points, distances and boxes, shared by cells and trees.
//
// Squared distances are in double precision, summed as x, y, z and never fused (-ffp-contract=off): those of NumPy, bit
// for bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace edgecond {

constexpr double kHuge = 1e100;  // squares of larger numbers, or of numbers below 1 / kHuge, might over- or underflow

inline double squared(double x, double y, double z) { return x * x + y * y + z * z; }

struct Point {
  double at[3];
  int64_t index;

  double distance(const double *p) const { return squared(p[0] - at[0], p[1] - at[1], p[2] - at[2]); }
};

// Squared distance and index of a point: nearer points compare less, among equally near ones those of lower index.
using Ranked = std::pair<double, int64_t>;

// The bounding box of points, which are given by the address of their coordinates.
struct Box {
  double low[3] = {kHuge, kHuge, kHuge}, high[3] = {-kHuge, -kHuge, -kHuge};

  void add(const double *p) {
    for (int axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], p[axis]);
      high[axis] = std::max(high[axis], p[axis]);
    }
  }
  double extent(int axis) const { return high[axis] - low[axis]; }
  int widest() const {
    const int axis = extent(1) > extent(0) ? 1 : 0;
    return extent(2) > extent(axis) ? 2 : axis;
  }
};

}  // namespace edgecond
