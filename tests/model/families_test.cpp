// SPDX-License-Identifier: Apache-2.0
// Models in the folders of transformers, as they are: loss, gradients and replies are transformers'
// own, which make_family_goldens.py wrote. FAMILY_FOLDERS names more such folders,
// separated by colons.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "model/architectures.hpp"
#include "model/blocks/layout.hpp"
#include "model/decoding/decoder.hpp"
#include "model/decoding/generation.hpp"
#include "model/devices/dry_model.hpp"
#include "model/huggingface_config.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/checkpoint/file_layout.hpp"
#include "runtime/train/checkpoint/safetensors_header.hpp"
#include "runtime/train/checkpoint/transformers_names.hpp"
#include "runtime/train/checkpoint/weight_index.hpp"
#include "tests/model/batch_parts.hpp"
#include "tests/model/model_under_test.hpp"

using namespace lockstep;
using nlohmann::json;
using tests::ModelUnderTest;

namespace {

std::vector<std::int32_t> ids_in(const json& row, const char* member) {
    return row.at(member).get<std::vector<std::int32_t>>();
}

void append(train::RaggedTokens& side, const std::vector<std::int32_t>& tokens) {
    if (side.offsets.empty()) side.offsets = {0};
    side.tokens.insert(side.tokens.end(), tokens.begin(), tokens.end());
    const auto end = static_cast<std::int32_t>(side.tokens.size());
    side.longest = std::max(side.longest, end - side.offsets.back());
    side.offsets.push_back(end);
}

struct Family {
    explicit Family(const std::string& folder_path)
        : folder(folder_path),
          expected(parse_json(read_json_text(folder + "/expected.json"))),
          config(model::config_from_huggingface(read_json_text(folder + "/config.json"),
                                                folder + "/config.json")) {}

    std::string weights() const {
        const std::string one = folder + "/model.safetensors";
        return path_exists(one) ? one : folder + "/" + train::weight_index_file;
    }
    std::unique_ptr<ModelUnderTest> load(train::Precision precision = train::Precision::fp32,
                                         const model::RecomputePlan& plan = {}) const {
        auto made = std::make_unique<ModelUnderTest>(config, precision, plan);
        train::load_weights(weights(), made->table, made->store.master());
        made->refresh();
        return made;
    }
    train::Batch batch() const {
        train::Batch all;
        for (const json& row : expected.at("rows")) {
            auto ids = ids_in(row, "input_ids"), labels = ids_in(row, "labels");
            if (model::has_encoder(config)) {
                append(all.source, ids);
                ids = ids_in(row, "decoder_input_ids");
            } else {
                // The label of a token is the one that transformers has at the next token.
                ids.pop_back();
                labels.erase(labels.begin());
            }
            append(all.target, ids);
            for (const std::int32_t label : labels) {
                all.labels.push_back(std::max(label, -1));
                all.label_tokens += label >= 0 ? 1 : 0;
            }
            all.rows.push_back(static_cast<std::uint32_t>(all.rows.size()));
        }
        return all;
    }
    // Returns what the decoder reads before it is asked for the first token of a reply.
    std::int32_t first_token(std::vector<std::int32_t>& context) const {
        const json file = parse_json(read_json_text(folder + "/config.json"));
        if (model::has_encoder(config))
            return file.at("decoder_start_token_id").get<std::int32_t>();
        const std::int32_t last = context.back();
        context.pop_back();
        return last;
    }

    std::string folder;
    json expected;
    model::ModelConfig config;
};

std::vector<std::string> folders() {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("tests/golden/families"))
        found.push_back(entry.path());
    if (const char* const more = std::getenv("FAMILY_FOLDERS")) {
        std::istringstream in(more);
        for (std::string folder; std::getline(in, folder, ':');) found.push_back(folder);
    }
    std::ranges::sort(found);
    return found;
}

struct Rows {
    std::size_t first, count;
};

// Returns where a tensor of transformers lies in the flat buffers.
Rows place_of(const train::ParameterTable& table, const train::KnownTensor& known) {
    const train::Parameter* const p = table.find(known.name);
    REQUIRE(p != nullptr);
    if (known.parts == 1) return {p->offset, p->count};
    REQUIRE(p->parts.size() == static_cast<std::size_t>(known.parts));
    const std::size_t columns = p->count / static_cast<std::size_t>(p->shape.front());
    std::size_t first = p->offset;
    for (int i = 0; i < known.part; ++i)
        first += static_cast<std::size_t>(p->parts[static_cast<std::size_t>(i)]) * columns;
    return {first,
            static_cast<std::size_t>(p->parts[static_cast<std::size_t>(known.part)]) * columns};
}

