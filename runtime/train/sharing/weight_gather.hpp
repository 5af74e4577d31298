// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/train/parameters.hpp"
#include "runtime/train/precision.hpp"
#include "runtime/train/reduction/buckets.hpp"
#include "runtime/train/reduction/weight_labels.hpp"

namespace lockstep::train {

// Brings the weights that each rank of a group has updated to the others, bucket by bucket and in
// place, while the next forward computes. Usage, in each step:
//
//     gather.need(first);  // before forward first reads weights from element `first` on
//     gather.start();      // after the update
template <class Ctx>
class WeightGather {
public:
    using Space = typename Ctx::Space;

    // The group and the store's memory must outlive the object.
    WeightGather(comm::Collectives<Space>& group, const ParameterStore<Space>& store,
                 std::vector<Bucket> buckets)
        : group_(group),
          store_(store),
          buckets_(std::move(buckets)),
          labels_(weight_labels(store.table(), buckets_)) {}

    // Queues the gathers of all buckets. The last bucket is the first: the table of the embeddings,
    // which lies at the end of the flat buffer, is what forward reads first.
    void start() {
        tickets_.assign(buckets_.size(), {});
        for (std::size_t bucket = buckets_.size(); bucket-- > 0;) tickets_[bucket] = gather(bucket);
    }
    // Returns the first bucket that forward needs to read weights from element `first` on.
    std::size_t bucket_of(std::size_t first) const {
        const auto behind = std::upper_bound(
            buckets_.begin(), buckets_.end(), first,
            [](std::size_t element, const Bucket& bucket) { return element < bucket.first; });
        return static_cast<std::size_t>(behind - buckets_.begin()) - 1;
    }
    // Makes what is queued next wait for this bucket and those behind it in the flat buffer.
    void finish(std::size_t bucket) {
        if (!tickets_.empty()) group_.finish(tickets_[bucket]);
    }
    // Waits for all buckets.
    void finish() { finish(0); }

private:
    comm::Ticket gather(std::size_t bucket) {
        const auto [first, count] = buckets_[bucket];
        const auto size = static_cast<std::size_t>(group_.size());
        const auto rank = static_cast<std::size_t>(group_.rank());
        const comm::Range<Space> to = weights(first, count);
        const comm::Range<Space> from = weights(first + rank * (count / size), count / size);
        return group_.all_gather(from, to, labels_[bucket]);
    }

    // fp16 travels as bytes, which every library knows.
    comm::Range<Space> weights(std::size_t first, std::size_t count) const {
        if (store_.precision() == Precision::fp32)
            return store_.template compute<float>().subview(first, count);
        if (store_.precision() == Precision::bf16)
            return store_.template compute<bf16>().subview(first, count);
        const View<fp16, Space> part = store_.template compute<fp16>().subview(first, count);
        return {part.data(), count * sizeof(fp16), Dtype::byte};
    }

    comm::Collectives<Space>& group_;
    const ParameterStore<Space>& store_;
    const std::vector<Bucket> buckets_;
    const std::vector<std::string> labels_;  // of the gathers of each bucket
    std::vector<comm::Ticket> tickets_;      // of the gathers that were queued last
};

}  // namespace lockstep::train
