// SPDX-License-Identifier: Apache-2.0
#include "model/lora_modules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "model/architectures.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::model {

namespace {

constexpr std::array llama_modules{
    LoraModule{"self_attn.q_proj", Role::self_qkv, 0, 3},
    LoraModule{"self_attn.k_proj", Role::self_qkv, 1, 3},
    LoraModule{"self_attn.v_proj", Role::self_qkv, 2, 3},
    LoraModule{"self_attn.o_proj", Role::self_out},
    LoraModule{"mlp.gate_proj", Role::ffn_up, 0, 2},
    LoraModule{"mlp.up_proj", Role::ffn_up, 1, 2},
    LoraModule{"mlp.down_proj", Role::ffn_down},
};

constexpr std::array phi3_modules{
    LoraModule{"self_attn.qkv_proj", Role::self_qkv},
    LoraModule{"self_attn.o_proj", Role::self_out},
    LoraModule{"mlp.gate_up_proj", Role::ffn_up},
    LoraModule{"mlp.down_proj", Role::ffn_down},
};

constexpr std::array llama_tables{
    WholeModule{"model.embed_tokens", Role::embeddings},
    WholeModule{"lm_head", Role::head},
};

constexpr std::array gpt2_tables{
    WholeModule{"transformer.wte", Role::embeddings},
    WholeModule{"lm_head", Role::head},
};

constexpr std::array gpt2_modules{
    LoraModule{"attn.c_attn", Role::self_qkv},
    LoraModule{"attn.c_proj", Role::self_out},
    LoraModule{"mlp.c_fc", Role::ffn_up},
    LoraModule{"mlp.c_proj", Role::ffn_down},
};

bool is_end_of(std::string_view target, std::string_view path) noexcept {
    return target == path ||
           (path.ends_with(target) && path[path.size() - target.size() - 1] == '.');
}

bool names(std::string_view target, std::string_view path) noexcept {
    return target == "all-linear" || is_end_of(target, path);
}

std::string known_names(Kind kind) {
    std::string known;
    for (const LoraModule& module : lora_modules(kind))
        known += (known.empty() ? "" : ", ") + std::string(module.path);
    return known;
}

std::string_view last_name(std::string_view path) noexcept {
    return path.substr(path.rfind('.') + 1);
}

}  // namespace

std::span<const LoraModule> lora_modules(Kind kind) noexcept {
    if (kind == Kind::gpt2) return gpt2_modules;
    if (kind == Kind::phi3) return phi3_modules;
    if (architecture(kind).stacks == Stacks::encoder_and_decoder) return {};
    return llama_modules;
}

std::vector<std::string> lora_paths(Kind kind, const std::vector<std::string>& targets,
                                    const std::string& origin) {
    if (lora_modules(kind).empty())
        throw Error(ErrorKind::config, origin + ": adapters are not built for " +
                                           architecture(kind).name +
                                           "; leave the options of adapters out");
    for (const std::string& target : targets) {
        const auto is_named = [&](const LoraModule& module) {
            return !target.empty() && names(target, module.path);
        };
        if (std::ranges::any_of(lora_modules(kind), is_named)) continue;
        throw Error(ErrorKind::config, origin + ": no matrix of a layer of " +
                                           architecture(kind).name + " is called '" +
                                           shown(target) + "'; the names are " + known_names(kind) +
                                           ", or their ends, or all-linear");
    }
    std::vector<std::string> paths;
    for (const LoraModule& module : lora_modules(kind))
        if (std::ranges::any_of(targets, [&](auto& target) { return names(target, module.path); }))
            paths.emplace_back(module.path);
    if (paths.empty())
        throw Error(ErrorKind::config, origin + ": names no module; give some of " +
                                           known_names(kind) + ", or all-linear");
    return paths;
}

std::span<const WholeModule> whole_modules(Kind kind) noexcept {
    if (lora_modules(kind).empty()) return {};
    return kind == Kind::gpt2 ? std::span<const WholeModule>(gpt2_tables) : llama_tables;
}

std::vector<std::string> whole_paths(Kind kind, const std::vector<std::string>& targets,
                                     const std::string& origin) {
    std::string known;
    for (const WholeModule& module : whole_modules(kind))
        known += (known.empty() ? "" : ", ") + std::string(last_name(module.path));
    for (const std::string& target : targets) {
        const auto is_named = [&](const WholeModule& module) {
            return !target.empty() && is_end_of(target, module.path);
        };
        if (std::ranges::none_of(whole_modules(kind), is_named))
            throw Error(ErrorKind::config,
                        origin + ": '" + shown(target) +
                            "' is no module that is trained whole beside adapters of " +
                            architecture(kind).name + "; those are " +
                            (known.empty() ? "none" : known));
    }
    std::vector<std::string> paths;
    for (const WholeModule& module : whole_modules(kind))
        if (std::ranges::any_of(targets,
                                [&](auto& target) { return is_end_of(target, module.path); }))
            paths.emplace_back(module.path);
    return paths;
}

void tie_tables(Kind kind, Lora& lora) {
    lora.ensure_tied = Has::yes;
    if (kind != Kind::gpt2) return;
    lora.saved.clear();
    for (const WholeModule& module : whole_modules(kind)) lora.saved.emplace_back(module.path);
}

