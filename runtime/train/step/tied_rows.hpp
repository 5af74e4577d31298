// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm/communicator.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/train/step/exchange.hpp"
#include "runtime/train/step/forward_backward.hpp"
#include "runtime/train/step/tied_table.hpp"

namespace lockstep::train {

// What a step's last micro-batch adds to a tied table as its input, apart from the table, whose
// bucket travels as soon as the loss has added to it. Only rows that a token of some rank names are
// kept and summed. The hosts agree on them before backward; where they are too many, the step's
// table is summed at once, last. Every step: name(), agree(), then what its order asks for.
template <class Ctx>
class TiedRows {
public:
    using Space = typename Ctx::Space;

    // What is passed by reference outlives it.
    TiedRows(Ctx& context, comm::Communicator& hosts, const TiedTable& table);

    // Tells the other ranks of this rank's last micro-batch, null where it has none. Returns at
    // once.
    void name(const Batch* last);
    // Waits for the other ranks. Where the rows are few, brings their slots to the device and
    // clears them.
    void agree();

    // Of the step.
    BucketOrder order() const noexcept { return order_; }
    // Work that uses these is the same from step to step while moves() is.
    InputRows rows() const;
    std::int64_t moves() const noexcept { return upload_.moves(); }
    // What is summed over all ranks; empty where no token is named.
    View<float, Space> named() const;
    // Behind that sum.
    void add_to(View<float, Space> gradient);

private:
    MatrixView<float, Space> all_rows() const;

    Ctx& context_;
    comm::Communicator& hosts_;
    const TiedTable table_;
    NamedRows names_;
    device::Upload<Ctx> upload_;
    device::Buffer<float, Space> sums_;  // [most named, cols]
    View<const std::int32_t, Space> slots_;
    std::int64_t count_ = 0;  // named rows
    BucketOrder order_ = BucketOrder::front_to_back;
};

}  // namespace lockstep::train
