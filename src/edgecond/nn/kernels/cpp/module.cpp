// The Python module of the kernels: it reads sizes and addresses by name. Built against Python's stable ABI.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "dropout.hpp"
#include "indices.hpp"
#include "kernels.hpp"

namespace {

using edgecond::check_that;
using edgecond::Gradients;
using edgecond::kMaxThreads;
using edgecond::Problem;
using edgecond::Runs;

// The instruction sets that kernels are compiled for, each with those before it; the number of those that this processor has.
constexpr const char *kSets[] = {"plain", "avx2", "avx512"};

int sets_here() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 1;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  return wide ? 3 : 2;
#else
  return 1;
#endif
}

#if defined(__x86_64__)
#define EDGECOND_CALL(kernel, set, ...)                 \
  ((set) == 2   ? edgecond::avx512::kernel(__VA_ARGS__) \
   : (set) == 1 ? edgecond::avx2::kernel(__VA_ARGS__)   \
                : edgecond::plain::kernel(__VA_ARGS__))
#else
#define EDGECOND_CALL(kernel, set, ...) edgecond::plain::kernel(__VA_ARGS__)
#endif

// The arguments of one call, read by name: numbers from one dict, addresses from another, lists of either as tuples.
// Sets an error that names the argument if one is missing, unknown or of another type.
class Arguments {
 public:
  Arguments(PyObject *numbers, PyObject *addresses) : numbers_(numbers), addresses_(addresses) {}

  void read(PyObject *name, int64_t &number) { number = integer(name, find(numbers_, name), "a number"); }
  template <class P>
  void read(PyObject *name, P *&pointer) { pointer = address<P>(name, find(addresses_, name)); }

  // Lists of at most `most` elements; returns how many there are.
  int64_t read(PyObject *name, int64_t *numbers, int64_t most) {
    return each(name, find(numbers_, name), most, [&](int64_t i, PyObject *item) {
      numbers[i] = integer(name, item, "a number");
    });
  }
  template <class P>
  int64_t read(PyObject *name, P **pointers, int64_t most) {
    return each(name, find(addresses_, name), most, [&](int64_t i, PyObject *item) {
      pointers[i] = address<P>(name, item);
    });
  }

  // Whether everything was read and nothing is left over; sets an error otherwise.
  bool complete() {
    if (PyErr_Occurred()) return false;
    PyObject *const both[] = {numbers_, addresses_};
    for (PyObject *values : both) {
      PyObject *name = nullptr, *value = nullptr;
      Py_ssize_t position = 0;
      if (!values || PyDict_Size(values) == read_[values == addresses_]) continue;
      while (PyDict_Next(values, &position, &name, &value))
        if (!known(name, values == addresses_)) {
          PyErr_Format(PyExc_TypeError, "the kernel has no argument %R among its %s", name, kind(values));
          return false;
        }
    }
    return true;
  }

 private:
  static constexpr Py_ssize_t kMost = 32;  // no kernel has as many numbers, or addresses

  const char *kind(PyObject *values) const { return values == numbers_ ? "numbers" : "addresses"; }

  PyObject *find(PyObject *values, PyObject *name) {
    if (PyErr_Occurred()) return nullptr;
    PyObject *value = values ? PyDict_GetItemWithError(values, name) : nullptr;
    if (!value && !PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "the kernel needs the argument %R among its %s", name, kind(values));
    const bool which = values == addresses_;
    names_[which][read_[which]++ % kMost] = name;
    return value;
  }

  bool known(PyObject *name, bool which) const {
    for (Py_ssize_t i = 0; i < read_[which] && i < kMost; ++i)
      if (PyUnicode_Check(name) && PyUnicode_Compare(name, names_[which][i]) == 0) return true;
    return false;
  }

  int64_t integer(PyObject *name, PyObject *value, const char *expected) {
    if (value && PyLong_Check(value)) return PyLong_AsLongLong(value);
    if (value) PyErr_Format(PyExc_TypeError, "the argument %R must be %s: got %R", name, expected, value);
    return 0;
  }

  template <class P>
  P *address(PyObject *name, PyObject *value) {
    if (value == Py_None) return nullptr;
    const int64_t number = integer(name, value, "an address or None");
    if (number < 0) PyErr_Format(PyExc_ValueError, "the argument %R must be an address: got %R", name, value);
    if (number > 0 && number % int64_t(alignof(P)))
      PyErr_Format(PyExc_ValueError,
                   "the argument %R must begin at a multiple of %d bytes in memory: got %R. Copy the tensor with .clone().",
                   name, int(alignof(P)), value);
    return reinterpret_cast<P *>(static_cast<intptr_t>(number));
  }

  template <class F>
  int64_t each(PyObject *name, PyObject *value, int64_t most, F use) {
    if (!value) return 0;
    if (!PyTuple_Check(value)) {
      PyErr_Format(PyExc_TypeError, "the argument %R must be a tuple: got %R", name, value);
      return 0;
    }
    const int64_t size = PyTuple_Size(value);
    if (size > most) {
      PyErr_Format(PyExc_ValueError, "the argument %R has at most %d elements: got %R", name, int(most), value);
      return 0;
    }
    for (int64_t i = 0; i < size; ++i) use(i, PyTuple_GetItem(value, i));
    return size;
  }

