// spread: multiply first, blend after, with the gradients of activations, layers and weight.

template <class T>
struct Spread {
  static constexpr int64_t kLine = 64 / sizeof(T);  // elements of a cache line

  const Problem<T> &g;
  const Gradients<T> &to;
  const Layers<T> layers;
  const bool for_hidden;   // whether the gradient of the activations is needed
  const int64_t channels, columns, width;
  int64_t slice;           // channels processed at a time
  const T *weight = nullptr, *up = nullptr, *down = nullptr;  // packed

  Spread(const Problem<T> &problem, const Gradients<T> &gradients)
      : g(problem),
        to(gradients),
        layers(problem),
        for_hidden(to.hidden || to.want_layers),
        channels(to.out || to.weight ? g.channels : g.hidden_width),
        columns(round_up(g.column_width, kLanes<T>)),
        width(round_up(g.row_width, kLanes<T>)) {
    slice = round_up(share(channels, columns), kLanes<T>);
  }

  int64_t slices() const { return (channels + slice - 1) / slice; }
  int64_t height(int64_t s) const { return min(slice, channels - s * slice); }
  int64_t depth(int64_t s) const { return height(s) * columns; }
  int64_t stride() const { return round_up(columns * slice, kPanel<T>); }
  // Elements between the blends of two rows: an odd number of cache lines, since the columns that the product reads
  // would fall into a few sets of the cache otherwise.
  int64_t pitch(int64_t s) const { return depth(s) + (depth(s) / kLine % 2 ? 0 : kLine); }
  int64_t sum_size() const { return (to.weight ? slices() * stride() * width : 0) + (for_hidden ? layers.size() : 0); }
  int64_t edge_cost() const {
    const int64_t pieces = bool(to.out) + for_hidden + bool(to.weight);
    return (g.index ? 1 : channels) * columns * pieces + layers.cost() * (to.want_layers ? 3 : 1);
  }
  int64_t row_cost() const { return channels * columns * g.row_width * ((to.out || for_hidden) + bool(to.weight)); }
  int64_t scratch() const {
    return kRows * (2 * stride() + kLine) + slice * columns + kRows * width + layers.scratch() + layers.slopes() +
           kEdges * (round_up(g.channels, kLanes<T>) + columns + slice);
  }
  int64_t packed_size() const { return slices() * stride() * g.row_width + 2 * layers.size(); }

  void pack(T *space) {
    for (int64_t s = 0; s < slices(); ++s)
      pack_panels(
          space + s * stride() * g.row_width, g.row_width, depth(s), g.weight,
          [&](int64_t row) { return row * g.weight_row; },
          [&](int64_t i) { return weight_at(g, s * slice + i / columns, i % columns); });
    T *layer_space = space + slices() * stride() * g.row_width;
    layers.pack_up(layer_space);
    layers.pack_down(layer_space + layers.size());
    weight = space;
    up = layer_space;
    down = layer_space + layers.size();
  }

