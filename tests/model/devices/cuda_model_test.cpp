// SPDX-License-Identifier: Apache-2.0
// Compares whole models on a GPU with PyTorch and with the CPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "model/architectures.hpp"
#include "model/blocks/layout.hpp"
#include "model/config_json.hpp"
#include "model/devices/dry_model.hpp"
#include "model/devices/model_store.hpp"
#include "model/huggingface_config.hpp"
#include "model/lora_modules.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/kernels/cuda/matmul/product.hpp"
#include "runtime/kernels/step.hpp"
#include "runtime/train/sharing/host_tensors.hpp"
#include "tests/model/batch_parts.hpp"
#include "tests/model/golden_checks.hpp"
#include "tests/model/model_under_test.hpp"
#include "tests/support/summed_losses.hpp"

using namespace lockstep;
using device::CudaContext;
using tests::Golden;

namespace {

template <class T>
std::vector<T> values_of(CudaContext& ctx, CudaView<const T> view) {
    std::vector<T> values(view.size());
    device::copy(ctx, view, view_of(values));
    ctx.synchronize();
    return values;
}

// The counterpart of ModelUnderTest in a GPU's memory.
class OnGpu {
public:
    OnGpu(const model::ModelConfig& config, train::Precision precision,
          const model::RecomputePlan& plan = {})
        : table_(model::parameter_table(config)),
          store_(table_, precision),
          frozen_(model::make_frozen_store<CudaSpace>(model::frozen_table(config), precision)),
          model_(model::make_model<CudaContext>(config, store_, ctx_, plan, frozen_.get())),
          step_(1) {
        set_values(store_);
        if (frozen_) set_values(*frozen_);
    }

    // Computes linear layers and their activations by one kernel if possible.
    void fuse() {
        ctx_.cached<kernels::cuda::ProductSettings>().fusion = kernels::cuda::Fusion::always;
    }

    void set_gradients(const std::vector<float>& values) {
        device::copy(ctx_, HostView<const float>(view_of(values)), store_.gradient());
        ctx_.synchronize();
    }

    const train::ParameterTable& table() const { return table_; }
    train::ForwardBackward& model() { return *model_; }

    tests::Computed train(const train::Batch& batch, kernels::Into into = kernels::Into::add) {
        kernels::Step* const step = begin();
        train::NoSink sink;
        model_->upload(batch);
        model_->train(&step->state, &step->batch, into, sink);
        return {losses(), values_of(ctx_, CudaView<const float>(store_.gradient()))};
    }
    kernels::LossSums evaluate(const train::Batch& batch) {
        const device::Buffer<kernels::LossSums, CudaSpace> losses(batch.target.tokens.size());
        model_->evaluate(batch, losses.view().data());
        return tests::summed(values_of(ctx_, CudaView<const kernels::LossSums>(losses.view())));
    }

private:
    void set_values(const train::ParameterStore<CudaSpace>& store) {
        train::HostWeights<CudaContext> weights(ctx_, store);
        tests::set_pattern(store.table(), weights.fetch());
        weights.write_back();
    }
    // Sets the same state as ModelUnderTest.
    kernels::Step* begin() {
        kernels::Step step;
        step.state.seed = 5;
        step.state.step = 3;
        device::copy(ctx_, HostView<const kernels::Step>(&step, 1), step_.view());
        ctx_.synchronize();
        return step_.view().data();
    }
    kernels::LossSums losses() {
        return values_of(ctx_, CudaView<const kernels::Step>(step_.view()))[0].batch;
    }

    CudaContext ctx_{0};
    train::ParameterTable table_;
    train::ParameterStore<CudaSpace> store_;
    std::unique_ptr<const train::ParameterStore<CudaSpace>> frozen_;  // null: no adapters
    std::unique_ptr<train::ForwardBackward> model_;
    device::Buffer<kernels::Step, CudaSpace> step_;
};

}  // namespace

TEST_CASE("on a GPU loss and every gradient are PyTorch's in fp32") {
    for (const std::string& name : tests::golden_cases()) {
        CAPTURE(name);
        Golden golden(name);
        OnGpu test(golden.config(), train::Precision::fp32);
        check_exact(golden, test.table(), test.train(golden.batch("")));
        check_evaluation(golden, test.evaluate(golden.batch("")));
        OnGpu fused(golden.config(), train::Precision::fp32);
        fused.fuse();
        check_exact(golden, fused.table(), fused.train(golden.batch("")));
    }
}

TEST_CASE("on a GPU bf16 differs from PyTorch's fp64 as PyTorch's bf16, and fp16 less") {
    for (const std::string& name : tests::golden_cases()) {
        CAPTURE(name);
        Golden golden(name);
        OnGpu bf16(golden.config(), train::Precision::bf16);
        check_rounded(golden, bf16.table(), bf16.train(golden.batch("")));
        OnGpu fp16(golden.config(), train::Precision::fp16);
        constexpr double three_bits_more = 0.25;
        check_rounded(golden, fp16.table(), fp16.train(golden.batch("")), three_bits_more);
    }
}

