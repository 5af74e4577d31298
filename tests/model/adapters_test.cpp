// SPDX-License-Identifier: Apache-2.0
// Adapters that PEFT saved, on models in the folders of transformers: loss, gradients and replies
// are PEFT's own, which make_adapter_goldens.py wrote. ADAPTER_FOLDERS names more such folders,
// separated by colons.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "model/blocks/layout.hpp"
#include "model/config_json.hpp"
#include "model/decoding/decoder.hpp"
#include "model/devices/dry_model.hpp"
#include "model/devices/model_store.hpp"
#include "model/huggingface_config.hpp"
#include "model/initialize.hpp"
#include "model/lora_modules.hpp"
#include "model/peft_config.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/checkpoint/transformers_names.hpp"
#include "tests/model/batch_parts.hpp"
#include "tests/support/summed_losses.hpp"

using namespace lockstep;
using nlohmann::json;

namespace {

model::ModelConfig base_of(const std::string& folder) {
    const std::string path = folder + "/config.json";
    return model::config_from_huggingface(read_json_text(path), path);
}

struct Adapted {
    explicit Adapted(const std::string& path)
        : folder(path), expected(parse_json(read_json_text(folder + "/expected.json"))) {
        const std::string file = folder + "/adapter_config.json", text = read_json_text(file);
        base = folder + "/" + model::peft_base(text, file);
        config = base_of(base);
        config.lora = model::lora_from_peft(text, file, config.kind);
    }

    train::Batch batch() const {
        train::Batch all;
        all.target.offsets = {0};
        for (const json& row : expected.at("rows")) {
            const auto ids = row.at("input_ids").get<std::vector<std::int32_t>>();
            const auto labels = row.at("labels").get<std::vector<std::int32_t>>();
            for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
                all.target.tokens.push_back(ids[i]);
                all.labels.push_back(std::max(labels[i + 1], -1));
                all.label_tokens += labels[i + 1] >= 0 ? 1 : 0;
            }
            const auto end = static_cast<std::int32_t>(all.target.tokens.size());
            all.target.longest = std::max(all.target.longest, end - all.target.offsets.back());
            all.target.offsets.push_back(end);
            all.rows.push_back(static_cast<std::uint32_t>(all.rows.size()));
        }
        return all;
    }
    double tokens() const { return expected.at("label_tokens").get<double>(); }

    std::string folder, base;
    json expected;
    model::ModelConfig config;
};

struct AdaptedModel {
    explicit AdaptedModel(const Adapted& adapted,
                          train::Precision precision = train::Precision::fp32,
                          const model::RecomputePlan& plan = {})
        : table(model::parameter_table(adapted.config)),
          store(table, precision),
          frozen_table(model::frozen_table(adapted.config)),
          frozen(model::make_frozen_store<HostSpace>(frozen_table, precision)),
          model(model::make_model<device::CpuContext>(adapted.config, store, ctx, plan,
                                                      frozen.get())) {
        train::load_weights(adapted.folder + "/adapter_model.safetensors", table, store.master());
        std::vector<float> base(frozen_table.flat_size());
        train::SafetensorsFile file(adapted.base + "/model.safetensors");
        for (const train::Parameter& p : frozen_table.all())
            file.read(*file.find(p.name), view_of(base).subview(p.offset, p.count));
        if (precision == train::Precision::fp32) {
            std::ranges::copy(base, frozen->compute<float>().begin());
        } else {
            kernels::cast<float, bf16>(ctx, view_of(base), frozen->compute<bf16>());
            kernels::cast<float, bf16>(ctx, store.master(), store.compute<bf16>());
        }
    }

    kernels::LossSums train(const train::Batch& batch, kernels::Into into) {
        train::NoSink sink;
        kernels::LossSums sums;
        model->upload(batch);
        model->train(&state, &sums, into, sink);
        return sums;
    }

    device::CpuContext ctx{1};
    train::ParameterTable table;
    train::ParameterStore<HostSpace> store;
    train::ParameterTable frozen_table;
    std::unique_ptr<const train::ParameterStore<HostSpace>> frozen;
    std::unique_ptr<train::ForwardBackward> model;
    kernels::StepState state{.seed = 5, .step = 3};
};

