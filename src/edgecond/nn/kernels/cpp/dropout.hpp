// Random dropout by the gaps between zeros.
#pragma once

#include <cmath>
#include <cstdint>

namespace edgecond {

// Sets each of `count` elements to zero with probability 0 < p < 1. Gaps g between zeros are geometrically distributed,
// P(g) = (1 - p)^g p, so one random number (SplitMix64) is drawn per zero instead of per element.
template <class T>
void drop(T *elements, int64_t count, double p, uint64_t seed) {
  const double scale = 1 / std::log1p(-p);
  for (int64_t at = 0;; ++at) {
    uint64_t bits = seed += 0x9E3779B97F4A7C15u;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
    bits ^= bits >> 31;
    const double gap = std::log((static_cast<double>(bits >> 11) + 0.5) * 0x1p-53) * scale;
    if (gap >= static_cast<double>(count - at)) return;
    at += static_cast<int64_t>(gap);
    elements[at] = 0;
  }
}

}  // namespace edgecond
