// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "data/tokenizer_json/pretrained_tokenizer.hpp"
#include "data/tokenizer_json/stream_decoder.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

namespace {

constexpr const char* file = "input.json";
constexpr std::string_view text =
    "the cat sat\non the mat \xE2\x82\xAC 12 e\xCC\x81 <s>the</s> \xE2\x96\x81the ''s\t  !?";

// Says which file is bad, as a user needs it.
data::RawTokenizerFile parsed(std::string_view bytes) {
    try {
        return data::parse_tokenizer_file(file, bytes);
    } catch (const Error& error) {
        fuzz::expect(std::string_view(error.what()).starts_with(file), "an error without the file");
        throw;
    }
}

void expect_streams_alike(const data::PretrainedTokenizer& tokenizer,
                          const std::vector<std::int32_t>& ids) {
    data::StreamDecoder decoder(tokenizer, data::SkipSpecial::no);
    std::string streamed;
    for (const std::int32_t id : ids) streamed += decoder.add(id);
    streamed += decoder.finish();
    fuzz::expect(streamed == tokenizer.decode(ids, data::SkipSpecial::no),
                 "a stream that gives another text");
}

}  // namespace

// The input is the tokenizer.json of a model.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::expect_answer([&] {
        const data::PretrainedTokenizer tokenizer(parsed(fuzz::text_of(data, size)), {});
        for (const auto specials : {data::SpecialsInText::tokens, data::SpecialsInText::text}) {
            auto ids = tokenizer.encode(text, {data::AddSpecial::yes, specials});
            for (const std::int32_t id : ids)
                fuzz::expect(tokenizer.piece(id).has_value(), "an id that no token has");
            expect_streams_alike(tokenizer, ids);
            for (const std::int32_t id : {-1, 0, 1, 300, tokenizer.size()}) ids.push_back(id);
            (void)tokenizer.decode(ids, data::SkipSpecial::yes);
        }
    });
    return 0;
}
