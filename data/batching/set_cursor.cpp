// SPDX-License-Identifier: Apache-2.0
#include "data/batching/set_cursor.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/core/philox.hpp"

namespace lockstep::data {

SetCursor::SetCursor(RowStore& store, const SetSequence& sequence, std::uint64_t key, Lane lane,
                     Stretch stretch)
    : store_(store), sequence_(sequence), key_(key), lane_(lane), stretch_(stretch) {
    if (stretch.begin >= stretch.end) return;
    first_pass_ = pass_ = stretch.begin / sequence.rows;
    position_ = pass_ * sequence.rows;
    begin_pass();
    find_piece();
}

void SetCursor::begin_pass() {
    order_.resize(sequence_.blocks.size());
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    PhiloxStream random(mix(key_, static_cast<std::uint64_t>(pass_)));
    for (std::size_t i = order_.size(); i > 1; --i)
        std::swap(order_[i - 1], order_[random.below(static_cast<std::uint32_t>(i))]);
    at_ = 0;
}

void SetCursor::find_piece() {
    piece_.reset();
    const auto blocks = static_cast<std::int64_t>(sequence_.blocks.size());
    while (!piece_ && position_ < stretch_.end) {
        if (at_ == order_.size()) {
            ++pass_;
            begin_pass();
        }
        // The number continues through the passes, so that a set of few blocks is fair to all
        // lanes.
        const std::int64_t number = pass_ * blocks + static_cast<std::int64_t>(at_);
        RowBlock block = sequence_.blocks[order_[at_++]];
        const std::int64_t begin = std::max(position_, stretch_.begin);
        const std::int64_t end = std::min(position_ + block.rows, stretch_.end);
        const std::int64_t passed_over = begin - position_;
        position_ += block.rows;
        if (number % lane_.count != lane_.number || begin >= end) continue;
        block.first += passed_over;
        block.rows = end - begin;
        piece_ = Piece{block, pass_ - first_pass_};
    }
}

RowExtent SetCursor::next() {
    if (next_ == buffer_.size()) {
        buffer_.clear();
        next_ = 0;
        const RowBlock& block = piece_->block;
        store_.append_extents(block.shard, block.first, block.rows, buffer_);
        for (RowExtent& extent : buffer_) extent.pass = static_cast<std::uint32_t>(piece_->pass);
        find_piece();
    }
    return buffer_[next_++];
}

}  // namespace lockstep::data
