// SPDX-License-Identifier: Apache-2.0
// A run is continued with other options: what comes from the checkpoint, what may change, and each
// row once an epoch all the same.
#include <doctest/doctest.h>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/files.hpp"

using namespace lockstep::tests;

namespace {

constexpr std::int64_t epoch_rows = 397;

struct Prepared {
    ScratchFolder scratch;
    std::string data = scratch / "data", model = scratch / "model";

    Prepared() {
        copy_head("examples/shakespeare/train.txt", scratch / "train.txt", epoch_rows);
        copy_head("examples/shakespeare/valid.txt", scratch / "valid.txt", 20);
        done("lockstep prepare --dict-lower true --shards 2 --input " + (scratch / "train.txt") +
             " --valid " + (scratch / "valid.txt") + " --out " + data);
    }

    static std::string done(const std::string& line) {
        const auto run = run_line(line);
        REQUIRE_MESSAGE(run.code == 0, line << "\n" << run.out << run.err);
        return run.out + run.err;
    }

    std::string start() const {
        return " --data " + data + " -mf " + model +
               " --n-layers 1 --embedding-size 16 --ffn-size 16 --n-heads 2 --threads 1"
               " --precision fp32 --log-every-n-steps 1";
    }

    std::int64_t rows_trained() const {
        std::int64_t rows = 0;
        for (const auto& line : train_metrics(model)) rows += line.at("rows").get<std::int64_t>();
        return rows;
    }
};

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string ranks(int world) {
    return world == 1 ? "train"
                      : "multiprocessing_train --distributed-world-size " + std::to_string(world);
}

const std::string once = "each of 397 rows used exactly once";

}  // namespace

TEST_CASE("the rest of an epoch is dealt exactly once whatever the micro-batches become") {
    const std::vector<std::pair<std::string, std::string>> changes{
        {"-bs 4", "-bs 16"},
        {"-bs 16", "-bs 4"},
        {"-bs 8", "-bs 8 -dynb full --truncate 64"},
        {"-bs 4 -dynb full --truncate 64", "-bs 3 -dynb off --truncate 32"},
        {"-bs 8 --num-workers 2", "-bs 12 --num-workers 0 -dynb batchsort"}};
    for (const auto& [first, then] : changes)
        for (const int world : {1, 2, 3}) {
            CAPTURE(first);
            CAPTURE(then);
            CAPTURE(world);
            const Prepared run;
            const std::string begin = first + " --logical-shards 3 --max-train-steps 8";
            Prepared::done(ranks(world) + run.start() + " " + begin);
            const std::int64_t before = run.rows_trained();
            REQUIRE(before > 0);
            REQUIRE(before < epoch_rows);
            const std::string said =
                Prepared::done(ranks(world % 3 + 1) + run.start() + " " + then + " --num-epochs 2");
            CHECK_MESSAGE(holds(said, "epoch 1: " + once), said);
            CHECK_MESSAGE(holds(said, "epoch 2: " + once), said);
            CHECK(run.rows_trained() == 2 * epoch_rows);
        }
}
