// SPDX-License-Identifier: Apache-2.0
#include "data/patterns/regex_translation.hpp"

#include <doctest/doctest.h>

#include <string>

#include "data/patterns/split_pattern.hpp"
#include "runtime/core/error.hpp"
#include "tests/data/patterns/pattern_matches.hpp"

using namespace lockstep;

TEST_CASE("what other engines read otherwise is refused by name") {
    const struct {
        const char *regex, *named;
    } refused[] = {
        {"a.b", "\".\" at byte 1"},
        {"^a", "\"^\" at byte 0"},
        {"(a)", "\"(\" at byte 0"},
        {"(?<name>a)", "\"(?<n\""},
        {"(?>a)", "\"(?>\""},
        {"(?i)a", "\"(?i\""},
        {"(?m:a)", "\"(?m\""},
        {"(?s:a)", "\"(?s\""},
        {"(?x: a)", "\"(?x\""},
        {"(?-i:a)", "\"(?-\""},
        {"(?#note)", "\"(?#\""},
        {"\\h+", "\"\\h\""},
        {"\\H", "\"\\H\""},
        {"\\b", "\"\\b\""},
        {"\\B", "\"\\B\""},
        {"\\A", "\"\\A\""},
        {"\\z", "\"\\z\""},
        {"\\Z", "\"\\Z\""},
        {"\\G", "\"\\G\""},
        {"\\K", "\"\\K\""},
        {"\\R", "\"\\R\""},
        {"\\X", "\"\\X\""},
        {"\\D", "\"\\D\""},
        {"\\W", "\"\\W\""},
        {"\\1", "\"\\1\""},
        {"\\k<a>", "\"\\k\""},
        {"\\u0061", "\"\\u\""},
        {"\\x41", "\"\\x\""},
        {"\\0", "\"\\0\""},
        {"\\é", "\"\\é\""},
        {"a\\", "\"\\\" at byte 1"},
        {"\\pL", "\"\\p\""},
        {"\\p{^L}", "\"\\p{^L}\""},
        {"\\p{Letter}", "\"\\p{Letter}\""},
        {"\\p{Script=Han}", "\"\\p{Script=Han}\""},
        {"\\p{C}", "\"\\p{C}\""},
        {"\\p{w}", "\"\\p{w}\""},
        {"\\p{L", "\"\\p{L\""},
        {"\\p{", "\"\\p{\""},
        {"\\P{L}", "\"\\P\""},
        {"(?i:\\p{Lu})", "\"\\p{Lu}\" at byte 4"},
        {"(?i:é)", "\"é\" at byte 4"},
        {"(?i:[é])", "\"é\" at byte 5"},
        {"(?i:as(?:S))", "\"ss\""},
        {"(?i:fi)", "\"fi\""},
        {"(?i:xST)", "\"st\""},
        {"[a-z&&[^b]]", "\"&&\""},
        {"[a[bc]]", "\"[\" at byte 2"},
        {"[[:alpha:]]", "\"[:alpha:]\""},
        {"[]a]", "\"[]\" at byte 0"},
        {"[^]a]", "\"[^]\" at byte 0"},
        {"[]", "\"[]\""},
        {"[a", "\"[a\""},
        {"[z-a]", "\"z-a\""},
        {"[\\w-x]", "\"\\w-x\""},
        {"[a-\\d]", "\"a-\\d\""},
        {"[a-c-e]", "\"-\" at byte 4"},
        {"[--a]", "\"--a\""},
        {"\\p{N}{1,3}+", "\"{1,3}+\""},
        {"a{2}+", "\"{2}+\""},
        {"a{2}?", "\"{2}?\""},
        {"a{,2}", "\"{,2}\""},
        {"a{2,1}", "\"{2,1}\""},
        {"a{", "\"{\" at byte 1"},
        {"a{b}", "\"{b}\""},
        {"a{1,b}", "\"{1,b}\""},
        {"a{70000}", "\"{70000}\""},
        {"a{99999999999999999999}", "\"{99999999999999999999}\""},
        {"a**", "\"**\""},
        {"a+{2}", "\"+{\""},
        {"a?+?", "\"?+?\""},
        {"*a", "\"*\" at byte 0"},
        {"a|+", "\"+\" at byte 2"},
        {"{2}", "\"{\" at byte 0"},
        {"$+", "\"+\" at byte 1"},
        {"(?=a)*", "\"*\" at byte 5"},
        {"(?:a", "\"(?:a\""},
        {"a)", "\")\" at byte 1"},
        {"(?", "\"(?\""},
        {"(?<=a+)b", "PCRE2 refuses"},
    };
    for (const auto& r : refused) {
        CAPTURE(r.regex);
        CHECK_THROWS_WITH_AS(data::make_split_pattern(r.regex), doctest::Contains(r.named), Error);
        try {
            data::make_split_pattern(r.regex);
        } catch (const Error& e) {
            CHECK(e.kind() == ErrorKind::data);
            CHECK(std::string(e.what()).find('\n') == std::string::npos);
        }
    }
    const std::string deep = [] {
        std::string text;
        for (int i = 0; i < 5000; ++i) text += "(?:";
        return text;
    }();
    CHECK_THROWS_WITH_AS(data::pcre2_regex(deep), doctest::Contains("inside too many"), Error);
}

TEST_CASE("constructs of the list keep their meaning") {
    const struct {
        const char *regex, *text;
        std::vector<std::size_t> matches;
    } read[] = {
        {"a|bc", "abcb", {0, 1, 1, 3}},
        {"a??b", "aab", {1, 3}},
        {"a{2,3}?", "aaaaa", {0, 2, 2, 4}},
        {"a{2}", "aaaaa", {0, 2, 2, 4}},
        {"a{2,}b", "aaab", {0, 4}},
        {"a++a", "aaa", {}},
        {"a*+", "aab", {0, 2}},
        {"a?+b", "ab", {0, 2}},
        {"(?i:k)", "kK\u212a", {0, 1, 1, 2, 2, 5}},
        {"a$", "a\nba", {0, 1, 3, 4}},
        {"\\n$", "a\n", {1, 2}},
        {"[a\\-c]+", "a-bc", {0, 2, 3, 4}},
        {"[-a]+|[b-]+", "-ab-", {0, 2, 2, 4}},
        {"[^\\r\\n\\t]+", "a\tb\n", {0, 1, 2, 3}},
        {"[\\[\\]\\\\^&]+", "a[]\\^&", {1, 6}},
        {"a]}", "a]}", {0, 3}},
        {"\\.\\(\\{\\*\\/\\_\\ ", "x.({*/_ ", {1, 8}},
        {"(?!b)[ab](?=c)", "acbc", {0, 1}},
        {"(?<!a|bc)d", "adbcdd", {5, 6}},
        {"é+|[à-ï]", "ééà", {0, 4, 4, 6}},
    };
    for (const auto& r : read) {
        CAPTURE(r.regex);
        CHECK(tests::matches_of(*data::make_split_pattern(r.regex), r.text) == r.matches);
    }
}
