// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/token_coordinates.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int threads = 256;

// Returns the last sequence that begins at or before token i, by bisection. That sequence contains
// the token: empty sequences after it begin after i.
__device__ __forceinline__ int sequence_of(const std::int32_t* offsets, int sequences, int i) {
    int first = 0, end = sequences;
    while (end - first > 1) {
        const int middle = (first + end) / 2;
        if (offsets[middle] <= i)
            first = middle;
        else
            end = middle;
    }
    return first;
}

struct Coordinates {
    const std::int32_t* offsets;
    const std::uint32_t* rows;
    int sequences, total;
    std::int32_t* positions;
    std::uint32_t* token_rows;
    const std::int32_t *tokens, *starts, *last;
    std::int32_t* labels;  // null: not wanted
};

__global__ void __launch_bounds__(threads) place_tokens_kernel(Coordinates p) {
    const int i = static_cast<int>(blockIdx.x * threads + threadIdx.x);
    if (i >= p.total) return;
    const bool filler = i >= p.offsets[p.sequences];
    const int s = filler ? 0 : sequence_of(p.offsets, p.sequences, i);
    const std::int32_t position = filler ? 0 : i - p.offsets[s];
    p.positions[i] = position;
    p.token_rows[i] = filler ? 0 : p.rows[s];
    if (p.labels == nullptr) return;
    const bool labelled = !filler && position >= p.starts[s];
    p.labels[i] = !labelled ? -1 : i + 1 == p.offsets[s + 1] ? p.last[s] : p.tokens[i + 1];
}

}  // namespace

void locate_tokens(CudaContext& ctx, CudaView<const std::int32_t> offsets,
                   CudaView<const std::uint32_t> rows, CudaView<std::int32_t> positions,
                   CudaView<std::uint32_t> token_rows, const FollowingLabels<CudaSpace>& labels) {
    require(offsets.size() == rows.size() + 1 && positions.size() == token_rows.size(),
            "coordinates: shapes differ");
    const auto total = static_cast<std::int64_t>(positions.size());
    launch(ctx, place_tokens_kernel, {blocks_for(total, threads), threads},
           Coordinates{offsets.data(), rows.data(), static_cast<int>(rows.size()),
                       static_cast<int>(total), positions.data(), token_rows.data(),
                       labels.tokens.data(), labels.starts.data(), labels.last.data(),
                       labels.labels.data()});
}

}  // namespace lockstep::kernels
