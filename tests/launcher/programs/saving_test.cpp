// SPDX-License-Identifier: Apache-2.0
// Checkpoints and metrics on a disk that fails: what a run bears, and what ends it.
#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>
#include <utility>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/faulty_files.hpp"
#include "tests/support/program_checks.hpp"
#include "tests/support/running_job.hpp"

using namespace lockstep::tests;
using Names = std::set<std::string>;

namespace {

constexpr int always = 1'000'000;

struct Saves : PreparedDialogues {
    // Trains four steps with a checkpoint after each, while opening paths with `part` in them fails
    // with the number `code`.
    ProgramResult train(const std::string& part, int code, int times,
                        const std::string& more = "--save-every-n-steps 1") const {
        return run_line("train --data " + data + " -mf " + model +
                            " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 8"
                            " --log-every-n-steps 1 --max-train-steps 4 " +
                            more,
                        {"", faulty_files(part, code, times), ""});
    }
    // Returns the name of the newest whole checkpoint; empty if there is none.
    std::string newest() const {
        std::string found;
        if (!std::filesystem::exists(model + "/checkpoints")) return found;
        for (const std::string& name : scratch.names("model/checkpoints"))
            if (name.find(".tmp-") == std::string::npos) found = name;
        return found;
    }
    std::string checkpoint(int step) const {
        return model + "/checkpoints/step-0000000" + std::to_string(step);
    }
};

std::int64_t warnings_in(const ProgramResult& run) {
    const std::string text = run.out + run.err;
    std::int64_t count = 0;
    for (auto at = text.find("warning: "); at != std::string::npos;
         at = text.find("warning: ", at + 1))
        ++count;
    return count;
}

}  // namespace

TEST_CASE_FIXTURE(Saves, "a checkpoint that cannot be written is told, and training goes on") {
    const ProgramResult run = train("step-00000002.tmp-", ENOSPC, always);
    says(run, 0,
         {"warning: the checkpoint of step 2 is not saved (ENOSPC): " + checkpoint(2),
          "No space left on device", "the newest good checkpoint is " + checkpoint(1)});
    CHECK(warnings_in(run) == 1);
    CHECK(losses(model).size() == 4);
    const Names names = scratch.names("model/checkpoints");
    CHECK(names.contains("step-00000003"));
    CHECK(names.contains("step-00000004"));
    CHECK_FALSE(names.contains("step-00000002"));
}

TEST_CASE_FIXTURE(Saves, "checkpoints are the same if training waits for them") {
    const auto saved = [&](const std::string& more) {
        says(train("no such name", ENOSPC, always, "--save-every-n-steps 1 " + more), 0, {});
        const std::string weights = read_text(checkpoint(4) + "/model.safetensors");
        const std::string moments = read_text(checkpoint(4) + "/part-00000.safetensors");
        std::filesystem::remove_all(model);
        return std::pair(weights, moments);
    };
    const auto beside = saved("--async-save true");
    CHECK(saved("--async-save false") == beside);
}

TEST_CASE_FIXTURE(Saves, "saves that fail again and again end the run") {
    for (const int code : {EDQUOT, EIO, EROFS, EACCES}) {
        CAPTURE(code);
        const ProgramResult run = train("part-00000.safetensors.tmp-", code, always,
                                        "--save-every-n-steps 1 --max-save-failures 2");
        says(run, 1,
             {"the checkpoint of step 2 is not saved (", "there is no good checkpoint yet",
              "the run ends after 2 failures in a row"});
        CHECK(warnings_in(run) == 1);
        CHECK(scratch.names("model/checkpoints").empty());
    }
}

TEST_CASE_FIXTURE(Saves, "a run whose last checkpoint fails does not end well") {
    const ProgramResult run = train("step-00000004.tmp-", ENOSPC, always);
    says(run, 1,
         {"the checkpoint of step 4 is not saved (ENOSPC)",
          "the newest good checkpoint is " + checkpoint(3)});
    CHECK(scratch.names("model/checkpoints").contains("step-00000003"));
    says(train("nothing", 0, 0), 0, {"continuing after step 3"});
}

TEST_CASE_FIXTURE(Saves, "metrics that cannot be written do not end the run") {
    for (const std::string file : {"metrics.jsonl", "events.out.tfevents"}) {
        const ProgramResult run = train(file, EACCES, 3, "");
        says(run, 0, {"warning: " + model + "/" + file, "(EACCES); training goes on"});
        CHECK(warnings_in(run) == 1);
        CHECK(losses(model).size() == 4);
        std::filesystem::remove_all(model);
    }
}

TEST_CASE_FIXTURE(Saves, "a run that is killed while it writes keeps its older checkpoints") {
    const std::string line = "train --data " + data + " -mf " + model +
                             " --embedding-size 64 --n-layers 2 --ffn-size 256 --threads 1 -bs 8"
                             " --log-every-n-steps 1 --save-every-n-steps 1 --num-epochs 1000000";
    std::string before;
    for (int kill_number = 0; kill_number < 4; ++kill_number) {
        RunningJob job(line, model);
        while (newest() == before) std::this_thread::yield();
        before = newest();
        ::kill(job.launcher(), SIGKILL);
        job.wait();
    }
    const int next = std::stoi(newest().substr(std::string("step-").size())) + 1;
    const ProgramResult run = run_line(line + " --max-train-steps " + std::to_string(next));
    says(run, 0, {"continuing after step " + std::to_string(next - 1), "training ended"});
    CHECK(warnings_in(run) == 0);
}

TEST_CASE_FIXTURE(Saves, "restarts without checkpoints to start from are warned of") {
    const std::string line =
        "multiprocessing_train --distributed-world-size 1 --max-restarts 1"
        " --data " +
        data + " -mf " + model +
        " --embedding-size 16 --n-layers 1 --ffn-size 16 -bs 8"
        " --max-train-steps 1 --save-every-n-secs ";
    const std::string warning = "saves no checkpoint before its end: give --save-every-n-secs";
    says(run_line(line + "-1"), 0, {warning});
    const ProgramResult run = run_line(line + "1800");
    CHECK(run.code == 0);
    CHECK((run.out + run.err).find(warning) == std::string::npos);
}

TEST_CASE_FIXTURE(Saves, "as many checkpoints stay as the options say, and come back with them") {
    const std::string line = "train --data " + data + " -mf " + model +
                             " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 8";
    says(run_line(line + " --max-train-steps 7 --save-every-n-steps 1 --keep 3"
                         " --keep-every-n-steps 2"),
         0, {});
    CHECK(scratch.names("model/checkpoints") == Names{"step-00000002", "step-00000004",
                                                      "step-00000005", "step-00000006",
                                                      "step-00000007"});
    says(run_line(line + " --max-train-steps 9"), 0, {});
    CHECK(scratch.names("model/checkpoints") == Names{"step-00000002", "step-00000004",
                                                      "step-00000006", "step-00000007",
                                                      "step-00000008", "step-00000009"});
}
