// SPDX-License-Identifier: Apache-2.0
// `lockstep checkpoint` as users call it, on models that were trained.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/program_checks.hpp"
#include "tests/support/running_job.hpp"

using namespace lockstep::tests;
namespace fs = std::filesystem;

namespace {

struct Trained : PreparedDialogues {
    std::string options =
        " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 8 --device cpu ";
    std::string step_2 = model + "/checkpoints/step-00000002";
    std::string step_4 = model + "/checkpoints/step-00000004";

    Trained() { done("train --data " + data + options + "-mf " + model + more()); }
    static std::string more() { return " --save-every-n-steps 2 --max-train-steps 4"; }
    static ProgramResult checkpoint(const std::string& words) {
        return run_line("lockstep checkpoint " + words);
    }
    static void done(const std::string& line) { says(run_line(line), 0, {}); }
};

void refused(const std::string& words, const std::vector<std::string>& said) {
    CAPTURE(words);
    const ProgramResult run = Trained::checkpoint(words);
    says(run, 2, said);
    CHECK(std::ranges::count(run.err, '\n') == 1);
}

}  // namespace

TEST_CASE_FIXTURE(Trained, "checkpoints are listed and verified, and damage is exit code 1") {
    says(checkpoint("list " + model), 0,
         {"step-00000004", "step-00000002", "--keep 2", "\nweights: model.safet"});
    const auto json = nlohmann::json::parse(checkpoint("list --json -mf " + model).out);
    CHECK(json.at("checkpoints").size() == 2);
    says(checkpoint("verify " + model), 0, {"good     " + step_4, "good     " + step_2});
    says(checkpoint("verify " + step_2 + " " + model + "/model.safetensors --json"), 0,
         {"\"verdict\": \"good\""});
    fs::resize_file(step_4 + "/model.safetensors", 100);
    says(checkpoint("verify " + model), 1,
         {"BAD      " + step_4 + "/model.safetensors: is damaged: it has 100 bytes",
          "good     " + step_2});
    says(checkpoint("list " + model), 0, {"DAMAGED"});
}

TEST_CASE_FIXTURE(Trained, "verify finds what eval would refuse, in headers and in config.json") {
    const std::string weights = model + "/model.safetensors", config = model + "/config.json";
    const auto refused_with = [&](const std::string& path, const std::string& old,
                                  const std::string& changed, const std::string& message) {
        CAPTURE(changed);
        const std::string sound = read_text(path);
        REQUIRE(sound.find(old) != std::string::npos);
        write_text(path, std::string(sound).replace(sound.find(old), old.size(), changed));
        says(checkpoint("verify " + model), 1, {"BAD", message});
        if (path == weights) says(checkpoint("verify " + weights), 1, {"BAD", message});
        const auto eval = run_line("eval --split train --device cpu -mf " + model);
        says(eval, 2, {message});
        CHECK(std::ranges::count(eval.err, '\n') == 1);
        write_text(path, sound);
    };
    refused_with(weights, "norm1.bias", "norm0.bias",
                 "norm1.bias of shape [16]; it or " + config + " is damaged or another model's");
    refused_with(weights, "embeddings_scale", "embeddings_scalf",
                 "\"embeddings_scale\" is missing");
    refused_with(config, "\"eval-batchsize\": \"8\"", "\"eval-batchsize\": \"0\"",
                 config + ": \"defaults\" has a value that does not fit: --eval-batchsize: 0");
    refused_with(config, "\"defaults\": {", "\"defaults\": {\"world-logs\": \"x\",",
                 config + ": \"defaults\" has \"world-logs\"");
    auto json = nlohmann::json::parse(read_text(config));
    json.erase("defaults");  // they need not be there
    write_text(config, json.dump());
    says(checkpoint("verify " + model), 0, {"good     " + config});
}

TEST_CASE_FIXTURE(Trained, "checkpoints are compared by exit code as files are by diff") {
    says(checkpoint("diff " + step_4 + " " + step_4), 0, {"bit for bit"});
    says(checkpoint("diff " + step_2 + " " + step_4), 1, {"step ", "different: 0 options"});
    says(checkpoint("diff " + model + " " + step_4), 0, {"weights alone"});
    says(checkpoint("diff " + step_2 + " " + model + " --tolerance 100"), 0, {"equal within 100"});
    // A run that is repeated gives the same bits.
    const std::string again = scratch / "again";
    done("train --data " + data + options + "-mf " + again + more());
    says(checkpoint("diff " + step_4 + " " + again + "/checkpoints/step-00000004"), 0,
         {"bit for bit"});
}

TEST_CASE_FIXTURE(Trained, "a checkpoint becomes a model, a plain file, and a model again") {
    const std::string file = scratch / "weights.safetensors";
    says(checkpoint("convert " + step_2 + " " + file), 0, {file + ": the weights of " + step_2});
    const std::string one = scratch / "one", two = scratch / "two";
    says(checkpoint("convert " + step_2 + " " + one), 0, {"config.json and tokenizer"});
    refused("convert " + file + " " + two, {"give --like"});
    says(checkpoint("convert " + file + " " + two + " --like " + model), 0, {two + ": a model"});
    says(checkpoint("diff " + one + " " + two), 0, {"bit for bit"});
    says(checkpoint("diff " + one + " " + step_2), 0, {});
    says(checkpoint("verify " + one), 0, {});
    says(run_line("lockstep generate --device cpu -mf " + one, {"Hello\n", {}, ""}), 0, {});
    says(run_line("train --data " + data + options + "--max-train-steps 1 -mf " + two), 0,
         {"has no checkpoint; starting from its weights"});
    says(run_line("train --data " + data + options + "--max-train-steps 1 -mf " +
                  (scratch / "three") + " --init-model " + file),
         0, {"starting from the weights"});
    refused("convert " + step_4 + " " + one, {"exists and is not empty", "--overwrite"});
    says(checkpoint("convert " + step_4 + " " + one + " --overwrite"), 0, {});
    says(checkpoint("diff " + one + " " + step_4), 0, {});
    refused("convert " + step_4 + " " + two + " --overwrite", {"which would be lost"});
    CHECK(scratch.names().count("two") == 1);
    for (const std::string& name : scratch.names()) CHECK(name.find(".tmp-") == std::string::npos);
}

