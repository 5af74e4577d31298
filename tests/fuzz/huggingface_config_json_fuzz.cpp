// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/reply_tokens.hpp"
#include "model/config_json.hpp"
#include "model/huggingface_config.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

namespace {

constexpr std::int32_t tokens = 1000;

void expect_tokens(const std::vector<std::int32_t>& ids) {
    for (const std::int32_t id : ids)
        fuzz::expect(id >= 0 && id < tokens, "a token that the tokenizer does not have");
}

}  // namespace

// The input is the config.json of a model of transformers, and its generation_config.json.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(fuzz::text_of(data, size));
    fuzz::expect_answer([&] {
        if (!model::is_huggingface_config(text)) return;
        const std::string own = model::to_json(model::config_from_huggingface(text, "config.json"));
        fuzz::expect(model::to_json(model::config_from_json(own, "again")) == own,
                     "a config that Lockstep does not read again");
    });
    fuzz::write_input("config.json", {data, size});
    fuzz::write_input("generation_config.json", {data, size});
    fuzz::expect_answer([] {
        const data::ReplyTokens found = data::read_reply_tokens(".", tokens);
        expect_tokens(found.ends);
        for (const auto& id : {found.start, found.first})
            if (id) expect_tokens({*id});
    });
    return 0;
}
