// SPDX-License-Identifier: Apache-2.0
// The program as users start it.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;
namespace fs = std::filesystem;

namespace {

struct Prepared : PreparedDialogues {
    // The same rows as a split to validate on.
    std::string validated() const {
        const std::string text = scratch / "train.txt", out = scratch / "validated";
        says(run_line("lockstep prepare --input " + text + " --valid " + text + " --out " + out), 0,
             {});
        return out;
    }
    ProgramResult ladder(const std::string& more) const { return ladder_of(data, more); }
    ProgramResult ladder_of(const std::string& folder, const std::string& more) const {
        return run_line("lockstep ladder --data " + folder +
                        " --embedding-size 8 --n-layers 1 --ffn-size 8 --max-length 4 -bs 8 "
                        "--device cpu --text-truncate 16 --label-truncate 16 --threads 1 " +
                        more);
    }
};

}  // namespace

TEST_CASE("each rung is a run, and the fastest command is one that runs") {
    const Prepared prepared;
    const std::string kept = prepared.scratch / "runs";
    const auto run =
        prepared.ladder_of(prepared.validated(), "--json --distributed-world-size 2 -mf " + kept);
    REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    const auto table = nlohmann::json::parse(run.out);
    REQUIRE(table["rungs"].size() == 10);
    for (const auto& rung : table["rungs"]) {
        CAPTURE(rung.dump());
        if (rung["verdict"] == "absent") continue;  // no bf16 here
        const bool memory = rung["name"].get<std::string>().starts_with("--zero");
        CHECK((rung["verdict"] == "for memory") == memory);
        CHECK((memory || rung["verdict"] == "kept" || rung["verdict"] == "slower"));
        CHECK(rung["memory_bytes"] > 1'000'000);
        CHECK(rung["measured_train_rows"] == table["train_rows"]);
        CHECK(rung["measured_valid_rows"] == table["valid_rows"]);
        CHECK(rung["total_s"] > 0);
        CHECK(rung["ppl"] > 1);
    }
    CHECK(fs::exists(kept + "/1-baseline/model.safetensors"));
    CHECK(fs::exists(kept + "/7-ranks/output.log"));
    std::string fastest;
    for (const auto& word : table["fastest"]["command"]) fastest += word.get<std::string>() + " ";
    fastest.replace(fastest.find("MODEL"), 5, prepared.model);
    says(run_line(fastest), 0, {"the number of epochs is reached"});
}

TEST_CASE("without a folder nothing stays, and data without validation has a ladder too") {
    const Prepared prepared;
    const std::string temporary = prepared.scratch / "temporary";
    fs::create_directory(temporary);
    const auto run = run_line("lockstep ladder --data " + prepared.data +
                                  " --embedding-size 8 --n-layers 1 --ffn-size 8 -bs 8 --threads 1 "
                                  "--precision fp32 --device cpu --distributed-world-size 1",
                              {"", {{"TMPDIR", temporary}}, ""});
    says(run, 0,
         {"speed-up", "baseline", "left out: the data has no split `valid`",
          "left out: --precision fp32 was asked for", "left out: there is", "The fastest, "});
    CHECK(fs::is_empty(temporary));
}

TEST_CASE("what the ladder refuses, before anything is measured") {
    const Prepared prepared;
    const auto refused = [&](const std::string& more, const std::vector<std::string>& words) {
        CAPTURE(more);
        const auto run = prepared.ladder(more);
        says(run, 2, words);
        CHECK(run.out.empty());
    };
    refused("--skip-generation true", {"ladder: --skip-generation", "leave it out"});
    refused("--batch-tokens 100", {"--batch-tokens", "leave it out"});
    refused("--num-epochs -1 --max-train-time -1", {"--num-epochs"});
    refused("--validation-metric f1", {"--validation-metric f1", "give ppl"});
    refused("-mf " + prepared.data, {prepared.data, "choose another folder"});
    refused("-mf /proc/runs", {"/proc"});
    refused("--data " + (prepared.scratch / "none"), {"none"});
    // The first run says what is wrong with what the ladder does not look at.
    refused("--dropout 0.1 --init-model " + (prepared.scratch / "none"), {"--init-model"});
}
