// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "tests/support/cuda_emulation/vector_types.hpp"

// What kernels compiled for the emulated device run on: blocks one after another, a block's threads
// as fibers that change only where they wait for each other. The order of the threads changes from
// wait to wait, so that a missing barrier shows as a wrong value.
namespace lockstep::tests::cuda_emulation {

// The shared memory of a launch's blocks.
struct SharedBytes {
    std::size_t dynamic = 0;
    std::size_t most = 0;  // of dynamic and static memory together
};

// Runs kernel() for every thread of every block. Throws what the kernel throws, and an error of
// kind contract where threads wait for others that will not come.
void run_grid(dim3 grid, dim3 block, const SharedBytes& shared,
              const std::function<void()>& kernel);

// __syncthreads.
void wait_for_block();

// The calling lanes named in `mask` wait for each other; then `exchange` runs once, with what each
// lane gave (null where a lane is not named), and all go on. Every lane gives the same mask and
// exchange.
using Operands = std::array<void*, 32>;
using Exchange = void (*)(const Operands& operands);
void wait_for_lanes(std::uint32_t mask, void* operand, Exchange exchange);

// This thread's lane in its warp.
unsigned lane();

// The memory whose size the launch gave.
void* dynamic_memory();
// The running block has so much static memory besides. Throws an error of kind contract where the
// launch does not allow as much: a device, which knows the kernel's size, would have refused it.
void claim_static_memory(std::size_t bytes);
// Counts blocks, so that shared memory knows when its content is a former block's.
std::uint64_t block_number();

// A copy to shared memory that is done when it is waited for.
void begin_copy(void* to, const void* from, std::size_t bytes);
void end_copy_group();
void wait_copies(std::size_t pending_groups);

}  // namespace lockstep::tests::cuda_emulation