TEST_CASE_FIXTURE(Trained, "weights that do not fit the model are refused, and nothing is left") {
    const std::string other = scratch / "other", to = scratch / "new";
    done("train --data " + data +
         " --embedding-size 8 --n-layers 1 --ffn-size 16 --threads 1 --device cpu "
         "--max-train-steps 1 -mf " +
         other);
    refused("convert " + step_2 + " " + to + " --like " + other, {"[", "give --like a model"});
    CHECK_FALSE(fs::exists(to));
    CHECK(scratch.names().size() == 4);
}

TEST_CASE_FIXTURE(Trained, "a folder is read while a run saves into it and removes from it") {
    const std::string live = scratch / "live";
    RunningJob run("train --data " + data + options + "-mf " + live +
                       " --save-every-n-steps 1 --keep 1 --num-epochs 1000000 "
                       "--log-every-n-steps 1",
                   live);
    REQUIRE(run.wait_for_first_step());
    for (int i = 0; i < 10; ++i) {
        says(checkpoint("verify " + live), 0, {});
        says(checkpoint("list " + live), 0, {"a run writes into it: process"});
    }
    kill(run.launcher(), SIGINT);
    CHECK(run.wait().code == 0);
    says(checkpoint("verify " + live), 0, {});
}

TEST_CASE_FIXTURE(Trained, "options and paths may stand in any order") {
    for (const std::string& words :
         {"list --json " + model, "list " + model + " --json", "list --json true " + model,
          "list -mf " + model + " --json"}) {
        CAPTURE(words);
        CHECK(nlohmann::json::accept(checkpoint(words).out));
    }
    says(checkpoint("diff --tolerance 100 " + step_2 + " " + model), 0, {"equal within 100"});
    says(checkpoint("diff " + step_2 + " --tolerance=100 " + model), 0, {"equal within 100"});
    says(checkpoint("convert --like " + model + " " + step_2 + " " + (scratch / "new")), 0, {});
}

TEST_CASE_FIXTURE(Trained, "a run that was killed is told from one that lives") {
    const std::string killed = scratch / "killed";
    RunningJob run("train --data " + data + options + "-mf " + killed +
                       " --save-every-n-steps 1 --num-epochs 1000000 --log-every-n-steps 1",
                   killed);
    REQUIRE(run.wait_for_first_step());
    kill(run.launcher(), SIGKILL);
    (void)run.wait();
    REQUIRE(fs::exists(killed + "/run.lock"));
    const auto listed = checkpoint("list " + killed);
    says(listed, 0, {"no run writes into it: process", "has ended and left its lock"});
    const auto json = nlohmann::json::parse(checkpoint("list --json " + killed).out);
    CHECK(json.at("run").is_null());
    CHECK(json.at("ended_run").get<std::string>().starts_with("process "));
}

TEST_CASE_FIXTURE(Trained, "wrong requests are refused in one line") {
    refused("", {"give list, verify, diff or convert"});
    refused("lst " + model, {"'lst': no such command; did you mean list?"});
    refused("list", {"list: name one model's folder"});
    refused("list " + model + " " + model, {"list: name one model's folder"});
    refused("list " + data, {"holds neither config.json nor checkpoints"});
    refused("verify " + (scratch / "none"), {"does not exist"});
    refused("diff " + model, {"diff: name two"});
    refused("diff " + model + " " + step_2 + " --tolerance -1", {"--tolerance"});
    refused("verify " + model + " --overwrite", {"--overwrite: is no option of verify"});
    refused("convert " + step_2 + " /proc/new", {"/proc/new"});
    says(checkpoint("--help"), 0, {"lockstep checkpoint list MODEL", "--tolerance"});
    says(checkpoint("diff --help"), 0, {"lockstep checkpoint diff A B"});
    // A line feed in a name does not begin a line.
    const std::string lines = scratch / "two\nlines";
    fs::copy(model, lines, fs::copy_options::recursive);
    fs::remove(lines + "/checkpoints/step-00000002/state.json");
    for (const std::string command : {"list", "verify"}) {
        const auto run = run_program({"lockstep", "checkpoint", command, lines});
        says(run, command == "list" ? 0 : 1, {"two\\x0alines"});
        CHECK(run.out.find("two\nlines") == std::string::npos);
    }
    // A model that is not UTF-8.
    const std::string odd = scratch / "odd\xFF";
    fs::copy(model, odd, fs::copy_options::recursive);
    says(checkpoint("verify " + odd), 0, {"good     " + (scratch / "odd\\xff")});
    says(checkpoint("diff " + odd + " " + model), 0, {});
}
