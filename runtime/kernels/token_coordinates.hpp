// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/contexts.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// Labels that follow from the tokens. In sequence s, from position starts[s] on, the label of a
// token is the next token, and the label of the last token is last[s]. Tokens before starts[s] and
// filler have label -1. starts and last are [sequences]; tokens and labels are [total]. If labels
// are not wanted, all views are empty.
template <class Space>
struct FollowingLabels {
    View<const std::int32_t, Space> tokens, starts, last;
    View<std::int32_t, Space> labels;
};

// Computes the position and the global row of each token of a ragged batch. Token i of sequence s,
// with offsets[s] <= i < offsets[s + 1], has position i - offsets[s] and row rows[s]; filler has 0
// and 0. Sequences may be empty. offsets is [sequences + 1] and begins with 0; rows is [sequences];
// positions and token_rows are [total].
void locate_tokens(CpuContext& ctx, HostView<const std::int32_t> offsets,
                   HostView<const std::uint32_t> rows, HostView<std::int32_t> positions,
                   HostView<std::uint32_t> token_rows,
                   const FollowingLabels<HostSpace>& labels = {});
void locate_tokens(CudaContext& ctx, CudaView<const std::int32_t> offsets,
                   CudaView<const std::uint32_t> rows, CudaView<std::int32_t> positions,
                   CudaView<std::uint32_t> token_rows,
                   const FollowingLabels<CudaSpace>& labels = {});

}  // namespace lockstep::kernels
