// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/kernels/coded_adam_case.hpp"
#include "tests/runtime/kernels/cuda/against_cpu.hpp"
#include "tests/runtime/kernels/optimizer_case.hpp"
#include "tests/runtime/kernels/optimizer_goldens.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::AdamOptions;
using kernels::CpuContext;
using kernels::CudaContext;
using kernels::LionOptions;
using kernels::SgdOptions;
using kernels::StepState;
using Decay = AdamOptions::Decay;
using Kind = SgdOptions::Kind;

namespace {

constexpr std::int64_t sizes[] = {1, 8, 33, 4097, 20001};

enum class Bound { none, amsgrad };

std::vector<float> zeros(std::size_t count) { return std::vector<float>(count); }

StepState state_of(std::uint64_t update) {
    return {.updates = update, .lr = 0.01f, .gradient_scale = 0.5f};
}

template <class T>
void check_adam_golden(const AdamOptions& options, Bound bound,
                       const std::array<double, 12>& golden) {
    CudaContext ctx(0);
    const OnDevice w(ctx, golden_weight()), m(ctx, zeros(12)), v(ctx, zeros(12));
    const OnDevice largest(ctx, zeros(bound == Bound::amsgrad ? 12 : 0));
    const OnDevice compute(ctx, unwritten<T>(12));
    run_golden_updates([&](const StepState* host, const std::vector<float>& g) {
        const OnDevice<StepState> state(ctx, {for_adam(options, *host)});
        const OnDevice gradient(ctx, g);
        kernels::adam<T>(ctx, {.options = options,
                               .state = state.data(),
                               .gradient = gradient.view(),
                               .master = w.view(),
                               .first_moment = m.view(),
                               .second_moment = v.view(),
                               .largest = largest.view(),
                               .compute = compute.view()});
        ctx.synchronize();
    });
    check_weights(w.values(), golden, compute.values());
}

template <class T>
void check_lion_golden(const LionOptions& options, const std::array<double, 12>& golden) {
    CudaContext ctx(0);
    const OnDevice w(ctx, golden_weight()), m(ctx, zeros(12));
    const OnDevice compute(ctx, unwritten<T>(12));
    run_golden_updates([&](const StepState* host, const std::vector<float>& g) {
        const OnDevice<StepState> state(ctx, {*host});
        const OnDevice gradient(ctx, g);
        kernels::lion<T>(ctx, {.options = options,
                               .state = state.data(),
                               .gradient = gradient.view(),
                               .master = w.view(),
                               .moment = m.view(),
                               .compute = compute.view()});
        ctx.synchronize();
    });
    check_weights(w.values(), golden, compute.values());
}

}  // namespace

TEST_CASE_TEMPLATE("CUDA's adam follows torch.optim", T, float, bf16, fp16) {
    check_adam_golden<T>({0.9, 0.98, 1e-6, 0.1, Decay::l2}, Bound::none, goldens::adam_l2);
    check_adam_golden<T>({0.5, 0.6, 1e-8, 0, Decay::l2}, Bound::amsgrad, goldens::adam_amsgrad);
    check_adam_golden<T>({0.9, 0.999, 1e-8, 0.1, Decay::decoupled}, Bound::none, goldens::adamw);
}

TEST_CASE_TEMPLATE("CUDA's adam is the CPU's on awkward sizes, bit for bit", T, float, bf16, fp16) {
    CudaContext ctx(0);
    CpuContext cpu(1);
    const AdamOptions options{0.9, 0.98, 1e-6, 5, Decay::decoupled};
    for (const std::int64_t n : sizes) {
        auto w = random_numbers<float>(n, 1), m = zeros(w.size()), v = m, largest = m;
        const OnDevice on_w(ctx, w), on_m(ctx, m), on_v(ctx, v), on_largest(ctx, largest);
        const OnDevice compute(ctx, unwritten<T>(n));
        const auto decays = awkward_decays(n);
        const OnDevice lines(ctx, decays);
        for (std::uint64_t t = 0; t < 3; ++t) {
            const auto g = random_numbers<float>(n, 10 + t, 3.0 - static_cast<double>(t));
            const StepState host = for_adam(options, state_of(t));
            const OnDevice<StepState> state(ctx, {host});
            const OnDevice gradient(ctx, g);
            kernels::adam<T>(ctx, {.options = options,
                                   .state = state.data(),
                                   .gradient = gradient.view(),
                                   .master = on_w.view(),
                                   .first_moment = on_m.view(),
                                   .second_moment = on_v.view(),
                                   .largest = on_largest.view(),
                                   .compute = compute.view(),
                                   .decays = lines.const_view()});
            kernels::adam<float>(cpu, {.options = options,
                                       .state = &host,
                                       .gradient = view_of(g),
                                       .master = view_of(w),
                                       .first_moment = view_of(m),
                                       .second_moment = view_of(v),
                                       .largest = view_of(largest),
                                       .decays = view_of(decays)});
            ctx.synchronize();
        }
        REQUIRE(on_w.values() == w);
        REQUIRE(on_m.values() == m);
        REQUIRE(on_v.values() == v);
        require_close(compute.values(), widened(on_w.values()));
    }
}

