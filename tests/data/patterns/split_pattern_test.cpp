// SPDX-License-Identifier: Apache-2.0
#include "data/patterns/split_pattern.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "data/patterns/known_patterns.hpp"
#include "data/patterns/nfc.hpp"
#include "data/patterns/pcre2_pattern.hpp"
#include "data/patterns/utf8.hpp"
#include "runtime/core/error.hpp"
#include "tests/data/patterns/pattern_matches.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using nlohmann::json;

namespace {

constexpr char32_t block = 0x4000;

json golden() { return json::parse(read_text("tests/golden/patterns.json")); }

std::string utf8(char32_t c) {
    std::string out;
    data::utf8::append(c, out);
    return out;
}

std::vector<char32_t> code_points(char32_t first) {
    std::vector<char32_t> found;
    for (char32_t c = first; c < first + block; ++c)
        if (c < 0xD800 || c >= 0xE000) found.push_back(c);
    return found;
}

// zlib's checksum of lines, each with its line end, as make_patterns_golden.py makes it.
class Checksum {
public:
    void add(const std::string& line) {
        for (const std::string_view part : {std::string_view(line), std::string_view("\n")})
            value_ = crc32(value_, reinterpret_cast<const Bytef*>(part.data()),
                           static_cast<uInt>(part.size()));
    }
    std::uint64_t value() const { return value_; }

private:
    uLong value_ = 0;
};

std::string match_line(const data::SplitPattern& pattern, const std::string& text) {
    std::string line;
    for (const std::size_t end : matches_of(pattern, text))
        line += (line.empty() ? "" : " ") + std::to_string(end);
    return line;
}

// The generator of make_patterns_golden.py.
class RandomTexts {
public:
    RandomTexts(const json& alphabets, std::uint64_t seed) : state_(seed) {
        for (const std::string alphabet : alphabets) {
            auto& characters = alphabets_.emplace_back();
            for (std::size_t at = 0; at < alphabet.size();) {
                const std::size_t bytes = data::utf8::character_at(alphabet, at).bytes;
                characters.push_back(alphabet.substr(at, bytes));
                at += bytes;
            }
        }
    }

    std::string next() {
        const auto& alphabet = alphabets_[below(alphabets_.size())];
        std::string text;
        for (std::size_t left = below(40); left > 0; --left)
            text += alphabet[below(alphabet.size())];
        return text;
    }

private:
    std::size_t below(std::size_t limit) {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return (state_ >> 32) % limit;
    }

    std::vector<std::vector<std::string>> alphabets_;
    std::uint64_t state_;
};

std::string sweep_text(char32_t code_point) {
    const std::string c = utf8(code_point);
    return c + "|a" + c + "b|1" + c + " " + c + c + "  " + c + "\n";
}

std::uint64_t sweep_checksum(const data::SplitPattern& pattern, char32_t first) {
    Checksum sum;
    std::string text;
    std::size_t characters = 0;
    for (const char32_t c : code_points(first)) {
        text += sweep_text(c);
        if (++characters % 64 != 0) continue;
        sum.add(match_line(pattern, text));
        text.clear();
    }
    return sum.value();
}

std::string without_matches(const data::SplitPattern& pattern, const std::string& text) {
    std::string left;
    std::size_t at = 0;
    const auto found = matches_of(pattern, text);
    for (std::size_t i = 0; i < found.size(); i += 2) {
        left += text.substr(at, found[i] - at);
        at = found[i + 1];
    }
    return left + text.substr(at);
}

// Checks one checksum for each block of code points; the surrogates' has no golden one.
template <class ChecksumOf>
void check_sweep(const json& expected, ChecksumOf&& checksum_of) {
    std::size_t i = 0;
    for (char32_t first = 0; first < 0x110000; first += block) {
        CAPTURE(first);
        CHECK(checksum_of(first) == expected.at(i++).get<std::uint64_t>());
    }
    CHECK(i == expected.size());
}

template <class LineOf>
void check_random(const json& expected, RandomTexts texts, LineOf&& line_of) {
    REQUIRE(expected.size() == 20);
    for (const auto& hundred : expected) {
        Checksum sum;
        for (int i = 0; i < 100; ++i) sum.add(line_of(texts.next()));
        CHECK(sum.value() == hundred.get<std::uint64_t>());
    }
}

}  // namespace

TEST_CASE("patterns match in awkward and in random texts where tokenizers' do") {
    const json all = golden();
    for (const auto& record : all.at("patterns")) {
        const std::string regex = record.at("pattern");
        CAPTURE(regex);
        const auto pattern = data::make_split_pattern(regex);
        for (std::size_t i = 0; i < all.at("texts").size(); ++i) {
            const std::string text = all["texts"][i];
            CAPTURE(text);
            CHECK(matches_of(*pattern, text) ==
                  record.at("awkward").at(i).get<std::vector<std::size_t>>());
        }
        std::size_t characters = 0;
        for (std::size_t at = 0; at < regex.size(); ++characters)
            at += data::utf8::character_at(regex, at).bytes;
        check_random(record.at("random"), RandomTexts(all.at("alphabets"), characters),
                     [&](const std::string& text) { return match_line(*pattern, text); });
    }
}

