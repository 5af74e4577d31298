// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/files.hpp"

namespace lockstep::tests {

constexpr std::int64_t epoch_rows = 397;

// A small data set, and the command lines of runs on it.
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

    // The line with which the program refuses to begin.
    static std::string refused(const std::string& line) {
        const auto run = run_line(line);
        CHECK_MESSAGE(run.code == 2, line << "\n" << run.out << run.err);
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

}  // namespace lockstep::tests
