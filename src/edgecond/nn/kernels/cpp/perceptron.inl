// The hidden layers of F on a block of edges that stays in the cache, forward (up) and backward (down).

template <class T>
struct Layers {
  const Problem<T> &g;
  const int64_t count;
  int64_t strides[kMaxLayers + 1];  // elements between rows of activations, in whole vectors
  int64_t starts[kMaxLayers + 1];   // where the activations of layer l begin in scratch memory
  int64_t offsets[kMaxLayers + 1];  // where the packed layer l begins, at offsets[l - 1]
  int64_t widest = 0;

  explicit Layers(const Problem<T> &problem) : g(problem), count(problem.layers) {
    offsets[0] = 0;
    for (int64_t l = 0, start = 0; l <= count; ++l) {
      // The last activations leave room for the constant channel.
      strides[l] = round_up(l < count ? g.widths[l] : max(g.widths[l], g.channels), kLanes<T>);
      starts[l] = start;
      start += kEdges * strides[l];
      widest = max(widest, strides[l]);
      if (l) offsets[l] = offsets[l - 1] + round_up(g.widths[l], kPanel<T>) * strides[l - 1] + strides[l];
    }
  }

  int64_t size() const { return count ? offsets[count] : 0; }
  int64_t scratch() const { return count ? starts[count] + kEdges * strides[count] : 0; }
  int64_t slopes() const { return count ? 2 * kEdges * widest : 0; }  // scratch for the backward pass
  int64_t cost() const {
    int64_t sum = 0;
    for (int64_t l = 1; l <= count; ++l) sum += g.widths[l - 1] * g.widths[l];
    return sum;
  }
  // Returns how many of the channels from c0 on are in memory; computed activations include the constant channel.
  int64_t given(int64_t c0, int64_t height) const { return count ? height : max(0, min(height, g.hidden_width - c0)); }
  int64_t bias(int64_t l) const { return offsets[l] - strides[l]; }

  // Packs the weights as panels for the forward pass, each followed by its bias.
  void pack_up(T *to) const {
    for (int64_t l = 1; l <= count; ++l) {
      const int64_t fan_in = g.widths[l - 1], fan_out = g.widths[l];
      pack_panels(
          to + offsets[l - 1], fan_in, fan_out, g.weights[l - 1], [](int64_t i) { return i; },
          [&](int64_t o) { return o * fan_in; });
      for (int64_t o = 0; o < strides[l]; ++o) to[bias(l) + o] = o < fan_out ? g.biases[l - 1][o] : T(0);
    }
  }

  // Packs the weights as rows of padded length for the backward pass.
  void pack_down(T *to) const {
    for (int64_t l = 1; l <= count; ++l)
      for (int64_t o = 0; o < g.widths[l]; ++o) {
        T *row = to + offsets[l - 1] + o * strides[l - 1];
        copy(row, g.weights[l - 1] + o * g.widths[l - 1], g.widths[l - 1]);
        for (int64_t i = g.widths[l - 1]; i < strides[l - 1]; ++i) row[i] = 0;
      }
  }

  // Computes all activations of the edges [begin, end) from their labels; those of layer l are at starts[l].
  const T *up(int64_t begin, int64_t end, const T *packed, T *activations) const {
    const int64_t rows = end - begin;
    for (int64_t r = 0; r < rows; ++r) {
      T *row = activations + r * strides[0];
      if (g.edge && r + kAhead < rows) __builtin_prefetch(g.hidden + g.edge[begin + r + kAhead] * g.widths[0]);
      copy(row, g.hidden + (g.edge ? g.edge[begin + r] : begin + r) * g.widths[0], g.widths[0]);
      for (int64_t i = g.widths[0]; i < strides[0]; ++i) row[i] = 0;
    }
    for (int64_t l = 1; l <= count; ++l) {
      const int64_t width = round_up(g.widths[l], kLanes<T>), fan_in = g.widths[l - 1], stride = strides[l];
      T *to = activations + starts[l];
      multiply(rows, width, fan_in, activations + starts[l - 1], strides[l - 1], 1,
               Panels<T>{packed + offsets[l - 1], kPanel<T>, fan_in * kPanel<T>}, to, stride, false);
      const Vector<T> zero{};
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < width; o += kLanes<T>) {
          const Vector<T> value = load(to + r * stride + o) + load(packed + bias(l) + o);
          store(to + r * stride + o, value < zero ? zero : value);  // a NaN stays a NaN
        }
    }
    T *last = activations + starts[count];
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = g.hidden_width; c < strides[count]; ++c) last[r * strides[count] + c] = c < g.channels ? 1 : 0;
    return last;
  }

  // Backward pass: adds the gradients of weights and biases to `sum`. `slopes` holds the gradient of the last
  // activations, followed by space for another layer. Writes the gradient of the labels if `labels` is not null.
  void down(int64_t begin, int64_t end, const T *packed, const T *activations, T *slopes, T *sum, T *labels) const {
    const int64_t rows = end - begin;
    T *slope = slopes, *lower = slopes + kEdges * widest;
    for (int64_t l = count; l >= 1; --l) {
      const int64_t above = strides[l], below = strides[l - 1], width = round_up(g.widths[l], kLanes<T>);
      const T *reached = activations + starts[l], *input = activations + starts[l - 1];
      const Vector<T> zero{};
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < width; o += kLanes<T>) {
          T *at = slope + r * above + o;
          store(at, load(reached + r * above + o) <= zero ? zero : load(at));  // as in torch, a NaN passes
        }
      multiply(g.widths[l], below, rows, slope, 1, above, row_major(input, below), sum + offsets[l - 1], below, true);
      multiply(1, width, rows, &kOne<T>, 0, 0, row_major(slope, above), sum + bias(l), above, true);
      if (l == 1 && !labels) return;
      multiply(rows, below, g.widths[l], slope, above, 1, row_major(packed + offsets[l - 1], below), lower, below, false);
      T *exchanged = slope;
      slope = lower;
      lower = exchanged;
    }
    for (int64_t r = 0; r < rows; ++r)
      copy(labels + (g.edge ? g.edge[begin + r] : begin + r) * g.widths[0], slope + r * strides[0], g.widths[0]);
  }

  void unpack(const T *sum, T *const *weights, T *const *biases) const {
    for (int64_t l = 1; l <= count; ++l) {
      for (int64_t o = 0; o < g.widths[l]; ++o)
        copy(weights[l - 1] + o * g.widths[l - 1], sum + offsets[l - 1] + o * strides[l - 1], g.widths[l - 1]);
      copy(biases[l - 1], sum + bias(l), g.widths[l]);
    }
  }
};
