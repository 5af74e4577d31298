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

// Says who computes attention's backward. The results of library_in_any_order differ from run to
// run in their last bits.
enum class BackwardBy : std::uint8_t { library, library_in_any_order, own };

// Finds the fastest way by measurement, for each shape of a batch. Sizes are rounded up to powers
// of two.
class BackwardSearch {
public:
    // Returns one of `ways`, which must not be empty. If the shape is new, calls milliseconds(way)
    // for each way. A new shape gets the first way while the stream is captured.
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
