// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE beside BpeTrainer of Hugging Face's tokenizers (make_bpe_golden.py), and new
// tokenizers as they are written.
#include "data/tokenizer_training/bpe_training.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "data/tokenizer_training/new_tokenizer.hpp"
#include "data/tokenizer_training/text_counts.hpp"
#include "data/tokenizers/huggingface_tokenizer.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;
using namespace lockstep::tests;
using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

namespace {

Json golden(const std::string& name) {
    return Json::parse(read_text("tests/data/tokenizer_training/golden/" + name + ".json"));
}

template <class Counter>
std::vector<TokenCount> counted(const std::string& text) {
    Counter counter;
    counter.add(text);
    return sum_of({&counter.counts()});
}

TrainedBpe trained(const std::string& text, std::int32_t vocab_size,
                   std::int64_t min_frequency = 0) {
    return train_bpe(counted<WordCounter>(text), {.special_tokens = {"<|endoftext|>"},
                                                  .vocab_size = vocab_size,
                                                  .min_frequency = min_frequency});
}

std::vector<std::string> joined(const std::vector<MergePieces>& merges) {
    std::vector<std::string> all;
    for (const auto& [left, right] : merges) all.push_back(left + " " + right);
    return all;
}

std::vector<std::string> last(std::vector<std::string> all, std::size_t count) {
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(count));
    return all;
}

std::string shakespeare() { return read_text("examples/shakespeare/plain.txt"); }

}  // namespace

TEST_CASE("byte-level BPE of the example text is that of BpeTrainer, piece by piece") {
    const Json wanted = golden("shakespeare");
    const TrainedBpe found = trained(shakespeare(), 2000);
    CHECK(found.pieces == wanted["pieces"].get<std::vector<std::string>>());
    CHECK(joined(found.merges) == wanted["merges"].get<std::vector<std::string>>());
}

TEST_CASE("BPE ends where no pair is frequent enough, as BpeTrainer does") {
    const Json wanted = golden("shakespeare_whole");
    const TrainedBpe all = trained(shakespeare(), 100000);
    CHECK(all.pieces.size() == wanted["size"]);
    CHECK(last(joined(all.merges), 300) == wanted["last"].get<std::vector<std::string>>());
    CHECK(trained(shakespeare(), 100000, 2).pieces.size() == wanted["of_two"]);
    CHECK(last(joined(trained(shakespeare(), 100000, 50).merges), 20) ==
          wanted["of_fifty"].get<std::vector<std::string>>());
}

TEST_CASE("equally frequent and overlapping pairs are joined in BpeTrainer's order") {
    for (const Json& one : golden("few_letters")) {
        CAPTURE(one["text"].get<std::string>());
        const TrainedBpe found =
            trained(one["text"], one["vocab_size"].get<std::int32_t>(), one["min_frequency"]);
        CHECK(joined(found.merges) == one["merges"].get<std::vector<std::string>>());
    }
}

TEST_CASE("a new byte-level tokenizer gives the ids of tokenizers, and every text back") {
    const ScratchFolder folder;
    CHECK(write_byte_level_bpe(folder.path(), counted<WordCounter>(shakespeare()), 2000, 0) ==
          2000);
    const auto tokenizer = HuggingfaceTokenizer::load(folder.path());
    CHECK(tokenizer->size() == 2000);
    CHECK(tokenizer->special().begin == 0);
    CHECK(tokenizer->special().ends == Ids{0});
    CHECK(!tokenizer->special().unk);
    for (const Json& one : golden("shakespeare")["texts"]) {
        Ids ids;
        const std::string text = one["text"];
        tokenizer->encode(text, ids);
        CHECK(ids == one["ids"].get<Ids>());
        CHECK(tokenizer->decode(ids) == text);
    }
    Ids ids;
    tokenizer->encode("a<|endoftext|>b", ids);
    CHECK(std::count(ids.begin(), ids.end(), 0) == 0);
    CHECK_NOTHROW(require_byte_level_size(257));
    CHECK_THROWS_WITH_AS(require_byte_level_size(256), doctest::Contains("--vocab-size 256"),
                         Error);
}

TEST_CASE("a tokenizer of characters has a token for each, in their order, and one for others") {
    const ScratchFolder folder;
    CHECK(write_character_tokenizer(folder.path(),
                                    counted<CharacterCounter>("ba\n\u00e9\u4e2db")) == 7);
    const auto tokenizer = HuggingfaceTokenizer::load(folder.path());
    Ids ids;
    tokenizer->encode("\nab\u00e9\u4e2d?", ids);
    CHECK(ids == Ids{2, 3, 4, 5, 6, 1});
    CHECK(tokenizer->special().unk == 1);
    CHECK(tokenizer->special().ends == Ids{0});
    ids.pop_back();
    CHECK(tokenizer->decode(ids) == "\nab\u00e9\u4e2d");
    ids.clear();
    tokenizer->encode(std::string(100'000, 'a'), ids);
    CHECK(ids == Ids(100'000, 3));
}
