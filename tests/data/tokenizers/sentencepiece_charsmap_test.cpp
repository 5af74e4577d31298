// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/sentencepiece_charsmap.hpp"

#include <doctest/doctest.h>
#include <sentencepiece_trainer.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <unordered_map>
#include <vector>

#include "data/tokenizers/sentencepiece_tokenizer.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

class Lines final : public sentencepiece::SentenceIterator {
public:
    Lines() : file_("examples/shakespeare/plain.txt") { Next(); }
    bool done() const override { return done_; }
    void Next() override { done_ = !std::getline(file_, line_); }
    const std::string& value() const override { return line_; }
    sentencepiece::util::Status status() const override { return {}; }

private:
    std::ifstream file_;
    std::string line_;
    bool done_ = false;
};

// Returns a model as other programs train it, with a table of characters.
std::string model_with(const std::string& rule) {
    Lines lines;
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(
        std::unordered_map<std::string, std::string>{{"model_type", "bpe"},
                                                     {"vocab_size", "600"},
                                                     {"pad_id", "0"},
                                                     {"bos_id", "1"},
                                                     {"eos_id", "2"},
                                                     {"unk_id", "3"},
                                                     {"byte_fallback", "true"},
                                                     {"normalization_rule_name", rule},
                                                     {"num_threads", "1"},
                                                     {"minloglevel", "3"}},
        &lines, &model);
    REQUIRE(status.ok());
    return model;
}

std::string bytes_of(const std::vector<std::uint32_t>& units) {
    const auto bytes = std::as_bytes(std::span(units));
    std::string text;
    for (const std::byte byte : bytes) text.push_back(static_cast<char>(byte));
    return text;
}

std::string length_and(const std::string& bytes) {
    REQUIRE(bytes.size() < 1 << 14);
    return {static_cast<char>(bytes.size() % 128 + 128), static_cast<char>(bytes.size() / 128)};
}

// Returns the fields of a model that give it this table; the last of them counts.
std::string with_table(const std::vector<std::uint32_t>& units, const std::string& texts) {
    const std::string table =
        bytes_of({static_cast<std::uint32_t>(4 * units.size())}) + bytes_of(units) + texts;
    const std::string spec = "\x12" + length_and(table) + table;
    return "\x1a" + length_and(spec) + spec;
}

constexpr std::uint32_t no_node = 1u << 31;

// An array with one node: from it `unit` leads on.
std::vector<std::uint32_t> array_of(std::uint32_t unit) {
    std::vector<std::uint32_t> units(256, no_node);
    units[0] = unit;
    return units;
}

}  // namespace

TEST_CASE("tables that SentencePiece itself writes are sound") {
    for (const char* rule : {"nmt_nfkc", "nmt_nfkc_cf", "nfkc", "identity"}) {
        CAPTURE(rule);
        const std::string model = model_with(rule);
        CHECK((model.size() > 50'000) == (std::string(rule) != "identity"));
        CHECK(charsmaps_are_sound(model));
        std::vector<std::int32_t> ids;
        SentencePieceTokenizer(model, "trained").encode("The \xEF\xBC\xAB\xE3\x83\x91 king", ids);
        CHECK(ids.size() > 3);
    }
}

TEST_CASE("a table that leads outside of itself is refused before the library follows it") {
    const std::string texts("a\0b\0", 4);
    CHECK(charsmaps_are_sound(with_table(array_of(0), texts)));
    CHECK_FALSE(charsmaps_are_sound(with_table(array_of(no_node), texts)));
    CHECK(charsmaps_are_sound(with_table(array_of(255u << 10), texts)));
    CHECK_FALSE(charsmaps_are_sound(with_table(array_of(256u << 10), texts)));
    CHECK_FALSE(charsmaps_are_sound(with_table(array_of(1u << 10 | 1u << 9), texts)));
    auto value = array_of(1u << 10 | 1u << 8);
    value[1] = no_node | 3;
    CHECK(charsmaps_are_sound(with_table(value, texts)));
    value[1] = no_node | 4;
    CHECK_FALSE(charsmaps_are_sound(with_table(value, texts)));
    CHECK_FALSE(charsmaps_are_sound(with_table(array_of(0), "")));
    CHECK_FALSE(charsmaps_are_sound(with_table({0, no_node}, texts)));
    CHECK_FALSE(charsmaps_are_sound(with_table({}, texts)));

    const std::string model = model_with("identity");
    CHECK_NOTHROW(SentencePieceTokenizer(model, "m"));
    const auto hostile = model + with_table(array_of(256u << 10), texts);
    CHECK_THROWS_WITH_AS(SentencePieceTokenizer(hostile, "m"),
                         doctest::Contains("m: not a SentencePiece model, or a damaged one"),
                         Error);
}

TEST_CASE("bytes that are no model are left to the library") {
    for (const std::size_t bytes : {0, 1, 2, 11, 5'000})
        for (const char byte : {'\0', '\x1a', '\x7f', '\xff'}) {
            const std::string model(bytes, byte);
            (void)charsmaps_are_sound(model);
            CHECK_THROWS_AS(SentencePieceTokenizer(model, "m"), Error);
        }
}

TEST_CASE("a model for which the library throws an exception of its own is a damaged file") {
    const auto model = [](const char* name) {
        return tests::read_text(std::string("tests/fuzz/corpus/sentencepiece_model/") + name);
    };
    CHECK_NOTHROW(SentencePieceTokenizer(model("unigram"), "m"));
    CHECK_THROWS_WITH_AS(SentencePieceTokenizer(model("nul"), "m"),
                         doctest::Contains("m: not a SentencePiece model, or a damaged one"),
                         Error);
}
