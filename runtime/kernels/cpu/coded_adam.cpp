// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/adam_update.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"
#include "runtime/kernels/optimizer_checks.hpp"

namespace lockstep::kernels {

namespace {

// A part of a cell. `first_moment` and `second_moment` are decoded; `compute` may be null.
template <class T>
struct Part {
    const float* gradient;
    float *master, *first_moment, *second_moment;
    T* compute;
    std::int64_t size;
};

enum class Copy { none, write };

template <Copy copy, class T>
[[gnu::always_inline]] inline void run(const cpu::AdamUpdate& update, const Part<T>& part) {
    const cpu::AdamUpdate u = update;
    const float* gradient = part.gradient;
    float *master = part.master, *m = part.first_moment, *v = part.second_moment;
    T* compute = part.compute;
#pragma omp simd
    for (std::int64_t i = 0; i < part.size; ++i) {
        float w = master[i] * u.shrink;
        const float g = gradient[i] * u.gradient_scale + u.l2 * w;
        m[i] += u.rest1 * (g - m[i]);
        v[i] = u.beta2 * v[i] + u.rest2 * g * g;
        w -= u.step_size * m[i] / (__builtin_sqrtf(v[i]) / u.root_correction2 + u.epsilon);
        master[i] = w;
        if constexpr (copy == Copy::write) cpu::store(compute[i], w);
    }
}

template <class T>
[[gnu::always_inline]] inline void run_any(const cpu::AdamUpdate& update, const Part<T>& part) {
    part.compute == nullptr ? run<Copy::none>(update, part) : run<Copy::write>(update, part);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void update_part(
    const cpu::AdamUpdate& update, const Part<float>& part) {
    run_any(update, part);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void update_part(
    const cpu::AdamUpdate& update, const Part<bf16>& part) {
    run_any(update, part);
}

// A cell's moments while they are decoded.
struct Decoded {
    alignas(64) float first[moment_cell];
    alignas(64) float second[moment_cell];
};

// Both moments of the cell that begins at element `first`.
struct CodedCell {
    CodedMoment<HostSpace> first_moment, second_moment;

    template <class T>
    CodedCell(const CodedAdam<T, HostSpace>& o, std::size_t first, std::size_t size)
        : first_moment(of(o.first_moment, first, size)),
          second_moment(of(o.second_moment, first, size)) {}

    void decode(Decoded& decoded) const {
        const std::size_t size = first_moment.codes.size();
        decode_moments(DynamicMap::with_sign, first_moment.codes, first_moment.scales,
                       {decoded.first, size});
        decode_moments(DynamicMap::without_sign, second_moment.codes, second_moment.scales,
                       {decoded.second, size});
    }
    void encode(const Decoded& decoded) const {
        const std::size_t size = first_moment.codes.size();
        encode_moments(DynamicMap::with_sign, {decoded.first, size}, first_moment.codes,
                       first_moment.scales);
        encode_moments(DynamicMap::without_sign, {decoded.second, size}, second_moment.codes,
                       second_moment.scales);
    }

private:
    static CodedMoment<HostSpace> of(const CodedMoment<HostSpace>& all, std::size_t first,
                                     std::size_t size) {
        return {all.codes.subview(first, size), all.scales.subview(first / moment_cell, 1)};
    }
};

}  // namespace

template <class T>
void coded_adam(CpuContext& ctx, const CodedAdam<T, HostSpace>& o) {
    check(o);
    if (o.state->skip != 0) return;
    const cpu::AdamUpdate with_decay = cpu::adam_update(o.options, *o.state, cpu::Decays::yes);
    const cpu::AdamUpdate without = cpu::adam_update(o.options, *o.state, cpu::Decays::no);
    const auto size = static_cast<std::int64_t>(o.gradient.size());
    constexpr auto cell = static_cast<std::int64_t>(moment_cell);
    cpu::parallel_blocks(
        ctx, size, cell, size, [&](std::int64_t, std::int64_t from, std::int64_t all) {
            const CodedCell coded(o, static_cast<std::size_t>(from), static_cast<std::size_t>(all));
            Decoded decoded;
            coded.decode(decoded);
            const auto update = [&](std::int64_t first, std::int64_t count, cpu::Decays decay) {
                T* const compute = o.compute.empty() ? nullptr : o.compute.data() + first;
                update_part(decay == cpu::Decays::yes ? with_decay : without,
                            Part<T>{o.gradient.data() + first, o.master.data() + first,
                                    decoded.first + (first - from), decoded.second + (first - from),
                                    compute, count});
            };
            cpu::for_each_decay_run(o.decays, from, all, update);
            coded.encode(decoded);
        });
}

template void coded_adam(CpuContext&, const CodedAdam<float, HostSpace>&);
template void coded_adam(CpuContext&, const CodedAdam<bf16, HostSpace>&);

}  // namespace lockstep::kernels