  // Processes the edges [from, end_all), which may begin and end within a row. Writes their contributions to `out` into
  // `held`, and adds the gradients of the weight and of the layers to `sum`, in this order.
  void edges(int64_t from, int64_t end_all, T *scratch, T *held, T *sum) const {
    T *products = scratch, *blends = products + kRows * stride(), *turned = blends + kRows * (stride() + kLine);
    T *signal_space = turned + slice * columns, *hidden_space = signal_space + kRows * width;
    T *column_space = hidden_space + kEdges * round_up(g.channels, kLanes<T>);
    T *gradients = column_space + kEdges * columns;
    T *layer_space = gradients + kEdges * slice, *slopes = layer_space + layers.scratch();
    T *layer_sum = sum + (to.weight ? slices() * stride() * width : 0);
    Block rows;
    int64_t first = row_of(g.pointer, g.rows, from);
    for (int64_t begin = from, end; begin < end_all; begin = end) {
      const int64_t most = min(end_all, begin + kEdges);
      end = begin;
      for (rows.count = 0; rows.count < kRows && end < most; ++first) {
        if (g.pointer[first + 1] <= end) continue;
        rows.row[rows.count++] = first;
        end = min(most, g.pointer[first + 1]);
      }
      if (end < g.pointer[first]) --first;  // the rest of a row is left to the next block
      Strided<T> hidden{}, y{};
      if (layers.count)
        hidden = {layers.up(begin, end, up, layer_space), layers.strides[layers.count]};
      else if (g.hidden && (to.out || to.weight))
        hidden = pack_hidden(g, begin, end, false, hidden_space);
      if (for_hidden || (to.weight && !g.index)) y = pack_columns(g, begin, end, column_space);
      const T *z = pack_rows(rows, signal_space);
      for (int64_t s = 0; s < slices(); ++s) {
        const int64_t c0 = s * slice;
        if (to.out || for_hidden)
          multiply(rows.count, depth(s), g.row_width, z, width, 1,
                   Panels<T>{weight + s * stride() * g.row_width, kPanel<T>, g.row_width * kPanel<T>}, products,
                   stride(), false);
        for (int64_t i = 0; i < rows.count; ++i) {
          const int64_t r = rows.row[i], e0 = max(begin, g.pointer[r]), e1 = min(end, g.pointer[r + 1]);
          const T *product = products + i * stride();
          const Strided<T> a{hidden.data + (e0 - begin) * hidden.stride + c0, hidden.stride};
          const Strided<T> neighbours{y.data + (e0 - begin) * y.stride, y.stride};
          if (to.weight) blend(s, e0, e1, a, neighbours, blends + i * pitch(s));
          if (to.out) contribute(s, e0, e1, a, product, held + (e0 - from) * columns);
          if (!for_hidden || c0 >= g.hidden_width) continue;
          transpose(product, slice, columns, turned);
          gradient(c0, e0, e1, neighbours, turned, gradients, slopes + (e0 - begin) * stride_of_slopes());
        }
        if (to.weight)
          multiply(depth(s), width, rows.count, blends, 1, pitch(s), row_major(z, width), sum + s * stride() * width,
                   width, true);
      }
      if (to.want_layers) layers.down(begin, end, down, layer_space, slopes, layer_sum, to.hidden);
    }
  }

  // Writes the gradients that `edges` has summed.
  void unpack(const T *sum) const {
    if (to.weight)
      for (int64_t c = 0; c < g.channels; ++c)
        for (int64_t r = 0; r < g.row_width; ++r)
          for (int64_t j = 0; j < g.column_width; ++j) {
            const int64_t at = c / slice * stride() + c % slice * columns + j;
            to.weight[c * g.weight_channel + r * g.weight_row + j * g.weight_column] = sum[at * width + r];
          }
    if (to.want_layers) layers.unpack(sum + sum_size() - layers.size(), to.weights, to.biases);
  }

 private:
  int64_t stride_of_slopes() const { return layers.count ? layers.strides[layers.count] : 0; }

  // Returns the signals of the rows, padded with zeros to whole vectors.
  const T *pack_rows(const Block &rows, T *space) const {
    if (width == g.row_width && rows.consecutive()) return g.row_signal + rows.row[0] * g.row_width;
    for (int64_t i = 0; i < rows.count; ++i) {
      copy(space + i * width, g.row_signal + rows.row[i] * g.row_width, g.row_width);
      for (int64_t o = g.row_width; o < width; ++o) space[i * width + o] = 0;
    }
    return space;
  }

  void blend(int64_t s, int64_t e0, int64_t e1, Strided<T> a, Strided<T> y, T *blends) const {
    const int64_t c0 = s * slice, given = layers.given(c0, height(s));
    if (g.index) {
      for (int64_t i = 0; i < depth(s); ++i) blends[i] = 0;
      for (int64_t e = e0; e < e1; ++e) {
        const int64_t label = g.index[g.edge ? g.edge[e] : e] - c0;
        if (label >= 0 && label < height(s))
          add_to(blends + label * columns, g.column_signal + g.column[e] * g.column_width, g.column_width);
      }
    } else {
      multiply(given, columns, e1 - e0, a.data, 1, a.stride, row_major(y.data, y.stride), blends, columns, false);
      if (given < height(s))
        multiply(1, columns, e1 - e0, &kOne<T>, 0, 0, row_major(y.data, y.stride), blends + given * columns, columns,
                 false);
    }
  }

