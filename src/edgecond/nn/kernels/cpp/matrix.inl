// Small matrix products in registers, from which all kernels are built.

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(EDGECOND_VECTOR_BYTES)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int64_t kLanes = EDGECOND_VECTOR_BYTES / sizeof(T);
template <class T>
constexpr int64_t kPanel = 2 * kLanes<T>;

int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t max(int64_t a, int64_t b) { return a < b ? b : a; }
int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

template <class T>
Vector<T> load(const T *from) {
  Vector<T> value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(T *to, Vector<T> value) {
  __builtin_memcpy(to, &value, sizeof value);
}

// c (+)= a b for M rows and N vectors of columns, held in registers. Element (i, d) of a is at i * ai + d * ad.
template <class T, int M, int N>
void tile(int64_t depth, const T *a, int64_t ai, int64_t ad, const T *b, int64_t bd, T *c, int64_t ci, bool add) {
  Vector<T> sums[M][N];  // every loop over it is unrolled, so that it stays in registers
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) sums[i][j] = add ? load(c + i * ci + j * kLanes<T>) : Vector<T>{};
#pragma GCC unroll 2
  for (int64_t d = 0; d < depth; ++d) {
    Vector<T> row[N];
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) row[j] = load(b + d * bd + j * kLanes<T>);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const Vector<T> factor = a[i * ai + d * ad] - Vector<T>{};
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) sums[i][j] += factor * row[j];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) store(c + i * ci + j * kLanes<T>, sums[i][j]);
}

// The same for a number of rows that is known at run time, at most EDGECOND_TILE_ROWS.
template <class T, int N>
void tile(int64_t m, int64_t depth, const T *a, int64_t ai, int64_t ad, const T *b, int64_t bd, T *c, int64_t ci,
          bool add) {
#define EDGECOND_CASE(M) \
  case M: return tile<T, M, N>(depth, a, ai, ad, b, bd, c, ci, add);
  switch (m) {
    EDGECOND_CASE(1)
    EDGECOND_CASE(2)
    EDGECOND_CASE(3)
    EDGECOND_CASE(4)
    EDGECOND_CASE(5)
    EDGECOND_CASE(6)
#if EDGECOND_TILE_ROWS > 6
    EDGECOND_CASE(7)
    EDGECOND_CASE(8)
    EDGECOND_CASE(9)
    EDGECOND_CASE(10)
    EDGECOND_CASE(11)
    EDGECOND_CASE(12)
#endif
  }
#undef EDGECOND_CASE
}

// The matrix b: rows `bd` apart, cut into panels of kPanel columns that are `step` apart.
template <class T>
struct Panels {
  const T *data;
  int64_t bd, step;
};

template <class T>
Panels<T> row_major(const T *data, int64_t width) {
  return {data, width, kPanel<T>};
}

// c (+)= a b with `columns` a multiple of kLanes.
template <class T>
void multiply(int64_t rows, int64_t columns, int64_t depth, const T *a, int64_t ai, int64_t ad, Panels<T> b, T *c,
              int64_t ci, bool add) {
  for (int64_t j = 0; j < columns; j += kPanel<T>) {
    const T *panel = b.data + j / kPanel<T> * b.step;
    int64_t tiles = (rows + EDGECOND_TILE_ROWS - 1) / EDGECOND_TILE_ROWS;
    for (int64_t i = 0; i < rows; --tiles) {
      const int64_t m = (rows - i + tiles - 1) / tiles;  // tiles of equal height: 32 is 6+6+5+5+5+5, or 11+11+10
      if (columns - j >= kPanel<T>)
        tile<T, 2>(m, depth, a + i * ai, ai, ad, panel, b.bd, c + i * ci + j, ci, add);
      else
        tile<T, 1>(m, depth, a + i * ai, ai, ad, panel, b.bd, c + i * ci + j, ci, add);
      i += m;
    }
  }
}

// A matrix of `depth` rows whose element (d, j) is from[at(d) + to_column(j)], cut into panels and padded with zeros.
// An element for which either is negative is zero.
template <class T, class F, class G>
Panels<T> pack_panels(T *to, int64_t depth, int64_t columns, const T *from, F at, G to_column) {
  T *row = to;
  for (int64_t j0 = 0; j0 < columns; j0 += kPanel<T>) {
    int64_t offsets[kPanel<T>];
    for (int64_t j = 0; j < kPanel<T>; ++j) offsets[j] = j0 + j < columns ? to_column(j0 + j) : -1;
    for (int64_t d = 0; d < depth; ++d, row += kPanel<T>) {
      const int64_t start = at(d);
      for (int64_t j = 0; j < kPanel<T>; ++j) row[j] = start < 0 || offsets[j] < 0 ? T(0) : from[start + offsets[j]];
    }
  }
  return {to, kPanel<T>, depth * kPanel<T>};
}

template <size_t bytes>
struct Mask;
template <>
struct Mask<4> {
  typedef int32_t type;
};
template <>
struct Mask<8> {
  typedef int64_t type;
};

// to[j][i] = from[i][j] for whole vectors of rows and columns: squares of vectors, their off-diagonal blocks exchanged.
template <class T>
void transpose(const T *from, int64_t rows, int64_t columns, T *to) {
#if defined(__clang__)
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) to[j * rows + i] = from[i * columns + j];
#else
  constexpr int L = kLanes<T>;
  typedef typename Mask<sizeof(T)>::type M __attribute__((vector_size(EDGECOND_VECTOR_BYTES)));
  for (int64_t i = 0; i < rows; i += L)
    for (int64_t j = 0; j < columns; j += L) {
      Vector<T> square[L];
#pragma GCC unroll 16
      for (int r = 0; r < L; ++r) square[r] = load(from + (i + r) * columns + j);
#pragma GCC unroll 4
      for (int half = 1; half < L; half *= 2)
#pragma GCC unroll 16
        for (int r = 0; r < L; ++r) {
          if (r & half) continue;
          M upper{}, lower{};
          for (int l = 0; l < L; ++l) {
            upper[l] = l & half ? L + l - half : l;
            lower[l] = l & half ? L + l : l + half;
          }
          const Vector<T> a = square[r], b = square[r + half];
          square[r] = __builtin_shuffle(a, b, upper);
          square[r + half] = __builtin_shuffle(a, b, lower);
        }
#pragma GCC unroll 16
      for (int r = 0; r < L; ++r) store(to + (j + r) * rows + i, square[r]);
    }
#endif
}

template <class T>
void copy(T *to, const T *from, int64_t width) {
  int64_t j = 0;
  for (; j + kLanes<T> <= width; j += kLanes<T>) store(to + j, load(from + j));
  for (; j < width; ++j) to[j] = from[j];
}

template <class T>
void add_to(T *to, const T *from, int64_t width) {
  int64_t j = 0;
  for (; j + kLanes<T> <= width; j += kLanes<T>) store(to + j, load(to + j) + load(from + j));
  for (; j < width; ++j) to[j] += from[j];
}
