// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/encoded_chunk.hpp"

#include <doctest/doctest.h>

#include "data/tokenizers/dictionary_tokenizer.hpp"
#include "runtime/core/error.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

// The tokens a, b, ... have the ids 4, 5, ...; a line feed is 12.
DictionaryTokenizer letters() {
    std::vector<TokenCount> counts;
    for (const char* token : {"a", "b", "c", "d", "e", "f", "g", "h", "\n"})
        counts.emplace_back(token, 100 - counts.size());
    return DictionaryTokenizer(Dictionary(std::move(counts), {}));
}

EncodedChunk encode(const std::string& text, const EncodeSettings& settings) {
    TextChunk chunk;
    chunk.path = "f";
    chunk.text = text;
    return encode_dialogues(chunk, letters(), settings);
}

// "source>target" of each row, as letters; a line feed is a slash.
std::string rows(const EncodedChunk& chunk) {
    std::string out;
    const auto side = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            out += chunk.ids[i] == 12 ? '/' : static_cast<char>('a' + chunk.ids[i] - 4);
    };
    for (const EncodedRow& row : chunk.rows) {
        side(row.source_begin, row.source_end);
        out += '>';
        side(row.target_begin, row.target_end);
        out += ' ';
    }
    return out;
}

constexpr const char* episode =
    "text:a b\tlabels:c\ntext:d\tlabels:e f\ntext:g\tlabels:h\tepisode_done:1\ntext:a\tlabels:b\n";

}  // namespace

TEST_CASE("a context is the episode so far, labels included") {
    CHECK(rows(encode(episode, {})) == "ab>c ab/c/d>ef ab/c/d/ef/g>h a>b ");
}

TEST_CASE("history size counts utterances, the new one included") {
    EncodeSettings settings;
    settings.read.history_size = 1;
    CHECK(rows(encode(episode, settings)) == "ab>c d>ef g>h a>b ");
    settings.read.history_size = 2;
    CHECK(rows(encode(episode, settings)) == "ab>c c/d>ef ef/g>h a>b ");
    settings.read.delimiter = " h ";
    CHECK(rows(encode(episode, settings)) == "ab>c chd>ef efhg>h a>b ");
}

TEST_CASE("one of several labels is the target, by seed and line; all are kept for evaluation") {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "text:a\tlabels:b|c|d\tepisode_done:True\n";
    EncodeSettings settings;
    settings.references = EncodeSettings::References::kept;
    const EncodedChunk chunk = encode(text, settings);
    const std::string first = rows(chunk);
    for (const char* row : {"a>b ", "a>c ", "a>d "}) CHECK(first.find(row) != std::string::npos);
    CHECK(first == rows(encode(text, settings)));
    settings.seed = 2;
    CHECK(first != rows(encode(text, settings)));
    REQUIRE(chunk.references.size() == 600);
    CHECK(chunk.rows[199].references_begin == 597);
    CHECK(chunk.rows[199].references_end == 600);
    CHECK(chunk.references[599] == "d");
}

TEST_CASE("a chosen label is also the one in the later context") {
    std::string text;
    for (int i = 0; i < 40; ++i)
        text += "text:a\tlabels:b|c\ntext:d\tlabels:e\tepisode_done:True\n";
    const std::string found = rows(encode(text, {}));
    CHECK(found.find("a>b a/b/d>e ") != std::string::npos);
    CHECK(found.find("a>c a/c/d>e ") != std::string::npos);
    CHECK(found.find("a>b a/c/d") == std::string::npos);
    CHECK(found.find("a>c a/b/d") == std::string::npos);
}

