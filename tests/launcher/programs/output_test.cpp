// SPDX-License-Identifier: Apache-2.0
// A program whose answer nobody gets has failed: /dev/full is a disk without room.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace {

// The build's programs as a user's shell finds them.
ProgramResult by_shell(const std::string& command) {
    const std::string bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return run_program({"bash", "-c", command},
                       {"", {{"PATH", bin + ":" + std::getenv("PATH")}}, ""});
}

void fails_on_a_full_disk(const std::string& command) {
    CAPTURE(command);
    const auto run = by_shell(command + " > /dev/full");
    CAPTURE(run.err);
    CHECK((run.code == 1 || run.code == 2));
    CHECK(run.err.find("standard output") != std::string::npos);
    CHECK(run.err.find("cannot be written") != std::string::npos);
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
}

struct Trained : PreparedDialogues {
    std::string of_model = " --data " + data + " -mf " + model + " ";
    std::string shape =
        " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 --max-train-steps 1 ";

    Trained() {
        const auto run = run_line("train" + of_model + shape);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    }
};

// Returns the lines of a text that do not begin with a time such as 2026-03-01T12:00:00+01:00.
std::string untimed(const std::string& text) {
    static const std::regex time(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d \S.*)");
    std::istringstream lines(text);
    std::string found;
    for (std::string line; std::getline(lines, line);)
        if (!std::regex_match(line, time)) found += line + "\n";
    return found;
}

// Returns the text without the times at the beginnings of its lines.
std::string without_times(const std::string& text) {
    constexpr std::size_t time = 26;  // with the blank
    std::istringstream lines(text);
    std::string found;
    for (std::string line; std::getline(lines, line);) found += line.substr(time) + "\n";
    return found;
}

}  // namespace

TEST_CASE("what a program prints is written, or the program fails") {
    for (const std::string command :
         {"lockstep help", "lockstep --version", "train --help", "eval_model --help",
          "lockstep prepare --help", "multiprocessing_train --help", "distributed_launch --help",
          "lockstep submit --help", "lockstep doctor --help", "interactive --help",
          "train --data d -mf m --num-epochs 1 --dump-config",
          "lockstep plan --vocabulary 9 -mf m --device cpu --dump-config",
          "lockstep submit --dry-run true -- distributed_train --data . -mf m --num-epochs 1",
          "lockstep plan --vocabulary 9 --n-layers 1 --embedding-size 8 --ffn-size 8 --n-positions "
          "8 --device cpu --json"}) {
        fails_on_a_full_disk(command);
    }
}

TEST_CASE("a reader of help or of a list may go when it has seen enough") {
    const PreparedDialogues prepared;
    // With the signal ignored, as some programs start others, the write itself fails.
    for (const std::string start : {"", "trap '' PIPE; "}) {
        for (const std::string& command : std::vector<std::string>{
                 "train -h", "multiprocessing_train --help", "distributed_launch -h",
                 "eval_model -h", "lockstep help", "lockstep help train",
                 "lockstep help distributed_train", "lockstep prepare -h", "lockstep submit -h",
                 "train --data d -mf m --num-epochs 1 --dump-config",
                 "lockstep inspect " + prepared.data, "display_data " + prepared.data}) {
            CAPTURE(command);
            const auto run = by_shell(start + "exec 5> >(true); wait $!; " + command + " >&5");
            CHECK(run.err == "");
        }
    }
}

TEST_CASE("help is asked for a program by its name, too") {
    for (const std::string words : {"help train", "--help train", "help train_model", "-h tm"}) {
        const auto run = by_shell("lockstep " + words);
        CHECK(run.code == 0);
        CHECK(run.out == by_shell("lockstep train --help").out);
    }
    CHECK(by_shell("lockstep help self-chat").out == by_shell("self_chat -h").out);
    CHECK(by_shell("lockstep help help").out == by_shell("lockstep").out);
    const auto run = by_shell("lockstep help trian");
    CHECK(run.code == 2);
    CHECK(run.err ==
          "help: 'trian' is no program; did you mean train? (lockstep help lists all)\n");
}

