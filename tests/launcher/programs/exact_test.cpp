// SPDX-License-Identifier: Apache-2.0
// Real processes whose weights must be equal to the last bit: --deterministic on any number of
// ranks, and runs that are stopped after any step. Runs that go on with more ranks than lanes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace {

constexpr int epoch_rows = 210;

struct Prepared {
    ScratchFolder scratch;
    std::string data = scratch / "data";

    Prepared() {
        copy_head("examples/shakespeare/train.txt", scratch / "train.txt", epoch_rows);
        copy_head("examples/shakespeare/valid.txt", scratch / "valid.txt", 12);
        done("lockstep prepare --dict-lower true --shards 3 --input " + (scratch / "train.txt") +
             " --valid " + (scratch / "valid.txt") + " --out " + data);
    }

    static std::string done(const std::string& line) {
        const auto run = run_line(line);
        REQUIRE_MESSAGE(run.code == 0, line << "\n" << run.out << run.err);
        return run.out;
    }

    std::string options(const std::string& model, const std::string& more) const {
        return " --data " + data + " -mf " + (scratch / model) +
               " --n-layers 1 --embedding-size 16 --ffn-size 32 --n-heads 2 --dropout 0.1"
               " --attention-dropout 0.1 --relu-dropout 0.1 --gradient-clip 0.05 --threads 1"
               " --text-truncate 40 --label-truncate 20 --seed 7 --log-every-n-steps 1"
               " --skip-generation true --hash-every-n-updates 2 " +
               more;
    }
    std::vector<nlohmann::json> validations(const std::string& model) const {
        std::vector<nlohmann::json> lines = metrics(scratch / model, "valid");
        for (nlohmann::json& line : lines)
            for (const char* name : {"time", "seconds"}) line.erase(name);
        return lines;
    }
    std::string weights(const std::string& model) const {
        return read_text(scratch / (model + "/model.safetensors"));
    }
    // Everything that the lines of training must have in common.
    std::vector<nlohmann::json> numbers(const std::string& model) const {
        std::vector<nlohmann::json> lines;
        for (const auto& line : train_metrics(scratch / model)) {
            nlohmann::json kept;
            for (const char* name : {"step", "updates", "loss", "ppl", "token_acc", "gnorm", "lr",
                                     "rows", "tokens", "lanes", "epoch"})
                if (line.contains(name)) kept[name] = line.at(name);
            lines.push_back(kept);
        }
        return lines;
    }
};

std::string gloo(int ranks) {
    return ranks == 1 ? "train"
                      : "multiprocessing_train --distributed-world-size " + std::to_string(ranks);
}

std::string mpi(int ranks) {
    const auto bin = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
    return "mpirun --allow-run-as-root --oversubscribe --bind-to none -np " +
           std::to_string(ranks) + " " + bin + "/distributed_train";
}

}  // namespace

TEST_CASE("--deterministic gives the same weights, losses and norms on any number of ranks") {
    for (const std::string precision : {"fp32", "bf16"}) {
        CAPTURE(precision);
        const Prepared run;
        const std::string more =
            "--deterministic true --logical-shards 12 -bs 4 -dynb full"
            " --optimizer adam -lr 1e-3 --max-train-steps 7"
            " --validation-every-n-steps 3 --precision " +
            precision;
        Prepared::done(gloo(1) + run.options("alone", more));
        REQUIRE(run.numbers("alone").size() == 7);
        REQUIRE(run.numbers("alone").back().at("epoch") > 1);
        for (const std::string& ranks : {gloo(2), gloo(3), gloo(5), gloo(12), mpi(2), mpi(4)}) {
            CAPTURE(ranks);
            const std::string model = "of " + std::to_string(std::hash<std::string>()(ranks));
            std::string name = model;
            std::replace(name.begin(), name.end(), ' ', '-');
            Prepared::done(ranks + run.options(name, more));
            CHECK(run.weights(name) == run.weights("alone"));
            CHECK(run.numbers(name) == run.numbers("alone"));
            CHECK(run.validations(name) == run.validations("alone"));
        }
    }
}

TEST_CASE("--deterministic gives the same weights when the number of ranks changes on the way") {
    const Prepared run;
    const std::string more =
        "--logical-shards 6 -bs 4 --optimizer adamw -lr 1e-3 --precision fp32"
        " --validation-every-n-steps 4 --max-train-steps ";
    Prepared::done(gloo(1) + run.options("whole", "--deterministic true " + more + "12"));
    std::string given = "--deterministic true ";  // later from the checkpoint
    int steps = 0;
    for (const int ranks : {2, 5, 7, 1}) {
        steps += 3;
        const std::string text = Prepared::done(
            gloo(ranks) + run.options("parts", given + more + std::to_string(steps)));
        given.clear();
        CHECK((text.find("only wait for the others") != std::string::npos) == (ranks > 6));
        CHECK(text.find("not bit for bit") == std::string::npos);
    }
    CHECK(run.weights("parts") == run.weights("whole"));
}