TEST_CASE("a GPU drops what the CPU drops, and filler changes nothing") {
    for (const std::string name : {"aiayn_gelu_learned_smoothed", "prelayernorm_relu_unscaled",
                                   "xlm_gelu_learned", "gpt2"}) {
        CAPTURE(name);
        Golden golden(name);
        model::ModelConfig config = golden.config();
        config.dropout = 0.2f;
        config.attention_dropout = 0.3f;
        config.relu_dropout = 0.1f;
        const train::Batch batch = tests::with_filler(golden.batch(""), 3);
        tests::ModelUnderTest on_cpu(config);
        const auto expected = on_cpu.train(golden.batch(""));
        const auto gradient = on_cpu.store.gradient();
        const auto computed = OnGpu(config, train::Precision::fp32).train(batch);
        CHECK(computed.sums.loss == doctest::Approx(expected.loss).epsilon(1e-5));
        CHECK(computed.sums.correct == expected.correct);
        double worst = 0, largest = 0;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            worst = std::max<double>(worst, std::abs(gradient[i] - computed.gradient[i]));
            largest = std::max<double>(largest, std::abs(gradient[i]));
        }
        CHECK(worst < 1e-5 * largest);
    }
}

TEST_CASE("on a GPU gradients that are overwritten are those added to zero, whatever was there") {
    for (const std::string& name : tests::golden_cases())
        for (const auto precision : {train::Precision::fp32, train::Precision::bf16}) {
            CAPTURE(name);
            CAPTURE(train::name(precision));
            Golden golden(name);
            OnGpu test(golden.config(), precision);
            std::vector<float> spoiled(test.table().flat_size());
            const std::vector<float> zeros(spoiled.size());
            tests::spoil(test.table(), view_of(spoiled));
            for (const train::Batch& batch : tests::variants_of(golden.batch(""))) {
                CAPTURE(batch.labels.size());
                CAPTURE(batch.source.total());
                // A batch whose logits are not computed at once takes minutes on an emulated
                // device, and two models show what it does to the output layer.
                const bool large = batch.labels.size() > 512;
                if (large && name != "aiayn_gelu_learned_smoothed" && name != "gpt2") continue;
                test.set_gradients(zeros);
                const auto added = test.train(batch);
                test.set_gradients(spoiled);
                const auto overwritten = test.train(batch, kernels::Into::overwrite);
                CHECK(overwritten.sums.loss == added.sums.loss);
                // The two products of a shape may use different algorithms.
                const double largest = std::abs(*std::ranges::max_element(
                    added.gradient, {}, [](float g) { return std::abs(g); }));
                std::size_t different = 0;
                for (std::size_t i = 0; i < zeros.size(); ++i)
                    if (!(std::abs(overwritten.gradient[i] - added.gradient[i]) <= 1e-6 * largest))
                        ++different;
                CHECK(different == 0);
            }
        }
}

TEST_CASE("a GPU excludes a token from the loss as the CPU does") {
    Golden golden("aiayn_relu_sinusoidal");
    model::ModelConfig config = golden.config();
    config.excluded_token = config.vocabulary++;  // in no batch
    const train::Batch batch = golden.batch("");
    tests::ModelUnderTest on_cpu(config);
    const double expected = on_cpu.train(batch).loss;
    CHECK(tests::ModelUnderTest(golden.config()).train(batch).loss ==
          doctest::Approx(expected).epsilon(1e-6));
    for (const auto precision :
         {train::Precision::fp32, train::Precision::bf16, train::Precision::fp16}) {
        CAPTURE(train::name(precision));
        const double tolerance = precision == train::Precision::fp32 ? 1e-5 : 1e-2;
        OnGpu test(config, precision);
        CHECK(test.evaluate(batch).loss == doctest::Approx(expected).epsilon(tolerance));
        const auto computed = test.train(batch);
        CHECK(computed.sums.loss == doctest::Approx(expected).epsilon(tolerance));
        const train::Parameter& table = *test.table().find("embeddings.weight");
        const auto row =
            HostView<const float>(view_of(computed.gradient))
                .subview(table.offset + table.count - config.embedding_size, config.embedding_size);
        CHECK(std::ranges::count(row, 0.0f) == config.embedding_size);
    }
}

