// Neighbours within a radius, found with a grid of cells as wide as the radius.
#pragma once

#include <vector>

#include "points.hpp"

namespace edgecond {

// A list of points for each point: `count` entries of `points` from `start`.
struct Lists {
  std::vector<int64_t> start, count;
  std::vector<int32_t> points;

  explicit Lists(int64_t n = 0) : start(n), count(n) {}

  // For each point, the points whose lists contain it. The result is sorted, whatever the order of the lists.
  Lists transposed() const {
    const int64_t n = count.size();
    Lists result(n);
    result.points.resize(points.size());
    for (const int32_t j : points) ++result.count[j];
    for (int64_t i = 1; i < n; ++i) result.start[i] = result.start[i - 1] + result.count[i - 1];
    std::vector<int64_t> next = result.start;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = start[i]; k < start[i] + count[i]; ++k)
        result.points[next[points[k]]++] = static_cast<int32_t>(i);
    return result;
  }

  // The same lists, each sorted. If none reaches the cap they are symmetric: neighbours are on each other's lists.
  Lists sorted(int64_t cap) const {
    const bool symmetric = std::all_of(count.begin(), count.end(), [=](int64_t length) { return length < cap; });
    return symmetric ? transposed() : transposed().transposed();
  }
};

// The points of one cloud, sorted by cell; cells are sorted by x, y and z. The 27 cells around a cell are nine runs of
// points, which move forward with the cell.
class Cells {
 public:
  Cells(const double *cloud, int64_t first, int64_t n, double radius)
      : radius_(radius), points_(n), key_(n + 1, ~uint64_t(0)) {
    Box box;
    for (int64_t i = 0; i < n; ++i) box.add(cloud + 3 * i);
    fit_ = box.extent(box.widest()) <= kAlong * radius;
    if (!fit_) return;
    const double scale = 1 / (radius * kSlack);
    std::vector<std::pair<uint64_t, int64_t>> order(n);
    for (int64_t i = 0; i < n; ++i) {
      const double *p = cloud + 3 * i;
      uint64_t cell[3];  // from 1, so that every cell has a predecessor
      for (int axis = 0; axis < 3; ++axis) cell[axis] = 1 + static_cast<int64_t>((p[axis] - box.low[axis]) * scale);
      order[i] = {cell[0] * kX + cell[1] * kY + cell[2], i};
    }
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < n; ++i) {
      const double *p = cloud + 3 * order[i].second;
      points_[i] = {{p[0], p[1], p[2]}, first + order[i].second};
      key_[i] = order[i].first;  // key_[n] is a sentinel
    }
  }

  // Lists the neighbours of each point, unsorted: the `cap` nearest, always including the point itself. Returns false
  // if the cloud has too many cells or more than `most` candidate pairs; subtracts the candidate pairs from `most`.
  bool within(int64_t cap, int64_t &most, Lists &lists) const {
    if (!fit_) return false;
    const int64_t n = points_.size();
    const double limit = radius_ * radius_;
    std::vector<Point> around;
    std::vector<int32_t> near;
    int64_t begin[9] = {}, end[9] = {};
    for (int64_t cell = 0, next; cell < n; cell = next) {
      around.clear();
      for (int run = 0; run < 9; ++run) {
        const uint64_t from = key_[cell] + run / 3 * kX + run % 3 * kY - (kX + kY + 1);
        while (key_[begin[run]] < from) ++begin[run];
        end[run] = std::max(end[run], begin[run]);
        while (key_[end[run]] <= from + 2) ++end[run];
        around.insert(around.end(), points_.begin() + begin[run], points_.begin() + end[run]);
      }
      for (next = cell; key_[next] == key_[cell];) ++next;
      const int64_t candidates = around.size();
      if (candidates > most / (next - cell)) return false;
      most -= candidates * (next - cell);
      near.resize(candidates);
      for (int64_t i = cell; i < next; ++i) {
        const Point &here = points_[i];
        int64_t found = 0;
        for (const Point &other : around) {  // without a branch, which would be unpredictable
          near[found] = static_cast<int32_t>(other.index);
          found += other.distance(here.at) <= limit;
        }
        if (found > cap) {
          keep_nearest(cap, here, around, near);
          found = cap;
        }
        lists.start[here.index] = lists.points.size();
        lists.count[here.index] = found;
        lists.points.insert(lists.points.end(), near.begin(), near.begin() + found);
      }
    }
    return true;
  }

 private:
  static constexpr double kAlong = 1 << 20;   // cells along an axis
  static constexpr double kSlack = 1 + 1e-6;  // cells are wider than the radius by more than rounding errors
  static constexpr uint64_t kX = uint64_t(1) << 42, kY = uint64_t(1) << 21;

  static void keep_nearest(int64_t cap, const Point &here, const std::vector<Point> &around,
                           std::vector<int32_t> &near) {
    std::vector<Ranked> ranked;
    ranked.reserve(around.size());
    for (const Point &other : around)
      ranked.emplace_back(other.index == here.index ? -1 : other.distance(here.at), other.index);
    std::nth_element(ranked.begin(), ranked.begin() + cap, ranked.end());
    for (int64_t k = 0; k < cap; ++k) near[k] = static_cast<int32_t>(ranked[k].second);
  }

  double radius_;
  bool fit_;
  std::vector<Point> points_;
  std::vector<uint64_t> key_;
};

}  // namespace edgecond
