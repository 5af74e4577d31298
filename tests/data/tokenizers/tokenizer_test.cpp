// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/tokenizer.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "data/tokenizers/dictionary_tokenizer.hpp"
#include "data/tokenizers/sentencepiece_charsmap.hpp"
#include "data/tokenizers/sentencepiece_tokenizer.hpp"
#include "data/tokenizers/sentencepiece_training.hpp"
#include "data/tokenizers/tokenizer_file.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

SentenceSample shakespeare_sample(std::int64_t sentences) {
    SentenceSample sample(sentences, 1);
    std::ifstream file("examples/shakespeare/plain.txt");
    for (std::string line; std::getline(file, line);) sample.add(line);
    return sample;
}

std::vector<std::int32_t> encoded(const Tokenizer& t, std::string_view text) {
    std::vector<std::int32_t> ids;
    t.encode(text, ids);
    return ids;
}

SentencePieceTokenizer trained(SentencePieceModel model) {
    TokenizerOptions options;
    options.sentencepiece_model = model;
    options.vocab_size = 600;
    return {train_sentencepiece(shakespeare_sample(2000), options, 1), "trained"};
}

}  // namespace

TEST_CASE("SentencePiece loses nothing and keeps the specials' places") {
    for (const auto model : {SentencePieceModel::unigram, SentencePieceModel::bpe}) {
        const SentencePieceTokenizer t = trained(model);
        CHECK(t.size() > 500);
        CHECK(t.size() <= 600);
        for (const char* text : {"To be, or not to be", "  two  spaces ", "a\nb\n\n c",
                                 "日本 🙂 é\t!", "__start__ __unk__", "\n", "", "a▁b ▁ ▁▁ c▁",
                                 "▁", " ▁\n▁ x", "<s> </s> <unk> <0x0A> <0xE2><0x96><0x81>",
                                 "▂▃▅ ⁇ ﬁ ｆｕｌｌ \u200B\uFEFF\u2028\u00A0x\r\x0C\x1A \uFFFD"}) {
            CAPTURE(text);
            const auto ids = encoded(t, text);
            CHECK(t.decode(ids) == text);
            for (const auto id : ids) CHECK((id > 3 && id < t.size()));
        }
        CHECK(encoded(t, "the king").size() < 6);
    }
}

TEST_CASE("lines joined by a line feed have the tokens of the lines") {
    const SentencePieceTokenizer t = trained(SentencePieceModel::unigram);
    auto joined = encoded(t, "My lord");
    const auto feed = encoded(t, "\n"), second = encoded(t, "Who is there?");
    REQUIRE(feed.size() == 1);
    joined.insert(joined.end(), feed.begin(), feed.end());
    joined.insert(joined.end(), second.begin(), second.end());
    CHECK(encoded(t, "My lord\nWho is there?") == joined);
}

TEST_CASE("a saved tokenizer opens again, and a changed one is refused") {
    const tests::ScratchFolder dir;
    const SentencePieceTokenizer pieces = trained(SentencePieceModel::unigram);
    pieces.save(dir.path());
    CHECK(open_tokenizer(dir.path())->name() == "sentencepiece");
    CHECK(encoded(*open_tokenizer(dir.path()), "My lord") == encoded(pieces, "My lord"));

    const DictionaryTokenizer words(
        Dictionary({{"my", 2}, {"lord", 1}}, {.letter_case = LetterCase::lower}));
    words.save(dir.path());
    CHECK(encoded(*open_tokenizer(dir.path()), "My lord") == std::vector<std::int32_t>{4, 5});
    std::ofstream(dir / "dictionary.txt", std::ios::app) << "more\t1\n";
    CHECK_THROWS_WITH_AS(open_tokenizer(dir.path()), doctest::Contains("dictionary.txt: changed"),
                         Error);
    std::ofstream(dir / "tokenizer.json") << "{}";
    CHECK_THROWS_WITH_AS(open_tokenizer(dir.path()), doctest::Contains("tokenizer.json"), Error);
    std::ofstream(dir / "tokenizer.json")
        << R"({"tokenizer": "re", "file": "dictionary.txt", "hash": "0", "letter_case": 1})";
    CHECK_THROWS_WITH_AS(open_tokenizer(dir.path()), doctest::Contains("\"letter_case\" is not"),
                         Error);
    CHECK_THROWS_WITH_AS(open_tokenizer(dir / "absent"), doctest::Contains("absent"), Error);
}

