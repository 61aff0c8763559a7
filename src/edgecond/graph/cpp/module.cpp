// The Python interface of sorted edges and distinct labels, for arrays of Python. Built against Python's stable ABI.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <new>

#include "edges.hpp"

namespace {

// An array of Python, borrowed until the call returns.
struct Borrowed {
  Py_buffer buffer{};

  ~Borrowed() {
    if (buffer.obj) PyBuffer_Release(&buffer);
  }
  unsigned char *bytes() const { return static_cast<unsigned char *>(buffer.buf); }
  int64_t *numbers() const { return static_cast<int64_t *>(buffer.buf); }
  bool has(int64_t count) const { return buffer.len == count * int64_t(sizeof(int64_t)); }
};

PyObject *sort(PyObject *, PyObject *arguments) {
  Borrowed keys, others, pointer, order, sorted_keys, sorted_others;
  if (!PyArg_ParseTuple(arguments, "y*y*w*w*w*w*", &keys.buffer, &others.buffer, &pointer.buffer, &order.buffer,
                        &sorted_keys.buffer, &sorted_others.buffer))
    return nullptr;
  const int64_t count = keys.buffer.len / sizeof(int64_t), limit = pointer.buffer.len / sizeof(int64_t) - 1;
  if (limit < 0 || !keys.has(count) || !pointer.has(limit + 1) || !others.has(count) || !order.has(count) ||
      !sorted_keys.has(count) || !sorted_others.has(count)) {
    PyErr_SetString(PyExc_ValueError, "sort needs arrays of int64 numbers, one per edge, and a pointer of one or more");
    return nullptr;
  }
  int64_t invalid = 0;
  Py_BEGIN_ALLOW_THREADS
  invalid = edgecond::first_invalid(keys.numbers(), count, limit);
  if (invalid == count)
    edgecond::sort(keys.numbers(), others.numbers(), count, limit, pointer.numbers(), order.numbers(),
                   sorted_keys.numbers(), sorted_others.numbers());
  Py_END_ALLOW_THREADS
  return PyBool_FromLong(invalid == count);
}

PyObject *fingerprint(PyObject *, PyObject *arguments) {
  Borrowed given;
  if (!PyArg_ParseTuple(arguments, "y*", &given.buffer)) return nullptr;
  uint64_t hash = 0;
  Py_BEGIN_ALLOW_THREADS
  hash = edgecond::fingerprint(given.bytes(), given.buffer.len);
  Py_END_ALLOW_THREADS
  return PyLong_FromUnsignedLongLong(hash);
}

PyObject *finite(PyObject *, PyObject *arguments) {
  Borrowed given;
  int is_double = 0;
  if (!PyArg_ParseTuple(arguments, "y*p", &given.buffer, &is_double)) return nullptr;
  const void *numbers = given.buffer.buf;
  bool found = false;
  Py_BEGIN_ALLOW_THREADS
  found = is_double ? edgecond::finite(static_cast<const uint64_t *>(numbers), given.buffer.len / 8, uint64_t(0x7FF) << 52)
                    : edgecond::finite(static_cast<const uint32_t *>(numbers), given.buffer.len / 4, uint32_t(0xFF) << 23);
  Py_END_ALLOW_THREADS
  return PyBool_FromLong(found);
}

PyObject *distinct(PyObject *, PyObject *arguments) {
  Borrowed rows, index, first;
  if (!PyArg_ParseTuple(arguments, "y*w*w*", &rows.buffer, &index.buffer, &first.buffer)) return nullptr;
  const int64_t count = index.buffer.len / sizeof(int64_t), most = first.buffer.len / sizeof(int64_t);
  if (!index.has(count) || !first.has(most) || (count ? rows.buffer.len % count : rows.buffer.len)) {
    PyErr_SetString(PyExc_ValueError, "distinct needs an index of int64 numbers, one per row, and room for the first rows");
    return nullptr;
  }
  int64_t found = 0;
  bool memory = true;
  Py_BEGIN_ALLOW_THREADS
  try {
    found = edgecond::distinct(rows.bytes(), count, count ? rows.buffer.len / count : 0, most, index.numbers(),
                               first.numbers());
  } catch (const std::bad_alloc &) {
    memory = false;
  }
  Py_END_ALLOW_THREADS
  return memory ? PyLong_FromLongLong(found) : PyErr_NoMemory();
}

PyMethodDef methods[] = {
    {"sort", sort, METH_VARARGS, "Sort edges by a key; return whether every key is in range."},
    {"fingerprint", fingerprint, METH_VARARGS, "Return a hash of the bytes of an array."},
    {"finite", finite, METH_VARARGS, "Return whether all floating-point numbers of an array are finite."},
    {"distinct", distinct, METH_VARARGS, "Number the distinct rows; return how many there are, or -1 for too many."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_edges", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__edges() { return PyModule_Create(&definition); }
