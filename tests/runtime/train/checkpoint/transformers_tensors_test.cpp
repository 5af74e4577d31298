// SPDX-License-Identifier: Apache-2.0
// Files of transformers as SafetensorsFile shows them.
#include "runtime/train/checkpoint/transformers_tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/checkpoint/weights_file.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using train::SafetensorsFile;

namespace {

std::string with_header(const std::string& header, const std::string& data) {
    const auto length = std::uint64_t{header.size()};
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes + header + data;
}

// Returns `count` F16 values from `first` on.
std::string halves(int first, int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i) {
        const fp16 value(static_cast<float>(first + i));
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    return bytes;
}

std::string refused_file(const std::string& path) {
    try {
        const SafetensorsFile file(path);
    } catch (const Error& error) {
        CHECK(std::string(error.what()).find('\n') == std::string::npos);
        return error.what();
    }
    return "";
}

bool has_part(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

const std::string layer = "model.layers.0.self_attn.";

// A table and keys in one file, queries and values in another one.
struct Shards {
    Shards() {
        tests::write_text(first, with_header(R"({"model.embed_tokens.weight":{"dtype":"F16",)"
                                             R"("shape":[2,2],"data_offsets":[0,8]},")" +
                                                 layer +
                                                 R"(k_proj.weight":{"dtype":"F16","shape":[1,2],)"
                                                 R"("data_offsets":[8,12]}})",
                                             halves(0, 4) + halves(20, 2)));
        tests::write_text(second,
                          with_header("{\"" + layer +
                                          R"(q_proj.weight":{"dtype":"F16","shape":[2,2],)"
                                          R"("data_offsets":[0,8]},")" +
                                          layer +
                                          R"(v_proj.weight":{"dtype":"F16","shape":[1,2],)"
                                          R"("data_offsets":[8,12]},")" +
                                          layer +
                                          R"(rotary_emb.inv_freq":{"dtype":"I64","shape":[1],)"
                                          R"("data_offsets":[12,20]}})",
                                      halves(10, 4) + halves(30, 2) + std::string(8, 'x')));
        write_index("model-2.safetensors");
    }
    void write_index(const std::string& of_values) const {
        tests::write_text(index, "{\"metadata\": {}, \"weight_map\": {" +
                                     ("\"model.embed_tokens.weight\": \"model-1.safetensors\", \"" +
                                      layer + "k_proj.weight\": \"model-1.safetensors\", \"") +
                                     layer + "q_proj.weight\": \"model-2.safetensors\", \"" +
                                     layer + "v_proj.weight\": \"" + of_values + "\"}}");
    }

    const tests::ScratchFolder folder;
    const std::string first = folder / "model-1.safetensors",
                      second = folder / "model-2.safetensors",
                      index = folder / "model.safetensors.index.json";
};

}  // namespace

TEST_CASE("queries, keys and values of several files are rows of one tensor, in their order") {
    const Shards shards;
    SafetensorsFile file(shards.index);
    CHECK(file.tensors().size() == 2);
    CHECK(file.buffers() == std::vector<std::string>{layer + "rotary_emb.inv_freq"});
    const auto* qkv = file.find("decoder.layers.0.self_attention.qkv.weight");
    REQUIRE(qkv != nullptr);
    CHECK(qkv->shape == std::vector<std::int64_t>{4, 2});
    const std::vector<float> wanted{10, 11, 12, 13, 20, 21, 30, 31};
    std::vector<float> all(8);
    file.read(*qkv, view_of(all));
    CHECK(all == wanted);
    for (std::size_t begin = 0; begin < 8; ++begin)
        for (std::size_t end = begin; end <= 8; ++end) {
            std::vector<float> some(end - begin);
            file.read_range(*qkv, begin, view_of(some));
            CHECK(std::equal(some.begin(), some.end(), wanted.begin() + begin));
        }
}

