// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/comparison.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "runtime/core/json_text.hpp"
#include "tests/launcher/checkpoints/saved_model.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::launcher::checkpoints;
namespace fs = std::filesystem;

namespace {

struct TwoRuns : SavedModel {
    FiniteRun a{10}, b{10};

    Comparison compared(double tolerance = 0) {
        const std::string path_a = folder / "a", path_b = folder / "b";
        train::save_checkpoint(path_a, a.tensors(), a.record);
        train::save_checkpoint(path_b, b.tensors(), b.record);
        return compare(path_a, path_b, tolerance);
    }
    const TensorDifference& only(const Comparison& comparison) {
        REQUIRE(comparison.tensors.differing.size() == 1);
        return comparison.tensors.differing.front();
    }
};

std::string without_folder(std::string text, const std::string& folder) {
    for (std::size_t at = 0; (at = text.find(folder)) != std::string::npos;)
        text.replace(at, folder.size(), "DIR");
    return text;
}

}  // namespace

TEST_CASE_FIXTURE(TwoRuns, "the same state is equal, whenever and wherever it was saved") {
    b.record.trainer.seconds = 99;
    b.set("threads", "7");
    b.set("model-file", "elsewhere");
    b.record.versions["threads"] = "7";
    const Comparison same = compared();
    CHECK_FALSE(same.differs());
    CHECK(same.tensors.equal == 4);
    CHECK(same.versions.size() == 1);
    check_contains(text(same), "equal: 4 tensors bit for bit\n");
}

TEST_CASE_FIXTURE(TwoRuns, "options, state and tensors that differ are told with both values") {
    a.set("learningrate", "0.1");
    b.set("learningrate", "0.05");
    b.set("keep", "");
    b.record.trainer.step = 11;
    b.record.trainer.schedule.factor = 0.5;
    b.master[1] += 0.125F;
    b.optimizer_values[3] = 0.5F;
    b.optimizer[1].name = "layer.bias.column";
    const Comparison different = compared();
    CHECK(different.differs());
    CHECK(without_folder(text(different), folder.path()) ==
          R"(A DIR/a
B DIR/b

  option        A    B
  keep          2    none
  learningrate  0.1  0.05

  state            A    B
  schedule.factor  1.0  0.5
  step             10   11

  tensor                shape   differing  max. absolute  max. relative
  layer.weight          [3, 4]  1 of 12    0.125          0.2
  layer.bias.row        [1, 1]  not in B
  layer.weight.exp_avg  [12]    1 of 12    0.25           0.5
  layer.bias.column     [1, 1]  not in A

different: 2 options, 2 values of the state, 4 of 5 tensors
)");
    const auto json = parse_json(json_text(different));
    CHECK(json.at("differs") == true);
    CHECK(json.at("tensors")[0].at("largest_absolute") == 0.125);
    CHECK(json.at("options")[1].at("b") == "0.05");
}

TEST_CASE_FIXTURE(TwoRuns, "a tolerance lets small differences pass, of small and large values") {
    a.master[1] = 1000;
    b.master[1] = 1000.5F;
    a.master[2] = 0;
    b.master[2] = 0.0009F;
    CHECK(compared(0.001).differs() == false);
    check_contains(text(compared(0.001)), "equal within 0.001: 1 of 4 tensors differ by no more");
    CHECK(compared(0.0008).differs());
    CHECK(compared(0.0008).tensors.differing.front().differing == 2);
    b.record.trainer.step = 11;
    CHECK(compared(0.001).differs());
}

TEST_CASE_FIXTURE(TwoRuns, "only tensors that differ by more than the tolerance are listed") {
    b.master[1] += 0.125F;
    b.optimizer_values[3] += 0.001F;
    const Comparison different = compared(0.01);
    const std::string told = text(different);
    check_contains(told, "  layer.weight  [3, 4]  1 of 12    0.125");
    CHECK_MESSAGE(told.find("exp_avg") == std::string::npos, told);
    check_contains(told, ", 1 of 4 tensors by more than 0.01; 1 by no more\n");
    CHECK(parse_json(json_text(different)).at("tensors_within_tolerance") == 1);
    check_contains(text(compared()),
                   "different: 0 options, 0 values of the state, 2 of 4 tensors\n");
}

TEST_CASE_FIXTURE(TwoRuns, "bits are compared: of what is not a number, and of both zeros") {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    a.master[0] = b.master[0] = nan;
    CHECK_FALSE(compared().differs());
    b.master[0] = 1;
    CHECK(std::isinf(only(compared(0.5)).largest_absolute));
    CHECK(compared(0.5).differs());
    CHECK(parse_json(json_text(compared())).at("tensors")[0].at("largest_relative") == "inf");
    a.master[0] = 0.0F;
    b.master[0] = -0.0F;
    CHECK(compared().differs());
    CHECK(only(compared()).largest_absolute == 0);
    CHECK_FALSE(compared(1e-9).differs());
}

TEST_CASE_FIXTURE(TwoRuns, "weights are compared alone with a file, also of another shape") {
    (void)compared();
    const Comparison weights = compare(folder / "a", folder / "a/model.safetensors", 0);
    CHECK_FALSE(weights.differs());
    CHECK(weights.tensors.equal == 2);
    check_contains(text(weights), "note: B has weights alone");
    train::ParameterTable other;
    other.add("layer.weight", {4, 3}, 0, train::WeightDecay::apply);
    std::vector<float> values(other.flat_size());
    train::write_model(folder / "other.safetensors", train::places_of(other, view_of(values)));
    const Comparison shapes = compare(folder / "a", folder / "other.safetensors", 0);
    CHECK(shapes.differs());
    CHECK(shapes.tensors.differing[0].missing == "B has [4, 3]");
    CHECK(shapes.tensors.differing[1].missing == "not in B");
}

TEST_CASE_FIXTURE(TwoRuns, "checkpoints of two format versions are compared") {
    SavedRun saved(7);
    train::save_checkpoint(folder / "new", saved.tensors(), saved.record);
    CHECK_FALSE(
        compare("tests/runtime/train/golden/checkpoint_format_1", folder / "new", 0).differs());
}

TEST_CASE_FIXTURE(TwoRuns, "what is damaged or nothing of the kind is refused") {
    (void)compared();
    const std::string a_path = folder / "a";
    check_contains(failure(ErrorKind::config, [&] { compare(a_path, folder / "none", 0); }),
                   "does not exist");
    check_contains(failure(ErrorKind::config, [&] { compare(folder.path(), a_path, 0); }),
                   "is neither");
    flip_last(folder / "b/model.safetensors");
    check_contains(failure(ErrorKind::data, [&] { compare(a_path, folder / "b", 0); }),
                   "is damaged");
}
