// Sharing the work on a graph that is read row by row, and packing blocks of its edges.

constexpr int64_t kRows = 48;           // rows of a block: their blends stay in the second-level cache
constexpr int64_t kEdges = 1024;        // most edges of a block
constexpr int64_t kDepth = 512;         // blended elements of a row processed at a time
constexpr int64_t kShares = 8;          // shares of the work per thread, so that threads finish at about the same time
constexpr int64_t kSlots = 16;          // partial sums of `spread`, whatever the number of threads
constexpr int64_t kSlotEdges = 2048;    // edges of a slot, whose contributions are held until all are added to vertices
constexpr int64_t kPartials = 32 << 20; // most bytes of partial weight gradients
constexpr int64_t kAhead = 16;          // distance, in edges, at which signals are prefetched
constexpr double kThreadWork = 5e5;     // multiply-adds that are worth a thread
template <class T>
constexpr T kOne = 1;  // the activation of the constant channel

// Returns how many of `count` items of `size` elements to process at a time: all, or equal shares of about kDepth
// elements.
inline int64_t share(int64_t count, int64_t size) {
  const int64_t shares = max(1, (count * size + kDepth / 2) / kDepth);
  return (count + shares - 1) / shares;
}

// Returns the offset of the first row of a channel and column of the weight; negative if there is none.
template <class T>
int64_t weight_at(const Problem<T> &g, int64_t channel, int64_t column) {
  return channel < g.channels && column < g.column_width ? channel * g.weight_channel + column * g.weight_column : -1;
}

// Returns the first row that has at least the fraction part / parts of the work before it.
template <class T>
int64_t boundary(const Problem<T> &g, int64_t part, int64_t parts, int64_t edge_cost, int64_t row_cost) {
  if (part >= parts) return g.rows;
  const double all = double(g.pointer[g.rows]) * edge_cost + double(g.rows) * row_cost;
  int64_t low = 0, high = g.rows;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (double(g.pointer[middle]) * edge_cost + double(middle) * row_cost < all * part / parts)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Returns how many parts of the work are worth a thread, from 1 to `most`.
inline int64_t worthwhile(double work, int64_t most) {
  return work < kThreadWork * double(most) ? max(1, int64_t(work / kThreadWork)) : max(1, most);
}

template <class T>
int64_t count_parts(const Problem<T> &g, int64_t edges, int64_t rows, int64_t edge_cost, int64_t row_cost) {
  return worthwhile(double(edges) * edge_cost + double(rows) * row_cost, g.threads);
}

// Returns the row, or the run, that edge e belongs to.
inline int64_t row_of(const int64_t *pointer, int64_t rows, int64_t e) {
  int64_t low = 0, high = rows;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (pointer[middle + 1] <= e) low = middle + 1; else high = middle;
  }
  return low;
}

// The rows of a block that have edges; rows without edges take no time.
struct Block {
  int64_t row[kRows];
  int64_t count;

  bool consecutive() const { return row[count - 1] - row[0] == count - 1; }
};

// Rows of a matrix, in place or gathered into scratch memory.
template <class T>
struct Strided {
  const T *data;
  int64_t stride;
};

// Returns the activations of the edges [begin, end); if `padded`, with the constant channel and zeros up to whole
// vectors.
template <class T>
Strided<T> pack_hidden(const Problem<T> &g, int64_t begin, int64_t end, bool padded, T *to) {
  const int64_t k = g.hidden_width, width = round_up(g.channels, kLanes<T>);
  if (!g.edge && (!padded || k == width)) return {g.hidden + begin * k, k};
  for (int64_t e = begin; e < end; ++e, to += width) {
    copy(to, g.hidden + (g.edge ? g.edge[e] : e) * k, k);
    for (int64_t c = k; c < width; ++c) to[c] = c < g.channels ? T(1) : T(0);
  }
  return {to - (end - begin) * width, width};
}

// Returns the signals at the other ends of the edges [begin, end), padded with zeros to whole vectors.
template <class T>
Strided<T> pack_columns(const Problem<T> &g, int64_t begin, int64_t end, T *to) {
  const int64_t j = g.column_width, width = round_up(j, kLanes<T>);
  for (int64_t e = begin; e < end; ++e, to += width) {
    if (e + kAhead < end) __builtin_prefetch(g.column_signal + g.column[e + kAhead] * j);
    copy(to, g.column_signal + g.column[e] * j, j);
    for (int64_t pad = j; pad < width; ++pad) to[pad] = 0;
  }
  return {to - (end - begin) * width, width};
}

// Adds the held rows of the edges [from, end) to their vertices. Each part owns a range of vertices and adds the rows
// of their edges, in the order of the edges.
template <class T>
void hand_out(int64_t parts, int64_t from, int64_t end, const T *held, int64_t stride, const int64_t *vertex,
              int64_t vertices, T *out, int64_t width) {
  parallel(parts, [&](int64_t owner) {
    const int64_t low = vertices * owner / parts, high = vertices * (owner + 1) / parts;
    for (int64_t e = from; e < end; ++e) {
      if (e + kAhead < end) __builtin_prefetch(out + vertex[e + kAhead] * width, 1);
      if (vertex[e] >= low && vertex[e] < high) add_to(out + vertex[e] * width, held + (e - from) * stride, width);
    }
  });
}
