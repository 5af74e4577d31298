// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/gather.hpp"

#include <algorithm>

namespace lockstep::launcher {

namespace {

std::vector<std::uint64_t> gather_sizes(comm::Communicator& communicator, std::size_t own,
                                        const std::string& label) {
    std::vector<std::uint64_t> size{own}, sizes(static_cast<std::size_t>(communicator.size()));
    communicator.all_gather(view_of(size), view_of(sizes), label + " sizes");
    communicator.finish();
    return sizes;
}

// Every rank sends as many values as the rank that has most, because all_gather needs equal sizes.
template <class T>
std::vector<T> gather_values(comm::Communicator& communicator, std::vector<T> own,
                             const std::string& label) {
    const auto sizes = gather_sizes(communicator, own.size(), label);
    const std::size_t most = std::ranges::max(sizes);
    std::vector<T> all(most * sizes.size()), gathered;
    if (most == 0) return gathered;
    own.resize(most);
    communicator.all_gather(view_of(own), view_of(all), label);
    communicator.finish();
    for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(rank * most);
        gathered.insert(gathered.end(), begin, begin + static_cast<std::ptrdiff_t>(sizes[rank]));
    }
    return gathered;
}

}  // namespace

std::vector<double> gather(comm::Communicator& communicator, std::vector<double> own,
                           const std::string& label) {
    return gather_values(communicator, std::move(own), label);
}

std::vector<std::uint64_t> gather(comm::Communicator& communicator, std::vector<std::uint64_t> own,
                                  const std::string& label) {
    return gather_values(communicator, std::move(own), label);
}

}  // namespace lockstep::launcher
