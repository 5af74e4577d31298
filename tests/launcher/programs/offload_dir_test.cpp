// SPDX-License-Identifier: Apache-2.0
// Runs on CPUs whose optimizer's state lies on a disk (--offload-dir).
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/faulty_files.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace {

struct OnDisk : PreparedDialogues {
    std::string disk = scratch / "disk";

    OnDisk() { std::filesystem::create_directory(disk); }
    std::string line(const std::string& name, const std::string& more,
                     const std::string& optimizer = "adamw --weight-decay 0.01") const {
        return "--data " + data + " -mf " + (scratch / name) +
               " --device cpu --embedding-size 16 --n-layers 1 --ffn-size 16 --n-heads 2 "
               "--threads 1 -bs 8 -tr 32 --optimizer " +
               optimizer + " " + more;
    }
    void train(const std::string& name, const std::string& more) const {
        says(run_line("train " + line(name, more)), 0, {});
    }
    std::string tensors(const std::string& name) const {
        const std::string folder = (scratch / name) + "/checkpoints/step-00000004/";
        return read_text(folder + "model.safetensors") +
               read_text(folder + "part-00000.safetensors");
    }
    std::string offload() const { return "--offload optimizer --offload-dir " + disk + " "; }
};

}  // namespace

TEST_CASE_FIXTURE(OnDisk,
                  "a run with its state on a disk writes the same checkpoints, and continues both "
                  "ways") {
    for (const std::string precision : {"fp32", "bf16"}) {
        const std::string steps = "--precision " + precision + " --max-train-steps ";
        const auto named = [&](const std::string& name) { return name + precision; };
        train(named("kept"), steps + "4");
        train(named("moved"), steps + "4 " + offload());
        train(named("up"), steps + "2");
        train(named("up"), steps + "4 " + offload());
        train(named("down"), steps + "2 " + offload());
        train(named("down"), steps + "4 --offload none");
        train(named("on"), steps + "2 " + offload());
        train(named("on"), steps + "4");  // the checkpoint tells the folder
        REQUIRE_FALSE(tensors(named("kept")).empty());
        for (const std::string name : {"moved", "up", "down", "on"}) {
            CAPTURE(name);
            CHECK(tensors(named(name)) == tensors(named("kept")));
        }
    }
    CHECK(scratch.names("disk").empty());
}

TEST_CASE_FIXTURE(OnDisk, "plan tells what lies on the disk") {
    const auto plan = run_line("lockstep plan " + line("none", "--precision bf16 " + offload()));
    says(plan, 0,
         {"on the disk for each rank, for the optimizer", "chunks on their way from and to"});
    CHECK_FALSE(contains(plan.out, "copy of rank 0"));  // saves read the file
}

TEST_CASE_FIXTURE(OnDisk, "a state that cannot lie on a disk is refused in one line") {
    const auto refused = [&](const std::string& more, const std::string& why,
                             const std::string& optimizer = "adam") {
        CAPTURE(why);
        const auto run = run_line("train " + line("new", "--max-train-steps 1 " + more, optimizer));
        says(run, 2, {why});
        CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
        CHECK_FALSE(std::filesystem::exists(scratch / "new"));
    };
    refused("--offload optimizer", "give --offload none, or --offload-dir DIR");
    refused("--offload-dir " + disk, "--offload-dir: nothing is offloaded there; add --offload");
    refused("--offload optimizer --offload-dir " + (scratch / "none"),
            "--offload-dir " + (scratch / "none") + ": no file can be made there: No such file");
    refused("--offload optimizer --offload-dir " + (scratch / "train.txt"), "Not a directory");
    refused(offload(), "does not update with adafactor", "adafactor");
    refused(offload(), "does not update with muon", "muon");
    refused(offload() + "--moments int8", "moments that are offloaded are in fp32");
    CHECK(scratch.names("disk").empty());
}

TEST_CASE_FIXTURE(OnDisk, "a disk without room is told before the start") {
    const auto run = run_program({"bash", "-c",
                                  "ulimit -f 64; exec " + program_path("lockstep") + " train " +
                                      line("new", "--max-train-steps 1 " + offload())});
    says(run, 2, {"--offload-dir " + disk + "/lockstep-state-", ": no room for ", "ulimit -f"});
    CHECK_FALSE(std::filesystem::exists(scratch / "new"));
}

TEST_CASE_FIXTURE(OnDisk, "a disk that fails ends the run, and the last checkpoint is good") {
    train("calm", "--max-train-steps 4");
    train("run", "--max-train-steps 2 " + offload());
    const auto run = run_line("train " + line("run", "--max-train-steps 4 " + offload()),
                              {"", faulty_reads("lockstep-state-"), ""});
    says(run, 1, {disk + "/lockstep-state-", ": pread: Input/output error"});
    train("run", "--max-train-steps 4");
    CHECK(tensors("run") == tensors("calm"));
    CHECK(scratch.names("disk").empty());
}
