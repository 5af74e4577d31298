// SPDX-License-Identifier: Apache-2.0
// One run at a time writes into a model folder.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>

#include "tests/support/faulty_files.hpp"
#include "tests/support/program_checks.hpp"
#include "tests/support/running_job.hpp"

using namespace lockstep::tests;

namespace {

struct Runs : PreparedDialogues {
    std::string lock = model + "/run.lock";
    // mpirun does not look into the build's folder.
    std::string mpirun = "mpirun --allow-run-as-root --oversubscribe --bind-to none -np 2 " +
                         program_path("lockstep") + " distributed_train";

    std::string line(const std::string& program, const std::string& more) const {
        return program + " --data " + data + " -mf " + model +
               " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 8"
               " --log-every-n-steps 1 --save-every-n-steps 1 " +
               more;
    }
    std::string endless(const std::string& program = "train") const {
        return line(program, "--num-epochs 1000000");
    }
};

void is_refused(const ProgramResult& run, const std::vector<std::string>& words) {
    says(run, 2, words);
    CHECK(std::ranges::count(run.err, '\n') == 1);
}

// The lock of a process on a machine that this one cannot ask.
std::string lock_elsewhere(int beats) {
    return R"({"run":"00000000000000aa","host":"node7","pid":4711,"since":"2026-01-02T03:04:05Z",)"
           R"("job":"12","job_restarts":0,"machine":"","boot_id":"another",)"
           R"("pid_namespace":"pid:[1]","start_ticks":5,"beats":")" +
           std::to_string(beats) + "\"}";
}

void replace(const std::string& path, const std::string& text) {
    write_text(path + ".new", text);
    std::filesystem::rename(path + ".new", path);
}

}  // namespace

TEST_CASE_FIXTURE(Runs, "a second run into one folder is refused and told who has it") {
    RunningJob first(endless(), model);
    REQUIRE(first.wait_for_first_step());
    for (const std::string& ranks :
         {std::string("train"), std::string("multiprocessing_train --distributed-world-size 2"),
          mpirun}) {
        CAPTURE(ranks);
        const ProgramResult second = run_line(line(ranks, "--max-train-steps 2"));
        says(second, 2,
             {model + ": process " + std::to_string(first.launcher()) + " on ",
              " trains there since ", "choose another --model-file"});
    }
    says(run_line("eval -mf " + model + " --data " + data + " --split train --num-examples 2"), 0,
         {});
    kill(first.launcher(), SIGINT);
    CHECK(first.wait().code == 0);
    CHECK_FALSE(std::filesystem::exists(lock));
    says(run_line(line("train", "--max-train-steps 1")), 0, {"continuing after step"});
}

TEST_CASE_FIXTURE(Runs, "of runs that start at the same moment one gets the folder") {
    const std::vector<std::string> programs{"train", mpirun, "train", mpirun};
    std::vector<ProgramResult> results(programs.size());
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < programs.size(); ++i)
            threads.emplace_back(
                [&, i] { results[i] = run_line(line(programs[i], "--max-train-steps 100")); });
    }
    const auto with = [&](int code) {
        return std::ranges::count(results, code, &ProgramResult::code);
    };
    // One that starts when another has ended continues its run.
    CHECK(with(0) >= 1);
    for (const ProgramResult& result : results) {
        CAPTURE(result.out);
        CAPTURE(result.err);
        CHECK((result.code == 0 || result.code == 2));
        if (result.code == 2) CHECK(result.err.find(" trains there since ") != std::string::npos);
    }
    CHECK(scratch.names("model").count("run.lock") == 0);
}

TEST_CASE_FIXTURE(Runs,
                  "a run that makes its folder does not need another start's file of the lock") {
    // The file has gone when it would be synced.
    write_text(lock + ".tmp-00ff", "");
    const auto gone = faulty_files("run.lock.tmp-00ff", ENOENT);
    says(run_line(line("train", "--max-train-steps 1"), {"", gone, ""}), 0, {"training ended"});
}