std::vector<std::string> folders() {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("tests/golden/adapters"))
        found.push_back(entry.path());
    if (const char* const more = std::getenv("ADAPTER_FOLDERS")) {
        std::istringstream in(more);
        for (std::string folder; std::getline(in, folder, ':');) found.push_back(folder);
    }
    std::ranges::sort(found);
    return found;
}

// PEFT stores B as [out, rank].
std::vector<float> as_stored(const train::Parameter& p, HostView<const float> own, bool turned) {
    std::vector<float> values(own.begin(), own.end());
    const auto rank = static_cast<std::size_t>(p.shape[0]);
    const auto columns = static_cast<std::size_t>(p.shape[1]);
    for (std::size_t i = 0; turned && i < values.size(); ++i)
        values[i] = own[i % rank * columns + i / rank];
    return values;
}

void check_gradients(const Adapted& adapted, const AdaptedModel& test, double tokens) {
    std::size_t found = 0;
    for (const auto& [name, wanted] : adapted.expected.at("gradients").items()) {
        CAPTURE(name);
        std::string stored = name;
        if (const auto at = stored.find(".default"); at != std::string::npos) stored.erase(at, 8);
        const auto known = train::of_peft(stored);
        REQUIRE(known);
        const train::Parameter* const p = test.table.find(known->name);
        REQUIRE(p != nullptr);
        const auto own = as_stored(*p, test.store.gradient(p->offset, p->count), known->turned);
        double squares = 0;
        for (const float value : own) squares += std::pow(value / tokens, 2);
        const double norm = wanted.at("norm").get<double>();
        CHECK(std::sqrt(squares) == doctest::Approx(norm).epsilon(2e-5));
        for (std::size_t i = 0; i < 4; ++i)
            CHECK(std::abs(own[i] / tokens - wanted.at("first")[i].get<double>()) < 2e-5 * norm);
        ++found;
    }
    CHECK(found == test.table.all().size());
}

std::int32_t best_of(const std::vector<float>& logits) {
    return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

}  // namespace

TEST_CASE("adapters of PEFT have its loss and gradients") {
    for (const std::string& folder : folders()) {
        CAPTURE(folder);
        const Adapted adapted(folder);
        AdaptedModel test(adapted);
        const auto batch = adapted.batch();
        const double tokens = adapted.tokens(), loss = adapted.expected.at("loss").get<double>();
        CHECK(static_cast<double>(batch.label_tokens) == tokens);
        const auto sums = test.train(batch, kernels::Into::overwrite);
        CHECK(sums.nll / tokens == doctest::Approx(loss).epsilon(1e-5));
        check_gradients(adapted, test, tokens);
        CHECK(tests::evaluated(*test.model, batch).nll / tokens ==
              doctest::Approx(loss).epsilon(1e-5));
        test.train(batch, kernels::Into::add);
        check_gradients(adapted, test, 2 * tokens);
    }
}

TEST_CASE("greedy replies with adapters of PEFT are its own") {
    for (const std::string& folder : folders()) {
        CAPTURE(folder);
        const Adapted adapted(folder);
        if (!adapted.expected.contains("greedy")) continue;
        const AdaptedModel test(adapted);
        device::CpuContext ctx{1};
        const auto decoder = model::make_decoder<device::CpuContext>(adapted.config, test.store,
                                                                     ctx, test.frozen.get());
        for (const json& reply : adapted.expected.at("greedy")) {
            auto context = reply.at("prompt_ids").get<std::vector<std::int32_t>>();
            std::int32_t next = context.back();
            context.pop_back();
            decoder->start({context}, 1, 40);
            std::vector<float> logits;
            for (const json& wanted : reply.at("reply_ids")) {
                decoder->step({0}, {next}, logits);
                next = best_of(logits);
                CHECK(next == wanted.get<std::int32_t>());
            }
        }
    }
}

