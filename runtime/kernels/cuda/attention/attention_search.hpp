// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/kernels/cuda/attention/attention_batch.hpp"

namespace lockstep::kernels::cuda {

// Who computes attention's backward. A library's sums in any order are not the same at every run.
enum class BackwardBy : std::uint8_t { library, library_in_any_order, own };

// The fastest by measurement, by the batch's shape: sizes count as rounded up to powers of two.
class BackwardSearch {
public:
    // One of `ways`, which is not empty. The first time that a shape comes, milliseconds(way) is
    // asked of each; not while the stream is captured, when it is the first way.
    BackwardBy of(CudaContext& ctx, const AttentionBatch& batch,
                  const std::vector<BackwardBy>& ways,
                  const std::function<float(BackwardBy)>& milliseconds);

private:
    struct Shape {
        kernels::Mask mask;
        int heads, head_dim;
        std::int64_t sequences, longest_q, longest_k, q_total, k_total;

        auto operator<=>(const Shape&) const = default;
    };
    static Shape shape_of(const AttentionBatch& batch) noexcept;

    std::map<Shape, BackwardBy> chosen_;
};

}  // namespace lockstep::kernels::cuda
