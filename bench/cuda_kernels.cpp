// SPDX-License-Identifier: Apache-2.0
// How fast each CUDA kernel is, as a share of the GPU's own ceilings in the same run: a copy for
// those that move memory, the largest square product for those that compute. A table in Markdown.
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "bench/cuda/timed_kernels.hpp"
#include "runtime/core/error.hpp"
#include "runtime/kernels/cuda/product.hpp"

namespace {

using namespace lockstep;
using bench::KernelSizes;
using bench::KernelTable;

constexpr const char* usage =
    "bench_cuda_kernels [ROWS [WIDTH [VOCABULARY]]]: at least 1, the width in multiples of 64";

template <class T>
void time_all(device::CudaContext& ctx, KernelTable& table, const KernelSizes& sizes) {
    bench::time_products<T>(ctx, table, sizes);
    bench::time_attention<T>(ctx, table, sizes);
    bench::time_row_kernels<T>(ctx, table, sizes);
    bench::time_token_kernels<T>(ctx, table, sizes);
}

KernelSizes parse(int argc, char** argv) {
    KernelSizes sizes;
    std::int64_t* const given[] = {&sizes.rows, &sizes.d, &sizes.vocabulary};
    for (int i = 1; i < argc && i <= 3; ++i) *given[i - 1] = std::atoll(argv[i]);
    if (argc > 4 || sizes.rows < 1 || sizes.d < 64 || sizes.d % 64 != 0 || sizes.vocabulary < 1)
        throw Error(ErrorKind::config, usage);
    return sizes;
}

int run(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "--help") {
        std::cout << usage << std::endl;
        return 0;
    }
    const KernelSizes sizes = parse(argc, argv);
    if (device::visible_gpus() == 0)
        throw Error(ErrorKind::config, "no GPU is visible: run it where nvidia-smi shows one");
    device::CudaContext ctx(0);
    ctx.cached<kernels::cuda::ProductSettings>().autotune = true;
    KernelTable table(ctx);
    bench::time_flat_kernels(ctx, table, sizes);
    time_all<bf16>(ctx, table, sizes);
    time_all<fp16>(ctx, table, sizes);
    time_all<float>(ctx, table, sizes);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "bench_cuda_kernels: " << e.what() << std::endl;
        return 2;
    }
}
