// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/token_counts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "data/prepare/ordered_pipeline.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

// Token "w<i>" in all of 1..i of `runs` runs of counts, three times in each.
std::vector<TokenCount> merged(int runs, int tokens, const DictionaryOptions& options) {
    const tests::ScratchFolder dir;
    CountRuns files(dir.path());
    std::vector<TokenCounts> last(2);
    for (int run = 0; run < runs; ++run) {
        TokenCounts counts;
        for (int i = run; i < tokens; ++i)
            for (int n = 0; n < 3; ++n) counts.add("w" + std::to_string(i));
        files.write(counts);
    }
    last[0].add("last \n", 7);
    last[1].add("last \n");
    auto out = files.merge(last, options);
    CHECK(std::filesystem::is_empty(dir.path()));
    return out;
}

}  // namespace

TEST_CASE("counts written as runs add up") {
    const auto counts = merged(3, 50, {});
    REQUIRE(counts.size() == 51);
    CHECK(std::is_sorted(counts.begin(), counts.end()));
    CHECK(std::find(counts.begin(), counts.end(), TokenCount("last \n", 8)) != counts.end());
    CHECK(std::find(counts.begin(), counts.end(), TokenCount("w0", 3)) != counts.end());
    CHECK(std::find(counts.begin(), counts.end(), TokenCount("w49", 9)) != counts.end());
}

TEST_CASE("any bytes can be a token of a run, a NUL byte and digits as well") {
    const tests::ScratchFolder dir;
    CountRuns files(dir.path());
    std::vector<TokenCounts> last(2);
    const std::string nul("\0", 1), mixed("7 \0\n3 x", 8);
    for (TokenCounts& counts : last)
        for (const std::string& token : {nul, mixed, std::string("12"), std::string("word")})
            counts.add(token);
    const std::vector<TokenCount> expected = {{nul, 2}, {"12", 2}, {mixed, 2}, {"word", 2}};
    CHECK(files.merge(last, {}) == expected);
}

TEST_CASE("a run of counts that is cut off is an error") {
    const tests::ScratchFolder dir;
    CountRuns files(dir.path());
    std::vector<TokenCounts> last(2);
    last[0].add("a long word");
    files.write(last[0]);
    const std::string run = dir / *dir.names().begin();
    std::filesystem::resize_file(run, std::filesystem::file_size(run) - 3);
    CHECK_THROWS_WITH_AS(files.merge(last, {}), doctest::Contains(run.c_str()), Error);
}

TEST_CASE("a run of counts that is lost is an error, not a smaller dictionary") {
    const tests::ScratchFolder dir;
    CountRuns files(dir.path());
    std::vector<TokenCounts> last(2);
    last[0].add("word");
    files.write(last[0]);
    const std::string run = dir / *dir.names().begin();
    std::filesystem::remove(run);
    CHECK_THROWS_WITH_AS(files.merge(last, {}), doctest::Contains(run.c_str()), Error);
    std::filesystem::create_directory(run);  // as on a broken disk: opens, but cannot be read
    CHECK_THROWS_WITH_AS(files.merge(last, {}), doctest::Contains(run.c_str()), Error);
}

TEST_CASE("dropping the rare early changes no dictionary") {
    for (const DictionaryOptions& options :
         {DictionaryOptions{.min_freq = 4}, DictionaryOptions{.max_tokens = 20},
          DictionaryOptions{.max_tokens = 0}}) {
        const Dictionary all(merged(3, 5000, {}), options);
        const Dictionary early(merged(3, 5000, options), options);
        CHECK(early.size() == all.size());
        CHECK(early.hash() == all.hash());
    }
}

TEST_CASE("the string index numbers strings in order and finds them again") {
    StringIndex index;
    for (int i = 0; i < 10000; ++i) CHECK(index.add("s" + std::to_string(i)) == i);
    for (int i = 0; i < 10000; ++i) CHECK(index.find("s" + std::to_string(i)) == i);
    CHECK(index.add("s77") == 77);
    CHECK(index.find("absent") < 0);
    CHECK(index.find("") < 0);
    CHECK(index.add("") == 10000);
    CHECK(index.find("") == 10000);
    CHECK(index.text(123) == "s123");
}

TEST_CASE("the pipeline keeps the order and throws the first error in reading order") {
    for (const int workers : {1, 4}) {
        int next = 0, failing = -1;
        std::vector<int> written;
        const auto run = [&] {
            next = 0;
            written.clear();
            OrderedPipeline<int, int>::run(
                workers, [&](int& item) { return (item = next++) < 500; },
                [&](int, int item) {
                    if (failing >= 0 && item >= failing) throw item;
                    return item * 2;
                },
                [&](int result) { written.push_back(result); });
        };
        run();
        REQUIRE(written.size() == 500);
        for (int i = 0; i < 500; ++i) CHECK(written[static_cast<std::size_t>(i)] == 2 * i);
        failing = 37;
        try {
            run();
            FAIL("no error");
        } catch (int item) {
            CHECK(item == 37);
        }
        CHECK(written.size() == 37);
    }
}