TEST_CASE("an index that does not fit its files is refused in one line") {
    const Shards shards;
    CHECK(refused_file(shards.index) == "");
    shards.write_index("model-3.safetensors");
    CHECK(has_part(refused_file(shards.index), "model-3.safetensors, which is missing"));
    shards.write_index("../model-2.safetensors");
    CHECK(has_part(refused_file(shards.index), "names no file for tensor"));
    tests::write_text(shards.index, "{\"weight_map\": {\"x\": \"model-1.safetensors\"}}");
    CHECK(has_part(refused_file(shards.index), "tensor x is not in model-1.safetensors"));
    for (const char* const text : {"", "[]", "{\"weight_map\": {}}", "{\"weight_map\": 3}"}) {
        tests::write_text(shards.index, text);
        CHECK(has_part(refused_file(shards.index), "names no tensors"));
    }
    // Without the values the rows are not complete.
    shards.write_index("model-2.safetensors");
    tests::write_text(shards.second, tests::read_text(shards.first));
    CHECK(has_part(refused_file(shards.index), "two of its files hold tensor"));
    CHECK(
        has_part(refused_file(shards.first), "lacks a tensor that belongs to " + layer + "k_proj"));
}

TEST_CASE("a prefix that wrappers put before the names of all tensors is left out") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "model.safetensors";
    const auto names = [&](const std::string& table, const std::string& other) {
        const std::string place = R"(":{"dtype":"F16","shape":[1,2],"data_offsets":)";
        tests::write_text(
            path, with_header("{\"" + table + place + "[0,4]},\"" + other + place + "[4,8]}}",
                              halves(0, 4)));
        const SafetensorsFile file(path);
        std::string all;
        for (const train::TensorInfo& tensor : file.tensors()) all += tensor.name + " ";
        return all;
    };
    const std::string table = "model.embed_tokens.weight", head = "lm_head.weight";
    const std::string ours = "embeddings.weight lm_head.weight ";
    CHECK(names(table, head) == ours);
    for (const std::string wrapper :
         {"module.", "_orig_mod.", "model.", "module._orig_mod.", "model.module.model."})
        CHECK(names(wrapper + table, wrapper + head) == ours);
    CHECK(names("module.embeddings.weight", "module.lm_head.weight") == ours);
    CHECK(names("module.transformer.wte.weight", "module.transformer.wpe.weight") ==
          "embeddings.weight decoder.position_embeddings.weight ");
    // Only one has it, or nothing known is behind it.
    CHECK(names("module." + table, head) == "module." + table + " " + head + " ");
    CHECK(names("module.a", "module.b") == "module.a module.b ");
}

TEST_CASE("a head beside a tied table must be a copy of it") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "model.safetensors";
    const std::string header =
        R"({"model.embed_tokens.weight":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},)"
        R"("lm_head.weight":{"dtype":"F16","shape":[2,2],"data_offsets":[8,16]}})";
    train::ParameterTable tied, own;
    own.add("lm_head.weight", {2, 2}, 0, train::WeightDecay::apply);
    own.add("embeddings.weight", {2, 2}, 1, train::WeightDecay::apply);
    tied.add("embeddings.weight", {2, 2}, 0, train::WeightDecay::apply);
    std::vector<float> values(own.flat_size());
    tests::write_text(path, with_header(header, halves(0, 4) + halves(5, 4)));
    train::load_weights(path, own, view_of(values));
    CHECK(values[0] == 5.0f);
    CHECK_THROWS_WITH_AS(train::load_weights(path, tied, view_of(values)),
                         doctest::Contains("lm_head.weight differs"), Error);
    tests::write_text(path, with_header(header, halves(3, 4) + halves(3, 4)));
    train::load_weights(path, tied, view_of(values));
    CHECK(values[0] == 3.0f);
}

namespace {

// Two tables of an encoder-decoder and a bias of two logits.
std::string stacks(const std::string& first, const std::string& second) {
    return R"({")" + first + R"(":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},")" + second +
           R"(":{"dtype":"F16","shape":[2,2],"data_offsets":[8,16]},)" +
           R"("final_logits_bias":{"dtype":"F16","shape":[1,2],"data_offsets":[16,20]}})";
}

}  // namespace

