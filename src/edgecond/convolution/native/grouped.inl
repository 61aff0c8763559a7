// Edges sorted by filter: gather a block of signals, multiply it by the filter of its run, add it to where it belongs.

constexpr int64_t kBlock = 96;  // edges of a block: signals and products stay in the first-level cache

template <class T>
struct Blocks {
  const Runs<T> &g;
  int64_t depth, stride;  // elements of a gathered row, (x, s x), and the same padded to whole vectors

  explicit Blocks(const Runs<T> &runs)
      : g(runs), depth(runs.channels * runs.column_width), stride(round_up(depth, kLanes<T>)) {}

  int64_t parts(int64_t most) const {
    const double work = double(g.pointer[g.runs]) * depth * g.row_width;
    return max(1, min(min(g.threads, most), int64_t(work / kThreadWork)));
  }

  // The signals at the sources of the edges [begin, end), and the same times the scale of each edge.
  void gather(int64_t begin, int64_t end, T *to) const {
    const int64_t width = g.column_width;
    for (int64_t e = begin; e < end; ++e, to += stride) {
      if (e + kAhead < end) __builtin_prefetch(g.column_signal + g.source[e + kAhead] * width);
      const T *x = g.column_signal + g.source[e] * width;
      copy(to, x, width);
      if (g.channels == 2)
        for (int64_t j = 0; j < width; ++j) to[width + j] = g.scale[e] * x[j];
      for (int64_t j = depth; j < stride; ++j) to[j] = 0;
    }
  }

  // Calls use(run, begin, end) for every block of every run, and done(run) after the last.
  template <class F, class G>
  void each(F use, G done) const {
    for (int64_t run = 0; run < g.runs; ++run) {
      for (int64_t e = g.pointer[run]; e < g.pointer[run + 1]; e += kBlock) use(run, e, min(g.pointer[run + 1], e + kBlock));
      done(run);
    }
  }
};

// Every thread has a share of the columns of the output, so that no two add to one element.
template <class T>
bool products_all(const Runs<T> &g, T *out) {
  const Blocks<T> blocks(g);
  const int64_t panels = (g.row_width + kPanel<T> - 1) / kPanel<T>, parts = blocks.parts(panels);
  const int64_t most = (panels + parts - 1) / parts * kPanel<T>;
  const int64_t size = kBlock * (blocks.stride + most) + blocks.depth * most;
  const Memory space(parts * size * sizeof(T));
  if (!space.get()) return false;
  parallel(parts, [&](int64_t part) {
    T *signals = static_cast<T *>(space.get()) + part * size, *products = signals + kBlock * blocks.stride;
    T *packed = products + kBlock * most;
    const int64_t first = panels * part / parts * kPanel<T>;
    const int64_t width = min(g.row_width, panels * (part + 1) / parts * kPanel<T>) - first;
    int64_t at = -1;
    Panels<T> filter{};
    blocks.each(
        [&](int64_t run, int64_t begin, int64_t end) {
          if (run != at)
            filter = pack_panels(packed, blocks.depth, width, [&](int64_t d, int64_t r) {
              const int64_t c = d / g.column_width;
              return g.weight[run * g.weight_run + c * g.weight_channel + (first + r) * g.weight_row +
                              (d - c * g.column_width) * g.weight_column];
            });
          at = run;
          blocks.gather(begin, end, signals);
          multiply(end - begin, round_up(width, kLanes<T>), blocks.depth, signals, blocks.stride, 1, filter, products,
                   most, false);
          for (int64_t e = begin; e < end; ++e)
            add_to(out + g.target[e] * g.row_width + first, products + (e - begin) * most, width);
        },
        [](int64_t) {});
  });
  return true;
}

// Every thread has a share of the rows of all matrices.
template <class T>
bool outer_sums_all(const Runs<T> &g, T *out) {
  const Blocks<T> blocks(g);
  const int64_t parts = blocks.parts(g.row_width), most = (g.row_width + parts - 1) / parts;
  const int64_t size = round_up(kBlock * (blocks.stride + most) + most * blocks.stride, kLanes<T>);
  const Memory space(parts * size * sizeof(T));
  if (!space.get()) return false;
  parallel(parts, [&](int64_t part) {
    T *signals = static_cast<T *>(space.get()) + part * size, *sum = signals + kBlock * blocks.stride;
    T *left = sum + most * blocks.stride;
    const int64_t first = g.row_width * part / parts, width = g.row_width * (part + 1) / parts - first;
    bool add = false;
    blocks.each(
        [&](int64_t, int64_t begin, int64_t end) {
          blocks.gather(begin, end, signals);
          for (int64_t e = begin; e < end; ++e)
            copy(left + (e - begin) * width, g.row_signal + g.target[e] * g.row_width + first, width);
          multiply(width, blocks.stride, end - begin, left, 1, width, row_major(signals, blocks.stride), sum,
                   blocks.stride, add);
          add = true;
        },
        [&](int64_t run) {
          for (int64_t c = 0; c < g.channels; ++c)
            for (int64_t r = 0; r < width; ++r) {
              T *to = out + ((run * g.channels + c) * g.row_width + first + r) * g.column_width;
              const T *from = sum + r * blocks.stride + c * g.column_width;
              for (int64_t j = 0; j < g.column_width; ++j) to[j] = add ? from[j] : T(0);
            }
          add = false;
        });
  });
  return true;
}
