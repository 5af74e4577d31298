// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/stop_texts.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "data/text/unicode.hpp"
#include "launcher/generate/growing_text.hpp"
#include "launcher/generate/reply_generator.hpp"

using namespace lockstep;
using launcher::StopTexts;

namespace {

using Tokens = std::vector<std::int32_t>;

// Token 0 has no text, 3 is unknown, and each other one is a byte, as of SentencePiece's pieces of
// bytes: a character of which bytes are missing reads as U+FFFD.
class ByteTokenizer final : public data::Tokenizer {
public:
    void encode(std::string_view text, Tokens& out) const override {
        for (const char c : text) out.push_back(static_cast<unsigned char>(c));
    }
    std::string decode(std::span<const std::int32_t> ids) const override {
        decoded += ids.size();
        std::string bytes, text;
        for (const std::int32_t id : ids)
            if (id != 0) bytes += static_cast<char>(id);
        while (!bytes.empty()) {
            const std::size_t valid = data::unicode::first_invalid(bytes);
            text += bytes.substr(0, valid);
            if (valid < bytes.size()) text += "\xEF\xBF\xBD";
            bytes.erase(0, valid + 1);
        }
        return text;
    }
    std::int32_t size() const noexcept override { return 256; }
    std::uint64_t hash() const noexcept override { return 0; }
    std::vector<std::string> save(const std::string&) const override { return {}; }
    std::string_view name() const noexcept override { return "bytes"; }
    const data::SpecialTokens& special() const noexcept override { return special_; }

    mutable std::size_t decoded = 0;  // tokens, in all calls

private:
    data::SpecialTokens special_;
};

// Returns how many tokens of `text` there are when one of the stops is found first; 0: never.
std::size_t found_after(const StopTexts& stops, const Tokens& tokens) {
    for (std::size_t n = 1; n <= tokens.size(); ++n)
        if (stops.are_at_end(std::span(tokens).first(n))) return n;
    return 0;
}

Tokens tokens_of(const std::string& text) {
    Tokens tokens;
    ByteTokenizer().encode(text, tokens);
    return tokens;
}

// Says a text byte by byte, then END for ever.
class Speaker final : public model::IncrementalDecoder {
public:
    explicit Speaker(const std::string& text) : tokens_(tokens_of(text)) {}

    std::vector<int> start(const std::vector<Tokens>&, int, int most) override { return {most}; }
    void step(const Tokens&, const Tokens&, std::vector<float>& logits) override {
        logits.assign(256, 0);
        logits[said < tokens_.size() ? tokens_[said] : 2] = 99;
        ++said;
    }
    void reorder(const Tokens&) override {}
    std::int64_t vocabulary() const override { return 256; }
    model::Stacks stacks() const override { return model::Stacks::decoder; }
    int host_threads(std::int64_t) const override { return 1; }

    std::size_t said = 0;

private:
    const Tokens tokens_;
};

struct Shown {
    std::string reply, all;       // `all` is what was shown of it, joined
    std::size_t first_after = 0;  // tokens that were said when the first part was shown
};

Shown shown_of(const std::string& text, const std::vector<std::string>& stops, int most = 256) {
    const ByteTokenizer tokenizer;
    Speaker speaker(text);
    model::GenerationOptions options;
    options.max_length = most;
    launcher::ReplyGenerator replier(speaker, tokenizer, options, StopTexts(tokenizer, stops));
    REQUIRE(replier.grows());
    Shown found;
    found.reply = replier
                      .shown({5}, 0, {5},
                             [&](const std::string& part) {
                                 if (found.all.empty() && !part.empty())
                                     found.first_after = speaker.said;
                                 found.all += part;
                             })
                      .text;
    return found;
}

}  // namespace

