// SPDX-License-Identifier: Apache-2.0
// The files of a model folder: how they are read, written and removed.
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/faulty_files.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace {

struct Models : PreparedDialogues {
    std::string options = " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 8 ";

    ProgramResult train(const std::string& more, const ProgramInput& input = {}) const {
        return run_line("train --data " + data + options + "-mf " + model + " " + more, input);
    }
    // A model with two checkpoints, the newer one damaged, and no best weights.
    void damage() const {
        REQUIRE(train("--save-every-n-steps 2 --max-train-steps 4").code == 0);
        std::filesystem::remove(model + "/model.safetensors");
        flip_last(model + "/checkpoints/step-00000004/model.safetensors");
    }
    static void flip_last(const std::string& path) {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(-1, std::ios::end);
        const auto byte = static_cast<char>(file.get() ^ 1);
        file.seekp(-1, std::ios::end);
        file.put(byte);
    }
    std::vector<std::string> logged(const std::string& more, const std::string& part) const {
        const std::string log = scratch / "logged";
        const auto run = train(more, {"", logged_files(part, log), ""});
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
        std::istringstream in(read_text(log));
        std::vector<std::string> lines;
        for (std::string text; std::getline(in, text);) lines.push_back(text);
        return lines;
    }
};

void warns(const ProgramResult& run) {
    says(run, 0, {});
    CHECK(run.err.find("warning: damaged checkpoints are not used: ") != std::string::npos);
    CHECK(run.err.find("step-00000004/model.safetensors: is damaged") != std::string::npos);
    CHECK(run.err.find("step-00000002") != std::string::npos);
    CHECK(std::ranges::count(run.err, '\n') == 1);
}

}  // namespace

TEST_CASE_FIXTURE(Models,
                  "programs that only read name the damaged checkpoint that they pass over") {
    damage();
    const auto names = scratch.names("model/checkpoints");
    warns(run_line("lockstep eval --device cpu -mf " + model + " --data " + data +
                   " --split train --num-examples 2"));
    warns(run_line("lockstep generate -mf " + model, {"Hello\n", {}, ""}));
    warns(run_line("lockstep interactive -mf " + model, {"Hello\n", {}, ""}));
    warns(run_line("train --data " + data + options + "--max-train-steps 1 -mf " +
                   (scratch / "next") + " --init-model " + model));
    CHECK(scratch.names("model/checkpoints") == names);
}

TEST_CASE_FIXTURE(Models, "damaged best weights are refused by their checksum") {
    REQUIRE(train("--max-train-steps 2").code == 0);
    const std::string eval =
        "eval --device cpu -mf " + model + " --data " + data + " --split train --num-examples 2";
    says(run_line(eval), 0, {});
    CHECK(read_text(model + "/model.safetensors").find("\"xxh3\":") != std::string::npos);
    flip_last(model + "/model.safetensors");
    says(run_line(eval), 2, {"model.safetensors: is damaged", "checksum"});
    // A checkpoint's weights have their sum in the manifest.
    std::filesystem::copy_file(model + "/checkpoints/step-00000002/model.safetensors",
                               model + "/model.safetensors",
                               std::filesystem::copy_options::overwrite_existing);
    CHECK(read_text(model + "/model.safetensors").find("\"xxh3\":") == std::string::npos);
    says(run_line(eval), 0, {});
}

TEST_CASE_FIXTURE(Models, "what an interrupted save left beside the checkpoints is removed") {
    for (const char* name : {"model.safetensors.tmp-1234", "model.safetensors.tmp-00ff00ff00ff00ff",
                             "config.json.tmp-77", "notes.tmp-1234"})
        write_text(model + "/" + name, "half");
    write_text(model + "/failure.json", "{}");  // of an earlier start
    REQUIRE(train("--max-train-steps 1").code == 0);
    const auto names = scratch.names("model");
    CHECK(names.contains("notes.tmp-1234"));
    CHECK_FALSE(names.contains("failure.json"));
    for (const std::string& name : names)
        if (name != "notes.tmp-1234") CHECK(name.find(".tmp-") == std::string::npos);
}

TEST_CASE_FIXTURE(Models, "the files of a new model are on disk before config.json makes it one") {
    const auto lines = logged("--max-train-steps 1", scratch.path());
    const auto at = [&](const std::string& line) {
        const auto found = std::ranges::find_if(lines, [&](const std::string& one) {
            return one.find("synced " + line) != std::string::npos;
        });
        CHECK_MESSAGE(found != lines.end(), line);
        return found - lines.begin();
    };
    const auto config = at(model + "/config.json.tmp-");
    CHECK(at(model + "/dictionary.txt") < config);
    CHECK(at(model + "/tokenizer.json") < config);
    // The folders' own names are synced in the folders above them.
    CHECK(std::ranges::count(lines, "- synced " + scratch.path()) == 1);
    const auto checkpoint = at(model + "/checkpoints/step-");
    // Once for config.json and once for checkpoints.
    CHECK(std::count(lines.begin() + config, lines.begin() + checkpoint, "- synced " + model) == 2);
}

// They may be another run's, which goes when the folder is refused to it.
TEST_CASE_FIXTURE(Models,
                  "files in a new model's folder that are not the program's are left alone") {
    std::filesystem::create_directory(model);
    write_text(model + "/notes.log", "not the program's");
    const auto lines = logged("--max-train-steps 1", scratch.path());
    CHECK(std::ranges::count(lines, "- synced " + model + "/tokenizer.json") == 1);
    CHECK(std::ranges::count(lines, "- synced " + model + "/notes.log") == 0);
}

TEST_CASE_FIXTURE(Models, "a state is saved once") {
    const std::string text = scratch / "valid.txt";
    copy_head("examples/shakespeare/train.txt", text, 10);
    REQUIRE(run_line("lockstep prepare --input " + (scratch / "train.txt") + " --valid " + text +
                     " --out " + data + " --overwrite")
                .code == 0);
    const auto lines =
        logged("-vstep 2 --save-after-valid true --max-train-steps 4", "/state.json.tmp-");
    CHECK(std::ranges::count_if(lines, [](const std::string& line) {
              return line.find("synced") != std::string::npos;
          }) == 2);
}

TEST_CASE_FIXTURE(Models, "a checkpoint is replaced on a file system that cannot exchange names") {
    REQUIRE(train("--save-every-n-steps 2 --max-train-steps 4").code == 0);
    // The run that does nothing saves the step from which it continues.
    says(train("--max-train-steps 4", {"", faulty_links(EPERM), ""}), 0, {"training ended"});
    CHECK(scratch.names("model/checkpoints") ==
          std::set<std::string>{"step-00000002", "step-00000004"});
    says(train("--max-train-steps 5"), 0, {"continuing after step 4"});
}