TrainedTables trained_tables(const ModelConfig& config) noexcept {
    const bool apart = config.parts.own_head == Has::yes;
    if (config.lora.rank == 0) return {true, apart, !apart};
    const auto has = [&](Role role) {
        return std::ranges::any_of(whole_modules(config.kind), [&](const WholeModule& module) {
            return module.role == role &&
                   std::ranges::find(config.lora.saved, module.path) != config.lora.saved.end();
        });
    };
    const TrainedTables tables{has(Role::embeddings), has(Role::head)};
    const bool any = tables.embeddings || tables.head;
    if (any && !apart && config.lora.ensure_tied == Has::yes) return {true, false, true};
    return tables;
}

Has unties(const ModelConfig& config) noexcept {
    const TrainedTables tables = trained_tables(config);
    const bool any = tables.embeddings || tables.head;
    return any && !tables.tied && config.parts.own_head == Has::no ? Has::yes : Has::no;
}

Has has_own_head(const ModelConfig& config) noexcept {
    return config.parts.own_head == Has::yes ? Has::yes : unties(config);
}

std::vector<std::string> lora_targets(const ModelConfig& config) {
    std::vector<std::string> targets;
    for (const std::string& path : config.lora.modules) {
        const std::string name(last_name(path));
        const auto is_other = [&](const LoraModule& module) {
            return last_name(module.path) == name &&
                   std::ranges::find(config.lora.modules, module.path) == config.lora.modules.end();
        };
        const bool unique = std::ranges::none_of(lora_modules(config.kind), is_other);
        targets.push_back(unique ? name : path);
    }
    std::ranges::sort(targets);
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    return targets;
}

std::string lora_module_name(Kind kind, const ParameterPlace& place) {
    for (const WholeModule& whole : whole_modules(kind))
        if (whole.role == place.role) return whole.path;
    const auto modules = lora_modules(kind);
    const auto module = std::ranges::find_if(modules, [&](const LoraModule& each) {
        return each.role == place.role && each.part == place.part;
    });
    require(module != modules.end(), "the parameter is an adapter's");
    const char* const layers = kind == Kind::gpt2 ? "transformer.h." : "model.layers.";
    return layers + std::to_string(place.layer) + "." + module->path;
}

namespace {

template <class Value>
Value value_for(const std::vector<std::pair<std::string, Value>>& others, const std::string& module,
                Value usual) {
    const auto found = std::ranges::find_if(others, [&](const auto& each) {
        return each.first == module || module.ends_with("." + each.first);
    });
    return found == others.end() ? usual : found->second;
}

}  // namespace

std::int64_t lora_rank(const ModelConfig& config, const ParameterPlace& place) {
    const Lora& lora = config.lora;
    if (lora.ranks.empty()) return lora.rank;
    return value_for(lora.ranks, lora_module_name(config.kind, place), lora.rank);
}

float lora_scale(const ModelConfig& config, const ParameterPlace& place) {
    const Lora& lora = config.lora;
    const float alpha =
        lora.alphas.empty()
            ? lora.alpha
            : value_for(lora.alphas, lora_module_name(config.kind, place), lora.alpha);
    const auto rank = static_cast<double>(lora_rank(config, place));
    const double by = lora.rank_stabilized == Has::yes ? std::sqrt(rank) : rank;
    return static_cast<float>(alpha / by);
}

RowRange rows_of_part(const train::Parameter& matrix, const LoraModule& module) {
    if (module.parts == 1) return {0, matrix.shape.front()};
    require(matrix.parts.size() == static_cast<std::size_t>(module.parts),
            "a matrix has the parts that adapters are added to");
    const auto part = matrix.parts.begin() + module.part;
    return {std::accumulate(matrix.parts.begin(), part, std::int64_t{0}), *part};
}

void validate_lora(const ModelConfig& config) {
    const Lora& lora = config.lora;
    if (lora.rank == 0) return;
    constexpr std::int64_t max_rank = 1 << 14;
    const auto refuse = [](const std::string& what) { throw Error(ErrorKind::config, what); };
    const auto require_rank = [&](std::int64_t rank) {
        if (rank < 1 || rank > max_rank)
            refuse("adapters of rank " + std::to_string(rank) + ": give a rank from 1 to " +
                   std::to_string(max_rank));
    };
    const auto require_alpha = [&](float alpha) {
        if (!(std::isfinite(alpha) && alpha > 0))
            refuse("adapters with alpha " + std::to_string(alpha) + ": give one above 0");
    };
    require_rank(lora.rank);
    require_alpha(lora.alpha);
    for (const auto& [module, rank] : lora.ranks) require_rank(rank);
    for (const auto& [module, alpha] : lora.alphas) require_alpha(alpha);
    if (!(lora.dropout >= 0 && lora.dropout < 1))
        refuse("adapters with a dropout of " + std::to_string(lora.dropout) +
               ": give a share from 0 to below 1");
    if (lora_modules(config.kind).empty())
        refuse("adapters are not built for " + std::string(architecture(config.kind).name) +
               "; leave --lora-r out");
    if (lora_paths(config.kind, lora.modules, "adapters") != lora.modules)
        refuse("adapters: their modules are not whole paths in the order of the layer");
    if (whole_paths(config.kind, lora.saved, "adapters") != lora.saved)
        refuse("adapters: the modules that are trained whole are not paths in their order");
}

}  // namespace lockstep::model
