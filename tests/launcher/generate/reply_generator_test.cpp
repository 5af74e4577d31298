// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/reply_generator.hpp"

#include <doctest/doctest.h>

using namespace lockstep;
using Context = std::vector<std::int32_t>;

TEST_CASE("contexts of an encoder-decoder batch are its source sequences") {
    train::Batch batch;
    batch.rows = {4, 9};
    batch.source.tokens = {5, 6, 7, 0};  // the last one is filler
    batch.source.offsets = {0, 2, 3};
    CHECK(launcher::contexts_of(batch, data::Layout::encoder_decoder, {}) ==
          std::vector<Context>{{5, 6}, {7}});
}

TEST_CASE("contexts of a decoder-only batch end before the start token") {
    train::Batch batch;
    batch.rows = {0, 1};
    batch.target.tokens = {5, 6, 1, 8, /* row 1, no context */ 1, 9};
    batch.target.offsets = {0, 4, 6};
    batch.labels = {-1, -1, 8, 2, 9, 2};
    CHECK(launcher::contexts_of(batch, data::Layout::decoder_only, {}) ==
          std::vector<Context>{{5, 6}, {}});
}

TEST_CASE("without a start token, contexts end with the token that has the first label") {
    train::Batch batch;
    batch.rows = {0, 1};
    batch.target.tokens = {5, 6, 8, /* row 1 */ 7};
    batch.target.offsets = {0, 3, 4};
    batch.labels = {-1, 8, 2, 9};
    CHECK(launcher::contexts_of(batch, data::Layout::decoder_only, {.start = std::nullopt}) ==
          std::vector<Context>{{5, 6}, {7}});
}
