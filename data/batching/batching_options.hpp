// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::data {

// off: batchsize rows, drawn at random. batchsort: batchsize rows of like length.
// full: as many rows of like length as a token budget holds.
enum class Dynamic { off, full, batchsort };

// decoder_only lays context, __start__ and label end to end in the batch's target.
enum class Layout { encoder_decoder, decoder_only };

// How rows become micro-batches; ParlAI's names and meanings.
struct BatchingOptions {
    std::int64_t batchsize = 1;
    Dynamic dynamic = Dynamic::off;
    std::int64_t batch_tokens = 0;  // > 0: the budget of `full` itself, and asks for `full`
    // Context keeps its last tokens, the label with __end__ its first. <= 0: n_positions.
    std::int64_t text_truncate = -1;
    std::int64_t label_truncate = -1;
    std::int64_t n_positions = 1024;  // no sequence of the model is longer
    Layout layout = Layout::encoder_decoder;
};

}  // namespace lockstep::data
