// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/contexts.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// Labels that follow from the tokens: from position starts[s] on of sequence s a token's label is
// the next token, the last one's is last[s]; before, and in filler, it is -1. starts, last
// [sequences], tokens, labels [total]; or all empty: labels are not wanted.
template <class Space>
struct FollowingLabels {
    View<const std::int32_t, Space> tokens, starts, last;
    View<std::int32_t, Space> labels;
};

// Where the tokens of a ragged batch stand: token i of sequence s, offsets[s] <= i < offsets[s +
// 1], has position i - offsets[s] and the global row rows[s]; filler has 0 and 0. Sequences may be
// empty. offsets [sequences + 1], from 0 on; rows [sequences]; positions and token_rows [total].
void place_tokens(CpuContext& ctx, HostView<const std::int32_t> offsets,
                  HostView<const std::uint32_t> rows, HostView<std::int32_t> positions,
                  HostView<std::uint32_t> token_rows,
                  const FollowingLabels<HostSpace>& labels = {});
void place_tokens(CudaContext& ctx, CudaView<const std::int32_t> offsets,
                  CudaView<const std::uint32_t> rows, CudaView<std::int32_t> positions,
                  CudaView<std::uint32_t> token_rows,
                  const FollowingLabels<CudaSpace>& labels = {});

}  // namespace lockstep::kernels