  void contribute(int64_t s, int64_t e0, int64_t e1, Strided<T> a, const T *product, T *held) const {
    const int64_t c0 = s * slice, given = layers.given(c0, height(s));
    if (!g.index) {
      multiply(e1 - e0, columns, given, a.data, a.stride, 1, row_major(product, columns), held, columns, c0 > 0);
      if (given < height(s))
        multiply(e1 - e0, columns, 1, &kOne<T>, 0, 0, row_major(product + given * columns, columns), held, columns, true);
      return;
    }
    for (int64_t e = e0; e < e1; ++e, held += columns) {
      const int64_t label = g.index[g.edge ? g.edge[e] : e] - c0;
      if (label >= 0 && label < height(s)) copy(held, product + label * columns, columns);
    }
  }

  // Computes the gradient of the activations from c0 on, into memory or into `slopes` for the layers.
  void gradient(int64_t c0, int64_t e0, int64_t e1, Strided<T> y, const T *product, T *gradients, T *slopes) const {
    const int64_t k = g.hidden_width, kept = min(slice, k - c0), padded = round_up(kept, kLanes<T>);
    const Panels<T> factor = row_major(product, slice);
    if (layers.count)
      return multiply(e1 - e0, padded, g.column_width, y.data, y.stride, 1, factor, slopes + c0, stride_of_slopes(), false);
    if (!g.edge && kept == padded)
      return multiply(e1 - e0, kept, g.column_width, y.data, y.stride, 1, factor, to.hidden + e0 * k + c0, k, false);
    multiply(e1 - e0, padded, g.column_width, y.data, y.stride, 1, factor, gradients, slice, false);
    for (int64_t e = e0; e < e1; ++e)
      copy(to.hidden + (g.edge ? g.edge[e] : e) * k + c0, gradients + (e - e0) * slice, kept);
  }
};

template <class T>
bool spread_all(const Problem<T> &g, const Gradients<T> &to) {
  Spread<T> spread(g, to);
  const int64_t m = g.pointer[g.rows], size = max(1, spread.sum_size());
  // Slots, and the edges in them, depend on the problem alone, so that sums do not depend on the number of threads.
  const double work = double(m) * spread.edge_cost() + double(g.rows) * spread.row_cost();
  const int64_t fitting = kPartials / (size * int64_t(sizeof(T)));
  const int64_t slots = worthwhile(work, min(kSlots, fitting));
  const int64_t rounds = max(1, (m + slots * kSlotEdges - 1) / (slots * kSlotEdges));
  const int64_t slot_edges = max(1, (m + slots * rounds - 1) / (slots * rounds));
  const int64_t parts = min(max(1, g.threads), slots);
  const Memory packed(spread.packed_size() * sizeof(T)), space(parts * spread.scratch() * sizeof(T));
  const Memory sum_space(slots * size * sizeof(T));
  const Memory held_space((to.out ? slots * slot_edges * spread.columns : 0) * sizeof(T));
  if (!packed.get() || !space.get() || !sum_space.get() || !held_space.get()) return false;
  spread.pack(static_cast<T *>(packed.get()));
  T *held = static_cast<T *>(held_space.get()), *sums = static_cast<T *>(sum_space.get());
  parallel(parts, [&](int64_t part) {
    for (int64_t i = size * slots * part / parts; i < size * slots * (part + 1) / parts; ++i) sums[i] = 0;
  });
  for (int64_t from = 0; from < m; from += slots * slot_edges) {
    const int64_t end = min(m, from + slots * slot_edges);
    parallel(parts, slots, [&](int64_t part, int64_t slot) {
      const int64_t begin = from + slot * slot_edges;
      if (begin < end)
        spread.edges(begin, min(end, begin + slot_edges), static_cast<T *>(space.get()) + part * spread.scratch(),
                     held + slot * slot_edges * spread.columns, sums + slot * size);
    });
    if (to.out)
      hand_out(parts, from, end, held, spread.columns, g.column, g.columns, to.out, g.column_width);
  }
  parallel(parts, [&](int64_t part) {
    const int64_t low = size * part / parts, high = size * (part + 1) / parts;
    for (int64_t slot = 1; slot < slots; ++slot) add_to(sums + low, sums + slot * size + low, high - low);
  });
  spread.unpack(sums);
  return true;
}
