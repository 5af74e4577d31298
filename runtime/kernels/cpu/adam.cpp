// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/adam_update.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"
#include "runtime/kernels/optimizer_checks.hpp"

namespace lockstep::kernels {

namespace {

// A range of the flat buffers. `largest` and `compute` may be null.
template <class T>
struct Range {
    const float* gradient;
    float *master, *first_moment, *second_moment, *largest;
    T* compute;
    std::int64_t size;
};

enum class Bound { none, largest };
enum class Copy { none, write };

template <Bound bound, Copy copy, class T>
[[gnu::always_inline]] inline void run(const cpu::AdamUpdate& update, const Range<T>& range) {
    const cpu::AdamUpdate u = update;
    const float* gradient = range.gradient;
    float *master = range.master, *m = range.first_moment, *v = range.second_moment;
    float* largest = range.largest;
    T* compute = range.compute;
#pragma omp simd
    for (std::int64_t i = 0; i < range.size; ++i) {
        const float g = cpu::fused(gradient[i], u.gradient_scale, u.l2 * master[i]);
        m[i] = cpu::fused(u.rest1, g - m[i], m[i]);
        v[i] = cpu::fused(u.rest2 * g, g, u.beta2 * v[i]);
        float second = v[i];
        if constexpr (bound == Bound::largest) {
            second = largest[i] > second ? largest[i] : second;
            largest[i] = second;
        }
        const float step =
            u.step_size * m[i] / (__builtin_sqrtf(second) / u.root_correction2 + u.epsilon);
        const float w = cpu::fused(master[i], u.shrink, -step);
        master[i] = w;
        if constexpr (copy == Copy::write) cpu::store(compute[i], w);
    }
}

template <class T>
[[gnu::always_inline]] inline void run_any(const cpu::AdamUpdate& update, const Range<T>& range) {
    const bool bounded = range.largest != nullptr;
    if (range.compute == nullptr)
        return bounded ? run<Bound::largest, Copy::none>(update, range)
                       : run<Bound::none, Copy::none>(update, range);
    return bounded ? run<Bound::largest, Copy::write>(update, range)
                   : run<Bound::none, Copy::write>(update, range);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void update_range(
    const cpu::AdamUpdate& update, const Range<float>& range) {
    run_any(update, range);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void update_range(
    const cpu::AdamUpdate& update, const Range<bf16>& range) {
    run_any(update, range);
}

template <class T>
T* from(HostView<T> view, std::int64_t first) {
    return view.empty() ? nullptr : view.data() + first;
}

}  // namespace

template <class T>
void adam(CpuContext& ctx, const Adam<T, HostSpace>& o) {
    check(o);
    if (o.state->skip != 0) return;
    const cpu::AdamUpdate with_decay = cpu::adam_update(o.options, *o.state, cpu::Decays::yes);
    const cpu::AdamUpdate without = cpu::adam_update(o.options, *o.state, cpu::Decays::no);
    constexpr std::int64_t block = 4096;
    const auto size = static_cast<std::int64_t>(o.gradient.size());
    cpu::parallel_blocks(
        ctx, size, block, size, [&](std::int64_t, std::int64_t from_here, std::int64_t all) {
            const auto update = [&](std::int64_t first, std::int64_t count, cpu::Decays decay) {
                update_range(decay == cpu::Decays::yes ? with_decay : without,
                             Range<T>{o.gradient.data() + first, o.master.data() + first,
                                      o.first_moment.data() + first, o.second_moment.data() + first,
                                      from(o.largest, first), from(o.compute, first), count});
            };
            cpu::for_each_decay_run(o.decays, from_here, all, update);
        });
}

template void adam(CpuContext&, const Adam<float, HostSpace>&);
template void adam(CpuContext&, const Adam<bf16, HostSpace>&);

}  // namespace lockstep::kernels
