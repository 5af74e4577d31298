// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/run.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "launcher/report/ending.hpp"
#include "launcher/report/summary.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher::report;
using tests::contains;

namespace fs = std::filesystem;

namespace {

// A copy of the hand-made run, to be changed.
struct HandMade {
    tests::ScratchFolder scratch;
    std::string folder = scratch / "model";

    HandMade() { fs::copy("tests/golden/report/model", folder, fs::copy_options::recursive); }
    std::string state() const { return folder + "/checkpoints/step-00000030/state.json"; }
};

}  // namespace

TEST_CASE("a run is read from its folder") {
    const HandMade made;
    fs::create_directories(made.folder + "/checkpoints/step-00000040.tmp-123");
    fs::create_directories(made.folder + "/checkpoints/step-x");
    const Run run = read_run(made.folder);
    CHECK(text_of(run.config, "model") == "transformer/generator");
    CHECK(run.parameters > 0);
    CHECK(run.history.used_lines() == 5);
    CHECK(run.history.unusable_lines() == 1);
    CHECK(run.history.step() == 30);
    CHECK(run.history.updates() == 28);
    CHECK(run.history.train("tokens").total() == 3000);
    CHECK(run.history.train("gnorm").values() == 2);
    REQUIRE(run.checkpoints.size() == 1);
    CHECK(run.checkpoints[0].bytes == fs::file_size(made.state()));
    REQUIRE(run.saved);
    CHECK(text_of(run.saved->options, "data") == "<b>data & more</b>");
    CHECK(text_of(run.saved->options, "none") == "");
    CHECK(text_of(run.saved->versions, "ranks") == "2");
    CHECK_FALSE(run.failure);
}

TEST_CASE("the state is that of the newest checkpoint that has one") {
    const HandMade made;
    const std::string next = made.folder + "/checkpoints/step-100000000";
    tests::write_text(next + "/state.json", "{\"trainer\": {\"step\": 100000000}}");
    CHECK(read_run(made.folder).saved->step == 100000000);
    tests::write_text(next + "/state.json", "{\"trai");
    CHECK(read_run(made.folder).saved->step == 30);
    CHECK(read_run(made.folder).checkpoints.back().step == 100000000);
    fs::remove_all(made.folder + "/checkpoints");
    CHECK_FALSE(read_run(made.folder).saved);
}

TEST_CASE("how a run ended is told by its checkpoints, its limits and the failure report") {
    const HandMade made;
    Run run = read_run(made.folder);
    CHECK(ending(run).kind == EndKind::ended);
    CHECK(contains(ending(run).text, "all its epochs are done"));
    run.saved->options = {{"num-epochs", "3"}, {"max-train-steps", "28"}};
    CHECK(contains(ending(run).text, "--max-train-steps is reached"));
    run.saved->options = {{"max-train-time", "6"}};
    CHECK(contains(ending(run).text, "--max-train-time is over"));
    run.saved->options = {{"validation-patience", "1"}};
    CHECK(contains(ending(run).text, "--validation-patience"));
    run.saved->options = {{"num-epochs", "-1"}, {"max-train-steps", "29"}};
    CHECK(ending(run).kind == EndKind::stopped);
    run.saved->ended = "the validation metric is good enough";
    CHECK(ending(run).kind == EndKind::ended);
    CHECK(ending(run).text == "Ended: the validation metric is good enough");
    run.saved->step = 20;  // a run that went on, perhaps with other limits
    CHECK(ending(run).kind == EndKind::open);
    CHECK(contains(ending(run).text, "the newest checkpoint of step 20"));
    run.saved.reset();
    CHECK(ending(run).kind == EndKind::open);
    tests::write_text(made.folder + "/failure.json",
                      "{\"report\": \"the run has failed: rank 1 on n2 failed: disk full\", "
                      "\"rank\": 1, \"host\": \"n2\", \"phase\": \"saving a checkpoint\", "
                      "\"cause\": \"failed\", \"step\": 30, \"error\": \"disk full\"}");
    const Ending failed = ending(read_run(made.folder));
    CHECK(failed.kind == EndKind::failed);
    CHECK(failed.text ==
          "the run has failed: rank 1 on n2 failed: disk full (rank 1, host n2, "
          "phase saving a checkpoint, step 30, cause failed)");
}

TEST_CASE("the summary has the values of the lines and of the newest checkpoint") {
    const HandMade made;
    const std::string html = summary({read_run(made.folder)}, {"run"});
    CAPTURE(html);
    for (const std::string words :
         {"transformer/generator, 1 + 1 layers of 8 (16 inside), 2 heads",
          "&lt;b&gt;data &amp; more&lt;/b&gt;", "2 ranks on cpu with 1 core each, fp16",
          "30 steps, 28 updates (2 skipped), 1.5 epochs",
          "3,000 label tokens in 280 rows, 3 of them cut", "median 500, last 400", "0:06",
          "ppl 18.2 at step 20 of 2 validations", "200 MiB", "<td>60.0 %</td>",
          "5 lines of metrics.jsonl; 1 damaged one is left out"}) {
        CAPTURE(words);
        CHECK(contains(html, words));
    }
}

TEST_CASE("a run of one rank without validation or checkpoint has a summary too") {
    const HandMade made;
    fs::remove_all(made.folder + "/checkpoints");
    tests::write_text(made.folder + "/metrics.jsonl",
                      "{\"kind\":\"train\",\"step\":1,\"updates\":1,\"loss\":2.5,"
                      "\"seconds_buckets\":0.0,\"seconds_buckets_not_hidden\":0.0}\n");
    const std::string html = summary({read_run(made.folder)}, {"run"});
    CAPTURE(html);
    for (const std::string words : {"no validation", "one rank: nothing to exchange",
                                    "not known before the first checkpoint", "1 step, 1 update"}) {
        CAPTURE(words);
        CHECK(contains(html, words));
    }
}
