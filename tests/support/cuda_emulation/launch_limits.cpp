// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_emulation/launch_limits.hpp"

#include <map>
#include <mutex>

namespace lockstep::tests::cuda_emulation {

namespace {

// A kernel that has not requested more gets at most this sum of static and dynamic memory.
constexpr std::size_t granted_bytes = 48 << 10;
constexpr unsigned max_threads = 1024, max_block_depth = 64;
constexpr unsigned max_blocks_x = 0x7FFFFFFF, max_blocks_yz = 0xFFFF;

std::size_t max_shared_bytes() {
    int most = 0;
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    return static_cast<std::size_t>(most);
}

// Stores the limits that kernels have requested. As on a device, they last as long as the process.
class Allowed {
public:
    void set(const void* kernel, std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        bytes_[kernel] = bytes;
    }
    // Returns null if nothing was requested.
    const std::size_t* find(const void* kernel) {
        const std::lock_guard lock(mutex_);
        const auto found = bytes_.find(kernel);
        return found == bytes_.end() ? nullptr : &found->second;
    }

private:
    std::mutex mutex_;
    std::map<const void*, std::size_t> bytes_;
};

Allowed& allowed() {
    static Allowed allowed;
    return allowed;
}

bool shape_fits(dim3 grid, dim3 block) {
    return grid.x <= max_blocks_x && grid.y <= max_blocks_yz && grid.z <= max_blocks_yz &&
           block.x <= max_threads && block.y <= max_threads && block.z <= max_block_depth &&
           std::size_t{block.x} * block.y * block.z <= max_threads;
}

}  // namespace

cudaError_t allow_dynamic_memory(const void* kernel, int bytes) {
    if (bytes < 0 || static_cast<std::size_t>(bytes) > max_shared_bytes())
        return cudaErrorInvalidValue;
    allowed().set(kernel, static_cast<std::size_t>(bytes));
    return cudaSuccess;
}

cudaError_t check_launch(const void* kernel, dim3 grid, dim3 block, std::size_t dynamic_bytes,
                         SharedBytes& shared) {
    const std::size_t* max_dynamic = allowed().find(kernel);
    shared = {dynamic_bytes, max_dynamic == nullptr ? granted_bytes : max_shared_bytes()};
    const bool fits = dynamic_bytes <= (max_dynamic == nullptr ? granted_bytes : *max_dynamic);
    return fits && shape_fits(grid, block) ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace lockstep::tests::cuda_emulation
