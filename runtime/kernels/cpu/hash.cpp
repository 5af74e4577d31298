// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/hash.hpp"

#include "runtime/files/hash.hpp"

namespace lockstep::kernels {

void hash(CpuContext&, HostView<const std::byte> bytes, HostView<std::uint64_t> result) {
    require(result.size() == 1, "a hash is one number");
    result[0] = hash64(bytes.data(), bytes.size());
}

}  // namespace lockstep::kernels