TEST_CASE("an encoder-decoder's table has several names, and a bias of logits must be zero") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "model.safetensors", none(4, '\0');
    train::ParameterTable table;
    table.add("embeddings.weight", {2, 2}, 0, train::WeightDecay::apply);
    std::vector<float> values(table.flat_size());
    const auto load = [&](const std::string& header, const std::string& data) {
        tests::write_text(path, with_header(header, data));
        train::load_weights(path, table, view_of(values));
        return values[0];
    };
    const std::string same = halves(3, 4) + halves(3, 4);
    for (const char* const name : {"model.shared.weight", "shared.weight"})
        CHECK(load(stacks(name, "lm_head.weight"), same + none) == 3.0f);
    CHECK(load(stacks("model.decoder.embed_tokens.weight", "model.encoder.embed_tokens.weight"),
               same + none) == 3.0f);
    CHECK_THROWS_WITH_AS(load(stacks("model.shared.weight", "model.encoder.embed_tokens.weight"),
                              halves(3, 4) + halves(4, 4) + none),
                         doctest::Contains("model.encoder.embed_tokens.weight differs"), Error);
    CHECK_THROWS_WITH_AS(load(stacks("model.shared.weight", "lm_head.weight"), same + halves(0, 2)),
                         doctest::Contains("final_logits_bias is not zero"), Error);
}

TEST_CASE("modules of encoders and decoders have one name with a prefix and without") {
    for (const std::string before : {"", "model."}) {
        const auto key =
            train::of_transformers(before + "decoder.layers.11.encoder_attn.v_proj.bias");
        REQUIRE(key);
        CHECK(key->name == "decoder.layers.11.encoder_attention.kv.bias");
        CHECK(key->part == 1);
        CHECK(key->parts == 2);
        const auto norm =
            train::of_transformers(before + "encoder.layers.0.final_layer_norm.weight");
        REQUIRE(norm);
        CHECK(norm->name == "encoder.layers.0.norm2.weight");
    }
    CHECK_FALSE(train::of_transformers("model.encoder.layers.0.encoder_attn.v_proj.bias"));
    CHECK_FALSE(train::of_transformers("model.decoder.layers.x.fc1.bias"));
    CHECK_FALSE(train::of_transformers("model.decoder.layers.1.fc1.other"));
}

TEST_CASE("parts of tensors that are read in several blocks are those of the whole") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "model.safetensors", shape = "[1030,1024]";
    constexpr std::size_t rows = 1030, columns = 1024, count = rows * columns;
    std::string data;
    for (std::size_t i = 0; i < count; ++i) {
        const fp16 value(static_cast<float>(i % 2039));
        data.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    const auto entry = [&](const char* name, std::size_t begin) {
        return "\"" + std::string(name) + R"(":{"dtype":"F16","shape":)" + shape +
               ",\"data_offsets\":[" + std::to_string(begin) + "," +
               std::to_string(begin + data.size()) + "]}";
    };
    tests::write_text(path, with_header("{" + entry("wte.weight", 0) + "," +
                                            entry("h.0.mlp.c_fc.weight", data.size()) + "}",
                                        data + data));
    SafetensorsFile file(path);
    const auto* table = file.find("embeddings.weight");
    const auto* turned = file.find("decoder.layers.0.ffn.lin1.weight");
    REQUIRE((table != nullptr && turned != nullptr));
    CHECK(turned->shape == std::vector<std::int64_t>{columns, rows});
    for (const auto& [first, size] : {std::pair<std::size_t, std::size_t>{0, count},
                                      {rows - 1, 2},
                                      {3 * rows + 7, 5 * rows},
                                      {count - 1, 1}}) {
        std::vector<float> plain(size), other(size);
        file.read_range(*table, first, view_of(plain));
        file.read_range(*turned, first, view_of(other));
        bool equal = true;
        for (std::size_t i = 0; i < size; ++i) {
            const std::size_t at = first + i, back = at % rows * columns + at / rows;
            equal = equal && plain[i] == static_cast<float>(at % 2039) &&
                    other[i] == static_cast<float>(back % 2039);
        }
        CHECK(equal);
    }
}