  PyObject *numbers_, *addresses_;
  PyObject *names_[2][kMost];     // read so far: of numbers, and of addresses
  Py_ssize_t read_[2] = {0, 0};  // how many of each
};

// A field of a struct, after its name as a Python string that is made once.
#define EDGECOND_FIELD(object, field)                                   \
  [] {                                                                  \
    static PyObject *const name = PyUnicode_InternFromString(#field);   \
    return name;                                                        \
  }(), (object).field

// Sets an error unless there is a weight and a bias for each hidden layer.
bool consistent(int64_t layers, int64_t weights, int64_t biases) {
  if (weights == layers && biases == layers) return true;
  PyErr_Format(PyExc_ValueError, "%d hidden layers need as many weights and biases: got %d and %d", int(layers),
               int(weights), int(biases));
  return false;
}

template <class T>
bool read(Problem<T> &g, PyObject *numbers, PyObject *addresses) {
  Arguments given(numbers, addresses);
  given.read(EDGECOND_FIELD(g, threads));
  given.read(EDGECOND_FIELD(g, rows));
  given.read(EDGECOND_FIELD(g, columns));
  given.read(EDGECOND_FIELD(g, edges));
  given.read(EDGECOND_FIELD(g, hidden_width));
  given.read(EDGECOND_FIELD(g, channels));
  given.read(EDGECOND_FIELD(g, row_width));
  given.read(EDGECOND_FIELD(g, column_width));
  given.read(EDGECOND_FIELD(g, weight_channel));
  given.read(EDGECOND_FIELD(g, weight_row));
  given.read(EDGECOND_FIELD(g, weight_column));
  given.read(EDGECOND_FIELD(g, pointer));
  given.read(EDGECOND_FIELD(g, column));
  given.read(EDGECOND_FIELD(g, edge));
  given.read(EDGECOND_FIELD(g, index));
  given.read(EDGECOND_FIELD(g, hidden));
  given.read(EDGECOND_FIELD(g, row_signal));
  given.read(EDGECOND_FIELD(g, column_signal));
  given.read(EDGECOND_FIELD(g, weight));
  const int64_t weights = given.read(EDGECOND_FIELD(g, weights), edgecond::kMaxLayers);
  const int64_t biases = given.read(EDGECOND_FIELD(g, biases), edgecond::kMaxLayers);
  const int64_t widths = given.read(EDGECOND_FIELD(g, widths), edgecond::kMaxLayers + 1);
  g.layers = widths ? widths - 1 : 0;
  g.threads = g.threads < kMaxThreads ? g.threads : kMaxThreads;
  return given.complete() && consistent(g.layers, weights, biases) && edgecond::check(g);
}

template <class T>
bool read(Gradients<T> &to, int64_t layers, PyObject *addresses) {
  Arguments given(nullptr, addresses);
  given.read(EDGECOND_FIELD(to, out));
  given.read(EDGECOND_FIELD(to, weight));
  given.read(EDGECOND_FIELD(to, hidden));
  const int64_t weights = given.read(EDGECOND_FIELD(to, weights), edgecond::kMaxLayers);
  const int64_t biases = given.read(EDGECOND_FIELD(to, biases), edgecond::kMaxLayers);
  to.want_layers = weights > 0;
  return given.complete() && consistent(to.want_layers ? layers : 0, weights, biases);
}

template <class T>
bool read(Runs<T> &g, PyObject *numbers, PyObject *addresses) {
  Arguments given(numbers, addresses);
  given.read(EDGECOND_FIELD(g, threads));
  given.read(EDGECOND_FIELD(g, runs));
  given.read(EDGECOND_FIELD(g, sources));
  given.read(EDGECOND_FIELD(g, targets));
  given.read(EDGECOND_FIELD(g, edges));
  given.read(EDGECOND_FIELD(g, channels));
  given.read(EDGECOND_FIELD(g, row_width));
  given.read(EDGECOND_FIELD(g, column_width));
  given.read(EDGECOND_FIELD(g, weight_run));
  given.read(EDGECOND_FIELD(g, weight_channel));
  given.read(EDGECOND_FIELD(g, weight_row));
  given.read(EDGECOND_FIELD(g, weight_column));
  given.read(EDGECOND_FIELD(g, pointer));
  given.read(EDGECOND_FIELD(g, source));
  given.read(EDGECOND_FIELD(g, target));
  given.read(EDGECOND_FIELD(g, scale));
  given.read(EDGECOND_FIELD(g, row_signal));
  given.read(EDGECOND_FIELD(g, column_signal));
  given.read(EDGECOND_FIELD(g, weight));
  g.threads = g.threads < kMaxThreads ? g.threads : kMaxThreads;
  return given.complete() && edgecond::check(g);
}

// Runs a kernel without holding Python's lock.
template <class F>
PyObject *unlocked(F kernel) {
  bool done = true;
  Py_BEGIN_ALLOW_THREADS
  done = kernel();
  Py_END_ALLOW_THREADS
  if (!done) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

// The positional arguments of a kernel: `results` is the address of its output, or a dict of addresses for `spread`.
struct Call {
  int is_double = 0, set = 0;
  PyObject *numbers = nullptr, *addresses = nullptr, *results = nullptr;
};

template <class T>
T *output(const Call &call) {
  T *out = static_cast<T *>(PyLong_AsVoidPtr(call.results));
  if (!PyErr_Occurred() && (!out || reinterpret_cast<uintptr_t>(out) % alignof(T)))
    PyErr_Format(PyExc_ValueError, "the output of a kernel must have an address: got %R", call.results);
  return PyErr_Occurred() ? nullptr : out;
}

struct Gather {
  template <class T>
  static PyObject *run(const Call &call) {
    Problem<T> g{};
    T *out = output<T>(call);
    if (!out || !read(g, call.numbers, call.addresses)) return nullptr;
    return unlocked([&] { return EDGECOND_CALL(gather, call.set, g, out); });
  }
};

struct Spread {
  template <class T>
  static PyObject *run(const Call &call) {
    Problem<T> g{};
    Gradients<T> to{};
    if (!PyDict_Check(call.results))
      return PyErr_Format(PyExc_TypeError, "spread needs a dict of the addresses of its results: got %R", call.results);
    if (!read(g, call.numbers, call.addresses) || !read(to, g.layers, call.results)) return nullptr;
    if (!check_that(g.row_signal, "the address of row_signal") ||
        !check_that(!g.layers || !to.hidden || to.want_layers, "the gradients of layers for that of their labels"))
      return nullptr;
    return unlocked([&] { return EDGECOND_CALL(spread, call.set, g, to); });
  }
};

struct Products {
  template <class T>
  static PyObject *run(const Call &call) {
    Runs<T> g{};
    T *out = output<T>(call);
    if (!out || !read(g, call.numbers, call.addresses)) return nullptr;
    if (!check_that(g.weight, "the address of weight")) return nullptr;
    return unlocked([&] { return EDGECOND_CALL(products, call.set, g, out); });
  }
};

struct OuterSums {
  template <class T>
  static PyObject *run(const Call &call) {
    Runs<T> g{};
    T *out = output<T>(call);
    if (!out || !read(g, call.numbers, call.addresses)) return nullptr;
    if (!check_that(g.row_signal, "the address of row_signal")) return nullptr;
    return unlocked([&] { return EDGECOND_CALL(outer_sums, call.set, g, out); });
  }
};

template <class Kernel>
PyObject *call(PyObject *, PyObject *tuple) {
  Call call;
  if (!PyArg_ParseTuple(tuple, "piO!O!O", &call.is_double, &call.set, &PyDict_Type, &call.numbers, &PyDict_Type,
                        &call.addresses, &call.results))
    return nullptr;
  const int most = sets_here() - 1;
  call.set = call.set < 0 ? 0 : call.set < most ? call.set : most;
  return call.is_double ? Kernel::template run<double>(call) : Kernel::template run<float>(call);
}

PyObject *drop(PyObject *, PyObject *tuple, PyObject *named) {
  static const char *names[] = {"double", "elements", "count", "p", "seed", nullptr};
  int is_double = 0;
  long long elements = 0, count = 0;
  unsigned long long seed = 0;
  double p = 0;
  if (!PyArg_ParseTupleAndKeywords(tuple, named, "$pLLdK", const_cast<char **>(names), &is_double, &elements, &count,
                                   &p, &seed))
    return nullptr;
  const int64_t size = is_double ? sizeof(double) : sizeof(float);
  if (!check_that(p > 0 && p < 1, "a probability between 0 and 1") ||
      !check_that(count >= 0 && (elements > 0 || !count) && elements % size == 0, "the address of its elements"))
    return nullptr;
  return unlocked([&] {
    if (is_double)
      edgecond::drop(reinterpret_cast<double *>(static_cast<intptr_t>(elements)), count, p, seed);
    else
      edgecond::drop(reinterpret_cast<float *>(static_cast<intptr_t>(elements)), count, p, seed);
    return true;
  });
}

PyObject *instruction_sets(PyObject *, PyObject *) {
  const int count = sets_here();
  PyObject *names = PyTuple_New(count);
  for (int i = 0; names && i < count; ++i) PyTuple_SetItem(names, i, PyUnicode_FromString(kSets[i]));
  return names;
}

PyMethodDef methods[] = {
    {"gather", call<Gather>, METH_VARARGS, "Blend the neighbours of every row, then multiply."},
    {"spread", call<Spread>, METH_VARARGS, "Multiply every row, then blend; compute the gradients."},
    {"products", call<Products>, METH_VARARGS, "Multiply signals by the filter of their run, and add them up."},
    {"outer_sums", call<OuterSums>, METH_VARARGS, "Compute the gradient of these filters."},
    {"drop", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(drop)), METH_VARARGS | METH_KEYWORDS,
     "Set elements to zero at random."},
    {"instruction_sets", instruction_sets, METH_NOARGS, "Return the names of the instruction sets of this processor."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernels", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__kernels() { return PyModule_Create(&definition); }
