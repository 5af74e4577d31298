# SPDX-License-Identifier: Apache-2.0
# Spack has no recipe of Snowball's stemmers in C.
from spack.package import *


class Libstemmer(MakefilePackage):
    """Snowball's stemmers as a library of C."""

    homepage = "https://snowballstem.org"
    git = "https://github.com/snowballstem/snowball.git"

    license("BSD-3-Clause")
    version("2.2.0", tag="v2.2.0")

    depends_on("c", type="build")
    depends_on("perl", type="build")

    def install(self, spec, prefix):
        mkdirp(prefix.include, prefix.lib)
        install("include/libstemmer.h", prefix.include)
        install("libstemmer.a", prefix.lib)
