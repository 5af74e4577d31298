// SPDX-License-Identifier: Apache-2.0
#include "data/text/unicode.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "data/tokenizers/re_split.hpp"

using namespace lockstep;
namespace unicode = data::unicode;

namespace {

std::string bytes_of(char32_t c) {
    std::string out;
    unicode::append(c, out);
    return out;
}

void append_word(std::vector<unsigned char>& record, std::int32_t value) {
    for (int shift = 0; shift < 32; shift += 8)
        record.push_back(static_cast<unsigned char>(static_cast<std::uint32_t>(value) >> shift));
}

// The record that tests/data/make_unicode_golden.py describes.
void append_record(char32_t c, std::vector<unsigned char>& record) {
    const std::string ch = bytes_of(c), sigma = "Σ";
    const auto kind = unicode::class_of(c);
    unsigned value = kind == unicode::Class::word ? 1 : kind == unicode::Class::space ? 2 : 0;
    const std::string contexts[] = {ch + sigma, "A" + ch + sigma, "A" + sigma + ch,
                                    "A" + sigma + ch + "B"};
    for (unsigned i = 0; i < 4; ++i)
        if (unicode::lower(contexts[i]).find("ς") != std::string::npos) value += 4u << i;
    record.push_back(static_cast<unsigned char>(value));
    const std::string low = unicode::lower(ch);
    if (low == ch) return;
    for (std::string_view rest = low; !rest.empty();) {
        const auto d = unicode::decode(rest);
        append_word(record, static_cast<std::int32_t>(d.code_point) - static_cast<std::int32_t>(c));
        rest.remove_prefix(d.bytes);
    }
}

std::uint64_t block_hash(char32_t block) {
    std::vector<unsigned char> record;
    for (char32_t c = block * 256; c < block * 256 + 256; ++c) append_record(c, record);
    std::uint64_t hash = 0xCBF29CE484222325ull;
    for (const unsigned char byte : record) hash = (hash ^ byte) * 0x100000001B3ull;
    return hash;
}

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> tokens;
    data::for_each_token(text, [&](std::string_view t) { tokens.emplace_back(t); });
    return tokens;
}

}  // namespace

TEST_CASE("classes, lower case and final sigma equal Python's for every code point") {
    std::ifstream golden("tests/golden/unicode.txt");
    REQUIRE(golden);
    unsigned first = 0, last = 0, blocks = 0;
    std::uint64_t hash = 0;
    golden >> std::hex;
    while (golden >> first >> last >> hash)
        for (unsigned block = first; block <= last; ++block, ++blocks) {
            CAPTURE(block);
            CHECK(block_hash(block) == hash);
        }
    CHECK(blocks == 0x1100 - 8);
}

TEST_CASE("UTF-8 goes there and back, and what is not UTF-8 is found") {
    for (char32_t c = 1; c < 0x110000; c += c < 0x3000 ? 1 : 97) {
        if (c >= 0xD800 && c < 0xE000) continue;
        const auto d = unicode::decode(bytes_of(c));
        REQUIRE(d.code_point == c);
        REQUIRE(d.bytes == bytes_of(c).size());
    }
    for (const char* bad :
         {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
          "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xE2\x82"}) {
        CAPTURE(bad);
        CHECK(unicode::first_invalid(std::string("ab") + bad) == 2);
    }
    CHECK(unicode::first_invalid("zażółć gęślą jaźń €𝄞") ==
          std::string_view("zażółć gęślą jaźń €𝄞").size());
}

TEST_CASE("str.lower in longer texts") {
    CHECK(unicode::lower("ΑΣ ΣΑΣ. ΑΣ'Α") == "ας σας. ασ'α");
    CHECK(unicode::lower("İSTANBUL") == "i\u0307stanbul");
    CHECK(unicode::lower("ÀÉÎ Straße ДЖ ǅ") == "àéî straße дж ǆ");
    CHECK(unicode::lower("Plain ASCII [@`{]") == "plain ascii [@`{]");
}

TEST_CASE("splitting follows \\w+|[^\\w\\s]|\\n") {
    CHECK(split("Don't  stop_it,\n42!") ==
          std::vector<std::string>{"Don", "'", "t", "stop_it", ",", "\n", "42", "!"});
    CHECK(split("naïve—été 你好，世界") ==
          std::vector<std::string>{"naïve", "—", "été", "你好", "，", "世界"});
    CHECK(split("a\u00A0b\u2028c\x1C"
                "d") == std::vector<std::string>{"a", "b", "c", "d"});
    CHECK(split("e\u0301") == std::vector<std::string>{"e", "\u0301"});
    CHECK(split("").empty());
    CHECK(split("\xFFx") == std::vector<std::string>{"\xFF", "x"});
}
