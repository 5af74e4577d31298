// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/row_texts.hpp"

#include <algorithm>
#include <iterator>

#include "data/tokenizers/written_words.hpp"

namespace lockstep::launcher {

namespace {

std::string label_of(const train::Batch& batch, std::size_t row, const data::Tokenizer& tokenizer) {
    const auto& offsets = batch.target.offsets;
    std::vector<std::int32_t> label;
    std::copy_if(batch.labels.begin() + offsets[row], batch.labels.begin() + offsets[row + 1],
                 std::back_inserter(label), [](std::int32_t token) { return token >= 0; });
    return data::decode_with_control(tokenizer, label);
}

}  // namespace

RowTexts texts_of(const train::Batch& batch, std::size_t row, const data::Tokenizer& tokenizer) {
    RowTexts texts{data::decode_with_control(tokenizer, batch.contexts[row]),
                   batch.references[row]};
    if (texts.labels.empty()) texts.labels.push_back(label_of(batch, row, tokenizer));
    return texts;
}

}  // namespace lockstep::launcher