namespace {

// A moment in int8 in the device's memory.
struct DeviceMoment {
    DeviceMoment(CudaContext& ctx, const HostMoment& host)
        : codes(ctx, host.codes), scales(ctx, host.scales) {}

    kernels::CodedMoment<CudaSpace> view() const { return {codes.view(), scales.view()}; }
    void copy_to(HostMoment& host) const {
        host.codes = codes.values();
        host.scales = scales.values();
    }

    OnDevice<std::uint8_t> codes;
    OnDevice<float> scales;
};

}  // namespace

TEST_CASE_TEMPLATE("CUDA's coded_adam is the CPU's on awkward sizes", T, float, bf16, fp16) {
    CudaContext ctx(0);
    CpuContext cpu(1);
    const AdamOptions options{0.9, 0.98, 1e-6, 5, Decay::decoupled};
    using kernels::DynamicMap;
    for (const std::int64_t n : {1, 8, 33, 255, 256, 257, 4097, 20001}) {
        auto w = random_numbers<float>(n, 1);
        HostMoment m(w.size(), DynamicMap::with_sign), v(w.size(), DynamicMap::without_sign);
        const auto decays = awkward_decays(n);
        const OnDevice lines(ctx, decays);
        for (std::uint64_t t = 0; t < 3; ++t) {
            const auto g = random_numbers<float>(n, 10 + t, 3.0 - static_cast<double>(t));
            const StepState host = for_adam(options, state_of(t));
            // Both begin an update with the same bits.
            const OnDevice on_w(ctx, w), gradient(ctx, g);
            const OnDevice compute(ctx, unwritten<T>(n));
            const DeviceMoment on_m(ctx, m), on_v(ctx, v);
            const OnDevice<StepState> state(ctx, {host});
            kernels::coded_adam<T>(ctx, {.options = options,
                                         .state = state.data(),
                                         .gradient = gradient.view(),
                                         .master = on_w.view(),
                                         .first_moment = on_m.view(),
                                         .second_moment = on_v.view(),
                                         .compute = compute.view(),
                                         .decays = lines.const_view()});
            kernels::coded_adam<float>(cpu, {.options = options,
                                             .state = &host,
                                             .gradient = view_of(g),
                                             .master = view_of(w),
                                             .first_moment = m.view(),
                                             .second_moment = v.view(),
                                             .decays = view_of(decays)});
            ctx.synchronize();
            require_close(on_w.values(), w);
            require_close(compute.values(), widened(on_w.values()));
            HostMoment device_m = m, device_v = v;
            on_m.copy_to(device_m);
            on_v.copy_to(device_v);
            require_same_moment(device_m, m);
            require_same_moment(device_v, v);
        }
    }
}

TEST_CASE("CUDA's coded_adam updates a copy without a master, and skips when told") {
    CudaContext ctx(0);
    StepState host = for_adam(0.5, 0.5, {.lr = 0.5f});
    using kernels::DynamicMap;
    const DeviceMoment m(ctx, HostMoment(2, DynamicMap::with_sign));
    const DeviceMoment v(ctx, HostMoment(2, DynamicMap::without_sign));
    const OnDevice<float> gradient(ctx, {1, 2});
    const OnDevice weights(ctx, numbers<fp16>({4, 8}));
    for (const std::uint32_t skip : {0u, 1u}) {
        host.skip = skip;
        const OnDevice<StepState> state(ctx, {host});
        kernels::coded_adam<fp16>(ctx, {.options = {0.5, 0.5, 1e-8, 0, Decay::l2},
                                        .state = state.data(),
                                        .gradient = gradient.view(),
                                        .first_moment = m.view(),
                                        .second_moment = v.view(),
                                        .compute = weights.view()});
        ctx.synchronize();
        CHECK(to_doubles(weights.values()) == std::vector<double>{3.5, 7.5});
        CHECK(m.scales.values() == std::vector<float>{1});
    }
}

TEST_CASE_TEMPLATE("CUDA's sgd is the CPU's on awkward sizes, bit for bit", T, float, bf16, fp16) {
    CudaContext ctx(0);
    CpuContext cpu(1);
    for (const SgdOptions& options :
         {SgdOptions{0, 0.01f, Kind::plain}, {0.9f, 0, Kind::plain}, {0.9f, 0.01f, Kind::nesterov}})
        for (const std::int64_t n : sizes) {
            auto w = random_numbers<float>(n, 1);
            // The content of the buffer before the first update does not matter.
            std::vector<float> b(options.momentum == 0 ? 0 : w.size(), 7.0f);
            const OnDevice on_w(ctx, w), on_b(ctx, b), compute(ctx, unwritten<T>(n));
            const auto decays = awkward_decays(n);
            const OnDevice lines(ctx, decays);
            for (std::uint64_t t = 0; t < 3; ++t) {
                const auto g = random_numbers<float>(n, 10 + t);
                const StepState host = state_of(t);
                const OnDevice<StepState> state(ctx, {host});
                const OnDevice gradient(ctx, g);
                kernels::sgd<T>(ctx, {.options = options,
                                      .state = state.data(),
                                      .gradient = gradient.view(),
                                      .master = on_w.view(),
                                      .momentum_buffer = on_b.view(),
                                      .compute = compute.view(),
                                      .decays = lines.const_view()});
                kernels::sgd<float>(cpu, {.options = options,
                                          .state = &host,
                                          .gradient = view_of(g),
                                          .master = view_of(w),
                                          .momentum_buffer = view_of(b),
                                          .decays = view_of(decays)});
                ctx.synchronize();
            }
            REQUIRE(on_w.values() == w);
            REQUIRE(on_b.values() == b);
            require_close(compute.values(), widened(on_w.values()));
        }
}

