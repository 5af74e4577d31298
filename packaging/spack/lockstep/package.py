# SPDX-License-Identifier: Apache-2.0
# A recipe of Spack, in the repository of recipes packaging/spack: `spack repo add packaging/spack`, then
# `spack dev-build lockstep@main` in the root of the tree.
from spack.package import *


class Lockstep(CMakePackage):
    """Distributed training of transformers: one program, from a laptop to a Slurm cluster."""

    license("Apache-2.0")
    version("main")

    variant("mpi", default=True, description="Build the module that joins ranks by MPI")
    variant("cuda", default=False, description="Build the CUDA backend")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("boost@1.74:+program_options")
    # The ring and the connections are tied to Gloo's sources of this age.
    depends_on("gloo@2021-05-04:2022-12-31")
    depends_on("hdf5@1.10:~mpi+shared")
    depends_on("libedit")
    depends_on("libstemmer")
    depends_on("nlohmann-json@3.11:")
    depends_on("onednn@2.6: cpu_runtime=omp")
    depends_on("openssl@3:")
    depends_on("pcre2")
    depends_on("sentencepiece@0.1.97:")
    depends_on("xxhash@0.8:")
    depends_on("zlib-api")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@12.4:", when="+cuda")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("LOCKSTEP_TESTS", False),
            self.define("LOCKSTEP_WERROR", False),
            self.define("CMAKE_UNITY_BUILD", True),
            self.define("LOCKSTEP_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_MPI", not self.spec.satisfies("+mpi")),
        ]