TEST_CASE("evaluation, replies and reports are written, or the program fails") {
    const Trained trained;
    const std::string model = " -mf " + trained.model;
    const std::string split = " --split train --threads 1 ";
    fails_on_a_full_disk("lockstep eval" + trained.of_model + split +
                         "--skip-generation true --device cpu");
    fails_on_a_full_disk("echo hello | lockstep generate --max-length 2" + model);
    fails_on_a_full_disk("echo hello | interactive --max-length 2" + model);
    fails_on_a_full_disk("lockstep self_chat -d --max-length 2 --selfchat-max-turns 2" + model);
    fails_on_a_full_disk("lockstep inspect " + trained.data);
    fails_on_a_full_disk("lockstep display_data " + trained.data);
    fails_on_a_full_disk("echo hello | lockstep tokenize" + model);
    fails_on_a_full_disk("lockstep report" + model);
    fails_on_a_full_disk("lockstep checkpoint list" + model);
    fails_on_a_full_disk("lockstep checkpoint verify" + model);
    const auto closed = by_shell("lockstep inspect " + trained.data + " >&-");
    CHECK((closed.code == 1 || closed.code == 2));
}

TEST_CASE("doctor and ladder fail without their answer") {
    const PreparedDialogues prepared;
    fails_on_a_full_disk("lockstep doctor --data " + prepared.data + " --data-seconds 0.1");
    fails_on_a_full_disk(
        "lockstep ladder --max-train-time 1 --num-epochs 1 --precision fp32 "
        "--device cpu --embedding-size 8 --n-layers 1 --ffn-size 8 --threads 1 "
        "--distributed-world-size 1 -bs 64 --data " +
        prepared.data);
}

TEST_CASE("a run whose log cannot be shown has trained, and says so") {
    const PreparedDialogues prepared;
    const auto run = by_shell("train --data " + prepared.data + " -mf " + prepared.model +
                              " --embedding-size 16 --n-layers 1 --ffn-size 16 "
                              "--threads 1 --max-train-steps 1 > /dev/full");
    CHECK(run.code == 0);
    CHECK(run.err.find("train: standard output cannot be written") != std::string::npos);
    CHECK(run_line("lockstep generate --input /dev/null -mf " + prepared.model).code == 0);
}

TEST_CASE("ranks that multiprocessing_train started speak under its name") {
    const PreparedDialogues prepared;
    // Found only by the ranks, when they have joined.
    const auto run =
        run_line("multiprocessing_train --distributed-world-size 2 --data " + prepared.data +
                 " -mf " + prepared.model +
                 " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 --max-train-steps 1 "
                 "--init-model " +
                 prepared.data + "/dataset.json");
    CHECK(run.code != 0);
    CHECK(run.err.find("distributed_train") == std::string::npos);
    CHECK(run.err.find("multiprocessing_train: ") != std::string::npos);
}

