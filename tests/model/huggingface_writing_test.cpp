// SPDX-License-Identifier: Apache-2.0
#include "model/huggingface_writing.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "model/architectures.hpp"
#include "model/huggingface_config.hpp"
#include "runtime/core/json_text.hpp"
#include "tests/model/hub_configs.hpp"

using namespace lockstep;
using namespace lockstep::tests::hub_configs;
using nlohmann::json;

TEST_CASE("a config.json that is written is read as the same model, in both generations of keys") {
    const auto text_of = [](const json& config) { return dump_json(config); };
    json linear = with(llama(), "rope_scaling", {{"rope_type", "linear"}, {"factor", 2.5}});
    json yarn = with(qwen3(), "rope_scaling",
                     {{"rope_type", "yarn"},
                      {"factor", 4.0},
                      {"original_max_position_embeddings", 32768},
                      {"truncate", false}});
    json windowed = with(qwen3(), "use_sliding_window", true);
    windowed["sliding_window"] = 128;
    windowed["max_window_layers"] = 0;
    const json gpt2 = parse_json(R"({"model_type": "gpt2", "n_inner": 1000, "attn_pdrop": 0.3})");
    const json small = parse_json(R"({"model_type": "blenderbot-small", "encoder_ffn_dim": 96,
        "decoder_ffn_dim": 96, "scale_embedding": true, "activation_function": "relu"})");
    for (const json& one : {llama(), qwen3(), mistral(), linear, yarn, windowed, gpt2, phi3(),
                            bart(), blenderbot(), small}) {
        CAPTURE(one.dump());
        const model::ModelConfig config = model::config_from_huggingface(text_of(one), "x");
        const std::string text = model::config_for_huggingface(config, "bfloat16", "",
                                                               {1, std::nullopt, {2, 3}, {}, {}});
        model::ModelConfig again = model::config_from_huggingface(text, "y");
        // Sizes that transformers' classes calculate are told.
        again.parts.kv_heads = config.parts.kv_heads;
        again.parts.head_dim = config.parts.head_dim;
        CHECK(again == config);
        const json written = parse_json(text);
        // A run that goes on in its folder does not change what it has written.
        CHECK(model::config_for_huggingface(config, "bfloat16", text, {}) == text);
        CHECK(written.at("eos_token_id") == json{2, 3});
        CHECK(written.at("bos_token_id") == 1);
        CHECK(written.at("torch_dtype") == "bfloat16");
        CHECK(written.contains("decoder_start_token_id") == model::has_encoder(config));
        for (const char* key : {"rope_parameters", "rope_scaling"}) {
            json before = written;
            if (!before.contains("rope_theta")) continue;
            before.erase(key);
            before.erase("rope_theta");
            if (before.contains("rope_scaling") && before["rope_scaling"].is_null()) continue;
            CHECK(model::config_from_huggingface(text_of(before), "z").parts.rotary ==
                  config.parts.rotary);
        }
    }
}

TEST_CASE("a config.json that came in stays but for what the run has otherwise") {
    for (const json& one : {llama(), qwen3(), mistral()}) {
        model::ModelConfig config = model::config_from_huggingface(dump_json(one), "x");
        const auto written = [&](const char* dtype) {
            return parse_json(model::config_for_huggingface(config, dtype, dump_json(one), {}));
        };
        CHECK(written("bfloat16") == one);
        CHECK(written("float32") == with(one, "torch_dtype", "float32"));
        config.attention_dropout = 0.1F;
        CHECK(written("bfloat16") == with(one, "attention_dropout", 0.1));
    }
}

TEST_CASE("a config.json of an encoder-decoder has its class with a head, and tokens of labels") {
    const model::ModelConfig config = read(bart());
    const auto written = [&](const json& before, const model::HuggingfaceTokens& tokens) {
        const std::string text = before.is_null() ? "" : dump_json(before);
        return parse_json(model::config_for_huggingface(config, "float32", text, tokens));
    };
    const json head = json::array({"BartForConditionalGeneration"});
    CHECK(written(bart(), {}) == with(bart(), "architectures", head));
    const json made = written(nullptr, {0, std::nullopt, {2}, 7, 5});
    CHECK(made.at("architectures") == head);
    // transformers cannot shift labels without a token that fills them up.
    CHECK(made.at("pad_token_id") == 2);
    CHECK(made.at("decoder_start_token_id") == 7);
    CHECK(made.at("forced_bos_token_id") == 5);
    CHECK(made.at("forced_eos_token_id") == 2);
    CHECK(!written(nullptr, {0, 1, {2}, 2, {}}).contains("forced_bos_token_id"));
}
