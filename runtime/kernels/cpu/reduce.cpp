// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/reduce.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"

namespace lockstep::kernels {

namespace {

constexpr std::int64_t block_size = 16384;

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] double block_sum_of_squares(
    const float* x, std::int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) sum += double{x[i]} * double{x[i]};
    return sum;
}

// Tests the bits of the exponent: infinities and NaN have all of them set.
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] std::int64_t block_nonfinite(
    const float* x, std::int64_t n) {
    std::int32_t count = 0;
#pragma omp simd reduction(+ : count)
    for (std::int64_t i = 0; i < n; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(x[i]);
        count += (bits & 0x7F800000u) == 0x7F800000u ? 1 : 0;
    }
    return count;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void convert(
    const float* from, bf16* to, std::int64_t n) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) cpu::store(to[i], from[i]);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void convert(const bf16* from,
                                                                                   float* to,
                                                                                   std::int64_t n) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void convert(
    const float* from, fp16* to, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = fp16(from[i]);
}

void convert(const float* from, float* to, std::int64_t n) {
    std::memmove(to, from, static_cast<std::size_t>(n) * sizeof(float));
}

ExactSum cells_of_block(const float* x, std::int64_t n) {
    constexpr auto cell = static_cast<std::int64_t>(square_cell);
    static_assert(block_size % cell == 0);
    ExactSum sum;
    for (std::int64_t i = 0; i < n; i += cell)
        sum.add(block_sum_of_squares(x + i, std::min(cell, n - i)));
    return sum;
}

// Adds the values of the blocks in order, so the sum is the same for any number of threads.
template <class Value, class Function>
Value sum_over_blocks(CpuContext& ctx, HostView<const float> x, Function function) {
    const auto n = static_cast<std::int64_t>(x.size());
    std::vector<Value> parts(static_cast<std::size_t>((n + block_size - 1) / block_size));
    cpu::parallel_blocks(
        ctx, n, block_size, n, [&](std::int64_t block, std::int64_t first, std::int64_t count) {
            parts[static_cast<std::size_t>(block)] = function(x.data() + first, count);
        });
    Value sum{};
    for (const Value& part : parts) sum += part;
    return sum;
}

}  // namespace

double sum_of_squares(CpuContext& ctx, HostView<const float> x) {
    return sum_over_blocks<double>(ctx, x, block_sum_of_squares);
}

std::int64_t count_nonfinite(CpuContext& ctx, HostView<const float> x) {
    return sum_over_blocks<std::int64_t>(ctx, x, block_nonfinite);
}

void add_sum_of_squares(CpuContext& ctx, HostView<const float> x, HostView<ExactSum> total) {
    require(total.size() == 1, "a sum goes into one element");
    total[0] += sum_over_blocks<ExactSum>(ctx, x, cells_of_block);
}

void add_count_nonfinite(CpuContext& ctx, HostView<const float> x, HostView<std::int64_t> total) {
    require(total.size() == 1, "a sum goes into one element");
    total[0] += count_nonfinite(ctx, x);
}

void reserve_sums(CpuContext&, std::size_t /*elements*/) {}

void fill_zero(CpuContext& ctx, HostView<float> x) {
    const auto n = static_cast<std::int64_t>(x.size());
    cpu::parallel_blocks(
        ctx, n, block_size, n, [&](std::int64_t, std::int64_t first, std::int64_t count) {
            std::memset(x.data() + first, 0, static_cast<std::size_t>(count) * sizeof(float));
        });
}

template <class From, class To>
void cast(CpuContext& ctx, HostView<const From> from, HostView<To> to) {
    require(from.size() == to.size(), "cast: sizes differ");
    const auto n = static_cast<std::int64_t>(from.size());
    cpu::parallel_blocks(ctx, n, block_size, n,
                         [&](std::int64_t, std::int64_t first, std::int64_t count) {
                             convert(from.data() + first, to.data() + first, count);
                         });
}

template void cast(CpuContext&, HostView<const float>, HostView<bf16>);
template void cast(CpuContext&, HostView<const float>, HostView<fp16>);
template void cast(CpuContext&, HostView<const bf16>, HostView<float>);
template void cast(CpuContext&, HostView<const float>, HostView<float>);

}  // namespace lockstep::kernels