TEST_CASE("--log-file keeps the lines of a run with their times") {
    const PreparedDialogues prepared;
    const std::string log = prepared.scratch / "run.log";
    const std::string base = "train --data " + prepared.data + " -mf " + prepared.model +
                             " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 ";
    const std::string train = base + "--log-file " + log + " --max-train-steps ";
    const auto first = run_line(train + "1");
    REQUIRE(first.code == 0);
    const std::string text = read_text(log);
    CHECK(untimed(text) == "");
    CHECK(without_times(text) == first.out);
    CHECK(untimed(first.out) == first.out);
    SUBCASE("a continued run adds its lines, and nobody need read them") {
        REQUIRE(by_shell(train + "3 | :").code == 0);
        const std::string both = read_text(log);
        REQUIRE(both.starts_with(text));
        CHECK(both.find("continuing after step 1") != std::string::npos);
        CHECK(both.find("training ended", text.size()) != std::string::npos);
    }
    SUBCASE("the reason of a refusal is there, too") {
        REQUIRE(run_line(train + "2 --n-heads 3").code == 2);
        CHECK(read_text(log).substr(text.size()).find(" train: --") != std::string::npos);
    }
    SUBCASE("each rank has a file") {
        const auto two = run_line(
            "multiprocessing_train --distributed-world-size 2 --verbose --data " + prepared.data +
            " -mf " + (prepared.scratch / "two") +
            " --embedding-size 16 --n-layers 1 --ffn-size 16 --max-train-steps 1 --log-file " +
            log);
        REQUIRE(two.code == 0);
        CHECK(read_text(log + ".rank1").find(" rank 1 on ") != std::string::npos);
        CHECK(untimed(read_text(log + ".rank1")) == "");
    }
    SUBCASE("it may be in the folder that the run makes") {
        const std::string fresh = prepared.scratch / "made/by/the/run";
        const std::string line = "train --data " + prepared.data + " -mf " + fresh +
                                 "/ --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 "
                                 "--max-train-steps ";
        const auto made = run_line(line + "1 --log-file " + fresh + "/run.log");
        REQUIRE_MESSAGE(made.code == 0, made.err);
        CHECK(without_times(read_text(fresh + "/run.log")) == made.out);
        CHECK(run_line(line + "2 --log-file " + fresh + "/run.log").code == 0);
    }
    SUBCASE("a model's folder is not made a file") {
        const std::string fresh = prepared.scratch / "fresh";
        for (const std::string end : {""}) {
            const auto run = run_line("train --data " + prepared.data + " -mf " + fresh +
                                      " --max-train-steps 1 --log-file " + fresh + end);
            CAPTURE(run.err);
            CHECK(run.code == 2);
            CHECK(run.err.find(": is the model's folder; name a file in it") != std::string::npos);
            CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
        }
        CHECK_FALSE(std::filesystem::exists(fresh));
    }
    SUBCASE("what is no file of its own is refused") {
        for (const std::string& other :
             {prepared.data, prepared.model + "/metrics.jsonl", prepared.scratch / "train.txt",
              std::string("/dev/null"), prepared.scratch / "none/log"}) {
            const auto run = run_line(base + "--max-train-steps 3 --log-file " + other);
            CAPTURE(run.err);
            CHECK(run.code == 2);
            CHECK(run.err.find("--log-file") != std::string::npos);
            CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
        }
    }
}

TEST_CASE("lines that launchers write to files have their times") {
    const PreparedDialogues prepared;
    const std::string rank = "lockstep distributed_train --data " + prepared.data +
                             " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 "
                             "--max-train-steps 1 -mf " +
                             prepared.model;
    const std::string logs = prepared.scratch / "logs";
    const auto run = by_shell("distributed_launch --nproc-per-node 2 --log-dir " + logs +
                              " --redirects 3 " + rank + " --verbose");
    REQUIRE_MESSAGE(run.code == 0, run.err);
    for (const std::string name : {"rank_0/stdout.log", "rank_1/stdout.log"}) {
        const std::string text = read_text(logs + "/attempt_0/" + name);
        CHECK(text.find("training") != std::string::npos);
        CHECK(untimed(text) == "");
    }
    const auto refused = by_shell("LOCKSTEP_LOG_TIMES=2 " + rank + " --n-heads 3");
    CHECK(refused.code == 2);
    CHECK(untimed(refused.err) == "");
    CHECK(untimed(by_shell("LOCKSTEP_LOG_TIMES=2 " + rank + " --max-train-steps 2").out) != "");
}

TEST_CASE("a program whose lines nobody reads any more ends") {
    const Trained trained;
    // Each would work for ten minutes, or wait for ever.
    const std::string shape = " --device cpu --embedding-size 16 --n-layers 1 --ffn-size 16 ";
    const std::string ladder =
        "lockstep ladder --max-train-time 600 --num-epochs 1000000 "
        "--precision fp32 --threads 1 --distributed-world-size 1 --data " +
        trained.data + shape;
    for (const std::string& command :
         {ladder, "lockstep generate -mf " + trained.model + " < " + (trained.scratch / "fifo"),
          "lockstep doctor --data-seconds 600 --data " + trained.data}) {
        CAPTURE(command);
        const auto run = by_shell("rm -f " + (trained.scratch / "fifo") + "; mkfifo " +
                                  (trained.scratch / "fifo") + "; sleep 1000 > " +
                                  (trained.scratch / "fifo") + " & " + "timeout 600 " + command +
                                  " | head -n 0; echo ${PIPESTATUS[0]}; kill $!");
        CHECK(run.out.find("124") == std::string::npos);
        CHECK(std::count(run.err.begin(), run.err.end(), '\n') <= 1);
    }
}
