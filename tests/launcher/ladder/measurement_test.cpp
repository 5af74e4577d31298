// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/measurement.hpp"

#include <doctest/doctest.h>

#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher::ladder;

namespace {

const std::string train = R"({"kind":"train","rows":30,"seconds":1.5,"ppl":9.0})";
const std::string valid = R"({"kind":"valid","examples":20.0,"seconds":4.0,"ppl":8.0})";

Measurement measured(const std::string& lines) {
    const tests::ScratchFolder folder;
    tests::write_text(folder / "metrics.jsonl", lines);
    return read_measurement(folder.path());
}

}  // namespace

TEST_CASE("rows and seconds of a run add up, validations do not") {
    const Measurement m = measured(train + "\n" + train + "\n" + valid + "\n" + valid + "\n");
    CHECK(m.train_rows == 60);
    CHECK(m.train_seconds == 3);
    CHECK(m.valid_rows == 20);
    CHECK(m.valid_seconds == 4);
    CHECK(m.ppl == 8);
    CHECK(m.memory_bytes == 0);
    const auto with = [](const char* peak) {
        return std::string(R"({"kind":"train","rows":1,"seconds":1,"peak_memory_bytes":)") + peak +
               "}\n";
    };
    CHECK(measured(with("7") + with("9") + with("8")).memory_bytes == 9);
}

TEST_CASE("the first step counts as an ordinary one") {
    const auto step = [](const std::string& seconds) {
        return R"({"kind":"train","rows":1,"seconds":)" + seconds + "}\n";
    };
    CHECK(measured(step("9") + step("1") + step("2") + step("4")).train_seconds == 2 + 7);
    CHECK(measured(step("0.5") + step("1") + step("2")).train_seconds == 3.5);
    CHECK(measured(step("9") + step("1")).train_seconds == 10);  // too few to tell
}

TEST_CASE("a part stands for the whole in proportion") {
    const Measurement m = measured(train + "\n" + valid + "\n");
    const Work same{.train_rows = 30, .valid_rows = 20};
    CHECK(m.trained_whole(same));
    CHECK(m.validated_whole(same));
    CHECK(m.total_s(same) == 5.5);
    const Work more{.train_rows = 90, .valid_rows = 30};
    CHECK_FALSE(m.trained_whole(more));
    CHECK_FALSE(m.validated_whole(more));
    CHECK(m.train_s(more) == 4.5);
    CHECK(m.valid_s(more) == 6);
    // Epochs may be parts: a step beyond the end is not taken back.
    CHECK(m.train_s({.train_rows = 29.5, .valid_rows = 0}) == 1.5);
}

TEST_CASE("metrics that say nothing") {
    CHECK_FALSE(measured(train + "\n").ppl);
    CHECK_FALSE(
        measured(train + "\n" + R"({"kind":"valid","examples":1,"seconds":1,"ppl":null})").ppl);
    CHECK_THROWS_AS(measured(""), Error);
    CHECK_THROWS_AS(measured(valid + "\n"), Error);
    CHECK_THROWS_AS(read_measurement("/none"), Error);
}
