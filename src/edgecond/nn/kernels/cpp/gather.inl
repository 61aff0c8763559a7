// gather: blend first, multiply after.

// The memory layout of the blends A_r = sum_e a_e (x) y_e: p rows of q elements, processed `slice` rows at a time.
// Vectors run along the signal or along the channels, whichever needs less padding.
template <class T>
struct Blend {
  const Problem<T> &g;
  const Layers<T> layers;
  bool by_channel;
  int64_t p, q, slice;

  explicit Blend(const Problem<T> &problem) : g(problem), layers(problem) {
    const int64_t padded_columns = round_up(g.column_width, kLanes<T>);
    const int64_t padded_channels = round_up(g.channels, kLanes<T>);
    by_channel = g.index || g.channels * padded_columns <= g.column_width * padded_channels;
    p = by_channel ? g.channels : g.column_width;
    q = by_channel ? padded_columns : padded_channels;
    slice = share(p, q);
  }

  int64_t edge_cost() const { return (g.index ? q : p * q) + layers.cost(); }
  int64_t row_cost() const { return p * q * g.row_width; }
  int64_t width() const { return round_up(g.row_width, kLanes<T>); }
  int64_t scratch() const {
    return kRows * (slice * q + width()) + layers.scratch() +
           kEdges * (round_up(g.channels, kLanes<T>) + round_up(g.column_width, kLanes<T>));
  }
  int64_t place(int64_t i) const { return by_channel ? weight_at(g, i / q, i % q) : weight_at(g, i % q, i / q); }

  // Calls use(rows, p0, height, blends) for every block of rows in [from, to) that have edges, and every slice.
  template <class F>
  void blocks(int64_t from, int64_t to, const T *packed_layers, T *scratch, F use) const {
    T *blends = scratch, *hidden_space = blends + kRows * slice * q;
    T *column_space = hidden_space + kEdges * round_up(g.channels, kLanes<T>);
    T *layer_space = column_space + kEdges * round_up(g.column_width, kLanes<T>);
    Block rows;
    for (int64_t first = from; first < to;) {
      const int64_t begin = g.pointer[first];
      int64_t end = begin;
      for (rows.count = 0; first < to && rows.count < kRows; ++first) {
        if (g.pointer[first + 1] == end) continue;
        if (rows.count && g.pointer[first + 1] - begin > kEdges) break;
        rows.row[rows.count++] = first;
        end = g.pointer[first + 1];
      }
      if (begin == end) return;  // the rows that are left have no edges
      Strided<T> hidden{}, columns{};
      for (int64_t p0 = 0; p0 < p; p0 += slice) {
        const int64_t height = min(slice, p - p0);
        if (g.index) {
          sort_out(rows, p0, height, blends);
        } else {
          for (int64_t e = begin; e < end; e += kEdges) {  // more than one pass for large degrees
            const int64_t e1 = min(end, e + kEdges);
            if (p0 == 0 || end - begin > kEdges) {
              hidden = layers.count ? Strided<T>{layers.up(e, e1, packed_layers, layer_space), layers.strides[layers.count]}
                                    : pack_hidden(g, e, e1, !by_channel, hidden_space);
              columns = pack_columns(g, e, e1, column_space);
            }
            blend(rows, e, e1, p0, height, hidden, columns, blends);
          }
        }
        use(rows, p0, height, blends);
      }
    }
  }

 private:
  void blend(const Block &rows, int64_t begin, int64_t end, int64_t p0, int64_t height, Strided<T> hidden,
             Strided<T> columns, T *blends) const {
    const Strided<T> a = by_channel ? hidden : columns, b = by_channel ? columns : hidden;
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t r = rows.row[i], e0 = max(g.pointer[r], begin), e1 = min(g.pointer[r + 1], end);
      const Panels<T> neighbours = row_major(b.data + (e0 - begin) * b.stride, b.stride);
      const int64_t edges = max(0, e1 - e0), given = by_channel ? layers.given(p0, height) : height;
      const bool add = e0 > g.pointer[r];
      T *to = blends + i * height * q;
      multiply(given, q, edges, a.data + (e0 - begin) * a.stride + p0, 1, a.stride, neighbours, to, q, add);
      if (given < height) multiply(1, q, edges, &kOne<T>, 0, 0, neighbours, to + given * q, q, add);
    }
  }

  // One-hot activations: adds each neighbour to the blend of its label.
  void sort_out(const Block &rows, int64_t p0, int64_t height, T *blends) const {
    for (int64_t i = 0; i < rows.count * height * q; ++i) blends[i] = 0;
    for (int64_t i = 0; i < rows.count; ++i)
      for (int64_t e = g.pointer[rows.row[i]]; e < g.pointer[rows.row[i] + 1]; ++e) {
        const int64_t label = g.index[g.edge ? g.edge[e] : e] - p0;
        if (label >= 0 && label < height)
          add_to(blends + (i * height + label) * q, g.column_signal + g.column[e] * g.column_width, g.column_width);
      }
  }
};

template <class T>
bool gather_all(const Problem<T> &g, T *out) {
  const Blend<T> blend(g);
  const int64_t width = blend.width(), panels = round_up(width, kPanel<T>);
  const int64_t parts = count_parts(g, g.pointer[g.rows], g.rows, blend.edge_cost(), blend.row_cost());
  const Memory weights((blend.p * blend.q * panels + blend.layers.size()) * sizeof(T));
  const Memory space(parts * blend.scratch() * sizeof(T));
  if (!weights.get() || !space.get()) return false;
  T *packed = static_cast<T *>(weights.get()), *packed_layers = packed + blend.p * blend.q * panels;
  blend.layers.pack_up(packed_layers);
  for (int64_t p0 = 0; p0 < blend.p; p0 += blend.slice) {
    const int64_t depth = min(blend.slice, blend.p - p0) * blend.q;
    pack_panels(
        packed + p0 * blend.q * panels, depth, g.row_width, g.weight,
        [&](int64_t d) { return blend.place(p0 * blend.q + d); }, [&](int64_t row) { return row * g.weight_row; });
  }
  const int64_t shares = parts > 1 ? kShares * parts : 1;
  parallel(parts, shares, [&](int64_t part, int64_t share) {
    T *scratch = static_cast<T *>(space.get()) + part * blend.scratch();
    T *product = scratch + blend.scratch() - kRows * width;
    const int64_t from = boundary(g, share, shares, blend.edge_cost(), blend.row_cost());
    const int64_t to = boundary(g, share + 1, shares, blend.edge_cost(), blend.row_cost());
    for (int64_t r = from; r < to; ++r)
      if (g.pointer[r] == g.pointer[r + 1])
        for (int64_t o = 0; o < g.row_width; ++o) out[r * g.row_width + o] = 0;
    blend.blocks(from, to, packed_layers, scratch, [&](const Block &rows, int64_t p0, int64_t height, T *blends) {
      const int64_t depth = height * blend.q;
      const Panels<T> weight{packed + p0 * blend.q * panels, kPanel<T>, depth * kPanel<T>};
      const bool in_place = width == g.row_width && rows.consecutive();
      T *to = in_place ? out + rows.row[0] * width : product;
      multiply(rows.count, width, depth, blends, depth, 1, weight, to, width, p0 > 0);
      if (!in_place && p0 + height == blend.p)
        for (int64_t i = 0; i < rows.count; ++i) copy(out + rows.row[i] * g.row_width, product + i * width, g.row_width);
    });
  });
  return true;
}