TEST_CASE_TEMPLATE("CUDA's lion follows the formula of its paper", T, float, bf16, fp16) {
    check_lion_golden<T>({0.9, 0.99, 0.1}, goldens::lion);
    check_lion_golden<T>({0.95, 0.5, 0}, goldens::lion_betas);
}

TEST_CASE_TEMPLATE("CUDA's lion is the CPU's on awkward sizes, bit for bit", T, float, bf16, fp16) {
    CudaContext ctx(0);
    CpuContext cpu(1);
    const LionOptions options{0.9, 0.98, 5};
    for (const std::int64_t n : sizes) {
        auto w = random_numbers<float>(n, 1), m = zeros(w.size());
        const OnDevice on_w(ctx, w), on_m(ctx, m), compute(ctx, unwritten<T>(n));
        const auto decays = awkward_decays(n);
        const OnDevice lines(ctx, decays);
        for (std::uint64_t t = 0; t < 3; ++t) {
            auto g = random_numbers<float>(n, 10 + t, 3.0 - static_cast<double>(t));
            for (std::size_t i = 0; i < g.size(); i += 3) g[i] = 0;  // the sign of 0 is 0
            const StepState host = state_of(t);
            const OnDevice<StepState> state(ctx, {host});
            const OnDevice gradient(ctx, g);
            kernels::lion<T>(ctx, {.options = options,
                                   .state = state.data(),
                                   .gradient = gradient.view(),
                                   .master = on_w.view(),
                                   .moment = on_m.view(),
                                   .compute = compute.view(),
                                   .decays = lines.const_view()});
            kernels::lion<float>(cpu, {.options = options,
                                       .state = &host,
                                       .gradient = view_of(g),
                                       .master = view_of(w),
                                       .moment = view_of(m),
                                       .decays = view_of(decays)});
            ctx.synchronize();
        }
        REQUIRE(on_w.values() == w);
        REQUIRE(on_m.values() == m);
        require_close(compute.values(), widened(on_w.values()));
    }
}

TEST_CASE_TEMPLATE("CUDA's optimizers update a copy without a master, and change nothing when told",
                   T, float, bf16, fp16) {
    CudaContext ctx(0);
    StepState host = for_adam(0.5, 0.5, {.lr = 0.5f});
    const OnDevice<float> gradient(ctx, {1, 2}), m(ctx, {0, 0}), v(ctx, {0, 0});
    const OnDevice weights(ctx, numbers<T>({4, 8}));
    const OnDevice<StepState> state(ctx, {host});
    kernels::sgd<T>(ctx, {.options = {0, 0, Kind::plain},
                          .state = state.data(),
                          .gradient = gradient.view(),
                          .compute = weights.view()});
    CHECK(to_doubles(weights.values()) == std::vector<double>{3.5, 7});
    kernels::adam<T>(ctx, {.options = {0.5, 0.5, 1e-8, 0, Decay::l2},
                           .state = state.data(),
                           .gradient = gradient.view(),
                           .first_moment = m.view(),
                           .second_moment = v.view(),
                           .compute = weights.view()});
    CHECK(to_doubles(weights.values()) == std::vector<double>{3, 6.5});
    const OnDevice<float> moment(ctx, {0, -4});
    kernels::lion<T>(ctx, {.options = {0.5, 0.5, 0},
                           .state = state.data(),
                           .gradient = gradient.view(),
                           .moment = moment.view(),
                           .compute = weights.view()});
    CHECK(to_doubles(weights.values()) == std::vector<double>{2.5, 7});

    host.skip = 1;
    const OnDevice<StepState> skipping(ctx, {host});
    kernels::sgd<T>(ctx, {.options = {0, 0, Kind::plain},
                          .state = skipping.data(),
                          .gradient = gradient.view(),
                          .compute = weights.view()});
    kernels::adam<T>(ctx, {.options = {0.5, 0.5, 1e-8, 0, Decay::l2},
                           .state = skipping.data(),
                           .gradient = gradient.view(),
                           .first_moment = m.view(),
                           .second_moment = v.view(),
                           .compute = weights.view()});
    kernels::lion<T>(ctx, {.options = {0.5, 0.5, 0},
                           .state = skipping.data(),
                           .gradient = gradient.view(),
                           .moment = moment.view(),
                           .compute = weights.view()});
    CHECK(to_doubles(weights.values()) == std::vector<double>{2.5, 7});
    CHECK(m.values() == std::vector<float>{0.5f, 1});
    CHECK(moment.values() == std::vector<float>{0.5f, -1});
}
