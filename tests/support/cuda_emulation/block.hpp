// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "tests/support/cuda_emulation/vector_types.hpp"

// Runs kernels compiled for the emulated device: one block after another. The threads of a block
// are fibers, which switch only when they wait for each other. The order of the threads changes
// from wait to wait, so that a missing barrier gives a wrong value.
namespace lockstep::tests::cuda_emulation {

// Describes the shared memory of a launch's blocks.
struct SharedBytes {
    std::size_t dynamic = 0;
    std::size_t most = 0;  // maximum of dynamic and static memory together
};

// Runs kernel() for every thread of every block. Throws the exceptions of the kernel, and an error
// of kind contract if threads wait for others that never come.
void run_grid(dim3 grid, dim3 block, const SharedBytes& shared,
              const std::function<void()>& kernel);

// Works as __syncthreads.
void wait_for_block();

// Makes the calling lanes named in `mask` wait for each other. Then `exchange` runs once with the
// operand of each lane (null for a lane that is not named), and all lanes continue. Every lane must
// pass the same mask and exchange.
using Operands = std::array<void*, 32>;
using Exchange = void (*)(const Operands& operands);
void wait_for_lanes(std::uint32_t mask, void* operand, Exchange exchange);

// Returns this thread's lane in its warp.
unsigned lane();

// Returns the dynamic shared memory, whose size the launch gave.
void* dynamic_memory();
// Adds `bytes` of static memory to the running block. Throws an error of kind contract if the
// launch does not allow that much: a device knows the kernel's size and would have refused the
// launch.
void claim_static_memory(std::size_t bytes);
// Returns a number that increases from block to block, so that shared memory can detect the content
// of an earlier block.
std::uint64_t block_number();

// Begins a copy to shared memory. The data arrives when the copy is waited for.
void begin_copy(void* to, const void* from, std::size_t bytes);
void end_copy_group();
void wait_copies(std::size_t pending_groups);

}  // namespace lockstep::tests::cuda_emulation
