// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/sharing/parameter_sync.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace lockstep::train {
namespace {

// Returns the most frequent value; on a tie the one of the lowest rank, so that all ranks agree.
std::uint64_t most_frequent(const std::vector<std::uint64_t>& values) {
    const auto frequency = [&](std::uint64_t value) {
        return std::count(values.begin(), values.end(), value);
    };
    return *std::max_element(values.begin(), values.end(),
                             [&](auto a, auto b) { return frequency(a) < frequency(b); });
}

std::string ranks_other_than(const std::vector<std::uint64_t>& hashes, std::uint64_t hash) {
    std::string ranks;
    for (std::size_t rank = 0; rank < hashes.size(); ++rank)
        if (hashes[rank] != hash) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    return ranks;
}

}  // namespace

void require_alike(comm::Communicator& communicator, std::uint64_t hash, std::int64_t updates) {
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(communicator.size()));
    communicator.all_gather(HostView<std::uint64_t>(&hash, 1), view_of(hashes), "weights' hash");
    communicator.finish();
    const std::string ranks = ranks_other_than(hashes, most_frequent(hashes));
    if (ranks.empty()) return;
    throw Error(ErrorKind::numeric,
                "after update " + std::to_string(updates) + " the weights of rank " + ranks +
                    " differ from those of the other ranks: check that all ranks run the same "
                    "program and libraries, and the memory of that machine; continue from the "
                    "last checkpoint");
}

}  // namespace lockstep::train
