// Sorting edges and finding their distinct labels, in one or two passes over memory.
#pragma once

#include <stdint.h>
#include <string.h>

#include <vector>

namespace edgecond {

// Returns the position of the first number that is not from 0 to limit - 1; count if there is none.
inline int64_t first_invalid(const int64_t *numbers, int64_t count, int64_t limit) {
  int64_t i = 0;
  while (i < count && uint64_t(numbers[i]) < uint64_t(limit)) ++i;
  return i;
}

// A stable counting sort: `order` lists the positions of ascending keys, which are below `limit`, and `pointer` the
// first position of each. Also writes the keys, and the other ends of the edges, in that order.
inline void sort(const int64_t *keys, const int64_t *others, int64_t count, int64_t limit, int64_t *pointer,
                 int64_t *order, int64_t *sorted_keys, int64_t *sorted_others) {
  memset(pointer, 0, (limit + 1) * sizeof(int64_t));
  for (int64_t e = 0; e < count; ++e) ++pointer[keys[e]];
  for (int64_t key = 0, sum = 0; key <= limit; ++key) {
    const int64_t size = pointer[key];
    pointer[key] = sum;
    sum += size;
  }
  for (int64_t e = 0; e < count; ++e) {
    const int64_t at = pointer[keys[e]]++;
    order[at] = e;
    sorted_keys[at] = keys[e];
    sorted_others[at] = others[e];
  }
  memmove(pointer + 1, pointer, limit * sizeof(int64_t));  // each has moved on to the first position of the next
  pointer[0] = 0;
}

inline uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;  // 2^64 divided by the golden ratio
  return hash ^ (hash >> 29);
}

// Returns a hash that changes whenever a single word changes, and almost surely whenever several do.
inline uint64_t fingerprint(const unsigned char *bytes, int64_t size) {
  uint64_t lanes[4] = {1, 2, 3, 4}, words[4];
  int64_t i = 0;
  for (; i + int64_t(sizeof words) <= size; i += sizeof words) {
    memcpy(words, bytes + i, sizeof words);
    for (int l = 0; l < 4; ++l) lanes[l] = mix(lanes[l], words[l]);
  }
  uint64_t hash = uint64_t(size);
  for (; i + int64_t(sizeof hash) <= size; i += sizeof hash) {
    memcpy(words, bytes + i, sizeof hash);
    hash = mix(hash, words[0]);
  }
  for (; i < size; ++i) hash = mix(hash, bytes[i]);
  for (uint64_t lane : lanes) hash = mix(hash, lane);
  return hash;
}

// Returns whether no number is infinite or NaN: none has all bits of its exponent set.
template <class Bits>
bool finite(const Bits *numbers, int64_t count, Bits exponent) {
  Bits found = 0;
  for (int64_t i = 0; i < count; ++i) found |= (numbers[i] & exponent) == exponent;
  return !found;
}

// Numbers the distinct rows in the order of their first appearance: row i is equal, bit for bit, to row
// first[index[i]]. Returns how many there are; -1 as soon as there are more than `most`.
inline int64_t distinct(const unsigned char *rows, int64_t count, int64_t width, int64_t most, int64_t *index,
                        int64_t *first) {
  uint64_t slots = 16;
  while (slots < 2 * uint64_t(most)) slots *= 2;
  std::vector<int64_t> table(slots, -1);
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    const unsigned char *row = rows + i * width;
    uint64_t slot = fingerprint(row, width) & (slots - 1);
    while (table[slot] >= 0 && memcmp(rows + first[table[slot]] * width, row, width)) slot = (slot + 1) & (slots - 1);
    if (table[slot] < 0) {
      if (found == most) return -1;
      first[found] = i;
      table[slot] = found++;
    }
    index[i] = table[slot];
  }
  return found;
}

}  // namespace edgecond
