// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>

// Counts the work that a thread gave to its emulated GPU, and the calls it needed. A launched graph
// counts as the work in it and as one call of the host. Work that is captured counts as calls only.
namespace lockstep::tests::cuda_emulation {

struct Transfers {
    std::int64_t count = 0, bytes = 0;

    bool operator==(const Transfers&) const = default;
};

struct DeviceWork {
    // Launches per kernel: "source file/kernel", without namespaces and template arguments. The
    // kernels of libraries are named "product" and "attention library".
    std::map<std::string, std::int64_t> kernels;
    Transfers uploads, downloads;               // between the host's memory and the device's
    Transfers device_copies, fills;             // within the device's memory
    Transfers collectives;                      // bytes that this rank contributes
    std::map<std::string, std::int64_t> calls;  // calls of CUDA, cuBLASLt and NCCL, by name

    std::int64_t launches() const;  // of all kernels
    // Returns the launches of kernels whose names begin with `prefix`.
    std::int64_t launches(const std::string& prefix) const;
    // Returns the number of all pieces of work that the device begins one after the other: kernels,
    // copies, fills and collectives.
    std::int64_t pieces() const;
    std::int64_t host_calls() const;
};

// Returns the work that the calling thread gave while `work` ran. Throws the exceptions of `work`,
// which must not call given_by() itself.
DeviceWork given_by(const std::function<void()>& work);

// Prints one line per entry, the largest count first.
std::ostream& operator<<(std::ostream& out, const DeviceWork& work);

}  // namespace lockstep::tests::cuda_emulation
