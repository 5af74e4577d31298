// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/view.hpp"
#include "runtime/device/contexts.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// Writes a hash of `bytes` to the one element of `result`. The number of bytes is a multiple of 4.
// Equal bytes have equal hashes on the same kind of device.
void hash(CpuContext& ctx, HostView<const std::byte> bytes, HostView<std::uint64_t> result);
void hash(CudaContext& ctx, CudaView<const std::byte> bytes, CudaView<std::uint64_t> result);

}  // namespace lockstep::kernels
