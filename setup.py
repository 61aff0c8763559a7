"""What pyproject.toml cannot say: C++ kernels that are built where possible and done without elsewhere.

With `EDGECOND_NATIVE=0` they are not built; with `EDGECOND_NATIVE=1` a failure to build them is an error.
`EDGECOND_SANITIZE=address,undefined` builds them with these sanitizers of gcc: see `make sanitize`.
"""

import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNELS, CELLS = "edgecond.nn.kernels._kernels", "edgecond.data.pyramid._cells"
EDGES = "edgecond.graph._edges"
CHOICE = os.environ.get("EDGECOND_NATIVE")
UNIX_FLAGS = ["-std=c++17", "-O3", "-g0", "-pthread", "-fvisibility=hidden", "-fno-math-errno"]
MSVC_FLAGS = ["/std:c++17", "/O2", "/EHsc"]
SANITIZE = [f"-fsanitize={names}" for names in [os.environ.get("EDGECOND_SANITIZE")] if names]
if SANITIZE:  # a finding ends the process; the C++ library checks its indices, too
    UNIX_FLAGS += [*SANITIZE, "-fno-sanitize-recover=all", "-D_GLIBCXX_ASSERTIONS", "-O1", "-g1"]
FUSED = {KERNELS: "-ffp-contract=fast"}  # elsewhere off: cells decide as NumPy does, bit for bit


def folder(name: str) -> Path:
    """Where an extension is built; its sources are in `cpp` there."""
    return Path("src", *name.split(".")[:-1])


class OptionalBuild(build_ext):
    """A machine without a C++ compiler gets one sentence and a package that works."""

    def build_extension(self, ext: Extension) -> None:
        msvc = self.compiler.compiler_type == "msvc"
        ext.extra_compile_args = MSVC_FLAGS if msvc else [*UNIX_FLAGS, FUSED.get(ext.name, "-ffp-contract=off")]
        ext.extra_link_args = [] if msvc else ["-pthread", *SANITIZE]
        try:
            super().build_extension(ext)
        except Exception:  # whatever the reason: the compiler has just printed it
            if self.inplace or self.editable_mode:  # kernels of older sources are worse than none
                *_, name = ext.name.split(".")
                for stale in folder(ext.name).glob(f"{name}.*"):
                    if stale.suffix in {".so", ".pyd"}:
                        stale.unlink()
            if CHOICE == "1":
                raise
            print(f"edgecond: {ext.name} could not be built, a slower backend in Python will be used")


def extension(name: str) -> Extension:
    """The extension of all sources in its folder."""
    return Extension(
        name,
        sources=sorted(map(str, folder(name).glob("cpp/*.cpp"))),
        depends=sorted(str(header) for ending in ("hpp", "inl") for header in folder(name).glob(f"cpp/*.{ending}")),
        define_macros=[("Py_LIMITED_API", "0x030B0000")],  # one binary for Python 3.11 and everything later
        py_limited_api=True,
        language="c++",
        optional=CHOICE != "1",
    )


extensions = [] if CHOICE == "0" else [built for built in map(extension, (KERNELS, CELLS, EDGES)) if built.sources]

setup(
    ext_modules=extensions,
    cmdclass={"build_ext": OptionalBuild},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if extensions else {},
)
