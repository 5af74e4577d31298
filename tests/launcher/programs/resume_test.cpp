// SPDX-License-Identifier: Apache-2.0
// Stopped in mid-epoch and continued: the same run, bit for bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/faulty_files.hpp"
#include "tests/support/files.hpp"

using namespace lockstep::tests;

namespace {

std::string prepared(const ScratchFolder& scratch) {
    copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 200);
    copy_head("examples/shakespeare/valid.txt", scratch / "valid.txt", 20);
    const auto run =
        run_line("lockstep prepare --dict-lower true --input " + (scratch / "train.txt") +
                 " --valid " + (scratch / "valid.txt") + " --out " + (scratch / "data"));
    REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    return scratch / "data";
}

const std::string options =
    " --n-layers 1 --embedding-size 32 --ffn-size 64 --dropout 0.2 --attention-dropout 0.1"
    " --optimizer adam -lr 1e-3 --lr-scheduler invsqrt --warmup-updates 5 -bs 8 -dynb full"
    " --text-truncate 48 --label-truncate 24 --threads 1 --log-every-n-steps 1 --num-workers 1"
    " --validation-every-n-steps 4 ";

void train(const std::string& command) {
    const auto run = run_line(command);
    REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
}

}  // namespace

TEST_CASE("a run that was stopped in mid-epoch continues bit for bit") {
    for (const std::string precision : {"fp32", "bf16"}) {
        CAPTURE(precision);
        const ScratchFolder scratch;
        const std::string common =
            " --data " + prepared(scratch) + options + "--precision " + precision + " -mf ";
        for (const std::string ranks :
             {"train", "multiprocessing_train --distributed-world-size 2"}) {
            CAPTURE(ranks);
            const std::string tag = ranks.substr(0, 5);
            const std::string whole = scratch / (tag + "-whole"),
                              parts = scratch / (tag + "-parts");
            train(ranks + common + whole + " --max-train-steps 14");
            train(ranks + common + parts + " --max-train-steps 6");
            train(ranks + common + parts + " --max-train-steps 14");
            CHECK(losses(parts) == losses(whole));
            CHECK(losses(whole).size() == 14);
            CHECK(read_text(parts + "/model.safetensors") ==
                  read_text(whole + "/model.safetensors"));
        }
    }
}

TEST_CASE("a gpt2 that was stopped in mid-epoch continues bit for bit without its options") {
    const ScratchFolder scratch;
    const std::string start = "train -m gpt2 --data " + prepared(scratch) + options + "-mf ";
    const std::string whole = scratch / "whole", parts = scratch / "parts";
    train(start + whole + " --max-train-steps 8");
    train(start + parts + " --max-train-steps 3");
    // --threads belongs to a launch, and the last bits of some products to the number of threads.
    train("train -mf " + parts + " --max-train-steps 8 --threads 1");
    CHECK(losses(parts) == losses(whole));
    CHECK(losses(whole).size() == 8);
    CHECK(read_text(parts + "/model.safetensors") == read_text(whole + "/model.safetensors"));
}

TEST_CASE("--init-model starts from other weights, with fresh counters") {
    const ScratchFolder scratch;
    const std::string common = " --data " + prepared(scratch) + options + "-mf ";
    train("train" + common + (scratch / "first") + " --max-train-steps 8");
    train("train" + common + (scratch / "second") + " --max-train-steps 1 --init-model " +
          (scratch / "first"));
    const auto first = losses(scratch / "first"), second = losses(scratch / "second");
    REQUIRE(second.size() == 1);
    CHECK(second.front() < 0.97 * first.front());
}

TEST_CASE("a requested stop saves a checkpoint and ends with exit code 0") {
    const ScratchFolder scratch;
    const std::string data = prepared(scratch);
    const auto run =
        run_program({"bash", "-c",
                     "bin=$(dirname $(readlink /proc/$PPID/exe)); $bin/multiprocessing_train "
                     "--distributed-world-size 2 --data " +
                         data + options + "-mf " + (scratch / "model") +
                         " --num-epochs 1000 & pid=$!; "
                         "until [ -s " +
                         (scratch / "model") +
                         "/metrics.jsonl ]; do sleep 0.05; done; "
                         "kill -INT $pid; wait $pid"});
    CHECK_MESSAGE(run.code == 0, run.out << run.err);
    CHECK(run.out.find("a stop was requested") != std::string::npos);
    const auto rest = run_line("train --data " + data + options + "-mf " + (scratch / "model") +
                               " --max-train-steps 1");
    CHECK(rest.out.find("continuing after step") != std::string::npos);
}

