// SPDX-License-Identifier: Apache-2.0
// Model folders that somebody has changed between two runs.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

struct Trained : ValidatedDialogues {
    std::string options =
        " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 8 --device cpu "
        "--log-every-n-steps 1 -vstep 2 ";
    std::string step_4 = model + "/checkpoints/step-00000004";
    std::string config = model + "/config.json";

    Trained() : ValidatedDialogues(30) {
        says(train("--save-every-n-steps 2 --max-train-steps 4"), 0, {});
    }
    ProgramResult train(const std::string& more) const {
        return run_line("train --data " + data + options + "-mf " + model + " " + more);
    }
    ProgramResult evaluate(const std::string& folder) const {
        return run_line("lockstep eval --device cpu --skip-generation true --data " + data +
                        " -mf " + folder);
    }
    void set(const std::string& member, const Json& value) const {
        Json json = Json::parse(read_text(config));
        json[member] = value;
        write_text(config, json.dump(1));
    }
    std::string file(const std::string& name) const { return read_text(model + "/" + name); }
};

void refused(const ProgramResult& run, const std::vector<std::string>& said) {
    says(run, 2, said);
    CHECK(std::ranges::count(run.err, '\n') == 1);
}

}  // namespace

TEST_CASE_FIXTURE(Trained, "a changed config.json contradicts the weights and is refused") {
    const std::string before = read_text(config);
    struct Change {
        const char* member;
        Json value;
        std::string now, then;
    };
    for (const Change& change :
         {Change{"activation", "gelu", "gelu", "relu"}, Change{"n_positions", 512, "512", "1024"},
          Change{"n_heads", 1, "1", "2"},
          Change{"variant", "prelayernorm", "prelayernorm", "aiayn"},
          Change{"excluded_token", 3, "3", "none"}}) {
        CAPTURE(change.member);
        set(change.member, change.value);
        const std::string is =
            config + ": \"" + change.member + "\" is " + change.now + ", but " + model;
        const std::string was = " was saved with " + change.then;
        refused(train("--max-train-steps 6"), {is + "/checkpoints/step-00000004", was});
        refused(evaluate(model), {is + "/model.safetensors", was});
        const auto verified = run_line("lockstep checkpoint verify " + model);
        says(verified, 1, {"BAD", is, was});
        refused(run_line("train --data " + data + options + "--max-train-steps 1 -mf " +
                         (scratch / "next") + " --init-model " + model),
                {is, was});
        write_text(config, before);
    }
    says(train("--max-train-steps 5"), 0, {"continuing after step 4"});
    says(evaluate(model), 0, {});
}

TEST_CASE_FIXTURE(Trained, "files that do not tell their model are read as they are") {
    // Files of earlier versions.
    fs::copy_file(step_4 + "/model.safetensors", model + "/model.safetensors",
                  fs::copy_options::overwrite_existing);
    set("activation", "gelu");
    says(evaluate(model), 0, {});
}

TEST_CASE_FIXTURE(Trained, "dropout is that of the checkpoint unless the command line changes it") {
    set("dropout", 0.5);
    says(train("--max-train-steps 6"), 0,
         {"has --dropout 0.5, but the run goes on with 0 as its checkpoint says"});
    CHECK(Json::parse(read_text(config)).at("dropout") == 0);
    // The run has no better weights, so config.json has the old value.
    says(train("--max-train-steps 7 --dropout 0.25 -vstep -1 --save-every-n-steps 1"), 0, {});
    set("dropout", 0);
    const auto run = train("--max-train-steps 8 -vstep -1");
    says(run, 0, {"the run goes on with 0.25"});
    CHECK(read_text(model + "/checkpoints/step-00000008/state.json").find("\"dropout\": 0.25") !=
          std::string::npos);
}

TEST_CASE_FIXTURE(Trained, "a run that begins where checkpoints are gone keeps what was there") {
    const std::string weights = file("model.safetensors"), metrics = file("metrics.jsonl"),
                      report = file("report.json");
    fs::remove_all(model + "/checkpoints");
    says(train("--max-train-steps 2 -lr 1"), 0,
         {"has no checkpoint; starting from its weights",
          "is kept: model.safetensors as model-before-1.safetensors, metrics.jsonl as "
          "metrics-before-1.jsonl, report.json as report-before-1.json"});
    CHECK(file("model-before-1.safetensors") == weights);
    CHECK(file("metrics-before-1.jsonl") == metrics);
    CHECK(file("report-before-1.json") == report);
    CHECK(file("model.safetensors") != weights);
    // The kept weights are a model that others can be begun with.
    says(run_line("train --data " + data + options + "--max-train-steps 1 -mf " +
                  (scratch / "next") + " --init-model " + model + "/model-before-1.safetensors"),
         0, {"starting from the weights"});
    const std::string next = file("model.safetensors");
    fs::remove_all(model + "/checkpoints");
    says(train("--max-train-steps 2 --init-model " + (scratch / "next")), 0,
         {"model.safetensors as model-before-2.safetensors"});
    CHECK(file("model-before-1.safetensors") == weights);
    CHECK(file("model-before-2.safetensors") == next);
}

TEST_CASE_FIXTURE(Trained, "a run that continues keeps nothing") {
    says(train("--max-train-steps 6"), 0, {"continuing after step 4"});
    for (const std::string& name : scratch.names("model"))
        CHECK(name.find("-before-") == std::string::npos);
}