TEST_CASE("layers with adapters that are calculated again have the same gradients") {
    for (const std::string& folder : folders()) {
        CAPTURE(folder);
        const Adapted adapted(folder);
        const auto batch = adapted.batch();
        Adapted dropping(folder);
        dropping.config.lora.dropout = 0.25f;
        for (const Adapted* const each : {&adapted, &std::as_const(dropping)}) {
            AdaptedModel kept(*each);
            kept.train(batch, kernels::Into::overwrite);
            for (const model::Recompute level : {model::Recompute::ffn, model::Recompute::layer}) {
                AdaptedModel again(*each, train::Precision::fp32, {level});
                again.train(batch, kernels::Into::overwrite);
                CHECK(std::ranges::equal(kept.store.gradient(), again.store.gradient()));
            }
        }
        AdaptedModel narrow(adapted, train::Precision::bf16);
        CHECK(narrow.train(batch, kernels::Into::overwrite).nll / adapted.tokens() ==
              doctest::Approx(adapted.expected.at("loss").get<double>()).epsilon(0.05));
    }
}

TEST_CASE("a dry run with adapters takes what a step takes, to the byte") {
    for (const std::string& folder : folders()) {
        CAPTURE(folder);
        Adapted adapted(folder);
        adapted.config.lora.dropout = 0.25f;
        const auto batch = tests::with_filler(adapted.batch(), 90);
        const train::BatchShape shape = tests::shape_of(batch);
        for (const auto level : {model::Recompute::nothing, model::Recompute::layer})
            for (const auto precision : {train::Precision::fp32, train::Precision::bf16}) {
                const auto dry = model::make_dry_model(adapted.config, precision,
                                                       model::DeviceKind::cpu, {level});
                AdaptedModel test(adapted, precision, {level});
                for (const auto into : {kernels::Into::overwrite, kernels::Into::add}) {
                    test.train(tests::with_following_labels(batch), into);
                    CHECK(dry->training_bytes(shape, into) == test.model->peak_activation_bytes());
                }
                const std::size_t each = precision == train::Precision::fp32 ? 4 : 2;
                CHECK(dry->frozen_bytes() == each * test.frozen_table.flat_size());
            }
    }
}

TEST_CASE("with dropout the gradients of adapters are the loss's slope") {
    for (const std::string& folder : folders()) {
        CAPTURE(folder);
        Adapted adapted(folder);
        adapted.config.dropout = 0.2f;
        adapted.config.attention_dropout = 0.3f;
        const auto batch = adapted.batch();
        const double without = AdaptedModel(adapted).train(batch, kernels::Into::overwrite).nll;
        adapted.config.lora.dropout = 0.25f;
        AdaptedModel test(adapted);
        CHECK(tests::evaluated(*test.model, batch).nll / adapted.tokens() ==
              doctest::Approx(adapted.expected.at("loss").get<double>()).epsilon(1e-5));
        CHECK(test.train(batch, kernels::Into::overwrite).nll != without);
        const std::vector<float> gradient(test.store.gradient().begin(),
                                          test.store.gradient().end());
        const std::vector<float> master(test.store.master().begin(), test.store.master().end());
        double square = 0;
        for (const float value : gradient) square += std::pow(value, 2);
        const auto loss_at = [&](double step) {
            for (std::size_t i = 0; i < master.size(); ++i)
                test.store.master()[i] = static_cast<float>(master[i] + step * gradient[i]);
            return test.train(batch, kernels::Into::overwrite).loss;
        };
        const double step = 0.02 / square;
        const double slope = (loss_at(step) - loss_at(-step)) / (2 * step);
        CHECK(slope == doctest::Approx(square).epsilon(0.02));
    }
}

TEST_CASE("new adapters change nothing, and begin as PEFT's") {
    const Adapted adapted("tests/golden/adapters/llama");
    const train::ParameterTable table = model::parameter_table(adapted.config);
    std::vector<float> values(table.flat_size());
    model::initial_weights(table, 7, view_of(values));
    for (const train::Parameter& p : table.all()) {
        CAPTURE(p.name);
        const auto own = HostView<const float>(view_of(values)).subview(p.offset, p.count);
        const float most = *std::ranges::max_element(own), least = *std::ranges::min_element(own);
        const double bound =
            p.name.ends_with("lora_a.weight") ? 1 / std::sqrt(double(p.shape[1])) : 0;
        CHECK(most <= bound);
        CHECK(least >= -bound);
        CHECK(most >= 0.7 * bound);
        CHECK(least <= -0.7 * bound);
    }
}

