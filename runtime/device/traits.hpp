// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/core/type_list.hpp"

namespace lockstep::device {

// What of a device shapes a step and its memory: its context inherits them, and so does a
// DryContext, which needs no such device.

struct CpuTraits {
    using Elements = Types<float, bf16>;  // that it computes with
    // How many steps are queued before the host reads what the first one gave.
    static constexpr std::size_t steps_ahead = 0;
    // Whether backward finds the outputs of norms and activations in memory, or writes them again:
    // here reading and writing more memory costs as much as the arithmetic.
    static constexpr bool keeps_activations = false;
    // Logits are made in chunks of at most so many elements: here 128 MiB in fp32.
    static constexpr std::int64_t max_logits = std::int64_t{32} << 20;
    // Whether several ranks sum a tied table's gradient in two parts (train/tied_rows.hpp): sums
    // of parts have other last bits than those of one rank.
    static constexpr bool parts_tied_table = false;
    // Loops are sized by what there is.
    static constexpr std::int64_t launch_size(std::int64_t count, std::int64_t /*least*/) noexcept {
        return count;
    }
};

struct CudaTraits {
    using Elements = Types<float, bf16, fp16>;
    // One step is computed while the host prepares the next.
    static constexpr std::size_t steps_ahead = 1;
    // Writing them again would be bound by memory, and take 4 % of a step of GPT-2.
    static constexpr bool keeps_activations = true;
    // 1 GiB in 16 bits. Each chunk reads and writes the gradient of the whole vocabulary: in chunks
    // of 667 rows that would be a tenth of GPT-2's step.
    static constexpr std::int64_t max_logits = std::int64_t{512} << 20;
    static constexpr bool parts_tied_table = true;
    // A size of at least `count` for launches and arrays that are to repeat from batch to batch: a
    // power of two from `least` on; 0 stays 0.
    static std::int64_t launch_size(std::int64_t count, std::int64_t least) noexcept;
};

}  // namespace lockstep::device
