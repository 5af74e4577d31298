// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/engine/block_counts.hpp"

#include <array>
#include <atomic>
#include <limits>

namespace lockstep::fuzz {

std::span<std::uint8_t> block_counts() noexcept {
    static constinit std::array<std::uint8_t, 1 << 16> counts{};
    return counts;
}

}  // namespace lockstep::fuzz

// GCC's -fsanitize-coverage=trace-pc calls this function at each block, on any thread. Increments
// that threads lose do no harm.
extern "C" __attribute__((visibility("default"))) void __sanitizer_cov_trace_pc() {
    const std::span counts = lockstep::fuzz::block_counts();
    // A program lies at other addresses in each start, but distances within it stay.
    const auto block = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) -
                       reinterpret_cast<std::uintptr_t>(&lockstep::fuzz::block_counts);
    const std::uint64_t mixed = std::uint64_t{block} * 0x9E3779B97F4A7C15u;
    const std::atomic_ref count(counts[mixed >> 48]);
    const std::uint8_t before = count.load(std::memory_order_relaxed);
    if (before < std::numeric_limits<std::uint8_t>::max())
        count.store(static_cast<std::uint8_t>(before + 1), std::memory_order_relaxed);
}
