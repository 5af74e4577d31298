// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "data/batching/lane_blocks.hpp"
#include "data/storage/row_store.hpp"

namespace lockstep::data {

// Yields the rows of a lane's epoch in the order of their arrival.
class RowFeed {
public:
    virtual ~RowFeed() = default;

    virtual bool done() const noexcept = 0;
    // Appends at least one more row. Requires !done().
    virtual void append(std::vector<RowExtent>& out) = 0;
};

// Feeds each row of these blocks once.
class BlockFeed final : public RowFeed {
public:
    // `store` must outlive the feed.
    BlockFeed(RowStore& store, std::vector<RowBlock> blocks);

    bool done() const noexcept override { return next_ == blocks_.size(); }
    void append(std::vector<RowExtent>& out) override;

private:
    RowStore& store_;
    std::vector<RowBlock> blocks_;
    std::size_t next_ = 0;
};

}  // namespace lockstep::data
