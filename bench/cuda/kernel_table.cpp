// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/kernel_table.hpp"

#include <cstdio>

#include "bench/cuda/gpu_seconds.hpp"

namespace lockstep::bench {

namespace {

struct Unit {
    const char* name;
    double scale;
};
constexpr Unit gigabytes{"GB/s", 1e-9}, teraflops{"TFLOP/s", 1e-12};

void print(const std::string& name, const char* type, const Unit& unit, double per_second,
           double best_per_second) {
    std::printf("| %s | %s | %.1f %s | %.0f %% |\n", name.c_str(), type, per_second * unit.scale,
                unit.name, 100 * per_second / best_per_second);
    std::fflush(stdout);
}

}  // namespace

KernelTable::KernelTable(CudaContext& ctx) : ctx_(ctx) {
    std::puts(
        "| kernel | type | rate | of the copy's or the product's |\n| --- | --- | --- | --- |");
}

void KernelTable::copies(const char* name, double bytes, const std::function<void()>& work) {
    copied_bytes_per_s_ = bytes / gpu_seconds(ctx_, work);
    print(name, "", gigabytes, copied_bytes_per_s_, copied_bytes_per_s_);
}

void KernelTable::multiplies(const std::string& name, const char* type, double operations,
                             const std::function<void()>& work) {
    multiplied_operations_per_s_ = operations / gpu_seconds(ctx_, work);
    print(name, type, teraflops, multiplied_operations_per_s_, multiplied_operations_per_s_);
}

void KernelTable::moves(const std::string& name, const char* type, double bytes,
                        const std::function<void()>& work) {
    print(name, type, gigabytes, bytes / gpu_seconds(ctx_, work), copied_bytes_per_s_);
}

void KernelTable::computes(const std::string& name, const char* type, double operations,
                           const std::function<void()>& work) {
    print(name, type, teraflops, operations / gpu_seconds(ctx_, work),
          multiplied_operations_per_s_);
}

void KernelTable::fails(const char* group, const char* type, const char* why) {
    std::printf("| %s | %s | FAILED: %s | |\n", group, type, why);
    std::fflush(stdout);
}

}  // namespace lockstep::bench
