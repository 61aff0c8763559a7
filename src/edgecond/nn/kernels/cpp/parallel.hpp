// Parallel loops and scratch memory, without headers of the C++ library.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace edgecond {

// Runs body(context, 0), ..., body(context, parts - 1) in parallel, on the threads of the OpenMP runtime that torch has
// loaded, or else on threads that are started for this call.
void run_parallel(int64_t parts, void (*body)(void *, int64_t), void *context);

template <class F>
void parallel(int64_t parts, F f) {
  run_parallel(parts, [](void *context, int64_t part) { (*static_cast<F *>(context))(part); }, &f);
}

// Runs f(part, item) for all items, each on the next part that is free: cores are not equally fast, nor items equally
// large.
template <class F>
void parallel(int64_t parts, int64_t items, F f) {
  int64_t next = 0;
  parallel(parts, [&](int64_t part) {
    for (int64_t item; (item = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < items;) f(part, item);
  });
}

// Memory aligned to cache lines, freed with its owner; null if the allocation fails.
class Memory {
 public:
  explicit Memory(size_t bytes);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  void *get() const { return pointer_; }

 private:
  void *pointer_;
};

}  // namespace edgecond
