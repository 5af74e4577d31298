// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/row_texts.hpp"

#include <vector>

#include "data/tokenizers/written_words.hpp"

namespace lockstep::launcher {

namespace {

std::string label_of(const train::Batch& batch, std::size_t row, const data::Tokenizer& tokenizer) {
    const auto& offsets = batch.target.offsets;
    std::vector<std::int32_t> label;
    // The reply to the context is the first answer of the row.
    for (auto at = offsets[row]; at < offsets[row + 1]; ++at) {
        const std::int32_t token = batch.labels[static_cast<std::size_t>(at)];
        if (token >= 0)
            label.push_back(token);
        else if (!label.empty())
            break;
    }
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
