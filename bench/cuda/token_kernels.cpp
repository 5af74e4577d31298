// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "bench/cuda/timed_kernels.hpp"
#include "runtime/kernels/embedding.hpp"
#include "runtime/kernels/softmax_xent.hpp"
#include "runtime/kernels/token_coordinates.hpp"

namespace lockstep::bench {

using namespace kernels;

namespace {

std::vector<std::int32_t> random_tokens(std::int64_t count, std::int64_t vocabulary) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
    PhiloxStream random(2);
    for (auto& token : tokens)
        token = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(vocabulary)));
    return tokens;
}

template <class T>
void embeddings(CudaContext& ctx, KernelTable& table, const KernelSizes& sizes) {
    const std::int64_t rows = sizes.rows, d = sizes.d, length = sizes.length();
    const auto tokens = random_tokens(rows, sizes.vocabulary);
    const std::set<std::int32_t> different(tokens.begin(), tokens.end());
    std::vector<std::int32_t> coordinates(tokens.size());
    for (std::size_t i = 0; i < coordinates.size(); ++i)
        coordinates[i] = static_cast<std::int32_t>(i % static_cast<std::size_t>(length));
    const auto ids = on_device(ctx, tokens), positions = on_device(ctx, coordinates);
    const auto real = on_device(ctx, std::vector{static_cast<std::int32_t>(rows)});
    const auto words = numbers<T>(ctx, sizes.vocabulary * d), y = numbers<T>(ctx, rows * d);
    const auto position_words = numbers<T>(ctx, length * d);
    const auto d_words = numbers<float>(ctx, sizes.vocabulary * d);
    const double bytes = static_cast<double>(rows * d) * sizeof(T);
    table.moves("embedding_forward", type_name<T>, 2 * bytes, [&] {
        embedding_forward<T>(ctx, {.tokens = constant(ids),
                                   .positions = constant(positions),
                                   .real = constant(real),
                                   .scale = 1.0f,
                                   .table = matrix(words, sizes.vocabulary, d),
                                   .position_table = matrix(position_words, length, d),
                                   .y = matrix(y, rows, d)});
    });
    const double sums = 8.0 * static_cast<double>(different.size()) * static_cast<double>(d);
    table.moves("embedding_backward", type_name<T>, bytes + sums, [&] {
        embedding_backward<T>(ctx, {.tokens = constant(ids),
                                    .real = constant(real),
                                    .scale = 1.0f,
                                    .dy = matrix(y, rows, d),
                                    .d_table = matrix(d_words, sizes.vocabulary, d),
                                    .into = Into::add});
    });
}

// All sequences have one length.
template <class T>
void coordinates(CudaContext& ctx, KernelTable& table, const KernelSizes& sizes) {
    const std::int64_t rows = sizes.rows, d = sizes.d, length = sizes.length();
    const std::int64_t sequences = rows / length, tokens = sequences * length;
    std::vector<std::int32_t> begins(static_cast<std::size_t>(sequences) + 1);
    for (std::size_t i = 0; i < begins.size(); ++i)
        begins[i] = static_cast<std::int32_t>(i * static_cast<std::size_t>(length));
    const auto offsets = on_device(ctx, begins);
    const auto sequence_rows =
        on_device(ctx, std::vector<std::uint32_t>(static_cast<std::size_t>(sequences)));
    const device::Buffer<std::int32_t, CudaSpace> positions(static_cast<std::size_t>(tokens));
    const device::Buffer<std::uint32_t, CudaSpace> token_rows(static_cast<std::size_t>(tokens));
    table.moves("locate_tokens", type_name<T>, 8.0 * static_cast<double>(tokens), [&] {
        locate_tokens(ctx, constant(offsets), constant(sequence_rows), positions.view(),
                      token_rows.view());
    });
    const auto dy = numbers<T>(ctx, tokens * d);
    const auto d_positions = numbers<float>(ctx, length * d);
    const double read = static_cast<double>(tokens * d) * sizeof(T);
    table.moves("position_backward", type_name<T>, read + 4.0 * static_cast<double>(length * d),
                [&] {
                    position_backward<T>(ctx, constant(offsets), matrix(dy, tokens, d),
                                         matrix(d_positions, length, d), Into::overwrite);
                });
}

template <class T>
void losses(CudaContext& ctx, KernelTable& table, const KernelSizes& sizes) {
    const std::int64_t rows = sizes.logit_rows();
    const auto logits = numbers<T>(ctx, rows * sizes.vocabulary);
    const auto labels = on_device(ctx, random_tokens(rows, sizes.vocabulary));
    const device::Buffer<LossSums, CudaSpace> sums(1), each(static_cast<std::size_t>(rows));
    const device::Buffer<StepState, CudaSpace> state(1);
    const auto all = matrix(logits, rows, sizes.vocabulary);
    const double bytes = static_cast<double>(rows * sizes.vocabulary) * sizeof(T);
    table.moves("softmax_xent_forward", type_name<T>, bytes, [&] {
        softmax_xent_forward<T>(ctx, all, constant(labels), 0.1f, each.view().data());
    });
    table.moves("softmax_xent_forward_backward", type_name<T>, 2 * bytes, [&] {
        softmax_xent_forward_backward<T>(ctx, state.view().data(), all, constant(labels), {0.1f},
                                         sums.view().data());
    });
}

}  // namespace

template <class T>
void time_token_kernels(CudaContext& ctx, KernelTable& table, const KernelSizes& sizes) {
    embeddings<T>(ctx, table, sizes);
    coordinates<T>(ctx, table, sizes);
    losses<T>(ctx, table, sizes);
}

template void time_token_kernels<float>(CudaContext&, KernelTable&, const KernelSizes&);
template void time_token_kernels<bf16>(CudaContext&, KernelTable&, const KernelSizes&);
template void time_token_kernels<fp16>(CudaContext&, KernelTable&, const KernelSizes&);

}  // namespace lockstep::bench
