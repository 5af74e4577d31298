// SPDX-License-Identifier: Apache-2.0
#include "bench/synthetic_batches.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <tuple>

#include "data/batching/batch_rules.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/read_lines.hpp"

namespace lockstep::bench {

namespace {

void append_sequence(train::RaggedTokens& side, std::int32_t length, std::int64_t vocabulary,
                     PhiloxStream& random) {
    for (std::int32_t i = 0; i < length; ++i)
        side.tokens.push_back(
            static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(vocabulary))));
    side.offsets.push_back(static_cast<std::int32_t>(side.tokens.size()));
    side.longest = std::max(side.longest, length);
}

void fill_up(train::RaggedTokens& side) {
    const auto total = static_cast<std::size_t>(data::shape_class(side.real()));
    side.tokens.resize(total, 0);
}

}  // namespace

std::vector<std::vector<RowLengths>> batches_of_file(const std::string& path, std::int64_t batch) {
    std::ifstream file(path);
    if (!file) throw_errno("--lengths cannot be read", path);
    std::vector<RowLengths> rows;
    std::string line;
    for (std::uint64_t number = 1; read_line(file, line, path, number); ++number) {
        if (line.empty()) continue;
        std::istringstream words(line);
        RowLengths row;
        if (!(words >> row.source >> row.target) || row.source < 1 || row.target < 1) {
            throw Error(ErrorKind::data, path + ":" + std::to_string(number) +
                                             ": expected a source and a target length");
        }
        rows.push_back(row);
    }
    if (rows.empty()) throw Error(ErrorKind::data, "--lengths " + path + ": no rows there");
    std::ranges::sort(rows, {}, [](const RowLengths& r) { return std::tuple(r.source, r.target); });
    std::vector<std::vector<RowLengths>> batches;
    const auto size = static_cast<std::size_t>(batch);
    for (std::size_t i = 0; i < rows.size(); i += size) {
        const auto end = std::min(rows.size(), i + size);
        batches.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(i),
                             rows.begin() + static_cast<std::ptrdiff_t>(end));
    }
    std::ranges::reverse(batches);  // memory then grows in the first step only
    return batches;
}

train::Batch random_batch(const std::vector<RowLengths>& rows, std::int64_t vocabulary,
                          PhiloxStream& random) {
    train::Batch batch;
    batch.target.offsets.push_back(0);
    const bool two_sided = rows.front().source > 0;
    if (two_sided) batch.source.offsets.push_back(0);
    for (const RowLengths& row : rows) {
        const auto id = static_cast<std::uint32_t>(batch.rows.size());
        if (two_sided) append_sequence(batch.source, row.source, vocabulary, random);
        append_sequence(batch.target, row.target, vocabulary, random);
        batch.rows.push_back(id);
    }
    for (std::int64_t i = 0; i < batch.target.real(); ++i) {
        batch.labels.push_back(
            static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(vocabulary))));
    }
    batch.label_tokens = batch.target.real();
    if (two_sided) fill_up(batch.source);
    fill_up(batch.target);
    batch.labels.resize(batch.target.tokens.size(), -1);
    return batch;
}

}  // namespace lockstep::bench
