// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/program_checks.hpp"
#include "tests/support/run_program.hpp"

// Runs whose ranks share a model: --zero, --tensor and --pipeline.
namespace lockstep::tests::sharing {

// A few dialogues and the runs on them.
struct Prepared : PreparedDialogues {
    std::string folder(const std::string& name) const { return scratch / name; }
    std::string start(const std::string& name, int lanes = 6) const {
        return " --data " + data + " -mf " + folder(name) +
               " --n-layers 2 --embedding-size 32 --ffn-size 64 --n-heads 2 --threads 1 -bs 4"
               " --dropout 0.1 -lr 3e-3 --log-every-n-steps 1 --logical-shards " +
               std::to_string(lanes) +
               " --lr-scheduler none --bucket-mb 0.05 --hash-every-n-updates 3";
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
    std::string last_of(const std::string& name) const {
        return folder(name) + "/checkpoints/step-00000020";
    }
    std::string weights(const std::string& name) const {
        return read_text(last_of(name) + "/model.safetensors");
    }
    // Tells whether the last checkpoints have the same tensors bit for bit, however they are cut.
    bool same_tensors(const std::string& a, const std::string& b) const {
        const auto told = run_line("lockstep checkpoint diff " + last_of(a) + " " + last_of(b));
        CAPTURE(told.out);
        const bool same = told.out.find("equal: ") != std::string::npos ||
                          told.out.find(", 0 of ") != std::string::npos;
        CHECK(same);
        return same;
    }
};

inline std::string on(int ranks) {
    return "multiprocessing_train --distributed-world-size " + std::to_string(ranks);
}

inline bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Adam divides by the roots of small squares, so last digits that depend on the order of sums, and
// on the processor, grow in 20 steps.
inline constexpr double adam_tolerance = 1e-4;

inline double furthest(const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]) / b[i]);
    return most;
}

}  // namespace lockstep::tests::sharing
