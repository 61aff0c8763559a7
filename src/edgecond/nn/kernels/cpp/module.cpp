// The Python face of the kernels: addresses and sizes in, nothing out. Built against Python's stable ABI.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "dropout.hpp"
#include "kernels.hpp"

namespace {

using edgecond::Gradients;
using edgecond::Problem;
using edgecond::Runs;

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

#if defined(__x86_64__)
#define EDGECOND_CALL(kernel, wide, ...) \
  ((wide) ? edgecond::avx2::kernel(__VA_ARGS__) : edgecond::plain::kernel(__VA_ARGS__))
#else
#define EDGECOND_CALL(kernel, wide, ...) edgecond::plain::kernel(__VA_ARGS__)
#endif

enum class Kernel { gather, spread, products, outer_sums };

// The integers of one call, read in order into numbers and addresses.
class Arguments {
 public:
  explicit Arguments(PyObject *tuple) : tuple_(tuple) {}
  template <class... Parts>
  void read(Parts &...parts) { (take(parts), ...); }

 private:
  int64_t next() {
    PyObject *item = PyTuple_GetItem(tuple_, position_++);
    return item ? PyLong_AsLongLong(item) : 0;
  }
  void take(int64_t &number) { number = next(); }
  void take(bool &flag) { flag = next() != 0; }
  template <class P>
  void take(P *&pointer) { pointer = reinterpret_cast<P *>(static_cast<intptr_t>(next())); }

  PyObject *tuple_;
  Py_ssize_t position_ = 0;
};

template <class T>
PyObject *run(Kernel kernel, bool wide, Arguments arguments) {
  Problem<T> g{};
  arguments.read(g.threads, g.rows, g.columns, g.pointer, g.column, g.edge, g.index, g.hidden, g.hidden_width,
                 g.channels, g.row_width, g.column_width, g.row_signal, g.column_signal, g.weight, g.weight_channel,
                 g.weight_row, g.weight_column, g.layers);
  if (g.layers < 0 || g.layers > edgecond::kMaxLayers) {
    PyErr_SetString(PyExc_ValueError, "the kernels take at most 8 hidden layers");
    return nullptr;
  }
  for (int64_t l = 0; g.layers && l <= g.layers; ++l) arguments.read(g.widths[l]);
  for (int64_t l = 0; l < g.layers; ++l) arguments.read(g.weights[l]);
  for (int64_t l = 0; l < g.layers; ++l) arguments.read(g.biases[l]);
  Gradients<T> to{};
  arguments.read(to.out);
  if (kernel == Kernel::spread) {
    arguments.read(to.weight, to.hidden, to.want_layers);
    for (int64_t l = 0; to.want_layers && l < g.layers; ++l) arguments.read(to.weights[l]);
    for (int64_t l = 0; to.want_layers && l < g.layers; ++l) arguments.read(to.biases[l]);
  }
  if (PyErr_Occurred()) return nullptr;
  bool done = true;
  Py_BEGIN_ALLOW_THREADS
  if (kernel == Kernel::gather)
    done = EDGECOND_CALL(gather, wide, g, to.out);
  else
    done = EDGECOND_CALL(spread, wide, g, to);
  Py_END_ALLOW_THREADS
  if (!done) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

template <class T>
PyObject *run_sorted(Kernel kernel, bool wide, Arguments arguments) {
  Runs<T> g{};
  T *out = nullptr;
  arguments.read(g.threads, g.runs, g.targets, g.pointer, g.source, g.target, g.scale, g.channels, g.row_width,
                 g.column_width, g.row_signal, g.column_signal, g.weight, g.weight_run, g.weight_channel, g.weight_row,
                 g.weight_column, out);
  if (PyErr_Occurred()) return nullptr;
  bool done = true;
  Py_BEGIN_ALLOW_THREADS
  if (kernel == Kernel::products)
    done = EDGECOND_CALL(products, wide, g, out);
  else
    done = EDGECOND_CALL(outer_sums, wide, g, out);
  Py_END_ALLOW_THREADS
  if (!done) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

template <Kernel kernel>
PyObject *call(PyObject *, PyObject *tuple) {
  int is_double = 0, wide = 0;
  PyObject *numbers = nullptr;
  if (!PyArg_ParseTuple(tuple, "ppO!", &is_double, &wide, &PyTuple_Type, &numbers)) return nullptr;
  if (kernel == Kernel::products || kernel == Kernel::outer_sums)
    return is_double ? run_sorted<double>(kernel, wide, Arguments(numbers))
                     : run_sorted<float>(kernel, wide, Arguments(numbers));
  return is_double ? run<double>(kernel, wide, Arguments(numbers)) : run<float>(kernel, wide, Arguments(numbers));
}

PyObject *drop(PyObject *, PyObject *tuple) {
  int is_double = 0;
  long long address = 0, count = 0;
  unsigned long long seed = 0;
  double p = 0;
  if (!PyArg_ParseTuple(tuple, "pLLdK", &is_double, &address, &count, &p, &seed)) return nullptr;
  Py_BEGIN_ALLOW_THREADS
  if (is_double)
    edgecond::drop(reinterpret_cast<double *>(static_cast<intptr_t>(address)), count, p, seed);
  else
    edgecond::drop(reinterpret_cast<float *>(static_cast<intptr_t>(address)), count, p, seed);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

PyObject *avx2(PyObject *, PyObject *) { return PyBool_FromLong(has_avx2()); }

PyMethodDef methods[] = {
    {"gather", call<Kernel::gather>, METH_VARARGS, "Blend the neighbours of every row, then multiply."},
    {"spread", call<Kernel::spread>, METH_VARARGS, "Multiply every row, then blend; and gradients."},
    {"products", call<Kernel::products>, METH_VARARGS, "Multiply signals by the filter of their run, and add."},
    {"outer_sums", call<Kernel::outer_sums>, METH_VARARGS, "The gradient of these filters."},
    {"drop", drop, METH_VARARGS, "Set elements to zero at random."},
    {"avx2", avx2, METH_NOARGS, "Whether this processor has AVX2 and FMA."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernels", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__kernels() { return PyModule_Create(&definition); }
