// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/attention.hpp"

#include "bench/cuda/timed_kernels.hpp"
#include "runtime/kernels/cuda/attention/attention_library.hpp"

namespace lockstep::bench {

using namespace kernels;

namespace {

constexpr int head_dim = 64;

// Holds the buffers of causal sequences of one length, as in GPT-2.
template <class T>
struct SelfAttention {
    SelfAttention(CudaContext& ctx, const KernelSizes& sizes)
        : shape{static_cast<int>(sizes.d / head_dim), head_dim, Mask::causal},
          rows(sizes.sequences() * sizes.length()),
          longest(static_cast<std::int32_t>(sizes.length())),
          values(numbers<T>(ctx, 8 * rows * width())),
          log_sum_exp(numbers<float>(ctx, shape.heads * rows)),
          ids(static_cast<std::size_t>(sizes.sequences())) {
        std::vector<std::int32_t> ends;
        for (std::int64_t s = 0; s <= sizes.sequences(); ++s)
            ends.push_back(static_cast<std::int32_t>(s * sizes.length()));
        offsets = on_device(ctx, ends);
    }

    std::int64_t width() const { return std::int64_t{shape.heads} * head_dim; }
    CudaMatrix<T> part(std::int64_t i) const {
        return {values.view().data() + i * rows * width(), rows, width()};
    }
    Sequences<CudaSpace> sequences() const {
        return {constant(offsets), constant(offsets), constant(ids), longest, longest};
    }
    // Returns the floating-point operations of one product of queries and keys over all heads,
    // without the masked part.
    double product() const {
        return static_cast<double>(rows) * static_cast<double>(longest) *
               static_cast<double>(width());
    }

    AttentionShape shape;
    std::int64_t rows;
    std::int32_t longest;
    device::Buffer<T, CudaSpace> values;
    device::Buffer<float, CudaSpace> log_sum_exp;
    device::Buffer<std::uint32_t, CudaSpace> ids;
    device::Buffer<std::int32_t, CudaSpace> offsets;
};

template <class T>
void training(CudaContext& ctx, KernelTable& table, const SelfAttention<T>& a, const Dropout& site,
              const std::string& how) {
    table.computes("attention_forward" + how, type_name<T>, 2 * a.product(), [&] {
        attention_forward<T>(ctx, {.shape = a.shape,
                                   .dropout = site,
                                   .sequences = a.sequences(),
                                   .q = a.part(0),
                                   .k = a.part(1),
                                   .v = a.part(2),
                                   .out = a.part(3),
                                   .log_sum_exp = a.log_sum_exp.view()});
    });
    table.computes("attention_backward" + how, type_name<T>, 5 * a.product(), [&] {
        attention_backward<T>(ctx, {.shape = a.shape,
                                    .dropout = site,
                                    .sequences = a.sequences(),
                                    .q = a.part(0),
                                    .k = a.part(1),
                                    .v = a.part(2),
                                    .out = a.part(3),
                                    .log_sum_exp = constant(a.log_sum_exp),
                                    .d_out = a.part(4),
                                    .dq = a.part(5),
                                    .dk = a.part(6),
                                    .dv = a.part(7)});
    });
}

template <class T>
void decoding(CudaContext& ctx, KernelTable& table, const SelfAttention<T>& a) {
    const auto sequences = static_cast<std::int64_t>(a.ids.size());
    std::vector<std::int64_t> begins;
    for (std::int64_t s = 0; s < sequences; ++s) begins.push_back(s * a.longest);
    const auto begin = on_device(ctx, begins);
    const auto length = on_device(ctx, std::vector<std::int32_t>(begins.size(), a.longest));
    const CudaMatrix<T> q(a.part(0).data, sequences, a.width());
    const CudaMatrix<T> out(a.part(3).data, sequences, a.width());
    const double bytes = 2 * static_cast<double>(a.rows * a.width()) * sizeof(T);
    table.moves("attention_decode", type_name<T>, bytes, [&] {
        attention_decode<T>(ctx, {.shape = a.shape,
                                  .begin = constant(begin),
                                  .length = constant(length),
                                  .q = q,
                                  .k_cache = a.part(1),
                                  .v_cache = a.part(2),
                                  .out = out});
    });
}

}  // namespace

template <class T>
void time_attention(CudaContext& ctx, KernelTable& table, const KernelSizes& sizes) {
    using cuda::AttentionLibrary;
    const SelfAttention<T> attention(ctx, sizes);
    const device::Buffer<StepState, CudaSpace> state(1);
    auto& settings = ctx.cached<cuda::AttentionSettings>();
    const cuda::AttentionSettings before = settings;
    if constexpr (sizeof(T) == 2) {
        settings = {AttentionLibrary::always, false};
        training<T>(ctx, table, attention, {}, ", cuDNN where it takes it");
        settings = {AttentionLibrary::in_any_order, false};
        training<T>(ctx, table, attention, {}, ", cuDNN in any order where it takes it");
    }
    settings = {AttentionLibrary::never, false};
    training<T>(ctx, table, attention, {}, ", own");
    training<T>(ctx, table, attention, {0.1f, 3, state.view().data()}, ", own, dropout");
    settings = before;
    decoding<T>(ctx, table, attention);
}

template void time_attention<float>(CudaContext&, KernelTable&, const KernelSizes&);
template void time_attention<bf16>(CudaContext&, KernelTable&, const KernelSizes&);
template void time_attention<fp16>(CudaContext&, KernelTable&, const KernelSizes&);

}  // namespace lockstep::bench
