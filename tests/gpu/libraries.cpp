// SPDX-License-Identifier: Apache-2.0
// CUDA's versions, GPUs and libraries as the program finds them on this machine, as rows of a table
// that tests/gpu/preflight.sh reads: what is missing is "none: " and why.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <functional>
#include <string>

#include "runtime/core/error.hpp"
#include "runtime/device/cuda_devices.hpp"
#include "runtime/device/cuda_library.hpp"

namespace {

using lockstep::device::CudaLibrary;
using Version = std::function<int(const CudaLibrary&)>;

// 13000 is 13.0.
std::string cuda_version(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version / 10 % 100);
}

// 91300 is 9.13.0.
std::string library_version(int version) {
    return std::to_string(version / 10'000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

std::string file_of(const CudaLibrary& library) {
    link_map* map = nullptr;
    ::dlinfo(library.handle(), RTLD_DI_LINKMAP, &map);
    return map != nullptr ? map->l_name : "?";
}

void print_row(const char* name, const char* file, const Version& version) {
    std::string found;
    try {
        const CudaLibrary library(file);
        found = library_version(version(library)) + ", " + file_of(library);
    } catch (const lockstep::Error& error) {
        found = std::string("none: ") + error.what();
    }
    std::printf("| %s | %s | |\n", name, found.c_str());
}

void print_gpus() {
    const auto gpus = lockstep::device::visible_gpu_identities();
    for (std::size_t i = 0; i < gpus.size(); ++i)
        std::printf("| GPU %zu | %s, %zu MiB | |\n", i, gpus[i].name.c_str(), gpus[i].bytes >> 20);
    if (gpus.empty()) std::printf("| GPU | none: %s | |\n", lockstep::device::why_no_gpu().c_str());
}

int returned(const CudaLibrary& library, const char* function) {
    return static_cast<int>(library.function<std::size_t()>(function)());
}

int nccl_version(const CudaLibrary& library) {
    int version = 0;
    library.function<int(int*)>("ncclGetVersion")(&version);
    return version;
}

}  // namespace

int main() {
    std::puts("| part | found | what is wrong, and what to do |\n| --- | --- | --- |");
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    std::printf("| CUDA: of the driver, of the program | %s, %s | |\n",
                driver > 0 ? cuda_version(driver).c_str() : "none", cuda_version(runtime).c_str());
    print_gpus();
    print_row("cuBLASLt", "libcublasLt.so.13",
              [](const CudaLibrary& l) { return returned(l, "cublasLtGetVersion"); });
    print_row("cuDNN", "libcudnn.so.9",
              [](const CudaLibrary& l) { return returned(l, "cudnnGetVersion"); });
    print_row("NCCL", "libnccl.so.2", nccl_version);
}
