// SPDX-License-Identifier: Apache-2.0
// --moments of the programs: int8 learns as fp32 does, continues bit for bit and in the other kind,
// takes the memory that plan tells, and is refused where there are no such moments.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace {

struct Prepared : PreparedDialogues {
    std::string folder(const std::string& name) const { return scratch / name; }
    std::string start(const std::string& name) const {
        return " --data " + data + " -mf " + folder(name) +
               " --n-layers 2 --embedding-size 32 --ffn-size 64 --n-heads 2 --threads 1 -bs 4"
               " --dropout 0.1 --logical-shards 7 -lr 3e-3 --log-every-n-steps 1"
               " --lr-scheduler none";
    }
    std::string run(const std::string& line) const {
        const auto result = run_line(line);
        REQUIRE_MESSAGE(result.code == 0, line << "\n" << result.out << result.err);
        return result.out + result.err;
    }
    std::vector<double> losses(const std::string& name) const {
        std::vector<double> values;
        for (const auto& line : train_metrics(folder(name)))
            values.push_back(line.at("loss").get<double>());
        return values;
    }
    std::string file(const std::string& name, const std::string& of) const {
        return read_text(folder(name) + "/checkpoints/step-00000020/" + of);
    }
};

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

double furthest(const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]) / b[i]);
    return most;
}

}  // namespace

TEST_CASE("20 steps with moments in int8 have the losses of fp32 but for a percent") {
    const Prepared prepared;
    for (const std::string optimizer : {"adam", "adamw --weight-decay 0.01"})
        for (const std::string precision : {"fp32", "bf16"}) {
            const std::string more =
                " --max-train-steps 20 --optimizer " + optimizer + " --precision " + precision;
            const std::string tag = precision + optimizer.substr(0, 5);
            prepared.run("train" + prepared.start("a" + tag) + more);
            prepared.run("train" + prepared.start("b" + tag) + more + " --moments int8");
            const auto fp32 = prepared.losses("a" + tag), int8 = prepared.losses("b" + tag);
            CHECK(int8.front() == fp32.front());
            CHECK(int8 != fp32);
            CHECK(int8.back() < 0.9 * int8.front());
            CHECK(furthest(int8, fp32) < 0.01);
        }
}

TEST_CASE("runs with moments in int8 have the same bits on 1, 2 and 7 ranks and when they go on") {
    const Prepared prepared;
    const std::string more = " --moments int8 --deterministic --max-train-steps ";
    prepared.run("train" + prepared.start("one") + more + "20");
    for (const std::string world : {"2", "7"}) {
        const std::string ranks = "multiprocessing_train --distributed-world-size " + world;
        prepared.run(ranks + prepared.start("n" + world) + more + "9");
        const std::string said =
            prepared.run(ranks + " -mf " + prepared.folder("n" + world) + " --max-train-steps 20");
        CHECK_MESSAGE(!holds(said, "int8;"), said);
        for (const char* name : {"model.safetensors", "part-00000.safetensors"})
            CHECK(prepared.file("n" + world, name) == prepared.file("one", name));
    }
}

TEST_CASE("a run continues in the other kind, and says so in one line") {
    const Prepared prepared;
    for (const std::string then : {"fp32", "int8"}) {
        const std::string now = then == "fp32" ? "int8" : "fp32";
        prepared.run("train" + prepared.start("whole" + then) + " --max-train-steps 20 --moments " +
                     then);
        prepared.run("train" + prepared.start(then) + " --max-train-steps 10 --moments " + then);
        const std::string said = prepared.run("train -mf " + prepared.folder(then) +
                                              " --max-train-steps 20 --moments " + now);
        CHECK_MESSAGE(holds(said, "the checkpoint's moments are in " + then + "; this run "), said);
        CHECK_MESSAGE(holds(said, "--moments " + now + " instead of " + then), said);
        CHECK(furthest(prepared.losses(then), prepared.losses("whole" + then)) < 0.01);
        const std::string checkpoint = prepared.folder(then) + "/checkpoints/step-00000020";
        CHECK(run_line("lockstep checkpoint verify " + checkpoint).code == 0);
        const std::string copy = prepared.scratch / ("copy" + then) + "/step-00000020";
        CHECK(run_line("lockstep checkpoint convert " + checkpoint + " " + copy).code == 0);
        CHECK(run_line("lockstep checkpoint diff " + checkpoint + " " + copy).code == 0);
        const std::string part = read_text(copy + "/part-00000.safetensors");
        CHECK(holds(part, ".exp_avg_sq.scale") == (now == "int8"));
        const auto listed = run_line("lockstep checkpoint list " + prepared.folder(then));
        CHECK(listed.code == 0);
        const auto compared =
            run_line("lockstep checkpoint diff " + checkpoint + " " +
                     prepared.folder("whole" + then) + "/checkpoints/step-00000020");
        CHECK_MESSAGE(compared.code != 2, compared.err);
        CHECK_MESSAGE(!holds(compared.out, ".scale"), compared.out);
    }
}

TEST_CASE("plan tells 2.03 bytes a parameter instead of 8") {
    const Prepared prepared;
    const std::string sizes =
        " -m gpt2 --vocabulary 50304 --embedding-size 768 --n-layers 12 --ffn-size 3072 "
        "--n-heads 12 -bs 1 --truncate 128 --device cpu --precision bf16";
    const auto exact = prepared.run("lockstep plan" + sizes);
    const auto small = prepared.run("lockstep plan" + sizes + " --moments int8");
    CHECK_MESSAGE(holds(exact, "950 MiB"), exact);
    CHECK_MESSAGE(holds(small, "optimizer, moments in int8"), small);
    CHECK_MESSAGE(holds(small, "241 MiB"), small);
}

TEST_CASE("int8 without moments of adam is refused in one line, before anything is written") {
    const Prepared prepared;
    for (const std::string other :
         {"sgd", "lion", "adafactor", "adam --amsgrad true", "adamw --amsgrad true"})
        for (const std::string program :
             {"train", "multiprocessing_train --distributed-world-size 2", "lockstep plan"}) {
            CAPTURE(other);
            const auto run = run_line(program + prepared.start("new") +
                                      " --max-train-steps 2 --moments int8 --optimizer " + other);
            INFO(run.err);
            CHECK(run.code == 2);
            CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
            CHECK(holds(run.err, "--moments int8 is for --optimizer adam and adamw"));
            CHECK_FALSE(std::filesystem::exists(prepared.folder("new")));
        }
    const auto word = run_line("train" + prepared.start("new") + " --moments int4");
    CHECK(word.code == 2);
    CHECK(holds(word.err, "fp32|int8"));
}