TEST_CASE_FIXTURE(Runs, "the folder of a run that was killed is taken over at once, in one line") {
    RunningJob first(endless(), model);
    REQUIRE(first.wait_for_first_step());
    kill(first.launcher(), SIGKILL);
    first.wait();
    CHECK(std::filesystem::exists(lock));
    says(run_line(line("multiprocessing_train --distributed-world-size 2", "--max-train-steps 1")),
         0,
         {model + ": takes the folder over from process " + std::to_string(first.launcher()) +
              " on ",
          "which has ended", "the number of steps is reached"});
    CHECK(scratch.names("model").count("run.lock") == 0);
}

TEST_CASE_FIXTURE(Runs, "a run that starts again takes its own folder at once") {
    RunningJob job(endless("multiprocessing_train --distributed-world-size 2 --max-restarts 1"),
                   model);
    REQUIRE(job.wait_for_first_step());
    const pid_t rank_0 = job.process_of(0);
    REQUIRE(rank_0 > 0);
    kill(rank_0, SIGKILL);
    const std::string taken = "takes the folder over from process " + std::to_string(rank_0);
    // No rank lives in the pause before the restart.
    constexpr int max_looks = 3000;
    for (int look = 0; look < max_looks && job.output().find(taken) == std::string::npos; ++look)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(job.output().find(taken) != std::string::npos);
    kill(job.launcher(), SIGINT);
    job.wait();
}

TEST_CASE_FIXTURE(Runs,
                  "a run on a host that cannot be asked keeps its folder while it gives beats") {
    write_text(lock, lock_elsewhere(1));
    std::atomic<int> beats = 1;
    const std::jthread owner([&](std::stop_token stop) {
        while (!stop.stop_requested()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            replace(lock, lock_elsewhere(++beats));
        }
    });
    says(run_line(line("train", "--max-train-steps 1")), 2,
         {"process 4711 on node7 (job 12), there since 2026-01-02T03:04:05Z, cannot be asked",
          "process 4711 on node7 (job 12) trains there since 2026-01-02T03:04:05Z"});
    CHECK(scratch.names("model").contains("run.lock"));
    CHECK_FALSE(scratch.names("model").contains("config.json"));
}

TEST_CASE_FIXTURE(Runs, "a run that has lost its folder ends instead of saving there") {
    RunningJob first(endless(), model);
    REQUIRE(first.wait_for_first_step());
    replace(lock, lock_elsewhere(1));
    const ProgramResult run = first.wait();
    says(run, 1, {"process 4711 on node7 (job 12) has taken the folder", "saves nothing more"});
    CHECK(read_text(lock) == lock_elsewhere(1));
}

TEST_CASE_FIXTURE(Runs, "a file system without hard links has locks too") {
    const ProgramInput input{"", faulty_links(EPERM), ""};
    RunningJob first(endless(), model, input.environment);
    REQUIRE(first.wait_for_first_step());
    is_refused(run_line(line("train", "--max-train-steps 1"), input), {" trains there since "});
    kill(first.launcher(), SIGKILL);
    first.wait();
    says(run_line(line("train", "--max-train-steps 1"), input), 0, {"takes the folder over"});
    CHECK_FALSE(std::filesystem::exists(lock));
}

TEST_CASE_FIXTURE(Runs, "a lock that is not a file that can be read is refused in one line") {
    std::filesystem::create_directories(lock);
    is_refused(run_line(line("train", "--max-train-steps 1")), {lock + ": is a folder"});
    std::filesystem::remove(lock);
    write_text(lock, lock_elsewhere(1));
    const ProgramInput input{"", faulty_files("run.lock", EACCES), ""};
    is_refused(run_line(line("train", "--max-train-steps 1"), input),
               {"run.lock", "Permission denied"});
    CHECK(scratch.names("model") == std::set<std::string>{"run.lock"});
}
