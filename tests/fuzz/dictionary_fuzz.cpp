// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/dictionary_tokenizer.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

// The input is a dictionary, and then a text that is split into its tokens.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr const char* file = "input.dict";
    fuzz::write_input(file, {data, size});
    fuzz::expect_answer([&] {
        const data::DictionaryTokenizer tokenizer(data::Dictionary::load(
            file, size % 2 == 0 ? data::LetterCase::keep : data::LetterCase::lower));
        std::vector<std::int32_t> ids;
        tokenizer.encode(fuzz::text_of(data, size), ids);
        for (const std::int32_t id : ids)
            fuzz::expect(id >= 0 && id < tokenizer.size(), "a token outside of the dictionary");
        (void)tokenizer.decode(ids);
    });
    return 0;
}