TEST_CASE("--deterministic is refused where sums cannot keep an order") {
    const Prepared run;
    for (const auto& [other, word] : std::vector<std::pair<std::string, std::string>>{
             {"--comm-dtype bf16", "--comm-dtype bf16"}, {"--device cuda", "--device cpu"}}) {
        const auto refused = run_line(gloo(1) + run.options("no",
                                                            "--num-epochs 1 --deterministic "
                                                            "true " +
                                                                other));
        CHECK(refused.code == 2);
        CHECK(std::ranges::count(refused.err, '\n') == 1);
        CHECK_MESSAGE(refused.err.find(word) != std::string::npos, refused.out << refused.err);
    }
}

TEST_CASE("a run is not started with fewer lanes than ranks") {
    const Prepared run;
    const std::string leftover = run.scratch / "no/model.safetensors.tmp-1eaf";
    std::filesystem::create_directory(run.scratch / "no");
    write_text(leftover, "of an interrupted writer");
    const std::string line = gloo(3) + run.options("no", "--max-train-steps 1 --logical-shards ");
    const auto refused = run_line(line + "2");
    CHECK(refused.code == 2);
    CHECK(refused.err ==
          "multiprocessing_train: --logical-shards 2: fewer than the 3 ranks, of which each needs "
          "one; give at least 3, or start fewer ranks\n");
    CHECK(std::filesystem::exists(leftover));
    Prepared::done(line + "3");
    CHECK(!std::filesystem::exists(leftover));
}

TEST_CASE("a run goes on with fewer ranks, and with more than it has lanes") {
    for (const auto& [first, then] :
         std::vector<std::pair<int, int>>{{1, 2}, {2, 1}, {2, 3}, {3, 7}, {7, 2}}) {
        CAPTURE(first);
        CAPTURE(then);
        const Prepared run;
        const std::string more =
            "-bs 8 --optimizer adam -lr 1e-3 --precision fp32"
            " --max-train-steps ";
        Prepared::done(gloo(first) + run.options("whole", more + "10"));
        Prepared::done(gloo(first) + run.options("parts", more + "4"));
        const std::string said = Prepared::done(gloo(then) + run.options("parts", more + "10"));
        const bool warned =
            said.find("ranks divide the rows of a micro-batch") != std::string::npos;
        CHECK_MESSAGE(warned == (then > first), said);
        const auto whole = run.numbers("whole"), parts = run.numbers("parts");
        REQUIRE(parts.size() == 10);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            CAPTURE(i);
            for (const char* name : {"rows", "tokens", "lanes", "epoch", "lr"})
                CHECK(parts[i].at(name) == whole[i].at(name));
            const double loss = whole[i].at("loss");
            CHECK(std::abs(parts[i].at("loss").get<double>() - loss) <= 1e-5 * loss);
        }
    }
}

TEST_CASE("a run that is stopped after any step continues bit for bit, with any optimizer") {
    // An epoch has 4 steps, so that the stops are in mid-epoch, at the end of an epoch and where
    // validations are due.
    const Prepared run;
    for (const std::string optimizer :
         {"sgd", "sgd --momentum 0.9", "sgd --momentum 0.9 --nesterov false", "adam",
          "adam --amsgrad true", "adam --moments int8", "adamw --weight-decay 0.01", "adafactor",
          "adafactor --betas 0.9,0.999", "lion", "muon"})
        for (const std::string precision : {"fp32", "bf16"}) {
            CAPTURE(optimizer);
            CAPTURE(precision);
            const std::string more =
                "--update-freq 2 -bs 28 -lr 1e-2 --lr-scheduler reduceonplateau"
                " --lr-scheduler-patience 0 --validation-every-n-steps 2"
                " --precision " +
                precision + " --optimizer " + optimizer + " --max-train-steps ";
            std::string tag = precision + optimizer;
            std::replace(tag.begin(), tag.end(), ' ', '_');
            Prepared::done(gloo(1) + run.options(tag, more + "9"));
            for (const int steps : {1, 2, 3, 4, 5, 6, 9})
                Prepared::done(gloo(1) + run.options(tag + "-parts", more + std::to_string(steps)));
            CHECK(run.weights(tag + "-parts") == run.weights(tag));
            CHECK(run.numbers(tag + "-parts") == run.numbers(tag));
        }
}