TEST_CASE("a reply is shown while it grows, and what is shown is the reply") {
    for (const std::string text :
         {"to be or not", "a\n\nb  c ", "na\xC3\xAFve \xE2\x82\xAC 5 ", "x", "",
          "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", "\xEF\xBF\xBD lost"}) {
        CAPTURE(text);
        const Shown whole = shown_of(text, {});
        CHECK(whole.reply == text);
        CHECK(whole.all == text);
        // END takes the place of the last token of a reply that is too long.
        for (int most = 1; most <= static_cast<int>(text.size()); ++most) {
            const Shown cut = shown_of(text, {}, most);
            CHECK(cut.all == cut.reply);
        }
    }
    CHECK(shown_of("to be or not", {}).first_after == 4);  // "to ", and one token that waits
    CHECK(shown_of("\xE6\x97\xA5\xE6\x9C\xAC", {}).first_after == 4);
    model::GenerationOptions beam;
    beam.inference = model::Inference::beam;
    beam.beam_size = 2;
    const ByteTokenizer tokenizer;
    Speaker speaker("");
    CHECK_FALSE(launcher::ReplyGenerator(speaker, tokenizer, beam).grows());
}

TEST_CASE("no part of a stop text is shown") {
    const std::string text = "so it is\n\nUser: no";
    for (const std::string stop : {"\n\nUser:", "\n", "it is", "is\n", "so", "U"}) {
        CAPTURE(stop);
        const Shown found = shown_of(text, {stop, "never here"});
        CHECK(found.reply == text.substr(0, text.find(stop)));
        CHECK(found.all == found.reply);
    }
    // What only begins like a stop text is shown later.
    CHECK(shown_of("User is it", {"User:"}).all == "User is it");
}

TEST_CASE("a reply that begins otherwise than it seemed is shown again") {
    launcher::GrowingText text;
    CHECK(text.grow("one two", 0) == "one");
    CHECK(text.grow("One two three", 0).empty());
    CHECK(text.finish("One two three") == "\nOne two three");
}

TEST_CASE("a stop is found with its last token, wherever it lies") {
    const ByteTokenizer tokenizer;
    for (const std::string stop : {"\n\n", "User:", "\xE6\x97\xA5", "x", "\xC3\xA9\xE6\x97\xA5"}) {
        CAPTURE(stop);
        const StopTexts stops(tokenizer, {stop});
        for (std::size_t before = 0; before < 70; ++before) {
            const std::string text = std::string(before, 'a') + "\xC3\xA9" + stop + "Use";
            CHECK(found_after(stops, tokens_of(text)) == before + 2 + stop.size());
        }
        CHECK(found_after(stops, tokens_of(std::string(90, 'a') + "\nUser\n\xE6\x97")) == 0);
    }
}

TEST_CASE("tokens without a text do not hide a stop") {
    const ByteTokenizer tokenizer;
    const StopTexts stops(tokenizer, {"ab"});
    Tokens tokens(50, 'c');
    tokens.push_back('a');
    tokens.insert(tokens.end(), 40, 0);
    tokens.push_back('b');
    CHECK(found_after(stops, tokens) == tokens.size());
}

TEST_CASE("the first of several stops cuts") {
    const ByteTokenizer tokenizer;
    const StopTexts stops(tokenizer, {"ef", "cd"});
    CHECK(stops.cut("abcdef") == "ab");
    CHECK(stops.cut("abefcd") == "ab");
    CHECK(stops.cut("abc") == "abc");
    CHECK(stops.cut("cd").empty());
    CHECK(found_after(stops, tokens_of("abcdef")) == 4);
    const StopTexts none(tokenizer, {});
    CHECK(none.empty());
    CHECK(none.cut("abc") == "abc");
}

TEST_CASE("the time of a search does not grow with the reply") {
    const ByteTokenizer tokenizer;
    const StopTexts stops(tokenizer, {"\n\n"});
    const Tokens tokens(4000, 'a');
    tokenizer.decoded = 0;
    CHECK(found_after(stops, tokens) == 0);
    CHECK(tokenizer.decoded < 4000 * 100);
}
