// SPDX-License-Identifier: Apache-2.0
#include "launcher/command_line/spelling.hpp"

#include <doctest/doctest.h>

using namespace lockstep::launcher;

TEST_CASE("wrong letters are counted") {
    CHECK(spelling_distance("train", "train") == 0);
    CHECK(spelling_distance("trian", "train") == 1);  // exchanged neighbours
    CHECK(spelling_distance("trin", "train") == 1);
    CHECK(spelling_distance("traain", "train") == 1);
    CHECK(spelling_distance("brain", "train") == 1);
    CHECK(spelling_distance("kitten", "sitting") == 3);
    CHECK(spelling_distance("", "eval") == 4);
    CHECK(spelling_distance("eval", "") == 4);
}

TEST_CASE("a word is suggested if a third of its letters, and at most 3, are wrong") {
    const std::vector<std::string> words{"train", "eval", "multiprocessing_train", "dropout"};
    CHECK(probably_meant("trian", words) == "train");
    CHECK(probably_meant("drop-out", words) == "dropout");
    CHECK(probably_meant("multiprocesing_trian", words) == "multiprocessing_train");
    CHECK(probably_meant("multiproc_train", words).empty());
    CHECK(probably_meant("grain", words) == "train");
    CHECK(probably_meant("rail", words).empty());
    CHECK(probably_meant("x", words).empty());
    CHECK(probably_meant("", words).empty());
}

TEST_CASE("a name of any length is answered at once") {
    // With every letter compared this takes longer than a test may.
    const std::string typed(std::size_t{1} << 27, 'a');
    CHECK(probably_meant(typed, std::vector<std::string>(200, "multiprocessing_train")).empty());
}
