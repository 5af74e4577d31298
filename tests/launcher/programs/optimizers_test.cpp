// SPDX-License-Identifier: Apache-2.0
// The weights after some updates of the program against those of the optimizers of ParlAI, torch
// and transformers for the same options (make_optimizers_golden.py, make_muon_golden.py).
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/train/checkpoint/safetensors.hpp"
#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep;
using namespace lockstep::tests;

namespace {

const std::string folder = "tests/golden/training/";

std::vector<float> values_of(train::SafetensorsFile& file, const std::string& name) {
    const train::TensorInfo* info = file.find(name);
    REQUIRE(info != nullptr);
    std::vector<float> values(info->count);
    file.read(*info, HostView<float>(values.data(), values.size()));
    return values;
}

// The bias of a key adds the same to all scores of a query: its gradient is rounding alone, of
// which some optimizers make whole steps.
bool is_key_bias(const train::TensorInfo& tensor, std::size_t i) {
    const std::size_t third = tensor.count / 3;
    if (tensor.name.ends_with(".qkv.bias")) return i / third == 1;
    return tensor.name.ends_with(".kv.bias") && i < tensor.count / 2;
}

// Returns the distance of the weights from the golden ones, as a share of the distance that those
// have moved.
double distance(const train::TensorInfo& tensor, const std::vector<float>& start,
                const std::vector<float>& golden, const std::vector<float>& weights) {
    double apart = 0, moved = 0;
    for (std::size_t i = 0; i < golden.size(); ++i) {
        if (is_key_bias(tensor, i)) continue;
        apart += std::pow(static_cast<double>(weights[i]) - static_cast<double>(golden[i]), 2);
        moved += std::pow(static_cast<double>(golden[i]) - static_cast<double>(start[i]), 2);
    }
    return std::sqrt(apart / moved);
}

void check_weights(const std::string& model, const std::string& golden_name, double most) {
    train::SafetensorsFile start(folder + "start.safetensors"),
        golden(folder + golden_name + ".safetensors"), weights(model + "/model.safetensors");
    for (const train::TensorInfo& tensor : golden.tensors()) {
        CAPTURE(tensor.name);
        CHECK(distance(tensor, values_of(start, tensor.name), values_of(golden, tensor.name),
                       values_of(weights, tensor.name)) < most);
    }
}

std::string shape_options(const nlohmann::json& shape) {
    std::string options = " --dropout 0";
    for (const auto& [name, value] : shape.items())
        options += " --" + name + " " + std::to_string(value.get<int>());
    return options;
}

// `most` is how far the weights may be apart, as a share of their way.
void check_cases(const std::string& cases, std::size_t count, double most) {
    const ScratchFolder scratch;
    const auto prepared = run_line("lockstep prepare --format parlai --input " + folder +
                                   "dialogues.txt --out " + (scratch / "data"));
    REQUIRE_MESSAGE(prepared.code == 0, prepared.out << prepared.err);
    const auto golden = nlohmann::json::parse(read_text(folder + cases));
    REQUIRE(golden.at("cases").size() == count);
    for (const auto& entry : golden.at("cases")) {
        const std::string name = entry.at("name"), options = entry.at("options"),
                          own = entry.at("own"), model = scratch / name;
        CAPTURE(name);
        const auto run = run_line(
            "train --data " + (scratch / "data") + " -mf " + model + " --init-model " + folder +
            "start.safetensors --precision fp32 --threads 1 -bs 4 --log-every-n-steps 1" +
            shape_options(golden.at("shape")) + " --max-train-steps " +
            std::to_string(golden.at("updates").get<int>()) + " " + options + " " + own);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
        const auto curve = losses(model), expected = entry.at("losses").get<std::vector<double>>();
        REQUIRE(curve.size() == expected.size());
        for (std::size_t i = 0; i < curve.size(); ++i)
            CHECK(curve[i] == doctest::Approx(expected[i]).epsilon(most / 10));
        check_weights(model, name, most);
    }
}

}  // namespace

TEST_CASE("after some updates the weights are those of the optimizer's namesake") {
    check_cases("optimizers.json", 9, 1e-3);
}

// Its steps are calculated in bf16, in another order than torch's.
TEST_CASE("after some updates with muon the weights are torch's") {
    check_cases("muon.json", 2, 0.06);
}
