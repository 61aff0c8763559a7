// The closest centroid, found with a k-d tree.
#pragma once

#include <vector>

#include "points.hpp"

namespace edgecond {

// The centroids of one cloud. A node is a range of centroids, split in half along its widest axis.
class Tree {
 public:
  Tree(const double *centroids, int64_t n) : points_(n), nodes_(n) {
    for (int64_t i = 0; i < n; ++i) points_[i] = {{centroids[3 * i], centroids[3 * i + 1], centroids[3 * i + 2]}, i};
    build(0, n);
  }

  // Returns the closest centroid of p, or `best` if that is closer.
  Ranked closest(const double *p, Ranked best) const {
    double offset[3] = {};
    search(0, points_.size(), p, offset, best);
    return best;
  }

 private:
  static constexpr int64_t kLeaf = 16;

  struct Node {
    int axis;
    double plane;
    int64_t lowest;  // index
  };

  void build(int64_t begin, int64_t end) {
    if (begin == end) return;
    const auto first = points_.begin() + begin, last = points_.begin() + end;
    Box box;
    int64_t lowest = first->index;
    for (auto point = first; point < last; ++point) {
      box.add(point->at);
      lowest = std::min(lowest, point->index);
    }
    const int64_t middle = (begin + end) / 2;
    const int axis = box.widest();
    nodes_[middle] = {axis, 0, lowest};
    if (end - begin <= kLeaf) return;
    std::nth_element(first, points_.begin() + middle, last,
                     [=](const Point &a, const Point &b) { return a.at[axis] < b.at[axis]; });
    nodes_[middle].plane = points_[middle].at[axis];
    build(begin, middle);
    build(middle, end);
  }

  // `offset` is the vector from p to the region of the node. Rounding is monotonic, so no point of the region is nearer
  // than that, and nodes that compare greater than `best` are skipped without a tolerance.
  void search(int64_t begin, int64_t end, const double *p, double *offset, Ranked &best) const {
    const int64_t middle = (begin + end) / 2;
    if (begin == end || best < Ranked(squared(offset[0], offset[1], offset[2]), nodes_[middle].lowest)) return;
    if (end - begin <= kLeaf) {
      for (int64_t i = begin; i < end; ++i) best = std::min(best, Ranked(points_[i].distance(p), points_[i].index));
      return;
    }
    const int axis = nodes_[middle].axis;
    const double step = p[axis] - nodes_[middle].plane, before = offset[axis];
    const bool below = step < 0;
    search(below ? begin : middle, below ? middle : end, p, offset, best);
    offset[axis] = step;
    search(below ? middle : begin, below ? end : middle, p, offset, best);
    offset[axis] = before;
  }

  std::vector<Point> points_;
  std::vector<Node> nodes_;
};

}  // namespace edgecond
