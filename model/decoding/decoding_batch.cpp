// SPDX-License-Identifier: Apache-2.0
#include "model/decoding/decoding_batch.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace lockstep::model {

namespace {

void add_filler(train::RaggedTokens& side) {
    const std::size_t real = side.tokens.size();
    const std::size_t granule = std::max<std::size_t>(1, std::bit_ceil(real) / 8);
    const std::size_t total = (real + granule - 1) / granule * granule;
    side.tokens.resize(total);
}

}  // namespace

train::RaggedTokens ragged_ends(const std::vector<std::vector<std::int32_t>>& sequences,
                                const std::vector<std::int64_t>& kept) {
    train::RaggedTokens side;
    side.offsets = {0};
    for (std::size_t s = 0; s < sequences.size(); ++s) {
        const auto length = static_cast<std::int32_t>(kept[s]);
        side.tokens.insert(side.tokens.end(), sequences[s].end() - length, sequences[s].end());
        side.offsets.push_back(static_cast<std::int32_t>(side.tokens.size()));
        side.longest = std::max(side.longest, length);
    }
    add_filler(side);
    return side;
}

train::RaggedTokens single_tokens(const std::vector<std::int32_t>& tokens) {
    train::RaggedTokens side;
    side.tokens = tokens;
    side.offsets.resize(tokens.size() + 1);
    std::iota(side.offsets.begin(), side.offsets.end(), 0);
    side.longest = tokens.empty() ? 0 : 1;
    add_filler(side);
    return side;
}

}  // namespace lockstep::model
