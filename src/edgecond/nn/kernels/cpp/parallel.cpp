#include "parallel.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

namespace edgecond {
namespace {

// The OpenMP runtime that torch has loaded, if its symbols are visible. Its idle workers spin for a while after each of
// torch's operations; other threads would have to share the cores with them.
struct OpenMP {
  void (*start)(void (*)(void *), void *, unsigned, unsigned);
  int (*number)();
  int (*count)();

  OpenMP() {
    start = reinterpret_cast<decltype(start)>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
    number = reinterpret_cast<decltype(number)>(dlsym(RTLD_DEFAULT, "omp_get_thread_num"));
    count = reinterpret_cast<decltype(count)>(dlsym(RTLD_DEFAULT, "omp_get_num_threads"));
  }
#if defined(__SANITIZE_THREAD__)
  bool found() const { return false; }  // the sanitizer does not see how an OpenMP runtime synchronises its threads
#else
  bool found() const { return start && number && count; }
#endif
};

struct Work {
  int64_t parts;
  void (*body)(void *, int64_t);
  void *context;
  const OpenMP *openmp;
};

void run_with_openmp(void *work) {
  const Work &w = *static_cast<Work *>(work);
  // The team may be smaller than requested.
  for (int64_t part = w.openmp->number(); part < w.parts; part += w.openmp->count()) w.body(w.context, part);
}

}  // namespace

void run_parallel(int64_t parts, void (*body)(void *, int64_t), void *context) {
  static const OpenMP openmp;
  if (parts > 1 && openmp.found()) {
    Work work{parts, body, context, &openmp};
    return openmp.start(run_with_openmp, &work, static_cast<unsigned>(parts), 0);
  }
  std::vector<std::thread> threads;
  int64_t started = 1;
  try {
    threads.reserve(parts);
    for (; started < parts; ++started) threads.emplace_back(body, context, started);
  } catch (const std::exception &) {
    // No more threads can be started: this one does the rest.
  }
  body(context, 0);
  for (int64_t part = started; part < parts; ++part) body(context, part);
  for (std::thread &thread : threads) thread.join();
}

Memory::Memory(size_t bytes) : pointer_(std::aligned_alloc(64, (bytes / 64 + 1) * 64)) {}

Memory::~Memory() { std::free(pointer_); }

}  // namespace edgecond
