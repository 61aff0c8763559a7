// products and outer sums: edges sorted by filter, a block of edges of one run at a time.

constexpr int64_t kBlock = 96;  // edges of a block, whose gathered signals stay in the nearest caches

template <class T>
struct Blocks {
  const Runs<T> &g;
  const int64_t depth, stride;  // elements of a gathered row, (x, s x), and the same padded to whole vectors
  const int64_t parts;
  const bool in_place, squares;  // whether a filter is read in place, or can be transposed vector by vector

  explicit Blocks(const Runs<T> &runs)
      : g(runs),
        depth(runs.channels * runs.column_width),
        stride(round_up(depth, kLanes<T>)),
        parts(worthwhile(double(g.pointer[g.runs]) * depth * g.row_width, g.threads)),
        in_place(g.weight_row == 1 && g.row_width % kLanes<T> == 0 &&
                 (g.channels == 1 || g.weight_channel == g.column_width * g.weight_column)),
        squares(g.weight_column == 1 && g.weight_row == g.column_width && g.row_width % kLanes<T> == 0 &&
                g.column_width % kLanes<T> == 0) {}

  // Gathers the signals at the sources of the edges [begin, end), and the same times the scale of each edge.
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

  // Returns the matrices of a run, one above the other, by which gathered rows are multiplied.
  Panels<T> filter(int64_t run, T *space) const {
    const T *matrices = g.weight + run * g.weight_run;
    if (in_place) return row_major(matrices, g.weight_column);
    if (squares) {
      for (int64_t c = 0; c < g.channels; ++c)
        transpose(matrices + c * g.weight_channel, g.row_width, g.column_width, space + c * g.column_width * g.row_width);
      return row_major(static_cast<const T *>(space), g.row_width);
    }
    return pack_panels(
        space, depth, g.row_width, matrices,
        [&](int64_t d) { return d / g.column_width * g.weight_channel + d % g.column_width * g.weight_column; },
        [&](int64_t r) { return r * g.weight_row; });
  }
};

template <class T>
bool products_all(const Runs<T> &g, T *out) {
  const Blocks<T> blocks(g);
  const int64_t m = g.pointer[g.runs], parts = blocks.parts, shares = parts > 1 ? kShares * parts : 1;
  const int64_t round = min(m, parts > 1 ? kSlots * kSlotEdges : kSlotEdges);  // edges whose products are held
  const int64_t width = round_up(g.row_width, kLanes<T>);
  const int64_t size = kBlock * blocks.stride + blocks.depth * round_up(g.row_width, kPanel<T>);
  const Memory space(parts * size * sizeof(T)), held_space(round * width * sizeof(T));
  if (!space.get() || !held_space.get()) return false;
  T *held = static_cast<T *>(held_space.get());
  for (int64_t from = 0; from < m; from += round) {
    const int64_t count = min(round, m - from);
    parallel(parts, shares, [&](int64_t part, int64_t share) {
      T *signals = static_cast<T *>(space.get()) + part * size, *packed = signals + kBlock * blocks.stride;
      const int64_t first = from + count * share / shares, last = from + count * (share + 1) / shares;
      int64_t run = row_of(g.pointer, g.runs, first);
      for (int64_t begin = first, end; begin < last; ++run) {
        if (g.pointer[run + 1] == g.pointer[run]) continue;
        const Panels<T> filter = blocks.filter(run, packed);
        for (; begin < min(last, g.pointer[run + 1]); begin = end) {
          end = min(min(last, g.pointer[run + 1]), begin + kBlock);
          blocks.gather(begin, end, signals);
          multiply(end - begin, width, blocks.depth, signals, blocks.stride, 1, filter, held + (begin - from) * width,
                   width, false);
        }
      }
    });
    hand_out(parts, from, from + count, held, width, g.target, g.targets, out, g.row_width);
  }
  return true;
}

// Each matrix is computed by one thread; if there are few, a thread computes a share of the rows.
template <class T>
bool outer_sums_all(const Runs<T> &g, T *out) {
  const Blocks<T> blocks(g);
  const int64_t parts = blocks.parts, pieces = g.runs < kShares * parts ? min(parts, g.row_width) : 1;
  const int64_t most = (g.row_width + pieces - 1) / pieces;
  const int64_t size = round_up(kBlock * (blocks.stride + most) + most * blocks.stride, kLanes<T>);
  const Memory space(parts * size * sizeof(T));
  if (!space.get()) return false;
  parallel(parts, g.runs * pieces, [&](int64_t part, int64_t item) {
    T *signals = static_cast<T *>(space.get()) + part * size, *sum = signals + kBlock * blocks.stride;
    T *left = sum + most * blocks.stride;
    const int64_t run = item / pieces, piece = item % pieces, stop = g.pointer[run + 1];
    const int64_t first = g.row_width * piece / pieces, width = g.row_width * (piece + 1) / pieces - first;
    for (int64_t i = 0; i < width * blocks.stride; ++i) sum[i] = 0;
    for (int64_t begin = g.pointer[run], end; begin < stop; begin = end) {
      end = min(stop, begin + kBlock);
      blocks.gather(begin, end, signals);
      for (int64_t e = begin; e < end; ++e)
        copy(left + (e - begin) * width, g.row_signal + g.target[e] * g.row_width + first, width);
      multiply(width, blocks.stride, end - begin, left, 1, width, row_major(signals, blocks.stride), sum, blocks.stride,
               true);
    }
    for (int64_t c = 0; c < g.channels; ++c)
      for (int64_t r = 0; r < width; ++r)
        copy(out + ((run * g.channels + c) * g.row_width + first + r) * g.column_width,
             sum + r * blocks.stride + c * g.column_width, g.column_width);
  });
  return true;
}
