// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/device/cpu_context.hpp"
#include "runtime/kernels/cpu/primitives/kernel_cache.hpp"
#include "runtime/kernels/cpu/primitives/team_size.hpp"

namespace lockstep::kernels::cpu {

// If there are fewer elements, starting the threads costs more than they save.
constexpr std::int64_t smallest_parallel_elements = 16384;

// Returns how many of the context's threads share a work of so many elements.
inline int team_of(device::CpuContext& ctx, std::int64_t elements) {
    if (elements < smallest_parallel_elements) return 1;
    return cached<TeamSize>(ctx).of(ctx.threads());
}

// Returns into how many parts of so many elements, of which the last may be smaller, a whole falls.
constexpr std::int64_t parts_of(std::int64_t whole, std::int64_t part) noexcept {
    return (whole + part - 1) / part;
}

// Calls body(i) once for each i in [0, count), on the context's threads or fewer. `elements` is the
// size of the whole work. body must not throw, and no result may depend on which thread ran it.
template <class Body>
void parallel_for(device::CpuContext& ctx, std::int64_t count, std::int64_t elements,
                  const Body& body) {
    const int threads = team_of(ctx, elements);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (std::int64_t i = 0; i < count; ++i) body(i);
}

// Calls body(block, first, size) for the blocks of [0, count). All blocks but the last have size
// block_size, so sums per block do not depend on the number of threads.
template <class Body>
void parallel_blocks(device::CpuContext& ctx, std::int64_t count, std::int64_t block_size,
                     std::int64_t elements, const Body& body) {
    parallel_for(ctx, parts_of(count, block_size), elements, [&](std::int64_t block) {
        const std::int64_t first = block * block_size;
        body(block, first, std::min(block_size, count - first));
    });
}

}  // namespace lockstep::kernels::cpu
