from Cython.Build import cythonize
from setuptools import Extension, setup

import aeron_core

setup(
    ext_modules=cythonize(
        [
            Extension(
                "stranger_flow.compiled",
                ["stranger_flow/compiled.py"],
                include_dirs=[aeron_core.get_include() + "/aeron_core/_native"],
            ),
            Extension("stranger_flow.version", ["stranger_flow/version.pyx"]),
        ],
        include_path=[aeron_core.get_include()],
        compiler_directives={"language_level": 3, "annotation_typing": False},
    )
)
