// SPDX-License-Identifier: Apache-2.0
// Compares whole models with PyTorch; tests/model/export_goldens.py writes the goldens.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/kernels/optimizers.hpp"
#include "tests/model/golden_checks.hpp"
#include "tests/model/model_under_test.hpp"
#include "tests/runtime/kernels/optimizer_case.hpp"

using namespace lockstep;
using tests::Golden;
using tests::ModelUnderTest;

namespace {

tests::Computed computed(ModelUnderTest& test, Golden& golden) {
    const auto sums = test.train(golden.batch(""));
    const auto gradient = test.store.gradient();
    return {sums, {gradient.begin(), gradient.end()}};
}

}  // namespace

TEST_CASE("loss and every gradient are PyTorch's in fp32") {
    for (const std::string& name : tests::golden_cases()) {
        CAPTURE(name);
        Golden golden(name);
        ModelUnderTest test(golden.config());
        check_exact(golden, test.table, computed(test, golden));
        check_evaluation(golden, test.evaluate(golden.batch("")));
    }
}

TEST_CASE("loss and gradients in bf16 differ from PyTorch's fp64 as PyTorch's bf16 does") {
    for (const std::string& name : tests::golden_cases()) {
        CAPTURE(name);
        Golden golden(name);
        ModelUnderTest test(golden.config(), train::Precision::bf16);
        check_rounded(golden, test.table, computed(test, golden));
    }
}

TEST_CASE("20 updates follow PyTorch's loss curve") {
    for (const std::string name : {"generator", "gpt2"}) {
        CAPTURE(name);
        Golden golden("curve_" + name);
        ModelUnderTest test(golden.config());
        const auto curve = golden.tensor("curve");
        const std::size_t size = test.table.flat_size();
        std::vector<float> first(size), second(size);
        const kernels::AdamOptions adam{0.9f, 0.999f, 1e-8f, 0,
                                        kernels::AdamOptions::Decay::decoupled};
        for (std::size_t step = 0; step < curve.size(); ++step) {
            test.zero_gradients();
            const auto sums = test.train(golden.batch(std::to_string(step % 4) + "."));
            CHECK(std::abs(sums.loss / sums.tokens - curve[step]) < 1e-3);
            test.state.lr = 3e-3f;
            test.state.updates = step;
            test.state.gradient_scale = static_cast<float>(1 / sums.tokens);
            test.state = lockstep::tests::for_adam(adam, test.state);
            kernels::adam<float>(test.ctx, {.options = adam,
                                            .state = &test.state,
                                            .gradient = test.store.gradient(),
                                            .master = test.store.master(),
                                            .first_moment = view_of(first),
                                            .second_moment = view_of(second)});
        }
    }
}
