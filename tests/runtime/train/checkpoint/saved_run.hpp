// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/log.hpp"
#include "runtime/core/philox.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "tests/support/files.hpp"

namespace lockstep::tests {

// Returns a float of random bits that is finite, as all weights and moments of a run are.
inline float random_float(PhiloxStream& random) {
    const std::uint32_t bits = random();
    const auto value = std::bit_cast<float>(bits);
    return std::isfinite(value) ? value : std::bit_cast<float>(bits & 0xbfffffffU);
}

// A run of two parameters with a gap between them, filled with bit patterns of every finite kind.
struct SavedRun {
    explicit SavedRun(std::uint64_t seed) : optimizer_values(13) {
        table.add("layer.weight", {3, 4}, 0, train::WeightDecay::apply);
        table.add("layer.bias", {5}, 0, train::WeightDecay::skip);
        master.resize(table.flat_size());
        PhiloxStream random(seed);
        for (const train::Parameter& p : table.all()) fill(random, p.offset, p.count);
        for (float& v : optimizer_values) v = random_float(random);
        optimizer = {{"layer.weight.exp_avg", {12}, {optimizer_values.data(), 12}},
                     {"layer.bias.row", {1, 1}, {optimizer_values.data() + 12, 1}}};
        record.trainer.step = static_cast<std::int64_t>(seed);
        record.trainer.epochs = 0.1 * static_cast<double>(seed);
        record.trainer.schedule.best_loss = 1.0 / 3;
        record.options_json = R"({"dropout":0.1,"a":[1,2]})";
        record.versions = {{"lockstep", "0.1"}};
    }

    void fill(PhiloxStream& random, std::size_t offset, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) master[offset + i] = random_float(random);
    }
    train::RunTensors tensors() { return {table, view_of(master), optimizer}; }
    bool same_tensors(const SavedRun& other) const {
        return std::memcmp(master.data(), other.master.data(), master.size() * 4) == 0 &&
               std::memcmp(optimizer_values.data(), other.optimizer_values.data(),
                           optimizer_values.size() * 4) == 0;
    }

    train::ParameterTable table;
    std::vector<float> master, optimizer_values;
    std::vector<train::OptimizerTensor> optimizer;
    train::RunRecord record;
};

// Returns the message of the error of that kind that `action` throws.
inline std::string failure(ErrorKind kind, const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        CHECK(error.kind() == kind);
        CHECK(std::string(error.what()).find('\n') == std::string::npos);
        return error.what();
    }
    return "no error";
}

inline bool check_contains(const std::string& text, const std::string& part) {
    CAPTURE(text);
    CAPTURE(part);
    const bool found = text.find(part) != std::string::npos;
    CHECK(found);
    return found;
}

inline void flip_a_bit(const std::string& path) {
    std::string bytes = read_text(path);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_text(path, bytes);
}

// A folder, and a log whose lines a test can read.
class LoggedFolder {
public:
    ScratchFolder folder;
    std::ostringstream lines;
    Log log{lines, Verbosity::normal, 0, ""};
    std::string path = folder / "step-1";
};

}  // namespace lockstep::tests
