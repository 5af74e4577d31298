// SPDX-License-Identifier: Apache-2.0
#include "model/parameter_rows.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "model/architectures.hpp"
#include "model/lora_modules.hpp"
#include "model/parts.hpp"

namespace lockstep::model {

namespace {

using train::InitialValues;
using train::Split;
using train::WeightDecay;

constexpr const char* head_name = "lm_head.weight";

// Returns the deviation for the variance 2 / (fan in + fan out).
double xavier_deviation(std::int64_t in, std::int64_t out) {
    return std::sqrt(2.0 / static_cast<double>(in + out));
}

// The values from which the matrices of a model start.
struct FirstValues {
    InitialValues embeddings, positions, attention, attention_out, ffn, ffn_down;
};

FirstValues parlai_values(const ModelConfig& config) {
    using enum InitialValues::Kind;
    const std::int64_t d = config.embedding_size;
    const double embedding = 1 / std::sqrt(static_cast<double>(d));
    const InitialValues attention{normal, xavier_deviation(d, d)};
    // A uniform distribution's bound is sqrt(3) times its deviation.
    const InitialValues ffn{uniform, std::sqrt(3.0) * xavier_deviation(d, config.ffn_size)};
    return {{normal, embedding, 1}, {normal, embedding}, attention, attention, ffn, ffn};
}

FirstValues gpt2_values(const ModelConfig& config) {
    using enum InitialValues::Kind;
    const double branches = 2 * static_cast<double>(config.decoder_layers);
    const InitialValues any{normal, 0.02}, residual{normal, 0.02 / std::sqrt(branches)};
    return {any, any, any, residual, any, residual};
}

// Lists parameters in the order in which backward finishes them, which is the reverse of forward's.
class Rows {
public:
    explicit Rows(const ModelConfig& config)
        : config_(config),
          before_(norm_position(config) == NormPosition::before_branch),
          widths_(widths(config)),
          family_(architecture(config.kind)),
          initial_(family_.distributions == Distributions::gpt2 ? gpt2_values(config)
                                                                : parlai_values(config)) {}

    std::vector<ParameterRow> make() && {
        const bool encoder = has_encoder(config_);
        const bool own_head = config_.parts.own_head == Has::yes;
        if (own_head) head();
        stack({StackKind::decoder, "decoder", "self_attention", config_.decoder_layers, encoder});
        if (encoder)
            stack({StackKind::encoder, "encoder", "attention", config_.encoder_layers, false});
        add({Role::embeddings}, "embeddings.weight", {config_.vocabulary, config_.embedding_size},
            {.decay = WeightDecay::apply,
             .tied = own_head ? train::Tied::no : train::Tied::yes,
             .initial = initial_.embeddings});
        return std::move(rows_);
    }

private:
    struct StackNames {
        StackKind kind;
        std::string name, self_attention;
        std::int64_t layers;
        bool attends_to_encoder;

        std::string layer(std::int64_t index) const {
            return name + ".layers." + std::to_string(index) + ".";
        }
    };
    using PartRows = std::vector<std::int64_t>;     // as Parameter::parts
    using Divided = std::vector<train::SplitPart>;  // as Parameter::split_parts
    struct Properties {
        WeightDecay decay = WeightDecay::skip;
        PartRows parts = {};
        train::Tied tied = train::Tied::no;
        InitialValues initial = {};
        Split split = Split::none;
        Divided divided = {};
        train::Hidden hidden = train::Hidden::no;
    };

    // Backward begins with it.
    void head() {
        add({Role::head}, head_name, {config_.vocabulary, config_.embedding_size},
            {.decay = WeightDecay::apply, .initial = initial_.embeddings});
        ++block_;
    }

    void stack(const StackNames& stack) {
        for (std::int64_t i = stack.layers - 1; i >= 0; --i, ++block_) layer(stack, i);
        if (stack.attends_to_encoder) memory_projections(stack);
        const std::size_t before = rows_.size();
        if (before_) norm({Role::first_norm, {}, stack.kind}, stack.layer(0) + "norm1");
        if (config_.positions == Positions::learned)
            add({Role::positions, Values::weight, stack.kind},
                stack.name + ".position_embeddings.weight",
                {family_.unused_positions + config_.n_positions, config_.embedding_size},
                {.decay = WeightDecay::apply, .initial = initial_.positions});
        if (embedding_norm(config_, stack.kind) != EmbeddingNorm::none)
            norm({Role::embedding_norm, {}, stack.kind}, stack.name + ".norm_embeddings");
        if (rows_.size() > before) ++block_;
    }