TEST_CASE("an endless episode is refused unless the history is bounded") {
    std::string text;
    for (int i = 0; i < 10'002; ++i) text += "text:a\tlabels:b\n";
    CHECK_THROWS_WITH_AS(encode(text, {}), doctest::Contains("more than 10000 turns"), Error);
    EncodeSettings settings;
    settings.read.history_size = 4;
    CHECK(encode(text, settings).rows.size() == 10'002);
}

TEST_CASE("an empty context is refused where no token can stand for it") {
    class Bare final : public Tokenizer {
    public:
        explicit Bare(SpecialTokens special, std::optional<std::int32_t> text_begin = {},
                      std::optional<std::int32_t> text_end = {})
            : special_(std::move(special)), text_begin_(text_begin), text_end_(text_end) {}
        std::optional<std::int32_t> text_begin() const override { return text_begin_; }
        std::optional<std::int32_t> text_end() const override { return text_end_; }
        std::optional<std::int32_t> label_begin() const override {
            return text_end_ ? text_begin_ : std::nullopt;
        }
        void encode(std::string_view text, std::vector<std::int32_t>& out) const override {
            out.insert(out.end(), text.begin(), text.end());
        }
        std::string decode(std::span<const std::int32_t>) const override { return ""; }
        std::int32_t size() const noexcept override { return 256; }
        std::uint64_t hash() const noexcept override { return 0; }
        std::vector<std::string> save(const std::string&) const override { return {}; }
        std::string_view name() const noexcept override { return "bare"; }
        const SpecialTokens& special() const noexcept override { return special_; }

    private:
        SpecialTokens special_;
        std::optional<std::int32_t> text_begin_, text_end_;
    };
    TextChunk chunk;
    chunk.path = "f";
    chunk.text = "text:a\tlabels:b\ntext:\tlabels:c\tepisode_done:1\ntext:\tlabels:d\n";
    chunk.first_line = 1;
    EncodeSettings settings;
    CHECK(
        encode_dialogues(chunk, Bare({.start = std::nullopt, .begin = 5}), settings).rows.size() ==
        3);
    CHECK_THROWS_WITH_AS(encode_dialogues(chunk, Bare({.start = std::nullopt}), settings),
                         doctest::Contains("f:3: a context without text"), Error);
    // A token that begins every text begins each context, also one without text, and no label.
    const auto begun = encode_dialogues(chunk, Bare({.start = std::nullopt}, 7), settings);
    REQUIRE(begun.rows.size() == 3);
    for (const EncodedRow& row : begun.rows) {
        CHECK(row.before_source == 7);
        CHECK(begun.ids[row.target_begin] != 7);
    }
    CHECK(begun.rows[2].source_end == begun.rows[2].source_begin);
    // Also where the history is cut, and where nobody spoke before the first answer.
    settings.read.history_size = 1;
    settings.read.texts = Texts::as_written;
    const auto cut = encode_dialogues(chunk, Bare({.start = std::nullopt}, 7), settings);
    for (const EncodedRow& row : cut.rows) CHECK(row.before_source == 7);
    CHECK(cut.ids[cut.rows[2].target_begin] == 'd');
    // What an encoder reads may have an end, too, and stands for an empty text by itself.
    const auto ended =
        encode_dialogues(chunk, Bare({.null = {}, .start = 9}, std::nullopt, 8), settings);
    REQUIRE(ended.rows.size() == 3);
    for (const EncodedRow& row : ended.rows) CHECK(row.after_source == 8);
    const auto both = encode_dialogues(chunk, Bare({.start = 9}, 7, 8), settings);
    for (const EncodedRow& row : both.rows) CHECK(row.before_target == 7);
}

TEST_CASE("nobody's words before the first answer are no part of later contexts") {
    EncodeSettings settings;
    settings.read.format = TextFormat::messages;
    const std::string talk =
        R"({"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"b"},)"
        R"({"role":"assistant","content":"c"}]})";
    settings.read.texts = Texts::as_written;
    CHECK(rows(encode(talk, settings)) == ">a a/b>c ");
    settings.read.history_size = 2;
    CHECK(rows(encode(talk, settings)) == ">a a/b>c ");
}
