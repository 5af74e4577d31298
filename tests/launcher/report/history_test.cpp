// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/history.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher::report;

namespace {

std::string train_line(std::int64_t step, const std::string& more = "\"loss\":1.5") {
    return "{\"kind\":\"train\",\"step\":" + std::to_string(step) +
           ",\"updates\":" + std::to_string(step) + ",\"epoch\":0.5," + more + "}";
}

std::string valid_line(std::int64_t step, const std::string& more) {
    return "{\"kind\":\"valid\",\"step\":" + std::to_string(step) + ",\"epoch\":0.5," + more + "}";
}

}  // namespace

TEST_CASE("null, a missing value and one that cannot be meant are gaps") {
    History history;
    history.add(train_line(1));
    history.add(train_line(2, "\"loss\":null"));
    history.add(train_line(3, "\"loss\":\"2\""));
    history.add(train_line(4, "\"loss\":1e300"));
    history.add(train_line(5, "\"ppl\":2"));
    CHECK(history.used_lines() == 5);
    CHECK(history.train("loss").bins().size() == 5);
    CHECK(history.train("loss").values() == 1);
    CHECK(history.train("ppl").values() == 1);
    CHECK(history.train("hidden").values() == 0);
}

TEST_CASE("damaged lines, other objects and steps that go back are left out and counted") {
    History history;
    history.add(train_line(10));
    for (const std::string line :
         {"", "{\"kind\":\"train\",\"step\":20", "[1]", "12", "{\"kind\":\"train\"}",
          "{\"kind\":7,\"step\":11}", "{\"kind\":\"other\",\"step\":11}",
          "{\"kind\":\"train\",\"step\":1.5}", "{\"kind\":\"train\",\"step\":99999999999999999999}",
          "\xff\xfe"})
        history.add(line);
    history.add(train_line(9));
    CHECK(history.used_lines() == 1);
    CHECK(history.unusable_lines() == 11);
    CHECK(history.step() == 10);
    history.add(train_line(11));
    CHECK(history.step() == 11);
}

TEST_CASE("what is computed of a line's values") {
    History history;
    history.add(
        "{\"kind\":\"train\",\"step\":10,\"updates\":8,\"seconds_buckets\":2.0,"
        "\"seconds_last_bucket\":0.5}");
    history.add(
        "{\"kind\":\"train\",\"step\":20,\"updates\":17,\"seconds_buckets\":0.0,"
        "\"seconds_last_bucket\":0.0}");
    CHECK(history.train("skipped_updates").last() == 3);
    CHECK(history.train("last_bucket").values() == 1);
    CHECK(history.train("last_bucket").last() == 0.25);
    CHECK(history.updates() == 17);
}

TEST_CASE("curves are drawn over steps, epochs, tokens or the time of training") {
    const auto places = [](Abscissa abscissa) {
        History history(abscissa);
        const std::string rest = ",\"loss\":1,\"tokens\":30,\"seconds\":90";
        history.add(train_line(10, "\"epoch\":0.5" + rest));
        history.add(valid_line(10, "\"epoch\":0.5" + rest));
        history.add(train_line(20, "\"epoch\":1" + rest));
        history.add(train_line(30, "\"loss\":1"));
        std::vector<double> all;
        for (const Bin& bin : history.train("loss").bins()) all.push_back(bin.last_x);
        CHECK(history.valid("loss").bins().front().last_x == all.front());
        CHECK(history.place() == all.back());
        return all;
    };
    CHECK(places(Abscissa::steps) == std::vector<double>{10, 20, 30});
    CHECK(places(Abscissa::epochs) == std::vector<double>{0.5, 1, 1});
    CHECK(places(Abscissa::tokens) == std::vector<double>{30, 60, 60});
    CHECK(places(Abscissa::minutes) == std::vector<double>{1.5, 3, 3});
    CHECK(stretch_text(Abscissa::epochs, 0.5, 1) == "epochs 0.5 to 1");
    CHECK(stretch_text(Abscissa::tokens, 30, 30) == "label token 30");
}

TEST_CASE("of many validations the last are kept, and the best") {
    History history;
    for (int i = 1; i <= 100; ++i) {
        history.add(valid_line(
            i, "\"ppl\":" + std::to_string(200 - i) + ",\"best\":" + (i <= 30 ? "true" : "false")));
    }
    CHECK(history.validation_count() == 100);
    CHECK(history.validations().size() == shown_validations);
    CHECK(history.validations().back().step == 100);
    REQUIRE(history.best());
    CHECK(history.best()->step == 30);
    CHECK(history.best()->values.at("ppl") == 170);
    CHECK(history.best()->values.count("f1") == 0);
    CHECK(history.valid("ppl").values() == 100);
}

TEST_CASE("the end of a run is told until the run goes on") {
    History history;
    history.add(valid_line(7, "\"ppl\":12,\"best\":true"));
    const std::string end = "{\"kind\":\"final\",\"step\":7,\"best\":true,\"split\":";
    history.add(end + "\"valid\",\"ppl\":11,\"accuracy\":0.25}");
    history.add(end + "\"test\",\"ppl\":13}");
    REQUIRE(history.finals().size() == 2);
    CHECK(history.finals()[0].split == "valid");
    CHECK(history.finals()[0].values.values.at("accuracy") == 0.25);
    CHECK(history.finals()[1].values.values.at("ppl") == 13);
    CHECK(history.finals()[1].values.best);
    CHECK(history.validation_count() == 1);
    CHECK(history.valid("ppl").last() == 12);
    history.add(train_line(8));
    CHECK(history.finals().empty());
}

TEST_CASE("a file without any line of a run is an error that says what to do") {
    const tests::ScratchFolder scratch;
    const auto complaint = [&] {
        try {
            read_history(scratch.path(), Abscissa::steps);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(complaint().find("is not there") != std::string::npos);
    tests::write_text(scratch / "metrics.jsonl", train_line(1));
    CHECK(complaint().find("no line yet; wait") != std::string::npos);
    tests::write_text(scratch / "metrics.jsonl", "Dear diary,\n");
    CHECK(complaint().find("is it another file?") != std::string::npos);
    tests::write_text(scratch / "metrics.jsonl", train_line(1) + "\n");
    CHECK(complaint().empty());
}
