// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/softmax_xent.hpp"

#include "tests/runtime/kernels/cuda/against_cpu.hpp"
#include "tests/support/summed_losses.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::CudaContext;
using kernels::LossSums;
using kernels::LossTerms;
using kernels::StepState;

namespace {

void check_sums(const LossSums& actual, const LossSums& expected) {
    CHECK(std::abs(actual.loss - expected.loss) <= 1e-6 * (1 + std::abs(expected.loss)));
    CHECK(std::abs(actual.nll - expected.nll) <= 1e-6 * (1 + std::abs(expected.nll)));
    CHECK(actual.tokens == expected.tokens);
    CHECK(actual.correct == expected.correct);
}

}  // namespace

TEST_CASE_TEMPLATE("CUDA's cross entropy and its gradient are the CPU's", T, float, bf16, fp16) {
    constexpr std::int64_t rows = 9;
    CudaContext ctx(0);
    CpuContext cpu(1);
    const StepState host_state{.loss_seed = 4};
    const OnDevice<StepState> state(ctx, {host_state});
    // The rows of these vocabularies take all of the shared memory that a kernel has by default, in
    // fp32 and in 16 bits, before one that asks for more. Others fill vectors or do not, in rows
    // that are padded so that vectors can be used. One row is too long for shared memory in fp32.
    struct Size {
        std::int64_t vocabulary, stride;
    };
    for (const auto& [vocabulary, stride] : {Size{12288, 12288},
                                             {24576, 24576},
                                             {2, 2},
                                             {33, 40},
                                             {1000, 1000},
                                             {4099, 4099},
                                             {4099, 4104},
                                             {50257, 50264}})
        for (const LossTerms& terms :
             {LossTerms{}, LossTerms{0.1f}, LossTerms{0, 0.01f}, LossTerms{0.1f, 0.3f}}) {
            auto logits = random_numbers<T>(rows * stride, 1, 5);
            std::vector<std::int32_t> labels;
            for (std::int64_t i = 0; i < rows; ++i)
                labels.push_back(static_cast<std::int32_t>(i * 977 % vocabulary));
            labels[2] = labels[4] = -1;
            logits[static_cast<std::size_t>(3 * stride + labels[3])] = static_cast<T>(20.0f);
            const OnDevice on_device(ctx, logits), on_labels(ctx, labels);
            const OnDevice<LossSums> each(ctx, std::vector<LossSums>(rows, LossSums{1, 1, 1, 1})),
                both(ctx, {LossSums{1, 1, 1, 1}});
            const CudaMatrix<T> matrix(on_device.data(), rows, vocabulary, stride);
            kernels::softmax_xent_forward<T>(ctx, matrix, on_labels.view(), terms.label_smoothing,
                                             each.data());
            kernels::softmax_xent_forward_backward<T>(ctx, state.data(), matrix, on_labels.view(),
                                                      terms, both.data());
            auto wide = widened(logits);
            LossSums expected;
            kernels::softmax_xent_forward_backward<float>(
                cpu, &host_state, HostMatrix<float>(wide.data(), rows, vocabulary, stride),
                view_of(labels), terms, &expected);
            check_sums(tests::summed(each.values()), expected);
            CHECK(each.values()[2].tokens == 0);
            expected += LossSums{1, 1, 1, 1};
            check_sums(both.values()[0], expected);
            // The ends of the rows keep their old content. A sum of exponentials is rounded with
            // each of its terms.
            // The z-loss weighs probabilities by 1 + 2 z log(sum), whose log is below 20.
            require_close(on_device.values(), wide, vocabulary, 1 + 40 * double{terms.z_loss});
        }
}

TEST_CASE_TEMPLATE("CUDA counts as correct the first of the largest", T, float, bf16, fp16) {
    CudaContext ctx(0);
    const OnDevice logits(ctx, numbers<T>({1, 3, 3, 0, 1, 3, 3, 0}));
    const OnDevice<std::int32_t> labels(ctx, {1, 2});
    const OnDevice<LossSums> losses(ctx, {LossSums{}, LossSums{}});
    kernels::softmax_xent_forward<T>(ctx, logits.matrix(2, 4), labels.view(), 0, losses.data());
    CHECK(losses.values()[0].correct == 1);
    CHECK(losses.values()[1].correct == 0);
    CHECK(tests::summed(losses.values()).tokens == 2);
}

TEST_CASE("CUDA's cross entropy of a label outside of the vocabulary is NaN, and has no gradient") {
    CudaContext ctx(0);
    const OnDevice<StepState> state(ctx, {StepState{}});
    const OnDevice<float> logits(ctx, {1, 2, 3, 4});
    const OnDevice<std::int32_t> labels(ctx, {4});
    const OnDevice<LossSums> sums(ctx, {LossSums{}});
    kernels::softmax_xent_forward_backward<float>(ctx, state.data(), logits.matrix(1, 4),
                                                  labels.view(), {}, sums.data());
    CHECK(std::isnan(sums.values()[0].loss));
    CHECK(logits.values() == std::vector<float>{0, 0, 0, 0});
}
