// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/train/reduction/buckets.hpp"

namespace lockstep::train {

// Copies buffers that ranks hold in parts to rank 0 and back, for checkpoints. Rank r holds the
// parts of number r % sharing. A buffer has `bytes` for each run of `cell` elements.
class OwnedExchange {
public:
    struct Layout {
        std::size_t bytes = 1;
        std::size_t cell = 1;
    };
    template <class T>
    struct Buffer {
        HostView<T> packed;  // what this rank owns
        HostView<T> whole;   // all elements; only rank 0's is used
        std::size_t cell = 1;
    };

    // `buckets` divide into `sharing` equal parts. The communicator must outlive the object.
    OwnedExchange(comm::Communicator& hosts, const std::vector<Bucket>& buckets, int sharing);

    // Fills rank 0's whole buffer from the packed ones of the first replica.
    template <class T>
    void gather(const Buffer<T>& buffer) {
        gather(bytes_of(buffer.packed), bytes_of(buffer.whole), {sizeof(T), buffer.cell});
    }
    // Fills the packed buffers of all ranks from rank 0's whole one.
    template <class T>
    void spread(const Buffer<T>& buffer) {
        spread(bytes_of(buffer.packed), bytes_of(buffer.whole), {sizeof(T), buffer.cell});
    }

private:
    using Bytes = HostView<std::byte>;

    template <class T>
    static Bytes bytes_of(HostView<T> values) {
        return {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(T)};
    }
    void gather(Bytes packed, Bytes whole, Layout layout);
    void spread(Bytes packed, Bytes whole, Layout layout);
    // Returns what the rank owns of a bucket: the same as owned_parts(), of which there would be
    // too many for all ranks.
    OwnedPart part(int rank, std::size_t bucket) const;

    comm::Communicator& hosts_;
    const std::vector<Bucket> buckets_;
    const int sharing_;
};

}  // namespace lockstep::train