TEST_CASE("tensors of encoder-decoders have their family's names, and a bias of logits is zero") {
    train::ParameterTable table;
    table.add("decoder.layers.3.encoder_attention.kv.bias", {4}, 0, train::WeightDecay::skip);
    table.add("encoder.norm_embeddings.weight", {2}, 1, train::WeightDecay::skip);
    table.add({.name = "embeddings.weight",
               .shape = {3, 2},
               .block = 2,
               .decay = train::WeightDecay::apply,
               .tied = train::Tied::yes});
    const auto names_as = [&](train::NamesOf names) {
        std::vector<std::string> found;
        for (const train::FileTensor& tensor : train::file_layout(names, table.all()))
            found.push_back(tensor.name);
        return found;
    };
    const std::string attention = "model.decoder.layers.3.encoder_attn.";
    CHECK(names_as(train::NamesOf::bart) ==
          std::vector<std::string>{attention + "k_proj.bias", attention + "v_proj.bias",
                                   "model.encoder.layernorm_embedding.weight",
                                   "model.shared.weight", "final_logits_bias"});
    CHECK(names_as(train::NamesOf::blenderbot)[2] == "model.encoder.layer_norm.weight");
    const auto layout = train::file_layout(train::NamesOf::bart, table.all());
    CHECK(layout[1].first == 2);
    CHECK(layout.back().shape == std::vector<std::int64_t>{1, 3});
    const auto ones = [](const train::Parameter&, std::size_t, HostView<float> some) {
        std::ranges::fill(some, 1.0F);
    };
    const tests::ScratchFolder folder;
    const std::string path = folder / "model.safetensors";
    train::write_weights(path, {table.all(), layout, ones, Dtype::fp32}, {});
    SafetensorsFile back(path);
    back.verify();
    CHECK(back.names() == train::NamesOf::bart);
    CHECK(back.tensors().size() == 3);
}

TEST_CASE("weights are written under the names of transformers, in other types and in files") {
    const tests::ScratchFolder folder;
    train::ParameterTable table;
    const std::string at = "decoder.layers.3.";
    table.add(at + "self_attention.qkv.weight", {8, 2}, 0, train::WeightDecay::apply, {4, 2, 2});
    table.add(at + "ffn.lin1.weight", {4, 2}, 0, train::WeightDecay::apply);
    table.add("embeddings.weight", {5, 2}, 1, train::WeightDecay::apply);
    const auto read = [](const train::Parameter& p, std::size_t first, HostView<float> values) {
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(first + i) + (p.block == 0 ? 0.001F : 0.0F);
    };
    const auto layout = train::file_layout(train::NamesOf::llama, table.all());
    CHECK(layout.size() == 6);
    CHECK(layout[1].name == "model.layers.3.self_attn.k_proj.weight");
    CHECK(layout[1].first == 8);
    CHECK(layout[1].shape == std::vector<std::int64_t>{2, 2});
    CHECK_THROWS_WITH_AS(
        train::file_layout(train::NamesOf::llama,
                           std::vector<train::Parameter>{{.name = "encoder.x", .shape = {1}}}),
        doctest::Contains("no tensor for encoder.x"), Error);
    train::FileWeights weights{table.all(), layout, read, Dtype::bf16};
    const auto written = train::write_shards(folder.path(), weights, 24);
    CHECK(written.files == 3);
    CHECK(written.rounded > 0);
    SafetensorsFile back(folder / "model.safetensors.index.json");
    std::vector<float> values(10);
    back.read(*back.find("embeddings.weight"), view_of(values));
    CHECK(values[9] == 9.0F);
    CHECK_THROWS_AS(train::file_layout(train::NamesOf::peft, table.all()), Error);
    // GPT-2's matrix lies on its side in the file.
    const auto gpt2 = train::file_layout(train::NamesOf::gpt2, table.all());
    CHECK(gpt2[1].name == "transformer.h.3.mlp.c_fc.weight");
    CHECK(gpt2[1].shape == std::vector<std::int64_t>{2, 4});
    std::vector<float> turned;
    const auto whole = [](const train::Parameter&, std::size_t first, HostView<float> some) {
        std::iota(some.begin(), some.end(), static_cast<float>(first));
    };
    train::for_each_in_file(gpt2[1], table[1], whole, [&](HostView<const float> some) {
        turned.insert(turned.end(), some.begin(), some.end());
    });
    CHECK(turned == std::vector<float>{0, 2, 4, 6, 1, 3, 5, 7});
    const auto huge = [](const train::Parameter&, std::size_t, HostView<float> some) {
        std::ranges::fill(some, 70000.0F);
    };
    CHECK_THROWS_WITH_AS(
        train::write_shards(folder.path(), {table.all(), layout, huge, Dtype::fp16}, 1000),
        doctest::Contains("F16 cannot hold"), Error);
}
