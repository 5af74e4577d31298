// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/dictionary.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "data/tokenizers/dictionary_tokenizer.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;
using namespace lockstep::tests;

namespace {

std::vector<std::string> tokens_of(const Dictionary& d) {
    std::vector<std::string> out;
    for (std::int32_t id = 4; id < d.size(); ++id) out.emplace_back(d.token(id));
    return out;
}

std::string load_error(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
    try {
        Dictionary::load(path, LetterCase::keep);
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("the order is by falling count, then by code points, behind the specials") {
    const Dictionary d({{"b", 2}, {"é", 2}, {"a", 2}, {"z", 5}, {"𝄞", 2}, {"｡", 2}, {"__end__", 9}},
                       {});
    CHECK(tokens_of(d) == std::vector<std::string>{"z", "a", "b", "é", "｡", "𝄞"});
    CHECK(d.find("__null__") == 0);
    CHECK(d.find("__unk__") == 3);
    CHECK(d.find("nowhere") == 3);
    CHECK(d.count(0) == 1000000003);
    CHECK(d.count(d.find("z")) == 5);
}

TEST_CASE("minfreq leaves out the rare, maxtokens counts the specials") {
    const std::vector<TokenCount> counts = {{"a", 3}, {"b", 2}, {"c", 1}};
    CHECK(tokens_of(Dictionary(counts, {.min_freq = 2})) == std::vector<std::string>{"a", "b"});
    CHECK(tokens_of(Dictionary(counts, {.max_tokens = 5})) == std::vector<std::string>{"a"});
}

TEST_CASE("what is saved can be loaded, escapes included") {
    const tests::ScratchFolder dir;
    const Dictionary d({{"\n", 7}, {"\\", 3}, {"\t", 2}, {"word", 1}},
                       {.letter_case = LetterCase::lower});
    d.save(dir / "d");
    CHECK(read_text(dir / "d").find("\n\\n\t7\n") != std::string::npos);
    const Dictionary again = Dictionary::load(dir / "d", LetterCase::lower);
    CHECK(tokens_of(again) == tokens_of(d));
    CHECK(again.hash() == d.hash());
    CHECK(again.count(4) == 7);
    CHECK(Dictionary::load(dir / "d", LetterCase::keep).hash() != d.hash());
}

TEST_CASE("ParlAI's own file comes back byte for byte") {
    const tests::ScratchFolder dir;
    const Dictionary d = Dictionary::load("examples/shakespeare/dict.parlai", LetterCase::lower);
    CHECK(d.size() == 11016);
    d.save(dir / "d");
    CHECK(read_text(dir / "d") == read_text("examples/shakespeare/dict.parlai"));
}

TEST_CASE("a bad dictionary file is refused by file and line") {
    const tests::ScratchFolder dir;
    const std::string path = dir / "d";
    CHECK(load_error(path, "a\tmany\n").starts_with(path + ":1: 'many' is not a count"));
    CHECK(load_error(path, "a\t-1\n").starts_with(path + ":1: '-1' is not a count"));
    CHECK(load_error(path, "a\t2\nb\xFF\t1\n").starts_with(path + ":2: not UTF-8 text"));
    CHECK(load_error(path, std::string("a\t2\n\0", 5)).starts_with(path + ":2: not UTF-8 text"));
    CHECK(load_error(path, "a\t2\n" + std::string((1 << 20) + 1, 'b'))
              .starts_with(path + ":2: the line is longer than 1 MiB"));
    CHECK(load_error(path, "").find("no tokens") != std::string::npos);
    CHECK_THROWS_AS(Dictionary::load(dir / "absent", LetterCase::keep), Error);
}

TEST_CASE("a dictionary encodes and decodes as ParlAI does") {
    const DictionaryTokenizer t(
        Dictionary({{"hello", 9}, {",", 8}, {"ας", 7}}, {.letter_case = LetterCase::lower}));
    std::vector<std::int32_t> ids = {1};
    t.encode("HELLO, ΑΣ stranger", ids);
    CHECK(ids == std::vector<std::int32_t>{1, 4, 5, 6, 3});
    ids.push_back(2);
    CHECK(t.decode(ids) == "hello , ας __unk__");
}

TEST_CASE("a dictionary of Windows or DOS has the same tokens, one of an old Mac is refused") {
    const tests::ScratchFolder dir;
    const std::string plain = "a\t5\nb\t4\n";
    std::ofstream(dir / "plain") << plain;
    const Dictionary expected = Dictionary::load(dir / "plain", LetterCase::keep);
    for (const std::string& text :
         {"\xEF\xBB\xBF" + plain, plain + "\x1A", std::string("a\t5\r\nb\t4\r\n\x1A"),
          std::string("a\t5\r\r\nb\t4")}) {
        CAPTURE(text);
        std::ofstream(dir / "d") << text;
        const Dictionary read = Dictionary::load(dir / "d", LetterCase::keep);
        CHECK(tokens_of(read) == tokens_of(expected));
        CHECK(read.hash() == expected.hash());
    }
    CHECK(load_error(dir / "d", "a\t5\rb\t4\r").find("d:1: a carriage return inside") !=
          std::string::npos);
    CHECK(load_error(dir / "d", std::string("\xFF\xFE"
                                            "a\0\t\0",
                                            6))
              .find("d: is UTF-16") != std::string::npos);
    CHECK(load_error(dir / "d", "\x1F\x8B\x08").find("compressed by gzip") != std::string::npos);
}

TEST_CASE("names of special tokens are words in a text, and special tokens in a delimiter") {
    for (const LetterCase letter_case : {LetterCase::keep, LetterCase::lower}) {
        const DictionaryTokenizer t(Dictionary({{"a", 2}, {"b", 1}}, {.letter_case = letter_case}));
        std::vector<std::int32_t> ids;
        t.encode("a __end__ b __null__ __start__ __unk__ a__end__", ids);
        CHECK(ids == std::vector<std::int32_t>{4, 3, 5, 3, 3, 3, 3});
        ids.clear();
        t.encode_delimiter(" __end__ __start__ ", ids);
        CHECK(ids == std::vector<std::int32_t>{2, 1});
        std::string found;
        t.find_specials("a __end__\n__END__ b__null__ __unk__ ___", [&](auto name, auto offset) {
            found += std::string(name) + "@" + std::to_string(offset) + " ";
        });
        CHECK(found == (letter_case == LetterCase::keep ? "__end__@2 __unk__@28 "
                                                        : "__end__@2 __END__@10 __unk__@28 "));
    }
}
