// SPDX-License-Identifier: Apache-2.0
// Measures the speed of each CUDA kernel as a share of the GPU's own ceilings in the same run: a
// copy for kernels that move memory, the largest square matrix product for kernels that compute.
// Prints a table in Markdown.
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "bench/cuda/timed_kernels.hpp"
#include "runtime/core/error.hpp"
#include "runtime/kernels/cuda/matmul/product.hpp"

namespace {

using namespace lockstep;
using bench::KernelSizes;
using bench::KernelTable;

constexpr const char* usage =
    "bench_cuda_kernels [ROWS [WIDTH [VOCABULARY]]]: at least 1, the width in multiples of 64";

// Times groups of kernels in this order. A group that cannot run does not stop the others.
class Groups {
public:
    Groups(device::CudaContext& ctx, KernelTable& table, const KernelSizes& sizes)
        : ctx_(ctx), table_(table), sizes_(sizes) {}

    template <class Time>
    void time(const char* group, const char* type, const Time& rows) {
        try {
            rows(ctx_, table_, sizes_);
        } catch (const std::exception& e) {
            table_.fails(group, type, e.what());
            ++failed_;
        }
    }
    template <class T>
    void time_all() {
        const char* type = bench::type_name<T>;
        time("products", type, bench::time_products<T>);
        time("attention", type, bench::time_attention<T>);
        time("kernels of rows", type, bench::time_row_kernels<T>);
        time("kernels of tokens", type, bench::time_token_kernels<T>);
    }
    int failed() const { return failed_; }

private:
    device::CudaContext& ctx_;
    KernelTable& table_;
    KernelSizes sizes_;
    int failed_ = 0;
};

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
    Groups groups(ctx, table, sizes);
    groups.time("kernels of flat buffers", "", bench::time_flat_kernels);
    groups.time_all<bf16>();
    groups.time_all<fp16>();
    groups.time_all<float>();
    return groups.failed() == 0 ? 0 : 1;
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
