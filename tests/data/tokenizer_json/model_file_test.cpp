// SPDX-License-Identifier: Apache-2.0
// tokenizer.model beside SentencePiece itself.
#include <doctest/doctest.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <string>
#include <vector>

#include "data/tokenizer_json/open_pretrained.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using Ids = std::vector<std::int32_t>;

namespace {

constexpr data::EncodeOptions as_tokens{data::AddSpecial::no, data::SpecialsInText::tokens};

std::string trained(const ScratchFolder& folder, const std::string& options) {
    const std::string prefix = folder / "trained";
    const auto status = sentencepiece::SentencePieceTrainer::Train(
        "--input=examples/shakespeare/valid.txt --minloglevel=2 --vocab_size=600 --num_threads=1 "
        "--byte_fallback --model_prefix=" +
        prefix + " " + options);
    REQUIRE(status.ok());
    return read_text(prefix + ".model");
}

constexpr const char* like_llama =
    "--model_type=bpe --normalization_rule_name=identity --remove_extra_whitespaces=false";

std::vector<std::string> texts() {
    std::vector<std::string> found = {"",
                                      " ",
                                      "  a  b ",
                                      "hello\nworld\n\n",
                                      "a\tb\u00a0c",
                                      "日本語 é 👍🏽",
                                      "▁a ▁",
                                      "<s> </s>",
                                      "\x01\x7f",
                                      std::string(3000, 'x'),
                                      "aaaa aaa aa a lllll eeee"};
    const std::string text = read_text("examples/shakespeare/plain.txt");
    for (std::size_t at = 0; at < 60000; at += 600) found.push_back(text.substr(at, 300));
    return found;
}

}  // namespace

TEST_CASE("a BPE model of SentencePiece gives the ids and the texts that SentencePiece gives") {
    for (const char* more : {"", " --add_dummy_prefix=false", " --user_defined_symbols=ing,[X]"}) {
        CAPTURE(more);
        const ScratchFolder folder;
        const std::string model = trained(folder, std::string(like_llama) + more);
        write_text(folder / "tokenizer.model", model);
        sentencepiece::SentencePieceProcessor processor;
        REQUIRE(processor.LoadFromSerializedProto(model).ok());
        CHECK(data::tokenizer_in(folder.path()) == data::FolderTokenizer::pretrained);
        const auto tokenizer = data::open_pretrained_tokenizer(folder.path());
        CHECK(tokenizer->size() == processor.GetPieceSize());
        CHECK(tokenizer->special_tokens().begin == processor.bos_id());
        CHECK(tokenizer->special_tokens().end == processor.eos_id());
        if (std::string(more).find("user") != std::string::npos) {
            CHECK(tokenizer->find("[X]") == processor.PieceToId("[X]"));
            continue;  // transformers finds such symbols before the prefix is added
        }
        for (const std::string& text : texts()) {
            CAPTURE(text);
            std::vector<int> expected;
            REQUIRE(processor.Encode(text, &expected).ok());
            const Ids ids = tokenizer->encode(text, as_tokens);
            CHECK(ids == Ids(expected.begin(), expected.end()));
            std::string decoded;
            REQUIRE(processor.Decode(expected, &decoded).ok());
            CHECK(tokenizer->decode(ids, data::SkipSpecial::no) == decoded);
        }
    }
}

TEST_CASE("additions of tokenizer.model lie above its pieces, and its ends have its own ids") {
    const ScratchFolder folder;
    write_text(folder / "tokenizer.model", trained(folder, like_llama));
    write_text(folder / "tokenizer_config.json",
               R"({"tokenizer_class": "LlamaTokenizer", "add_eos_token": true, "bos_token": "<s>",
                   "eos_token": {"content": "</s>"}, "added_tokens_decoder":
                   {"600": {"content": "<|im_end|>", "special": true, "normalized": false}}})");
    write_text(folder / "added_tokens.json", R"({"<|im_end|>": 600, "<more>": 601})");
    const auto tokenizer = data::open_pretrained_tokenizer(folder.path());
    CHECK(tokenizer->size() == 602);
    CHECK(tokenizer->find("<more>") == 601);
    CHECK(tokenizer->is_special(600));
    CHECK(tokenizer->special_tokens().begin == 1);
    CHECK(tokenizer->special_tokens().end == 2);
    const Ids around =
        tokenizer->encode("a<|im_end|>", {data::AddSpecial::yes, data::SpecialsInText::tokens});
    REQUIRE(around.size() >= 4);
    CHECK(around.front() == 1);
    CHECK(around[around.size() - 2] == 600);
    CHECK(around.back() == 2);
    write_text(folder / "added_tokens.json", R"({"<more>": 700})");
    CHECK_THROWS_WITH_AS(data::open_pretrained_tokenizer(folder.path()), doctest::Contains("700"),
                         Error);
    write_text(folder / "tokenizer_config.json", R"({"added_tokens_decoder": {"x": {}}})");
    CHECK_THROWS_WITH_AS(data::open_pretrained_tokenizer(folder.path()), doctest::Contains("'x'"),
                         Error);
}

TEST_CASE("a tokenizer.model that is no BPE model, normalizes or is damaged is refused in words") {
    const ScratchFolder folder;
    const auto refused = [&](const std::string& model, const char* why) {
        write_text(folder / "tokenizer.model", model);
        CHECK_THROWS_WITH_AS(data::open_pretrained_tokenizer(folder.path()), doctest::Contains(why),
                             Error);
    };
    refused(trained(folder, "--model_type=unigram"), "is no BPE model");
    refused(trained(folder, "--model_type=bpe"), "changes texts");
    refused(trained(folder,
                    std::string(like_llama) + " --user_defined_symbols=" + std::string(513, 'x')),
            "is longer than 512 bytes");
    refused("", "is not a SentencePiece model");
    refused("not a model", "is not a SentencePiece model");
    const std::string whole = trained(folder, like_llama);
    for (std::size_t bytes = 0; bytes < whole.size(); bytes += 997) {
        CAPTURE(bytes);
        write_text(folder / "tokenizer.model", whole.substr(0, bytes));
        CHECK_THROWS_AS(data::open_pretrained_tokenizer(folder.path()), Error);
    }
}