TEST_CASE("a dry run for a GPU takes what a step takes there, to the byte") {
    for (const std::string& name : tests::golden_cases()) {
        CAPTURE(name);
        Golden golden(name);
        model::ModelConfig config = golden.config();
        config.dropout = config.attention_dropout = config.relu_dropout = 0.1f;
        const train::Batch batch =
            tests::with_following_labels(tests::with_filler(golden.batch(""), 5));
        for (const auto precision : {train::Precision::fp32, train::Precision::fp16}) {
            CAPTURE(train::name(precision));
            using enum model::Recompute;
            for (const model::RecomputePlan& plan :
                 {model::RecomputePlan{}, {ffn}, {layer}, {layer, 1}}) {
                CAPTURE(model::name(plan));
                OnGpu trained(config, precision, plan);
                (void)trained.train(batch);
                CHECK(make_dry_model(config, precision, model::DeviceKind::gpu, plan)
                          ->training_bytes(tests::shape_of(batch)) ==
                      trained.model().peak_activation_bytes());
            }
            const auto dry = model::make_dry_model(config, precision, model::DeviceKind::gpu);
            OnGpu evaluated(config, precision);
            (void)evaluated.evaluate(batch);
            CHECK(dry->evaluation_bytes(tests::shape_of(batch)) ==
                  evaluated.model().peak_activation_bytes());
        }
    }
}

TEST_CASE("on a GPU batches that do not fit the model are refused, and memory is used again") {
    Golden golden("aiayn_relu_sinusoidal");
    OnGpu test(golden.config(), train::Precision::fp32);
    (void)test.train(golden.batch(""));
    const std::size_t peak = test.model().peak_activation_bytes();
    (void)test.train(golden.batch(""));
    CHECK(peak > 0);
    CHECK(test.model().peak_activation_bytes() == peak);
    CHECK(test.model().take_spans().forward.size() == 4);
    CHECK_THROWS_AS(test.evaluate(train::Batch{}), Error);
}

namespace {

void check_like_cpu(const model::ModelConfig& config, const train::Batch& batch) {
    tests::ModelUnderTest cpu(config);
    const auto wanted = cpu.train(batch, kernels::Into::overwrite);
    for (const model::Recompute level : {model::Recompute::nothing, model::Recompute::layer}) {
        OnGpu gpu(config, train::Precision::fp32, {level});
        const auto computed = gpu.train(batch, kernels::Into::overwrite);
        CHECK(computed.sums.loss == doctest::Approx(wanted.loss).epsilon(1e-5));
        for (const train::Parameter& p : cpu.table.all()) {
            CAPTURE(p.name);
            double largest = 1e-5, worst = 0;
            for (std::size_t i = p.offset; i < p.offset + p.count; ++i) {
                const double value = cpu.store.gradient()[i];
                largest = std::max(largest, std::abs(value));
                worst = std::max(worst, std::abs(value - computed.gradient[i]));
            }
            CHECK(worst < 2e-4 * largest);
        }
        const auto dry =
            model::make_dry_model(config, train::Precision::fp32, model::DeviceKind::gpu, {level});
        CHECK(dry->training_bytes(tests::shape_of(batch)) == gpu.model().peak_activation_bytes());
    }
}

}  // namespace

TEST_CASE("models of transformers' families are on a GPU what they are on a CPU") {
    for (const auto& entry : std::filesystem::directory_iterator("tests/golden/families")) {
        const std::string path = entry.path().string() + "/config.json";
        CAPTURE(path);
        auto config = model::config_from_huggingface(read_json_text(path), path);
        const char* const rows = model::has_encoder(config) ? "xlm_gelu_learned" : "gpt2";
        train::Batch batch = tests::with_following_labels(Golden(rows).batch(""));
        config.dropout = 0.2f;
        config.attention_dropout = 0.3f;
        const auto vocabulary = static_cast<std::int32_t>(config.vocabulary);
        for (auto* tokens : {&batch.source.tokens, &batch.target.tokens})
            for (std::int32_t& token : *tokens) token %= vocabulary;
        check_like_cpu(config, batch);
    }
}

TEST_CASE("adapters are on a GPU what they are on a CPU") {
    const train::Batch batch = tests::with_following_labels(Golden("gpt2").batch(""));
    const std::string llama = "tests/golden/families/llama_groups_of_3/config.json";
    for (auto config :
         {model::config_from_huggingface(read_json_text(llama), llama), Golden("gpt2").config()}) {
        CAPTURE(model::name(config.kind));
        config.lora = {.rank = 3,
                       .alpha = 5,
                       .rank_stabilized = model::Has::yes,
                       .modules = model::lora_paths(config.kind, {"all-linear"}, "")};
        check_like_cpu(config, batch);
        OnGpu narrow(config, train::Precision::bf16);
        const double loss = tests::ModelUnderTest(config).train(batch).loss;
        CHECK(narrow.train(batch).sums.loss == doctest::Approx(loss).epsilon(0.05));
    }
}
