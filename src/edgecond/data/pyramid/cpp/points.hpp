// Points, distances and boxes: what cells and trees share.
//
// Squared distances in double precision decide, summed as x, y, z and never fused (-ffp-contract=off): the numbers of
// NumPy, bit for bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace edgecond {

constexpr double kHuge = 1e100;  // what is larger, or smaller than one over it, has squares near the end of the numbers

inline double squared(double x, double y, double z) { return x * x + y * y + z * z; }

struct Point {
  double at[3];
  int64_t index;

  double distance(const double *p) const { return squared(p[0] - at[0], p[1] - at[1], p[2] - at[2]); }
};

// How far a point is, and its index: the nearer comes first, among equally near ones the one of lower index.
using Ranked = std::pair<double, int64_t>;

// The smallest box around some points, each given by the address of its coordinates.
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