void check_gradients(const Family& family, const ModelUnderTest& test, double tokens) {
    std::set<std::string> parameters;
    for (const auto& [name, wanted] : family.expected.at("gradients").items()) {
        CAPTURE(name);
        const auto known = train::of_transformers(name);
        REQUIRE(known);
        const auto place = place_of(test.table, *known);
        const auto gradient = HostView<const float>(test.store.gradient());
        const auto own = gradient.subview(place.first, place.count);
        double squares = 0;
        for (const float value : own) squares += std::pow(value / tokens, 2);
        // A key's bias has no gradient but rounding.
        const double norm = wanted.at("norm").get<double>();
        CHECK(std::sqrt(squares) == doctest::Approx(norm).epsilon(2e-5).scale(0.02));
        for (std::size_t i = 0; i < std::min<std::size_t>(4, own.size()); ++i) {
            const double first = wanted.at("first")[i].get<double>();
            CHECK(std::abs(own[i] / tokens - first) < 2e-5 * norm + 1e-6);
        }
        parameters.insert(known->name);
    }
    CHECK(parameters.size() == test.table.all().size());
}

std::int32_t best_of(const std::vector<float>& logits) {
    return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

}  // namespace

TEST_CASE("losses and gradients of models of transformers are its own") {
    for (const std::string& folder : folders()) {
        CAPTURE(folder);
        const Family family(folder);
        const auto test = family.load();
        const auto batch = family.batch();
        const double tokens = family.expected.at("label_tokens").get<double>();
        CHECK(batch.label_tokens == family.expected.at("label_tokens").get<std::int64_t>());
        const double loss = family.expected.at("loss").get<double>();
        tests::spoil(test->table, test->store.gradient());
        const auto sums = test->train(batch, kernels::Into::overwrite);
        CHECK(sums.nll / tokens == doctest::Approx(loss).epsilon(1e-5));
        check_gradients(family, *test, tokens);
        CHECK(test->evaluate(batch).nll / tokens == doctest::Approx(loss).epsilon(1e-5));
        // Gradients are added to those of an earlier micro-batch.
        test->train(batch, kernels::Into::add);
        check_gradients(family, *test, 2 * tokens);
    }
}

TEST_CASE("weights of models of transformers are written with the names and shapes that they had") {
    for (const std::string& folder : folders()) {
        CAPTURE(folder);
        const Family family(folder);
        const train::ParameterTable table = model::parameter_table(family.config);
        std::map<std::string, std::vector<std::int64_t>> theirs, ours;
        const std::vector<std::string> files = train::is_weight_index(family.weights())
                                                   ? train::files_of_index(family.weights())
                                                   : std::vector{family.weights()};
        for (const std::string& file : files)
            for (const train::TensorInfo& tensor : train::open_safetensors(file).tensors)
                if (!train::is_buffer(tensor.name)) theirs[tensor.name] = tensor.shape;
        const train::NamesOf names = train::SafetensorsFile(family.weights()).names();
        for (const train::FileTensor& tensor : train::file_layout(names, table.all()))
            ours[tensor.name] = tensor.shape;
        CHECK(ours == theirs);
    }
}