TEST_CASE("patterns of the usual families match at every code point where tokenizers' do") {
    const json all = golden();
    int swept = 0;
    for (const auto& record : all.at("patterns")) {
        if (!record.contains("sweep")) continue;
        const std::string regex = record.at("pattern");
        CAPTURE(regex);
        const auto pattern = data::make_split_pattern(regex);
        check_sweep(record.at("sweep"),
                    [&](char32_t first) { return sweep_checksum(*pattern, first); });
        ++swept;
    }
    CHECK(swept == 5);
}

TEST_CASE("each class of a regular expression holds the code points that it holds in tokenizers") {
    const json all = golden();
    REQUIRE(all.at("classes").size() == 51);
    for (const auto& record : all.at("classes")) {
        const std::string regex = record.at("pattern");
        CAPTURE(regex);
        const auto pattern = data::make_split_pattern(regex);
        check_sweep(record.at("sweep"), [&](char32_t first) {
            std::string text;
            for (const char32_t c : code_points(first)) text += utf8(c);
            Checksum sum;
            sum.add(without_matches(*pattern, text));
            return sum.value();
        });
    }
}

TEST_CASE("NFC equals tokenizers' for every code point and for random marks") {
    const json all = golden();
    check_sweep(all.at("nfc").at("sweep"), [](char32_t first) {
        Checksum sum;
        for (const char32_t c : code_points(first))
            sum.add(data::nfc(utf8(c) + "a" + utf8(c) + "\u0301" + utf8(c) + "\u0323\u1161" +
                              utf8(c) + "\u11a8"));
        return sum.value();
    });
    check_random(all.at("nfc").at("random"), RandomTexts(all.at("alphabets"), 1),
                 [](const std::string& text) { return data::nfc(text); });
    CHECK(data::nfc("") == "");
    CHECK(data::nfc("e\u0301 \u1112\u1161\u11ab a\u0323\u0307 A\u030a\u0301") == "é 한 ạ̇ Ǻ");
}

TEST_CASE("the scanners by hand and PCRE2 find the same in random texts") {
    const json alphabets = {"abcstremvldSTREMVLD'' 12345\t\n\r.,-_ ", "a' \n\r1", "s't \x7f\x01 2"};
    for (const auto regex :
         {data::gpt2_pattern, data::llama3_pattern, data::qwen2_pattern, data::qwen35_pattern}) {
        CAPTURE(regex);
        const auto by_hand = data::make_known_pattern(regex);
        REQUIRE(by_hand);
        const auto by_pcre2 = data::make_pcre2_pattern(std::string(regex));
        RandomTexts texts(alphabets, 7);
        for (int i = 0; i < 3000; ++i) {
            const std::string text = texts.next();
            CAPTURE(text);
            REQUIRE(matches_of(*by_hand, text) == matches_of(*by_pcre2, text));
            for (std::size_t from = 0; from <= text.size(); ++from)
                REQUIRE(by_hand->next(text, from).end == by_pcre2->next(text, from).end);
        }
    }
    CHECK_FALSE(data::make_known_pattern("\\s+"));
}

TEST_CASE("a long run is one match, and a search sees what stands before it") {
    const std::string run(2'000'000, 'a');
    for (const char* regex : {"(?:a|bc)+", "\\p{L}+", "(?:a{1,2}b?)*c?"}) {
        CAPTURE(regex);
        CHECK(matches_of(*data::make_split_pattern(regex), run) ==
              std::vector<std::size_t>{0, run.size()});
    }
    const auto behind = data::make_split_pattern("(?<=a)b");
    CHECK(behind->next("ab", 1).begin == 1);
    CHECK(behind->next("ab", 2).begin == std::string_view::npos);
    for (const auto regex : {data::gpt2_pattern, data::llama3_pattern})
        CHECK(data::make_split_pattern(std::string(regex))->next("ab", 2).begin ==
              std::string_view::npos);
}

TEST_CASE("a pattern that tries too many ways ends with an error") {
    const auto hostile = data::make_split_pattern("(?:\\p{L}+)+1");
    const std::string text = std::string(60, 'a') + "!1";
    CHECK_THROWS_WITH_AS(hostile->next(text, 0), doctest::Contains("gives up at byte 0"), Error);
}

TEST_CASE("several threads search with one pattern") {
    const auto pattern = data::make_split_pattern("(?:ab|a)+|\\s+(?!\\S)");
    const std::string text = "abaab  a   ab aab";
    const auto expected = matches_of(*pattern, text);
    std::vector<std::vector<std::size_t>> found(4);
    std::vector<std::thread> threads;
    for (auto& mine : found)
        threads.emplace_back([&pattern, &text, &mine] {
            for (int i = 0; i < 200; ++i) mine = matches_of(*pattern, text);
        });
    for (auto& thread : threads) thread.join();
    for (const auto& mine : found) CHECK(mine == expected);
}