    // A layer's block holds the norms that the layer runs: see Layer in blocks/weights.hpp.
    void layer(const StackNames& stack, std::int64_t index) {
        const std::string base = stack.layer(index);
        const std::string last_norm = base + (stack.attends_to_encoder ? "norm3" : "norm2");
        const std::string final_norm = index + 1 < stack.layers ? stack.layer(index + 1) + "norm1"
                                                                : stack.name + ".norm_embeddings";
        const std::int64_t d = config_.embedding_size, f = config_.ffn_size, q = widths_.q();
        const auto at = [&](Role role) {
            return ParameterPlace{role, Values::weight, stack.kind, index};
        };
        const Role before_ffn = stack.attends_to_encoder ? Role::after_cross : Role::after_self;

        norm(at(Role::after_ffn), before_ ? final_norm : last_norm);
        const LayerParts& parts = config_.parts;
        linear(at(Role::ffn_down), base + "ffn.lin2", d, f,
               {initial_.ffn_down, parts.ffn_bias, {}, Split::columns});
        const bool gate = parts.gate == Has::yes;
        linear(at(Role::ffn_up), base + "ffn.lin1", gate ? 2 * f : f, d,
               {initial_.ffn, parts.ffn_bias, gate ? PartRows{f, f} : PartRows(), Split::rows,
                gate ? Divided{{f, f}, {f, f}} : Divided{{f, f}}});
        if (before_) norm(at(before_ffn), last_norm);
        if (stack.attends_to_encoder) {
            if (!before_) norm(at(Role::after_cross), base + "norm2");
            linear(at(Role::cross_out), base + "encoder_attention.out", d, q,
                   {initial_.attention_out, Has::yes, {}, Split::columns});
            linear(at(Role::cross_q), base + "encoder_attention.q", q, d,
                   {initial_.attention, Has::yes, {}, Split::rows, {{q, widths_.heads}}});
            if (before_) norm(at(Role::after_self), base + "norm2");
        }
        if (!before_) norm(at(Role::after_self), base + "norm1");
        linear(at(Role::self_out), base + stack.self_attention + ".out", d, q,
               {initial_.attention_out, parts.out_bias, {}, Split::columns});
        self_qkv(at, base + stack.self_attention);
    }

    template <class At>
    void self_qkv(const At& at, const std::string& name) {
        if (config_.parts.head_norms == Has::yes) {
            gamma(at(Role::k_norm), name + ".k_norm", widths_.head_dim);
            gamma(at(Role::q_norm), name + ".q_norm", widths_.head_dim);
        }
        const PartRows three{widths_.q(), widths_.kv(), widths_.kv()};
        linear(at(Role::self_qkv), name + ".qkv", widths_.qkv(), config_.embedding_size,
               {initial_.attention,
                config_.parts.qkv_bias,
                family_.separate_qkv == Has::yes ? three : PartRows(),
                Split::rows,
                {{widths_.q(), widths_.heads},
                 {widths_.kv(), widths_.kv_heads},
                 {widths_.kv(), widths_.kv_heads}}});
    }

    // The weights for the keys and values of the encoder's output, of all layers, are one block.
    // They form one matrix unless gaps for alignment separate them. Their gradients are the last
    // ones of the layers'.
    void memory_projections(const StackNames& stack) {
        const std::int64_t d = config_.embedding_size, key_value = widths_.key_value();
        const auto at = [&](Values values, std::int64_t layer) {
            return ParameterPlace{Role::cross_kv, values, stack.kind, layer};
        };
        const std::string name = "encoder_attention.kv.";
        const PartRows two{widths_.kv(), widths_.kv()};
        const Divided heads{{widths_.kv(), widths_.kv_heads}, {widths_.kv(), widths_.kv_heads}};
        for (std::int64_t i = 0; i < stack.layers; ++i)
            add(at(Values::bias, i), stack.layer(i) + name + "bias", {key_value},
                {.parts = two, .split = Split::rows, .divided = heads});
        for (std::int64_t i = 0; i < stack.layers; ++i)
            add(at(Values::weight, i), stack.layer(i) + name + "weight", {key_value, d},
                {.decay = WeightDecay::apply,
                 .parts = two,
                 .initial = initial_.attention,
                 .split = Split::rows,
                 .divided = heads,
                 .hidden = train::Hidden::yes});
        ++block_;
    }

    struct LinearRows {
        InitialValues initial = {};
        Has bias = Has::yes;
        PartRows parts = {};
        Split split = Split::none;  // of the matrix; a bias is divided with its rows
        Divided divided = {};
    };

    void linear(ParameterPlace place, const std::string& name, std::int64_t out, std::int64_t in,
                const LinearRows& rows) {
        place.values = Values::bias;
        if (rows.bias == Has::yes)
            add(place, name + ".bias", {out},
                {.parts = rows.parts,
                 .split = rows.split == Split::rows ? Split::rows : Split::none,
                 .divided = rows.divided});
        place.values = Values::weight;
        add(place, name + ".weight", {out, in},
            {.decay = WeightDecay::apply,
             .parts = rows.parts,
             .initial = rows.initial,
             .split = rows.split,
             .divided = rows.divided,
             .hidden = train::Hidden::yes});
    }

