// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/batching/lane_blocks.hpp"
#include "data/storage/row_store.hpp"

namespace lockstep::data {

// A data set's endless sequence of rows: pass after pass, each with its blocks in a random order of
// its own, dealt to the lanes in turn.
struct SetSequence {
    std::vector<RowBlock> blocks;  // of a pass, in the order of storage
    std::int64_t rows = 0;         // of a pass
};

// Rows of a SetSequence, by their number.
struct Stretch {
    std::int64_t begin = 0, end = 0;
};

// A lane's rows in a stretch of a sequence, one by one. The lanes' rows together are the stretch.
class SetCursor {
public:
    // References outlive the cursor. `key` is that of the random orders.
    SetCursor(RowStore& store, const SetSequence& sequence, std::uint64_t key, Lane lane,
              Stretch stretch);

    bool done() const noexcept { return next_ == buffer_.size() && !piece_; }
    // Not when done. Its `pass` counts from the stretch's first.
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
    std::vector<std::uint32_t> order_;  // of the pass's blocks
    std::size_t at_ = 0;                // in order_
    std::int64_t position_ = 0;         // of block order_[at_]'s first row, in the sequence
    std::optional<Piece> piece_;        // this lane's next, not read yet
    std::vector<RowExtent> buffer_;     // the piece before, read
    std::size_t next_ = 0;              // in buffer_
};

}  // namespace lockstep::data