TEST_CASE("greedy replies of models of transformers are its own") {
    for (const std::string& folder : folders()) {
        CAPTURE(folder);
        const Family family(folder);
        const auto test = family.load();
        const auto decoder =
            model::make_decoder<device::CpuContext>(family.config, test->store, test->ctx);
        for (const json& reply : family.expected.at("greedy")) {
            auto context = reply.at("prompt_ids").get<std::vector<std::int32_t>>();
            std::int32_t next = family.first_token(context);
            CAPTURE(context.size());
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

TEST_CASE("layers of these models that are calculated again have the same gradients") {
    for (const std::string& folder : folders()) {
        CAPTURE(folder);
        const Family family(folder);
        const auto batch = family.batch();
        const auto kept = family.load();
        kept->train(batch, kernels::Into::overwrite);
        for (const model::Recompute level : {model::Recompute::ffn, model::Recompute::layer}) {
            const auto again = family.load(train::Precision::fp32, {level});
            again->train(batch, kernels::Into::overwrite);
            CHECK(std::ranges::equal(kept->store.gradient(), again->store.gradient()));
        }
        const auto narrow = family.load(train::Precision::bf16);
        const double loss = family.expected.at("loss").get<double>();
        const double tokens = family.expected.at("label_tokens").get<double>();
        CHECK(narrow->train(batch, kernels::Into::overwrite).nll / tokens ==
              doctest::Approx(loss).epsilon(0.05));
    }
}

TEST_CASE("a dry run of these models takes what a step takes, to the byte") {
    for (const std::string& folder : folders()) {
        CAPTURE(folder);
        const Family family(folder);
        const auto batch = tests::with_filler(family.batch(), 90);
        const train::BatchShape shape = tests::shape_of(batch);
        using enum model::Recompute;
        for (const auto level : {nothing, ffn, layer})
            for (const auto precision : {train::Precision::fp32, train::Precision::bf16}) {
                const auto dry = model::make_dry_model(family.config, precision,
                                                       model::DeviceKind::cpu, {level});
                const auto test = family.load(precision, {level});
                test->train(tests::with_following_labels(batch), kernels::Into::overwrite);
                CHECK(dry->training_bytes(shape) == test->model->peak_activation_bytes());
                test->train(tests::with_following_labels(batch), kernels::Into::add);
                CHECK(dry->training_bytes(shape, kernels::Into::add) ==
                      test->model->peak_activation_bytes());
            }
    }
}

TEST_CASE("with dropout the gradients of these models are the loss's slope") {
    for (const std::string& folder : folders()) {
        CAPTURE(folder);
        Family family(folder);
        family.config.dropout = 0.2f;
        family.config.attention_dropout = 0.3f;
        const auto test = family.load();
        const auto batch = family.batch();
        test->train(batch, kernels::Into::overwrite);
        const std::vector<float> gradient(test->store.gradient().begin(),
                                          test->store.gradient().end());
        const std::vector<float> master(test->store.master().begin(), test->store.master().end());
        double square = 0;
        for (const float value : gradient) square += std::pow(value, 2);
        const auto loss_at = [&](double step) {
            for (std::size_t i = 0; i < master.size(); ++i)
                test->store.master()[i] = static_cast<float>(master[i] + step * gradient[i]);
            return test->train(batch, kernels::Into::overwrite).loss;
        };
        const double step = 0.02 / square;
        const double slope = (loss_at(step) - loss_at(-step)) / (2 * step);
        CHECK(slope == doctest::Approx(square).epsilon(0.02));
    }
}

TEST_CASE("a batch of these models is the sum of its rows") {
    for (const std::string& folder : folders()) {
        CAPTURE(folder);
        const Family family(folder);
        const auto test = family.load();
        const auto batch = family.batch();
        const double tokens = family.expected.at("label_tokens").get<double>();
        for (std::size_t row = 0; row < batch.rows.size(); ++row)
            test->train(tests::with_filler(tests::one_row(batch, row), 3),
                        row == 0 ? kernels::Into::overwrite : kernels::Into::add);
        check_gradients(family, *test, tokens);
    }
}

TEST_CASE("replies with a penalty for repetitions are transformers' own, greedy and of a beam") {
    using Tokens = std::vector<std::int32_t>;
    const json golden = parse_json(read_json_text("tests/golden/generation.json"));
    for (const json& wanted : golden.at("replies")) {
        CAPTURE(wanted.dump());
        const Family family("tests/golden/families/" + wanted.at("model").get<std::string>());
        const auto test = family.load();
        const auto decoder =
            model::make_decoder<device::CpuContext>(family.config, test->store, test->ctx);
        auto expected = wanted.at("reply").get<Tokens>();
        model::GenerationOptions options;
        options.beam_size = wanted.at("beams");
        if (options.beam_size > 1) options.inference = model::Inference::beam;
        options.repetition_penalty = wanted.at("penalty");
        options.beam_length_penalty = 0;
        options.max_length = static_cast<int>(expected.size());
        const auto replies = model::generate(*decoder, {wanted.at("prompt").get<Tokens>()}, {0},
                                             options, {std::nullopt, {}});
        expected.pop_back();  // END takes the place of the last token of a reply that is cut
        CHECK(replies[0].tokens == expected);
    }
}
