// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>

// What a thread gave its emulated GPU to do, and by how many calls. A graph that is launched counts
// as what it consists of, and as one call of the host; what is captured counts as calls alone.
namespace lockstep::tests::cuda_emulation {

struct Transfers {
    std::int64_t count = 0, bytes = 0;

    bool operator==(const Transfers&) const = default;
};

struct DeviceWork {
    // Launches by kernel: "source file/kernel", without namespaces and template arguments. The
    // libraries' are named "product" and "attention library".
    std::map<std::string, std::int64_t> kernels;
    Transfers uploads, downloads;               // between the host's memory and the device's
    Transfers device_copies, fills;             // in the device's memory
    Transfers collectives;                      // what this rank gives to them
    std::map<std::string, std::int64_t> calls;  // of CUDA, cuBLASLt and NCCL, by name

    std::int64_t launches() const;  // of all kernels
    // Of the kernels whose names begin so.
    std::int64_t launches(const std::string& prefix) const;
    // All that the device begins one after the other: kernels, copies, fills and collectives.
    std::int64_t pieces() const;
    std::int64_t host_calls() const;
};

// What the calling thread gave while `work` ran, which itself counts nothing. Throws what it
// throws.
DeviceWork given_by(const std::function<void()>& work);

// One line each, the largest count first.
std::ostream& operator<<(std::ostream& out, const DeviceWork& work);

}  // namespace lockstep::tests::cuda_emulation
