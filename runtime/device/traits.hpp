// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/core/type_list.hpp"

namespace lockstep::device {

// The traits are the properties of a device that shape a step and its memory. The device's context
// inherits them, and so does a DryContext, which needs no such device.

// Says what backward of a layer calculates again because forward does not keep it. Each level
// includes those before it.
enum class Recompute : std::int8_t {
    nothing,
    outputs,  // outputs of norms and activations
    ffn,      // also the hidden values of the feed-forward block
    layer,    // everything except the layer's last residual sum
};

struct CpuTraits {
    using Elements = Types<float, bf16>;  // the types that it computes with
    // This many steps are queued before the host reads the first one's result.
    static constexpr std::size_t steps_ahead = 0;
    // The lowest level of this device. On the CPU, reading and writing more memory costs as much as
    // the arithmetic of norms and activations.
    static constexpr Recompute recompute = Recompute::outputs;
    // The maximum number of logits in one chunk; on the CPU 128 MiB in fp32.
    static constexpr std::int64_t max_logits = std::int64_t{32} << 20;
    // If true, the memory of gradients that backward overwrites holds activations until then.
    static constexpr bool lends_gradients = true;
    // If true, several ranks sum a tied table's gradient in two parts
    // (train/reduction/tied_rows.hpp). The sums of parts differ in the last bits from those of one
    // rank.
    static constexpr bool parts_tied_table = false;
    // Loops on the CPU need no common sizes.
    static constexpr std::int64_t launch_size(std::int64_t count, std::int64_t /*least*/) noexcept {
        return count;
    }
};

struct CudaTraits {
    using Elements = Types<float, bf16, fp16>;
    // The GPU computes one step while the host prepares the next.
    static constexpr std::size_t steps_ahead = 1;
    // Calculating the outputs again would be bound by memory and take 4 % of a step of GPT-2.
    static constexpr Recompute recompute = Recompute::nothing;
    // This is 1 GiB in 16 bits. Each chunk reads and writes the gradient of the whole vocabulary:
    // in chunks of 667 rows that would be a tenth of GPT-2's step.
    static constexpr std::int64_t max_logits = std::int64_t{512} << 20;
    static constexpr bool lends_gradients = false;
    static constexpr bool parts_tied_table = true;
    // Returns a size of at least `count` for launches and arrays that shall be equal for many
    // batches: a power of two, at least `least`; 0 stays 0.
    static std::int64_t launch_size(std::int64_t count, std::int64_t least) noexcept;
};

}  // namespace lockstep::device
