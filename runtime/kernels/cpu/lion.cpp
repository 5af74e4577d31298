// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "runtime/kernels/cpu/decay_runs.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"
#include "runtime/kernels/optimizer_checks.hpp"

namespace lockstep::kernels {

namespace {

// Holds the numbers of one update. They are calculated in double and rounded once.
struct Update {
    float gradient_scale, lr, shrink;  // w *= shrink: decoupled decay
    float beta1, rest1, beta2, rest2;  // rest = 1 - beta
};

Update update_of(const LionOptions& options, const StepState& state, cpu::Decays decays) {
    const double decay = decays == cpu::Decays::yes ? options.weight_decay : 0.0;
    Update u{};
    u.gradient_scale = state.gradient_scale;
    u.lr = state.lr;
    u.shrink = static_cast<float>(std::fma(-double{state.lr}, decay, 1.0));
    u.beta1 = static_cast<float>(options.beta1);
    u.rest1 = static_cast<float>(1.0 - options.beta1);
    u.beta2 = static_cast<float>(options.beta2);
    u.rest2 = static_cast<float>(1.0 - options.beta2);
    return u;
}

// Describes a range of the flat buffers. `compute` may be null.
template <class T>
struct Range {
    const float* gradient;
    float *master, *moment;
    T* compute;
    std::int64_t size;
};

enum class Copy { none, write };

template <Copy copy, class T>
[[gnu::always_inline]] inline void run(const Update& update, const Range<T>& range) {
    const Update u = update;
    const float* gradient = range.gradient;
    float *master = range.master, *moment = range.moment;
    T* compute = range.compute;
#pragma omp simd
    for (std::int64_t i = 0; i < range.size; ++i) {
        const float g = gradient[i] * u.gradient_scale;
        const float c = cpu::fused(u.beta1, moment[i], u.rest1 * g);
        // Zero and NaN are their own signs.
        const float sign = c > 0.0f ? 1.0f : c < 0.0f ? -1.0f : c;
        const float w = cpu::fused(master[i], u.shrink, -(u.lr * sign));
        moment[i] = cpu::fused(u.beta2, moment[i], u.rest2 * g);
        master[i] = w;
        if constexpr (copy == Copy::write) cpu::store(compute[i], w);
    }
}

template <class T>
[[gnu::always_inline]] inline void run_any(const Update& update, const Range<T>& range) {
    if (range.compute == nullptr) return run<Copy::none>(update, range);
    run<Copy::write>(update, range);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void update_range(
    const Update& update, const Range<float>& range) {
    run_any(update, range);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void update_range(
    const Update& update, const Range<bf16>& range) {
    run_any(update, range);
}

}  // namespace

template <class T>
void lion(CpuContext& ctx, const Lion<T, HostSpace>& o) {
    check(o);
    if (o.state->skip != 0) return;
    const Update with_decay = update_of(o.options, *o.state, cpu::Decays::yes);
    const Update without = update_of(o.options, *o.state, cpu::Decays::no);
    constexpr std::int64_t block = 4096;
    const auto size = static_cast<std::int64_t>(o.gradient.size());
    cpu::parallel_blocks(
        ctx, size, block, size, [&](std::int64_t, std::int64_t from_here, std::int64_t all) {
            const auto update = [&](std::int64_t first, std::int64_t count, cpu::Decays decay) {
                update_range(
                    decay == cpu::Decays::yes ? with_decay : without,
                    Range<T>{o.gradient.data() + first, o.master.data() + first,
                             o.moment.data() + first,
                             o.compute.empty() ? nullptr : o.compute.data() + first, count});
            };
            cpu::for_each_decay_run(o.decays, from_here, all, update);
        });
}

template void lion(CpuContext&, const Lion<float, HostSpace>&);
template void lion(CpuContext&, const Lion<bf16, HostSpace>&);

}  // namespace lockstep::kernels