    void norm(ParameterPlace place, const std::string& name) {
        place.values = Values::bias;
        if (config_.parts.norm == kernels::NormKind::layer)
            add(place, name + ".bias", {config_.embedding_size}, {});
        gamma(place, name, config_.embedding_size);
    }

    void gamma(ParameterPlace place, const std::string& name, std::int64_t width) {
        place.values = Values::weight;
        add(place, name + ".weight", {width}, {.initial = {InitialValues::Kind::constant, 1}});
    }

    void add(const ParameterPlace& place, std::string name, std::vector<std::int64_t> shape,
             const Properties& properties) {
        rows_.push_back({place,
                         {.name = std::move(name),
                          .shape = std::move(shape),
                          .block = block_,
                          .decay = properties.decay,
                          .parts = properties.parts,
                          .tied = properties.tied,
                          .initial = properties.initial,
                          .split = properties.split,
                          .split_parts = properties.divided,
                          .hidden = properties.hidden}});
    }

    const ModelConfig& config_;
    const bool before_;
    const Widths widths_;
    const Architecture& family_;
    const FirstValues initial_;
    std::vector<ParameterRow> rows_;
    int block_ = 0;
};

// Adds the rows of one adapter of a matrix.
void add_adapter(const ParameterRow& matrix, const LoraModule& module, const ModelConfig& config,
                 int block, std::vector<ParameterRow>& rows) {
    constexpr std::string_view weight = ".weight";
    const train::Parameter& base = matrix.parameter;
    std::string name = base.name.substr(0, base.name.size() - weight.size());
    if (module.parts > 1) name += "." + std::to_string(module.part);
    const std::int64_t in = base.shape.back(), out = rows_of_part(base, module).count;
    ParameterPlace place = matrix.place;
    place.part = module.part;
    const std::int64_t rank = lora_rank(config, place);
    const auto add = [&](Values values, const char* ending, std::int64_t columns,
                         const InitialValues& initial) {
        place.values = values;
        rows.push_back({place,
                        {.name = name + ending,
                         .shape = {rank, columns},
                         .block = block,
                         .decay = WeightDecay::apply,
                         .initial = initial}});
    };
    add(Values::lora_a, ".lora_a.weight", in,
        {InitialValues::Kind::uniform, 1 / std::sqrt(static_cast<double>(in))});
    add(Values::lora_b, ".lora_b.weight", out, {});
}

// Makes the row of a table that is trained whole.
ParameterRow whole_row(const ParameterRow& embeddings, Role role, int block, train::Tied tied) {
    ParameterRow row = embeddings;
    row.place = {role};
    if (role == Role::head) row.parameter.name = head_name;
    row.parameter.block = block;
    row.parameter.tied = tied;
    row.parameter.initial = {};
    return row;
}

std::vector<ParameterRow> adapter_rows(const ModelConfig& config) {
    std::vector<ParameterRow> rows;
    const std::vector<ParameterRow> base = Rows(config).make();
    const TrainedTables tables = trained_tables(config);
    int block = -1;
    if (tables.head) rows.push_back(whole_row(base.back(), Role::head, ++block, train::Tied::no));
    std::int64_t layer = -1;
    for (const ParameterRow& row : base) {
        if (row.place.values != Values::weight) continue;
        for (const LoraModule& module : lora_modules(config.kind)) {
            const auto& chosen = config.lora.modules;
            if (module.role != row.place.role ||
                std::ranges::find(chosen, module.path) == chosen.end())
                continue;
            if (row.place.layer != layer) ++block;
            layer = row.place.layer;
            add_adapter(row, module, config, block, rows);
        }
    }
    if (tables.embeddings)
        rows.push_back(whole_row(base.back(), Role::embeddings, ++block,
                                 tables.tied ? train::Tied::yes : train::Tied::no));
    return rows;
}

// A base whose table is its head keeps it for one of both while the other is trained.
std::vector<ParameterRow> rows_that_stay(const ModelConfig& config) {
    std::vector<ParameterRow> rows = Rows(config).make();
    const TrainedTables tables = trained_tables(config);
    const bool apart = config.parts.own_head == Has::yes;
    std::erase_if(rows, [&](const ParameterRow& row) {
        if (row.place.role == Role::head) return tables.head;
        return row.place.role == Role::embeddings && tables.embeddings &&
               (apart || tables.tied || tables.head);
    });
    if (!apart && tables.embeddings && rows.back().place.role == Role::embeddings)
        rows.back().place.role = Role::head;
    const int first = rows.front().parameter.block;
    for (ParameterRow& row : rows) row.parameter.block -= first;
    return rows;
}

}  // namespace

std::vector<ParameterRow> parameter_rows(const ModelConfig& config) {
    return config.lora.rank > 0 ? adapter_rows(config) : Rows(config).make();
}

std::vector<ParameterRow> frozen_rows(const ModelConfig& config) {
    return config.lora.rank > 0 ? rows_that_stay(config) : std::vector<ParameterRow>();
}

}  // namespace lockstep::model
