// SPDX-License-Identifier: Apache-2.0
// The same update however it was split: real processes, real text.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/files.hpp"

using namespace lockstep::tests;

namespace {

const char* train_text = "examples/shakespeare/train.txt";

struct Splitting {
    std::string name, command;
    int update_freq;
};

std::vector<Splitting> splittings() {
    const std::string mp = "multiprocessing_train --distributed-world-size ";
    const std::string mpi = "mpirun --allow-run-as-root --oversubscribe --bind-to none -np ";
    return {{"1 rank", "train", 4},
            {"2 ranks by Gloo", mp + "2", 2},
            {"4 ranks by Gloo", mp + "4", 1},
            {"2 ranks by MPI", mpi + "2 distributed_train", 2},
            {"4 ranks by MPI", mpi + "4 distributed_train", 1}};
}

// Uneven rows; a last block that fills only some of the lanes, so that one runs dry; dropout at
// every place; clipping that bites.
std::string options(const std::string& batching, const std::string& optimizer) {
    return " --n-layers 2 --embedding-size 32 --ffn-size 64 --n-heads 2 --dropout 0.1"
           " --attention-dropout 0.1 --relu-dropout 0.1 --gradient-clip 0.05 --lr-scheduler fixed"
           " --text-truncate 48 --label-truncate 24 --precision fp32 --threads 1 --seed 7"
           " --log-every-n-steps 1 --max-train-steps 20 --hash-every-n-updates 5 " +
           batching + " " + optimizer;
}

std::string bin() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path().string() + "/";
}

// mpirun is handed an absolute path: it does not look into the build's folder.
std::string absolute(std::string command) {
    const auto at = command.find(" distributed_train");
    if (at != std::string::npos) command.insert(at + 1, bin());
    return command;
}

void compare(const std::string& batching, const std::string& optimizer, double tolerance) {
    const ScratchFolder scratch;
    copy_head(train_text, scratch / "train.txt", 333);
    const auto prepared = run_line("lockstep prepare --format parlai --dict-lower true --input " +
                                   (scratch / "train.txt") + " --out " + (scratch / "data"));
    REQUIRE_MESSAGE(prepared.code == 0, prepared.out << prepared.err);

    std::vector<double> first;
    for (const Splitting& splitting : splittings()) {
        CAPTURE(splitting.name);
        std::string name = splitting.name;
        std::replace(name.begin(), name.end(), ' ', '-');
        const std::string model = scratch / name;
        const auto run = run_line(absolute(splitting.command) + " --data " + (scratch / "data") +
                                  " -mf " + model + options(batching, optimizer) +
                                  " --update-freq " + std::to_string(splitting.update_freq));
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
        const std::vector<double> loss = losses(model);
        REQUIRE(loss.size() == 20);
        CHECK(run.out.find("epoch 1: each of 333 rows used exactly once") != std::string::npos);
        if (first.empty()) first = loss;
        for (std::size_t step = 0; step < loss.size(); ++step) {
            CAPTURE(step);
            CHECK(std::abs(loss[step] - first[step]) <= tolerance * std::abs(first[step]));
        }
    }
    // A curve that does not move would agree as well.
    CHECK(first.back() < first.front());
}

}  // namespace

TEST_CASE("1 x 4, 2 x 2 and 4 x 1 give the same loss at every step, SGD, rows of any length") {
    compare("-bs 8", "--optimizer sgd -lr 1.0", 1e-5);
}

TEST_CASE("1 x 4, 2 x 2 and 4 x 1 give the same loss at every step, Adam, dynamic batching") {
    compare("-bs 8 -dynb full", "--optimizer adam -lr 1e-3", 1e-4);
}
