// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/comm/communicator.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/train/forward_backward.hpp"
#include "runtime/train/reduction/buckets.hpp"
#include "runtime/train/reduction/tied_table.hpp"

namespace lockstep::train {

// Keeps the gradient that a step's last micro-batch adds to a tied table through its input. It is
// apart from the table because the table's bucket is sent as soon as the loss has added to it. Only
// rows that a token of some rank names are kept and summed. The ranks agree on these rows before
// backward, through communication between hosts; if they are too many, the step sums the table at
// once, after all other buckets. Every step calls name(), then agree(), then the functions for its
// order.
template <class Ctx>
class TiedRows {
public:
    using Space = typename Ctx::Space;

    // The references must outlive it.
    TiedRows(Ctx& context, comm::Communicator& hosts, const TiedTable& table);

    // Tells the other ranks the tokens of this rank's last micro-batch; null if it has none.
    // Returns at once.
    void name(const Batch* last);
    // Waits for the other ranks. If the rows are few enough, copies their slots to the device and
    // sets the rows to zero.
    void agree();

    // Returns the order of the current step.
    BucketOrder order() const noexcept { return order_; }
    // Work that uses these rows can be replayed as long as moves() does not change.
    InputRows rows() const;
    std::int64_t moves() const noexcept { return upload_.moves(); }
    // Returns the bytes of the device's memory that it holds.
    std::size_t bytes() const noexcept { return sums_.size() * sizeof(float) + upload_.bytes(); }
    // Returns the rows that must be summed over all ranks; empty if no token is named.
    View<float, Space> named() const;
    // Adds the rows to the table's gradient. Call it after they were summed.
    void add_to(View<float, Space> gradient);

private:
    MatrixView<float, Space> all_rows() const;

    Ctx& context_;
    comm::Communicator& hosts_;
    const TiedTable table_;
    std::shared_ptr<NamedRows> names_;  // shared with the operation that sums its counters
    device::Upload<Ctx> upload_;
    device::Buffer<float, Space> sums_;  // [max_named(), cols]
    View<const std::int32_t, Space> slots_;
    std::int64_t count_ = 0;  // named rows
    BucketOrder order_ = BucketOrder::front_to_back;
};

}  // namespace lockstep::train
