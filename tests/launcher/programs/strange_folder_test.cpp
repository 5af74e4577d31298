// SPDX-License-Identifier: Apache-2.0
// Model folders in which something else has the name of a file.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/needs.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;
namespace fs = std::filesystem;

namespace {

struct Trained : PreparedDialogues {
    std::string options =
        " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 8 --device cpu ";
    std::string step_2 = model + "/checkpoints/step-00000002";
    std::string step_4 = model + "/checkpoints/step-00000004";

    Trained() { says(train(model, "--save-every-n-steps 2 --max-train-steps 4"), 0, {}); }
    // A run that hangs ends with 124.
    ProgramResult train(const std::string& folder, const std::string& more = "") const {
        return run_line("timeout -k 1 60 " + program_path("lockstep") + " train --data " + data +
                        options + "-mf " + folder + " " + more);
    }
    // Makes a copy of the model in which `name` is missing.
    std::string without(const std::string& name) const {
        const std::string copy = scratch / "copy";
        fs::remove_all(copy);
        fs::copy(model, copy, fs::copy_options::recursive);
        fs::remove_all(copy + "/" + name);
        return copy;
    }
};

void refused(const ProgramResult& run, const std::vector<std::string>& said) {
    says(run, 2, said);
    CHECK(run.out.empty());
    CHECK(std::ranges::count(run.err, '\n') == 1);
}

}  // namespace

TEST_CASE_FIXTURE(Trained, "a pipe or a folder in place of a file is refused at the start") {
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json", "dictionary.txt",
                             "metrics.jsonl", "report.json"}) {
        CAPTURE(name);
        const std::string folder = without(name), path = folder + "/" + name;
        REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
        const auto names = scratch.names("copy");
        refused(train(folder, "--max-train-steps 6"), {path + ": is", "a pipe"});
        CHECK(scratch.names("copy") == names);
        fs::remove(path);
        fs::create_directory(path);
        refused(train(folder, "--max-train-steps 6"), {path + ": is", "a folder"});
        CHECK(scratch.names("copy/checkpoints") ==
              std::set<std::string>{"step-00000002", "step-00000004"});
    }
}

TEST_CASE_FIXTURE(Trained, "a file in place of the checkpoints is refused with the right advice") {
    const std::string folder = without("checkpoints");
    write_text(folder + "/checkpoints", "");
    refused(train(folder, "--max-train-steps 6"),
            {folder + "/checkpoints: is a file", "give it another name"});
    refused(run_line("lockstep checkpoint list " + folder), {"give what has this name another"});
}

TEST_CASE_FIXTURE(Trained, "no checkpoint is removed behind another user's link" *
                               doctest::test_suite(needs_other_user)) {
    const std::string folder = without("checkpoints"), link = folder + "/checkpoints";
    fs::create_directory_symlink(model + "/checkpoints", link);
    REQUIRE(::lchown(link.c_str(), 12345, 12345) == 0);
    refused(train(folder, "--max-train-steps 6 --keep 1"),
            {link + ": is a link that another user made"});
    CHECK(scratch.names("model/checkpoints") ==
          std::set<std::string>{"step-00000002", "step-00000004"});
}

TEST_CASE_FIXTURE(Trained, "a link to a folder that is not there is named") {
    const std::string link = scratch / "link", gone = scratch / "gone";
    fs::create_directory_symlink(gone, link);
    for (const std::string& folder : {link, link + "/", link + "/below"}) {
        CAPTURE(folder);
        refused(train(folder, "--max-train-steps 6"),
                {link + " is a link to " + gone + ", which does not exist"});
        refused(run_line("lockstep generate --device cpu -mf " + folder),
                {link + " is a link to " + gone + ", which does not exist"});
    }
    CHECK_FALSE(fs::exists(gone));
}

TEST_CASE_FIXTURE(Trained, "a checkpoint with a pipe or a folder for a file is set aside") {
    for (const char* name :
         {"state.json", "manifest.json", "model.safetensors", "part-00000.safetensors"}) {
        CAPTURE(name);
        const std::string file = "checkpoints/step-00000004/" + std::string(name);
        const std::string folder = without(file), path = folder + "/" + file;
        const bool pipe = std::string(name) != "model.safetensors";
        REQUIRE((pipe ? ::mkfifo(path.c_str(), 0666) : ::mkdir(path.c_str(), 0777)) == 0);
        says(run_line("lockstep checkpoint verify " + folder), 1, {"BAD", path + ": is damaged"});
        const auto run = train(folder, "--max-train-steps 6");
        says(run, 0, {"set aside", path + ": is damaged: it is a", "continuing after step 2"});
        CHECK(scratch.names("copy/checkpoints").contains("step-00000004.damaged"));
    }
}