namespace {

// A run of 8 steps with checkpoints of steps 4 and 8, and a line that continues it.
struct Stopped {
    ScratchFolder scratch;
    std::string model = scratch / "model";
    std::string line = " --data " + prepared(scratch) + options + "-mf " + model +
                       " --save-every-n-steps 4 --max-train-steps ";

    Stopped() { train("train" + line + "8"); }
    std::set<std::string> checkpoints() const { return scratch.names("model/checkpoints"); }
};

const std::set<std::string> both = {"step-00000004", "step-00000008"};

void flip_a_bit(const std::string& path) {
    std::string bytes = read_text(path);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_text(path, bytes);
}

}  // namespace

TEST_CASE("a file server that fails for a moment costs no checkpoint") {
    const Stopped stopped;
    const auto moment = run_line("train" + stopped.line + "9",
                                 {"", faulty_files("step-00000008/manifest.json", EIO, 2), ""});
    CHECK_MESSAGE(moment.out.find("continuing after step 8") != std::string::npos,
                  moment.out << moment.err);
    CHECK(moment.code == 0);
}

TEST_CASE("a file server that keeps failing ends the run, and the checkpoints stay") {
    const Stopped stopped;
    for (const std::string ranks : {"train", "multiprocessing_train --distributed-world-size 2"}) {
        const auto run = run_line(ranks + stopped.line + "12",
                                  {"", faulty_files("step-00000008/state.json", ESTALE), ""});
        CAPTURE(run.out);
        CAPTURE(run.err);
        CHECK(run.code == 1);
        // A launcher also says which rank failed.
        CHECK(std::ranges::count(run.err, '\n') == (ranks == "train" ? 1 : 2));
        CHECK(run.err.find(stopped.model + "/checkpoints/step-00000008/state.json: ") !=
              std::string::npos);
        CHECK(run.err.find("ESTALE") != std::string::npos);
        CHECK(stopped.checkpoints() == both);
    }
}

TEST_CASE("a checkpoint of a newer format refuses the run") {
    const Stopped stopped;
    const std::string manifest = stopped.model + "/checkpoints/step-00000008/manifest.json";
    write_text(manifest, R"({"format_version":7,"files":{}})");
    const auto run = run_line("train" + stopped.line + "12");
    CHECK(run.code == 2);
    CHECK_MESSAGE(run.err.find(manifest + ": is of format version 7") != std::string::npos,
                  run.out << run.err);
    CHECK(stopped.checkpoints() == both);
}

TEST_CASE("a damaged checkpoint is set aside and named") {
    for (const std::string ranks : {"train", "multiprocessing_train --distributed-world-size 1"}) {
        const Stopped stopped;
        flip_a_bit(stopped.model + "/checkpoints/step-00000008/model.safetensors");
        const auto run = run_line(ranks + stopped.line + "12");
        CAPTURE(run.out);
        CAPTURE(run.err);
        CHECK(run.code == 0);
        CHECK(run.out.find("continuing after step 4") != std::string::npos);
        const std::string aside = stopped.model + "/checkpoints/step-00000008.damaged (";
        CHECK(run.out.find(aside) != std::string::npos);
        CHECK(stopped.checkpoints() ==
              std::set<std::string>{"step-00000008", "step-00000008.damaged", "step-00000012"});
    }
}

TEST_CASE("a run whose checkpoints cannot be read ends at once and changes nothing") {
    const ScratchFolder scratch;
    const std::string model = scratch / "model";
    const std::string line = " --data " + prepared(scratch) + options + "-mf " + model;
    train("train" + line + " --max-train-steps 6");
    const std::string before = read_text(model + "/metrics.jsonl");
    const std::string weights = read_text(model + "/model.safetensors");
    for (const std::string ranks : {"train", "multiprocessing_train --distributed-world-size 2"}) {
        const auto run = run_line(ranks + line + " --max-train-steps 9",
                                  {"", faulty_files("/checkpoints", EACCES), ""});
        CAPTURE(run.out);
        CAPTURE(run.err);
        CHECK(run.code == 2);
        CHECK(std::ranges::count(run.err, '\n') == 1);
        CHECK(run.err.find(model + "/checkpoints: cannot be read: Permission denied; ") !=
              std::string::npos);
        const bool same_metrics = read_text(model + "/metrics.jsonl") == before;
        const bool same_weights = read_text(model + "/model.safetensors") == weights;
        CHECK(same_metrics);
        CHECK(same_weights);
        CHECK(std::filesystem::exists(model + "/checkpoints/step-00000006"));
    }
}