TEST_CASE("adapters have a block for each layer, the last layer's first") {
    const Adapted adapted("tests/golden/adapters/llama");
    const train::ParameterTable table = model::parameter_table(adapted.config);
    CHECK(table.all().front().name == "decoder.layers.1.ffn.lin2.lora_a.weight");
    CHECK(table.all().back().block == 1);
    CHECK(table.find("decoder.layers.0.self_attention.qkv.2.lora_b.weight")->shape ==
          std::vector<std::int64_t>{3, 12});
    CHECK(table.find("decoder.layers.0.self_attention.qkv.1.lora_b.weight") == nullptr);
    model::ModelConfig base = adapted.config;
    base.lora = {};
    CHECK(model::frozen_table(base).all().empty());
    CHECK(model::frozen_table(adapted.config).flat_size() ==
          model::parameter_table(base).flat_size());
}

TEST_CASE("tables that are trained whole have blocks of their own") {
    const auto names = [](const train::ParameterTable& table) {
        std::vector<std::string> tables;
        for (const train::Parameter& p : table.all())
            if (p.name == "lm_head.weight" || p.name == "embeddings.weight")
                tables.push_back(p.name + (p.tied == train::Tied::yes ? " tied" : ""));
        return tables;
    };
    using Names = std::vector<std::string>;
    const std::string embeddings = "embeddings.weight", head = "lm_head.weight";
    const auto check = [&](const char* name, const Names& trained, const Names& kept) {
        CAPTURE(name);
        const Adapted adapted("tests/golden/adapters/" + std::string(name));
        const train::ParameterTable table = model::parameter_table(adapted.config);
        CHECK(names(table) == trained);
        CHECK(names(model::frozen_table(adapted.config)) == kept);
        if (trained.empty()) return;
        const bool has_head = trained.front() == head, has_table = trained.back() != head;
        CHECK((table.all().front().name == head) == has_head);
        CHECK((table.all().back().name == embeddings) == has_table);
        CHECK(table.all().back().block == 1 + (has_head ? 1 : 0) + (has_table ? 1 : 0));
        CHECK(model::has_own_head(adapted.config) ==
              (trained.back() == embeddings + " tied" ? model::Has::no : model::Has::yes));
    };
    check("llama_tables", {head, embeddings}, {});
    check("gpt2_table", {embeddings}, {embeddings + " tied"});
    check("gpt2_head", {head}, {embeddings + " tied"});
    check("gpt2_tables", {head, embeddings}, {});
    check("gpt2_tied", {embeddings + " tied"}, {});
    Adapted one("tests/golden/adapters/llama_tables");
    one.config.lora.saved = {"lm_head"};
    CHECK(names(model::frozen_table(one.config)) == Names{embeddings});
    one.config.lora.saved = {"model.embed_tokens"};
    CHECK(names(model::frozen_table(one.config)) == Names{head});
}

TEST_CASE("adapters are read from config.json and adapter_config.json as they were written") {
    for (const std::string& folder : folders()) {
        CAPTURE(folder);
        Adapted adapted(folder);
        CHECK(model::lora_from_peft(model::to_peft(adapted.config), "F", adapted.config.kind) ==
              adapted.config.lora);
        adapted.config.lora.base = "/a/folder";
        adapted.config.lora.base_hash = "0123";
        CHECK(model::config_from_json(model::to_json(adapted.config), "F") == adapted.config);
        CHECK(json::parse(model::to_peft(adapted.config)).at("base_model_name_or_path") ==
              "/a/folder");
    }
    CHECK(model::lora_targets(Adapted("tests/golden/adapters/gpt2").config) ==
          std::vector<std::string>{"c_attn", "c_proj"});
    auto config = base_of("tests/golden/huggingface/gpt2");
    config.lora.modules = model::lora_paths(config.kind, {"mlp.c_proj", "c_fc"}, "F");
    CHECK(model::lora_targets(config) == std::vector<std::string>{"c_fc", "mlp.c_proj"});
    CHECK(model::lora_paths(config.kind, {"all-linear"}, "F").size() == 4);
}
