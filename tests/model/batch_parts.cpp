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
    return {part(side.tokens, first, last), {0, last - first}, last - first};
}

void fill(train::RaggedTokens& side, std::size_t filler) {
    if (side.offsets.empty()) return;
    side.tokens.resize(side.tokens.size() + filler, 0);
}

template <class T>
std::vector<T> repeated(const std::vector<T>& values, std::size_t times) {
    std::vector<T> all;
    for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), values.begin(), values.end());
    return all;
}

train::RaggedTokens repeated(const train::RaggedTokens& side, std::size_t times) {
    if (side.offsets.empty()) return {};
    train::RaggedTokens all{repeated(side.tokens, times), {0}, side.longest};
    for (std::size_t i = 0; i < times; ++i)
        for (std::size_t row = 1; row < side.offsets.size(); ++row)
            all.offsets.push_back(all.offsets.back() + side.offsets[row] - side.offsets[row - 1]);
    return all;
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

train::Batch with_following_labels(train::Batch batch) {
    batch.label_starts.assign(batch.rows.size(), 0);
    batch.last_labels.assign(batch.rows.size(), 1);
    return batch;
}

train::Batch without_source(train::Batch batch) {
    batch.source = {{}, std::vector<std::int32_t>(batch.rows.size() + 1), 0};
    return batch;
}

train::Batch repeated(const train::Batch& batch, std::size_t times) {
    train::Batch all;
    all.source = repeated(batch.source, times);
    all.target = repeated(batch.target, times);
    all.labels = repeated(batch.labels, times);
    const auto rows = static_cast<std::uint32_t>(batch.rows.size());
    for (std::size_t i = 0; i < times; ++i)
        for (const std::uint32_t row : batch.rows)
            all.rows.push_back(row + static_cast<std::uint32_t>(i) * rows);
    all.label_tokens = batch.label_tokens * static_cast<std::int64_t>(times);
    return all;
}

std::vector<train::Batch> variants_of(const train::Batch& batch) {
    constexpr std::size_t at_once = 512;  // labels
    std::vector<train::Batch> variants{batch, with_filler(batch, 5),
                                       repeated(batch, at_once / batch.labels.size() + 1)};
    if (!batch.source.offsets.empty()) variants.push_back(without_source(batch));
    return variants;
}

train::BatchShape shape_of(const train::Batch& batch) {
    return {batch.source.total(), batch.target.total(),
            static_cast<std::int64_t>(batch.rows.size()), batch.source.longest,
            batch.target.longest};
}

}  // namespace lockstep::tests
