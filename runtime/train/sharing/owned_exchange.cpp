// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/sharing/owned_exchange.hpp"

#include <cstring>

namespace lockstep::train {

namespace {

constexpr const char* label = "owned parts";

HostView<std::byte> part_in(HostView<std::byte> buffer, std::size_t first, std::size_t count,
                            OwnedExchange::Layout layout) {
    return buffer.subview(first / layout.cell * layout.bytes, count / layout.cell * layout.bytes);
}

void copy(HostView<const std::byte> from, HostView<std::byte> to) {
    if (from.size() > 0) std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace

OwnedExchange::OwnedExchange(comm::Communicator& hosts, const std::vector<Bucket>& buckets,
                             int sharing)
    : hosts_(hosts), buckets_(buckets), sharing_(sharing) {}

OwnedPart OwnedExchange::part(int rank, std::size_t bucket) const {
    const auto [first, count] = buckets_[bucket];
    const auto all = static_cast<std::size_t>(sharing_);
    const auto number = static_cast<std::size_t>(rank % sharing_);
    return {first + number * (count / all), count / all, first / all};
}

// Every rank goes through the buckets in the same order, so that none waits for a rank that waits
// for it.
void OwnedExchange::gather(Bytes packed, Bytes whole, Layout layout) {
    const int self = hosts_.rank();
    for (std::size_t bucket = 0; bucket < buckets_.size() && self < sharing_; ++bucket) {
        const OwnedPart own = part(self, bucket);
        const Bytes mine = part_in(packed, own.packed, own.count, layout);
        if (self != 0) {
            hosts_.send(mine, 0, label);
            continue;
        }
        copy(mine, part_in(whole, own.first, own.count, layout));
        for (int rank = 1; rank < sharing_; ++rank) {
            const OwnedPart theirs = part(rank, bucket);
            hosts_.recv(part_in(whole, theirs.first, theirs.count, layout), rank, label);
        }
    }
    hosts_.finish();
}

void OwnedExchange::spread(Bytes packed, Bytes whole, Layout layout) {
    const int self = hosts_.rank();
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
        const OwnedPart own = part(self, bucket);
        const Bytes mine = part_in(packed, own.packed, own.count, layout);
        if (self != 0) {
            hosts_.recv(mine, 0, label);
            continue;
        }
        copy(part_in(whole, own.first, own.count, layout), mine);
        for (int rank = 1; rank < hosts_.size(); ++rank) {
            const OwnedPart theirs = part(rank, bucket);
            hosts_.send(part_in(whole, theirs.first, theirs.count, layout), rank, label);
        }
    }
    hosts_.finish();
}

}  // namespace lockstep::train
