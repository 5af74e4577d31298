// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <map>
#include <random>

#include "data/bpe/byte_alphabet.hpp"
#include "data/bpe/merge_table.hpp"
#include "data/bpe/piece_cache.hpp"
#include "data/bpe/symbol_merging.hpp"
#include "data/decoders/lossy_utf8.hpp"
#include "data/tokenizer_steps/token_trie.hpp"
#include "tests/data/tokenizer_json/golden.hpp"

using namespace lockstep;
using namespace lockstep::data;
using Ids = std::vector<std::int32_t>;

namespace {

// Follows the rule word by word: the merge of smallest rank, the leftmost of these.
Ids merged_slowly(Ids ids, const std::vector<Merge>& merges) {
    std::map<std::pair<std::int32_t, std::int32_t>, Merge> table;
    for (const Merge& merge : merges) table[{merge.left, merge.right}] = merge;
    while (true) {
        const Merge* best = nullptr;
        std::size_t place = 0;
        for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
            const auto found = table.find({ids[i], ids[i + 1]});
            if (found == table.end() || (best && found->second.rank >= best->rank)) continue;
            best = &found->second;
            place = i;
        }
        if (!best) return ids;
        ids[place] = best->merged;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
}

}  // namespace

TEST_CASE("symbols are merged by rank and from the left, few and many") {
    std::mt19937 random(5);
    for (int round = 0; round < 200; ++round) {
        std::vector<Merge> merges;
        std::map<std::pair<std::int32_t, std::int32_t>, bool> used;
        for (std::int32_t next = 4; next < 24; ++next) {
            const auto left = static_cast<std::int32_t>(random() % static_cast<unsigned>(next));
            const auto right = static_cast<std::int32_t>(random() % static_cast<unsigned>(next));
            if (!used.try_emplace({left, right}, true).second) continue;
            merges.push_back({left, right, next, static_cast<std::uint32_t>(random() % 8)});
        }
        // Equal ranks are not in files; here they make the left side matter.
        const MergeTable table(merges);
        SymbolMerger merger;
        for (const std::size_t length : {1u, 2u, 3u, 10u, 48u, 49u, 200u}) {
            Ids symbols;
            for (std::size_t i = 0; i < length; ++i)
                symbols.push_back(static_cast<std::int32_t>(random() % 4));
            Ids found;
            merger.merge(symbols, table, found);
            CHECK(found == merged_slowly(symbols, merges));
        }
    }
}

TEST_CASE("a piece of a million bytes takes no quadratic time") {
    // With quadratic time this would take hours, and the limit of the test would end it.
    const auto tokenizer = tests::golden_tokenizer("gpt2");
    const std::string text = std::string(1 << 20, 'e') + std::string(1 << 19, ' ') + "the";
    const Ids ids = tokenizer->encode(text, {});
    CHECK(tokenizer->decode(ids, SkipSpecial::no) == text);
}

TEST_CASE("the cache gives what was put in, whatever took the place of it") {
    PieceCache cache;
    std::mt19937 random(7);
    std::map<std::string, Ids> all;
    for (int i = 0; i < 100'000; ++i) {
        const std::string piece = std::to_string(random() % 50'000);
        const Ids ids(piece.size(), static_cast<std::int32_t>(random() % 1000));
        const auto [entry, is_new] = all.try_emplace(piece, ids);
        Ids found;
        if (cache.find(piece, found)) {
            REQUIRE_FALSE(is_new);
            REQUIRE(found == entry->second);
        } else {
            cache.insert(piece, entry->second);
        }
    }
    Ids found;
    const std::string nul(1, '\0');
    CHECK_FALSE(cache.find(nul, found));
    cache.insert(nul, Ids{7});
    CHECK(cache.find(nul, found));
    cache.insert(std::string(27, 'x'), Ids{1});
    CHECK_FALSE(cache.find(std::string(27, 'x'), found));
}

TEST_CASE("the alphabet of bytes is GPT-2's, and reversible") {
    std::string bytes, characters;
    for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
    append_byte_characters(bytes, characters);
    CHECK(bytes_of_characters(characters) == bytes);
    characters.clear();
    append_byte_characters(" \nA\x7F\xAD\xFF", characters);
    CHECK(characters == "\u0120\u010AA\u0121\u0143\u00FF");
    CHECK_FALSE(bytes_of_characters("a b"));
    CHECK_FALSE(bytes_of_characters("\u0144"));
}

TEST_CASE("texts of a list are found leftmost and longest") {
    TokenTrie trie;
    CHECK(trie.find("abc", 0).number == -1);
    trie.add("ab", 0);
    trie.add("abcd", 1);
    trie.add("bc", 2);
    trie.add("ab", 3);
    auto match = trie.find("xabcd", 0);
    CHECK((match.begin == 1 && match.end == 5 && match.number == 1));
    match = trie.find("xabc", 0);
    CHECK((match.begin == 1 && match.end == 3 && match.number == 0));
    match = trie.find("xabc", 2);
    CHECK((match.begin == 2 && match.end == 4 && match.number == 2));
}

TEST_CASE("bytes that are no UTF-8 become U+FFFD as Unicode recommends") {
    // Unicode 16, tables 3-8 to 3-11.
    CHECK(lossy_utf8("a\xC0\xAF\xE0\x80\xBF\xF0\x81\x82"
                     "A") ==
          "a\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"
          "A");
    CHECK(lossy_utf8("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");
    CHECK(lossy_utf8("\xF4\x91\x92\x93\xFF"
                     "A") ==
          "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"
          "A");
    CHECK(lossy_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
                     "A") ==
          "\uFFFD\uFFFD\uFFFD\uFFFD"
          "A");
    CHECK(lossy_utf8("x\xE4\xB8") == "x\uFFFD");
    CHECK(incomplete_bytes("x\xE4\xB8") == 2);
    CHECK(incomplete_bytes("x\xE4\xB8\xAD") == 0);
    CHECK(incomplete_bytes("x\xF0\x9F\x91") == 3);
    CHECK(incomplete_bytes("x\xF0\x80") == 0);
    CHECK(incomplete_bytes("x\x80") == 0);
    CHECK(incomplete_bytes("\xC3") == 1);
}
