// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/attention/attention_search.hpp"

#include <algorithm>
#include <limits>

namespace lockstep::kernels::cuda {

BackwardSearch::Shape BackwardSearch::shape_of(const AttentionBatch& batch) noexcept {
    const auto rounded = [](std::int64_t size) { return CudaContext::launch_size(size, 1); };
    return {batch.mask,
            batch.heads,
            batch.head_dim,
            rounded(batch.sequences),
            rounded(batch.queries.longest),
            rounded(batch.keys.longest),
            rounded(batch.queries.total),
            rounded(batch.keys.total)};
}

BackwardBy BackwardSearch::of(CudaContext& ctx, const AttentionBatch& batch,
                              const std::vector<BackwardBy>& ways,
                              const std::function<float(BackwardBy)>& milliseconds) {
    BackwardBy fastest = ways.front();
    if (ways.size() == 1) return fastest;
    const Shape shape = shape_of(batch);
    // Batches of one shape may have different ways, because the library's choice also depends on
    // their strides.
    const auto known = chosen_.find(shape);
    if (known != chosen_.end() && std::ranges::find(ways, known->second) != ways.end())
        return known->second;
    if (device::is_captured(ctx.stream())) return fastest;
    float least = std::numeric_limits<float>::infinity();
    for (const BackwardBy way : ways) {
        const float time = milliseconds(way);
        if (time >= least) continue;
        least = time;
        fastest = way;
    }
    return chosen_[shape] = fastest;
}

}  // namespace lockstep::kernels::cuda