TEST_CASE("the sample is bounded, fair and repeatable") {
    SentenceSample a(100, 7), b(100, 7);
    for (int i = 0; i < 10000; ++i) a.add(std::to_string(i)), b.add(std::to_string(i));
    REQUIRE(a.sentences().size() == 100);
    CHECK(a.sentences() == b.sentences());
    long sum = 0;
    for (const auto& s : a.sentences()) sum += std::stol(s);
    CHECK(sum / 100 > 4000);
    CHECK(sum / 100 < 6000);
}

TEST_CASE("a vocabulary that SentencePiece cannot make is a config error") {
    TokenizerOptions options;
    options.vocab_size = 100;
    CHECK_THROWS_WITH_AS(train_sentencepiece(shakespeare_sample(10), options, 1),
                         doctest::Contains("--vocab-size 100"), Error);
}

TEST_CASE("a model that replaces characters or spaces says so, one of prepare does not") {
    CHECK_FALSE(trained(SentencePieceModel::unigram).normalizes());
    CHECK_FALSE(model_normalizes({"\x1A\x02\x20\x00", 4}));
    CHECK(model_normalizes({"\x1A\x02\x20\x01", 4}));
    CHECK(model_normalizes({"\x1A\x05\x12\x01x\x20\x00", 7}));
    CHECK(model_normalizes(""));
}

TEST_CASE("special tokens are written, and those of older files are 0 to 3") {
    const tests::ScratchFolder dir;
    const DictionaryTokenizer words(Dictionary({{"a", 2}, {"b", 1}}, {}));
    words.save(dir.path());
    const std::string path = dir / "tokenizer.json", written = tests::read_text(path);
    CHECK(read_tokenizer_file(dir.path()).special == SpecialTokens{});
    const auto with = [&](const std::string& special) {
        auto json = nlohmann::json::parse(written);
        special.empty() ? void(json.erase("special_tokens"))
                        : void(json["special_tokens"] = nlohmann::json::parse(special));
        std::ofstream(path) << json;
        try {
            (void)open_tokenizer(dir.path());
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    CHECK(with("") == "no error");
    const std::string own = R"("null": 0, "start": 1, "begin": null, "unk": 3, "ends": )";
    CHECK(with("{" + own + "[2]}") == "no error");
    for (const std::string ends : {"[]", "[-1]", "[2.5]", "2", "[4294967296]", "null"}) {
        CAPTURE(ends);
        CHECK(with("{" + own + ends + "}").find("\"special_tokens/ends\"") != std::string::npos);
    }
    CHECK(with("[]").find("special_tokens") != std::string::npos);
    CHECK(with("{}").find("\"special_tokens/null\" is missing") != std::string::npos);
    CHECK(with("{" + own + "[3]}").find("are not those of dictionary.txt") != std::string::npos);
}

TEST_CASE("special tokens that a tokenizer lacks come back as absent") {
    const tests::ScratchFolder dir;
    const SpecialTokens special{.null = std::nullopt,
                                .start = std::nullopt,
                                .begin = 7,
                                .ends = {7, 9},
                                .unk = std::nullopt};
    write_tokenizer_file(dir.path(),
                         {.name = "x", .file = "y", .letter_case = "keep", .special = special});
    CHECK(read_tokenizer_file(dir.path()).special == special);
    CHECK_FALSE(read_tokenizer_file(dir.path()).reply_begin);
    write_tokenizer_file(
        dir.path(),
        {.name = "x", .file = "y", .letter_case = "keep", .special = special, .reply_begin = 5});
    CHECK(read_tokenizer_file(dir.path()).reply_begin == 5);
    CHECK(special.empty_context() == 7);
    CHECK(SpecialTokens{}.empty_context() == 0);
    CHECK_FALSE(SpecialTokens{.start = std::nullopt}.empty_context());
}
