"""What pyproject.toml cannot say: C++ kernels that are built where possible and done without elsewhere.

With `EDGECOND_NATIVE=0` they are not built; with `EDGECOND_NATIVE=1` a failure to build them is an error.
"""

import os
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NATIVE = "src/edgecond/convolution/native"
CHOICE = os.environ.get("EDGECOND_NATIVE")
UNIX_FLAGS = ["-std=c++17", "-O3", "-g0", "-pthread", "-fvisibility=hidden", "-fno-math-errno", "-ffp-contract=fast"]
MSVC_FLAGS = ["/std:c++17", "/O2", "/EHsc"]


class OptionalBuild(build_ext):
    """A machine without a C++ compiler gets one sentence and a package that works."""

    def build_extension(self, ext: Extension) -> None:
        msvc = self.compiler.compiler_type == "msvc"
        ext.extra_compile_args = MSVC_FLAGS if msvc else UNIX_FLAGS
        ext.extra_link_args = [] if msvc else ["-pthread"]
        try:
            super().build_extension(ext)
        except Exception:  # whatever the reason: the compiler has just printed it
            if self.inplace or self.editable_mode:  # kernels of older sources are worse than none
                for stale in Path(NATIVE).glob("_kernels.*"):
                    if stale.suffix in {".so", ".pyd"}:
                        stale.unlink()
            if CHOICE == "1":
                raise
            print("edgecond: the C++ kernels could not be built, the torch twin will be used")


sources = sorted(glob(f"{NATIVE}/*.cpp"))
wanted = bool(sources) and CHOICE != "0"
kernels = Extension(
    "edgecond.convolution.native._kernels",
    sources=sources,
    depends=sorted(glob(f"{NATIVE}/*.hpp") + glob(f"{NATIVE}/*.inl")),
    define_macros=[("Py_LIMITED_API", "0x030B0000")],  # one binary for Python 3.11 and everything later
    py_limited_api=True,
    language="c++",
    optional=CHOICE != "1",
)

setup(
    ext_modules=[kernels] if wanted else [],
    cmdclass={"build_ext": OptionalBuild},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if wanted else {},
)
