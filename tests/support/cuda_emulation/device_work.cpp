// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_emulation/device_work.hpp"

#include <algorithm>
#include <ostream>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/support/cuda_emulation/kernel_names.hpp"
#include "tests/support/cuda_emulation/streams.hpp"
#include "tests/support/cuda_emulation/work_log.hpp"

namespace {

using lockstep::tests::cuda_emulation::DeviceWork;
using lockstep::tests::cuda_emulation::Transfers;

// Returns the counts of the calling thread; null: they are not requested.
DeviceWork*& counted() {
    static thread_local DeviceWork* work = nullptr;
    return work;
}

Transfers& of_copy(DeviceWork& work, const EmulatedPiece& piece) {
    const bool from_device = emulated_is_device(piece.from);
    if (!emulated_is_device(piece.to)) return work.downloads;
    return from_device ? work.device_copies : work.uploads;
}

std::int64_t sum(const std::map<std::string, std::int64_t>& counts, const std::string& prefix) {
    std::int64_t total = 0;
    for (const auto& [name, count] : counts)
        if (name.starts_with(prefix)) total += count;
    return total;
}

void print(std::ostream& out, const std::map<std::string, std::int64_t>& counts) {
    std::vector<std::pair<std::int64_t, std::string>> lines;
    for (const auto& [name, count] : counts) lines.push_back({-count, name});
    std::sort(lines.begin(), lines.end());
    for (const auto& [count, name] : lines) out << "  " << -count << ' ' << name << '\n';
}

}  // namespace

void emulated_call(const char* function) {
    if (counted() != nullptr) ++counted()->calls[function];
}

void emulated_count(const EmulatedPiece& piece) {
    if (counted() == nullptr) return;
    DeviceWork& work = *counted();
    if (piece.kind == EmulatedKind::kernel) {
        ++work.kernels[piece.name != nullptr
                           ? piece.name
                           : lockstep::tests::cuda_emulation::kernel_name(piece.kernel)];
        return;
    }
    Transfers& transfers = piece.kind == EmulatedKind::copy   ? of_copy(work, piece)
                           : piece.kind == EmulatedKind::fill ? work.fills
                                                              : work.collectives;
    ++transfers.count;
    transfers.bytes += static_cast<std::int64_t>(piece.bytes);
}

namespace lockstep::tests::cuda_emulation {

std::int64_t DeviceWork::launches() const { return sum(kernels, ""); }
std::int64_t DeviceWork::launches(const std::string& prefix) const { return sum(kernels, prefix); }
std::int64_t DeviceWork::pieces() const {
    return launches() + uploads.count + downloads.count + device_copies.count + fills.count +
           collectives.count;
}
std::int64_t DeviceWork::host_calls() const { return sum(calls, ""); }

DeviceWork given_by(const std::function<void()>& work) {
    lockstep::require(counted() == nullptr, "work is being counted already");
    DeviceWork given;
    counted() = &given;
    try {
        work();
    } catch (...) {
        counted() = nullptr;
        throw;
    }
    counted() = nullptr;
    return given;
}

std::ostream& operator<<(std::ostream& out, const DeviceWork& work) {
    out << work.launches() << " kernels\n";
    print(out, work.kernels);
    const std::pair<const char*, Transfers> transfers[] = {{"uploads", work.uploads},
                                                           {"downloads", work.downloads},
                                                           {"device copies", work.device_copies},
                                                           {"fills", work.fills},
                                                           {"collectives", work.collectives}};
    for (const auto& [name, all] : transfers)
        out << all.count << ' ' << name << " of " << all.bytes << " bytes\n";
    out << work.host_calls() << " calls of the host\n";
    print(out, work.calls);
    return out;
}

}  // namespace lockstep::tests::cuda_emulation