TEST_CASE_FIXTURE(PreparedDialogues, "a folder with somebody's files is not made a model's") {
    const auto train = [&](const std::string& folder, const std::string& more = "") {
        return run_line("train --data " + data +
                        " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 8 "
                        "--max-train-steps 1 -mf " +
                        folder + " " + more);
    };
    for (const std::string name : {"notes.txt", "thesis/chapter.tex", "weights.bin", "none.o1x"}) {
        CAPTURE(name);
        const std::string folder = scratch / "home";
        fs::remove_all(folder);
        fs::create_directories(fs::path(folder + "/" + name).parent_path());
        write_text(folder + "/" + name, "mine");
        write_text(folder + "/job.log", "");
        const auto names = scratch.names("home");
        refused(train(folder), {"-mf " + folder + ": has other files in it (" + name + ")",
                                "choose a new folder"});
        CHECK(scratch.names("home") == names);
    }
    fs::create_directory(scratch / "many");
    for (const char* name : {"a", "b", "c", "d", "e"}) write_text(scratch / "many/" + name, "");
    refused(train(scratch / "many"), {"(a, b, c and more)"});
    fs::create_directory(scratch / "linked");
    fs::create_symlink(scratch / "many", scratch / "linked/elsewhere");
    refused(train(scratch / "linked"), {"(elsewhere)"});
}

TEST_CASE_FIXTURE(PreparedDialogues,
                  "the data that a command names may lie in the model's folder") {
    const std::string folder = scratch / "run";
    fs::create_directory(folder);
    fs::copy(data, folder + "/data", fs::copy_options::recursive);
    says(run_line("train --data " + folder +
                  "/data --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 8 "
                  "--max-train-steps 1 -mf " +
                  folder),
         0, {"training ended"});
}

TEST_CASE_FIXTURE(PreparedDialogues, "what jobs and launchers leave in a folder is no obstacle") {
    const std::string folder = scratch / "job";
    fs::create_directories(folder + "/logs/attempt_0/rank_0");
    fs::create_directories(folder + "/.git/objects");
    for (const char* name :
         {"job.log", "log.txt", "slurm-12.out", "slurm-12_3.err", "train.o123", "train.e123",
          "job.sbatch", "run.sh", "nohup.out", "logs/attempt_0/rank_0/stdout.log", ".git/objects/x",
          ".hidden", "idle-piece-of-job-7", "failure.json", "run.lock.tmp-0123456789abcdef"})
        write_text(folder + "/" + name, "x");
    fs::create_symlink("nowhere", folder + "/link");
    write_text(folder + "/options", "n-layers = 1\n");
    says(run_line("train --data " + data +
                  " --embedding-size 16 --ffn-size 16 --threads 1 -bs 8 --max-train-steps 1 -mf " +
                  folder + " --config " + folder + "/options"),
         0, {"training ended"});
    CHECK(read_text(folder + "/run.sh") == "x");
}

TEST_CASE_FIXTURE(PreparedDialogues, "another program's config.json is not called damaged") {
    fs::create_directory(model);
    write_text(model + "/config.json", R"({"n_head": 12, "n_layer": 12})");
    const std::string train = "train --max-train-steps 1 --data " + data + " -mf ";
    for (const std::string& command :
         {train, std::string("eval_model -mf "), std::string("lockstep generate -mf ")}) {
        CAPTURE(command);
        refused(run_line(command + model),
                {model + "/config.json: was not written by Lockstep", "choose another folder"});
    }
    write_text(model + "/config.json", R"({"model_type": "bert", "n_layer": 12})");
    refused(run_line(train + model), {model + ": is a model of transformers", "--init-model"});
    refused(run_line("lockstep generate -mf " + model),
            {model + "/config.json: \"model_type\" is", "bert", "gpt2", "llama"});
    CHECK(scratch.names("model") == std::set<std::string>{"config.json"});
}
