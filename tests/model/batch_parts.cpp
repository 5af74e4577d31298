// SPDX-License-Identifier: Apache-2.0
#include "tests/model/batch_parts.hpp"

#include <algorithm>

namespace lockstep::tests {

namespace {

template <class T>
std::vector<T> part(const std::vector<T>& values, std::int32_t first, std::int32_t last) {
    return {values.begin() + first, values.begin() + last};
}

train::RaggedTokens one_row(const train::RaggedTokens& side, std::size_t row) {
    if (side.offsets.empty()) return {};
    const std::int32_t first = side.offsets[row], last = side.offsets[row + 1];
    return {part(side.tokens, first, last),
            part(side.positions, first, last),
            part(side.token_rows, first, last),
            {0, last - first},
            last - first};
}

void fill(train::RaggedTokens& side, std::size_t filler) {
    if (side.offsets.empty()) return;
    const std::size_t total = side.tokens.size() + filler;
    side.tokens.resize(total, 0);
    side.positions.resize(total, 0);
    side.token_rows.resize(total, 0);
}

}  // namespace

train::Batch one_row(const train::Batch& batch, std::size_t row) {
    train::Batch one;
    one.source = one_row(batch.source, row);
    one.target = one_row(batch.target, row);
    one.labels = part(batch.labels, batch.target.offsets[row], batch.target.offsets[row + 1]);
    one.rows = {batch.rows[row]};
    one.label_tokens = std::ranges::count_if(one.labels, [](int label) { return label >= 0; });
    return one;
}

train::Batch with_filler(train::Batch batch, std::size_t filler) {
    fill(batch.source, filler + 1);
    fill(batch.target, filler);
    batch.labels.resize(batch.target.tokens.size(), -1);
    return batch;
}

train::BatchShape shape_of(const train::Batch& batch) {
    return {batch.source.total(), batch.target.total(),
            static_cast<std::int64_t>(batch.rows.size()), batch.source.longest,
            batch.target.longest};
}

}  // namespace lockstep::tests
