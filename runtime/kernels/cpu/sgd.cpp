// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/decay_runs.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"
#include "runtime/kernels/optimizer_checks.hpp"

namespace lockstep::kernels {

namespace {

// The update is b = momentum * b + g; w -= lr * (direct * g + carried * b), for both of torch's
// kinds.
struct Update {
    float gradient_scale, weight_decay, lr;
    float momentum, direct, carried;
};

Update update_of(const SgdOptions& options, const StepState& state, cpu::Decays decays) {
    Update u{};
    u.gradient_scale = state.gradient_scale;
    u.weight_decay = decays == cpu::Decays::yes ? options.weight_decay : 0.0f;
    u.lr = state.lr;
    // torch starts the buffer with the first gradient and ignores its old content.
    u.momentum = state.updates == 0 ? 0.0f : options.momentum;
    const bool nesterov = options.kind == SgdOptions::Kind::nesterov;
    u.direct = nesterov ? 1.0f : 0.0f;
    u.carried = nesterov ? options.momentum : 1.0f;
    return u;
}

enum class Momentum { none, kept };
enum class Copy { none, write };

template <Momentum momentum, Copy copy, class T>
[[gnu::always_inline]] inline void run(const Update& update, const float* gradient, float* master,
                                       float* buffer, T* compute, std::int64_t n) {
    const Update u = update;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
        float g = cpu::fused(gradient[i], u.gradient_scale, u.weight_decay * master[i]);
        if constexpr (momentum == Momentum::kept) {
            const float kept = u.momentum == 0.0f ? g : cpu::fused(u.momentum, buffer[i], g);
            buffer[i] = kept;
            g = cpu::fused(u.carried, kept, u.direct * g);
        }
        const float w = cpu::fused(-u.lr, g, master[i]);
        master[i] = w;
        if constexpr (copy == Copy::write) cpu::store(compute[i], w);
    }
}

// `buffer` and `compute` may be null.
template <class T>
[[gnu::always_inline]] inline void run_any(const Update& u, const float* gradient, float* master,
                                           float* buffer, T* compute, std::int64_t n) {
    if (compute == nullptr)
        return buffer == nullptr
                   ? run<Momentum::none, Copy::none>(u, gradient, master, buffer, compute, n)
                   : run<Momentum::kept, Copy::none>(u, gradient, master, buffer, compute, n);
    return buffer == nullptr
               ? run<Momentum::none, Copy::write>(u, gradient, master, buffer, compute, n)
               : run<Momentum::kept, Copy::write>(u, gradient, master, buffer, compute, n);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void update_range(
    const Update& u, const float* gradient, float* master, float* buffer, float* compute,
    std::int64_t n) {
    run_any(u, gradient, master, buffer, compute, n);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void update_range(
    const Update& u, const float* gradient, float* master, float* buffer, bf16* compute,
    std::int64_t n) {
    run_any(u, gradient, master, buffer, compute, n);
}

}  // namespace

template <class T>
void sgd(CpuContext& ctx, const Sgd<T, HostSpace>& o) {
    check(o);
    if (o.state->skip != 0) return;
    const Update with_decay = update_of(o.options, *o.state, cpu::Decays::yes);
    const Update without = update_of(o.options, *o.state, cpu::Decays::no);
    constexpr std::int64_t block = 4096;
    const auto size = static_cast<std::int64_t>(o.gradient.size());
    cpu::parallel_blocks(
        ctx, size, block, size, [&](std::int64_t, std::int64_t from_here, std::int64_t all) {
            const auto update = [&](std::int64_t first, std::int64_t count, cpu::Decays decay) {
                update_range(decay == cpu::Decays::yes ? with_decay : without,
                             o.gradient.data() + first, o.master.data() + first,
                             o.momentum_buffer.empty() ? nullptr : o.momentum_buffer.data() + first,
                             o.compute.empty() ? nullptr : o.compute.data() + first, count);
            };
            cpu::for_each_decay_run(o.decays, from_here, all, update);
        });
}

template void sgd(CpuContext&, const Sgd<float, HostSpace>&);
template void sgd(CpuContext&, const Sgd<bf16, HostSpace>&);

}  // namespace lockstep::kernels
