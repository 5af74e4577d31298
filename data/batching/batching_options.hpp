// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::data {

// A micro-batch has batchsize rows, drawn at random (off) or of similar length (batchsort), or as
// many rows of similar length as fit into a token budget (full).
enum class Dynamic { off, full, batchsort };

// decoder_only stores context, __start__ and label end to end in the batch's target; a tokenizer
// without a start token has nothing between context and label.
enum class Layout { encoder_decoder, decoder_only };

// These options determine how rows become micro-batches. Names and meanings are ParlAI's.
struct BatchingOptions {
    std::int64_t batchsize = 1;
    Dynamic dynamic = Dynamic::off;
    std::int64_t batch_tokens = 0;  // > 0: selects `full` and is its budget
    // The context keeps its last tokens, the label with __end__ its first ones. <= 0: n_positions.
    std::int64_t text_truncate = -1;
    std::int64_t label_truncate = -1;
    std::int64_t n_positions = 1024;  // maximum length of a sequence of the model
    Layout layout = Layout::encoder_decoder;

    friend bool operator==(const BatchingOptions&, const BatchingOptions&) = default;
};

}  // namespace lockstep::data
