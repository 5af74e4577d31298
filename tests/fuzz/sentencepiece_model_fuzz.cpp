// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/sentencepiece_tokenizer.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

namespace {

constexpr const char* file = "input.model";

// Says which file is bad, as a user needs it.
data::SentencePieceTokenizer opened(std::string_view model) {
    try {
        return {std::string(model), file};
    } catch (const Error& error) {
        fuzz::expect(std::string_view(error.what()).starts_with(file), "an error without the file");
        throw;
    }
}

}  // namespace

// The input is a model. The engine runs each target in a child process, so that it survives an end
// of the library.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::expect_answer([&] {
        const data::SentencePieceTokenizer tokenizer = opened(fuzz::text_of(data, size));
        std::vector<std::int32_t> ids;
        tokenizer.encode("the cat sat\non the mat \xE2\x82\xAC 12\n", ids);
        for (const std::int32_t id : ids)
            fuzz::expect(id >= 0 && id < tokenizer.size(), "a token outside of the model");
        for (const std::int32_t id : {-1, 0, 3, 4, 300, tokenizer.size()}) ids.push_back(id);
        (void)tokenizer.decode(ids);
    });
    return 0;
}
