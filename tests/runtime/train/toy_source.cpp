// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/train/toy_source.hpp"

#include <algorithm>

#include "runtime/batch/lane_range.hpp"
#include "runtime/core/philox.hpp"
#include "tests/runtime/train/toy_model.hpp"

namespace lockstep::tests {
namespace {

constexpr auto words = static_cast<std::uint32_t>(ToyModel::vocabulary);

std::int32_t length_of(std::uint32_t row) {
    return 1 + static_cast<std::int32_t>((row * row + row / 3) % 17);
}

// Returns mostly the successor of the previous token, so that there is something to learn.
std::int32_t token_of(std::uint32_t row, std::int32_t place) {
    PhiloxStream random(mix(row, static_cast<std::uint64_t>(place)));
    const std::uint32_t noise = random.below(4) == 0 ? random.below(words) : 0;
    return static_cast<std::int32_t>((row + static_cast<std::uint32_t>(place) + noise) % words);
}

}  // namespace

train::Batch ToySource::batch_of(const std::vector<std::uint32_t>& rows) {
    train::Batch batch;
    batch.rows = rows;
    batch.target.offsets.push_back(0);
    for (const std::uint32_t row : rows) {
        for (std::int32_t place = 0; place < length_of(row); ++place) {
            batch.target.tokens.push_back(token_of(row, place));
            batch.labels.push_back(token_of(row, place + 1));
        }
        batch.target.offsets.push_back(static_cast<std::int32_t>(batch.labels.size()));
        batch.target.longest = std::max(batch.target.longest, length_of(row));
    }
    batch.label_tokens = static_cast<std::int64_t>(batch.labels.size());
    return batch;
}

// Rows go to the lanes in turn, and then one more to lane 0, so that the others run dry first.
std::vector<std::uint32_t> ToySource::rows_of_lane(std::int64_t lane) const {
    std::vector<std::uint32_t> rows;
    const std::int64_t lanes = layout_.lanes;
    for (std::int64_t row = 0; row < layout_.rows; ++row) {
        const std::int64_t turn = row % (2 * lanes + 1);
        const std::int64_t owner = turn == 2 * lanes ? 0 : turn % lanes;
        if (owner == lane) rows.push_back(static_cast<std::uint32_t>(row));
    }
    if (!rows.empty())
        std::rotate(rows.begin(),
                    rows.begin() + position_.epoch % static_cast<std::int64_t>(rows.size()),
                    rows.end());
    return rows;
}

train::StepBatches ToySource::next() {
    train::StepBatches step;
    step.position = position_;
    const train::LaneRange lanes = train::lanes_of_rank(layout_.lanes, layout_.rank, layout_.world);
    for (std::int64_t lane = lanes.first; lane < lanes.end; ++lane) {
        const auto rows = rows_of_lane(lane);
        const auto size = static_cast<std::int64_t>(rows.size());
        const auto begin = std::min(size, position_.step_in_epoch * layout_.batchsize);
        const auto end = std::min(size, begin + layout_.batchsize);
        step.lanes.push_back(begin < end ? batch_of({rows.begin() + begin, rows.begin() + end})
                                         : train::Batch{});
        given_.insert(given_.end(), rows.begin() + begin, rows.begin() + end);
        if (end == size) ++step.lanes_finished;
    }
    step.lanes_counted = lanes.count();
    ++position_.step_in_epoch;
    return step;
}

}  // namespace lockstep::tests
