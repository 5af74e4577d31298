// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtime/batch/step_source.hpp"

namespace lockstep::tests {

// A source of rows of very uneven lengths. Rows go to the lanes in order, so that some lanes run
// dry earlier; lanes go to the ranks by train::lanes_of_rank(). Every epoch goes through a lane's
// rows from another start.
class ToySource final : public train::StepSource {
public:
    struct Layout {
        int world = 1, rank = 0;
        std::int64_t lanes = 1, rows = 1, batchsize = 1;
    };

    explicit ToySource(Layout layout) : layout_(layout) {}

    train::StepBatches next() override;
    void next_epoch() override { position_ = {position_.epoch + 1, 0}; }
    void seek(train::Position position) override { position_ = position; }
    std::int64_t rows_per_epoch() const override { return layout_.rows; }

    // Returns every row that was given out, in order.
    const std::vector<std::uint32_t>& given() const noexcept { return given_; }

    static train::Batch batch_of(const std::vector<std::uint32_t>& rows);

private:
    std::vector<std::uint32_t> rows_of_lane(std::int64_t lane) const;

    Layout layout_;
    train::Position position_;
    std::vector<std::uint32_t> given_;
};

}  // namespace lockstep::tests
