// Fork and join over a few parts, and scratch memory, behind plain functions.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace edgecond {

// Runs body(context, 0), ..., body(context, parts - 1) side by side: on the threads of the OpenMP runtime that torch
// has loaded, or else on threads that live for this one call.
void run_parallel(int64_t parts, void (*body)(void *, int64_t), void *context);

template <class F>
void parallel(int64_t parts, F f) {
  run_parallel(parts, [](void *context, int64_t part) { (*static_cast<F *>(context))(part); }, &f);
}

// Runs body(part, item) for all items on the threads of some parts, each item on the first that is free. Cores are not
// equally fast, nor items equally large.
template <class F>
void parallel(int64_t parts, int64_t items, F f) {
  int64_t next = 0;
  parallel(parts, [&](int64_t part) {
    for (int64_t item; (item = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < items;) f(part, item);
  });
}

// Memory aligned to cache lines, freed with its owner; null if there is none.
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
