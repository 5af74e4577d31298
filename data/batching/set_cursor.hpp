// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/batching/lane_blocks.hpp"
#include "data/storage/row_store.hpp"

namespace lockstep::data {

// The rows of a data set form an endless sequence of passes. Each pass has its blocks in a random
// order of its own, and they are dealt to the lanes in turn.
struct SetSequence {
    std::vector<RowBlock> blocks;  // blocks of a pass, in the order of storage
    std::int64_t rows = 0;         // rows of a pass
};

// Selects a range of rows of a SetSequence, by their numbers.
struct Stretch {
    std::int64_t begin = 0, end = 0;
};

// Yields a lane's rows of a range of a sequence, one by one. All lanes together yield the whole
// range.
class SetCursor {
public:
    // `store` and `sequence` must outlive the cursor. `key` determines the random orders.
    SetCursor(RowStore& store, const SetSequence& sequence, std::uint64_t key, Lane lane,
              Stretch stretch);

    bool done() const noexcept { return next_ == buffer_.size() && !piece_; }
    // Requires !done(). The `pass` of the row counts from the first pass of the range.
    RowExtent next();

private:
    struct Piece {
        RowBlock block;
        std::int64_t pass = 0;
    };
    void begin_pass();
    void find_piece();

    RowStore& store_;
    const SetSequence& sequence_;
    std::uint64_t key_;
    Lane lane_;
    Stretch stretch_;
    std::int64_t first_pass_ = 0, pass_ = 0;
    std::vector<std::uint32_t> order_;  // order of the pass's blocks
    std::size_t at_ = 0;                // index in order_
    std::int64_t position_ = 0;         // number, in the sequence, of the first row of block
                                        // order_[at_]
    std::optional<Piece> piece_;        // next piece of this lane, not read yet
    std::vector<RowExtent> buffer_;     // rows of the previous piece
    std::size_t next_ = 0;              // index in buffer_
};

}  // namespace lockstep::data
