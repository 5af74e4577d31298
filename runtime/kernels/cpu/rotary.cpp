// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/rotary.hpp"

#include <algorithm>

#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"
#include "runtime/kernels/rotary_checks.hpp"

namespace lockstep::kernels {

namespace {

// Writes the cosines and sines of a position's angles, times the scale; those of backward have the
// opposite sign.
[[gnu::always_inline]] inline void write_angles(float position, const float* frequencies,
                                                float scale, Turn turn, float* cosines,
                                                float* sines, std::int64_t n) {
    const float sign = turn == Turn::forward ? scale : -scale;
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) {
        const cpu::SineCosine of = cpu::sine_cosine(position * frequencies[j]);
        cosines[j] = of.cosine * scale;
        sines[j] = of.sine * sign;
    }
}

template <class T>
[[gnu::always_inline]] inline void turn_pairs(const float* cosines, const float* sines, T* first,
                                              T* second, std::int64_t n) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) {
        const float a = cpu::load(first[j]), b = cpu::load(second[j]);
        cpu::store(first[j], a * cosines[j] - b * sines[j]);
        cpu::store(second[j], b * cosines[j] + a * sines[j]);
    }
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void angles_of(
    float position, const float* frequencies, float scale, Turn turn, float* cosines, float* sines,
    std::int64_t n) {
    write_angles(position, frequencies, scale, turn, cosines, sines, n);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void turn_head(
    const float* cosines, const float* sines, float* head, std::int64_t distance, std::int64_t n) {
    turn_pairs(cosines, sines, head, head + distance, n);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void turn_head(
    const float* cosines, const float* sines, bf16* head, std::int64_t distance, std::int64_t n) {
    turn_pairs(cosines, sines, head, head + distance, n);
}

}  // namespace

template <class T>
void rotate(CpuContext& ctx, const Rotary<T, HostSpace>& o) {
    check(o);
    constexpr std::int64_t angles_per_step = 64;
    const auto n = static_cast<std::int64_t>(o.frequencies.size());
    const std::int64_t heads = o.x.cols / o.head_dim;
    cpu::parallel_for(ctx, o.x.rows, o.x.rows * o.x.cols, [&](std::int64_t i) {
        alignas(64) float cosines[angles_per_step], sines[angles_per_step];
        T* const row = o.x.data + i * o.x.stride;
        for (std::int64_t first = 0; first < n; first += angles_per_step) {
            const std::int64_t count = std::min(angles_per_step, n - first);
            angles_of(static_cast<float>(o.positions[static_cast<std::size_t>(i)]),
                      o.frequencies.data() + first, o.scale, o.turn, cosines, sines, count);
            for (std::int64_t h = 0; h < heads; ++h)
                turn_head(cosines, sines, row + h * o.head_dim + first, n, count);
        }
    });
}

template void rotate(CpuContext&, const Rotary<float, HostSpace>&);
template void rotate(CpuContext&, const Rotary<bf16, HostSpace>&);

}  // namespace lockstep::kernels
