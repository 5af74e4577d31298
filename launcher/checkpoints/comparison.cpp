// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/comparison.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "launcher/checkpoints/stored_run.hpp"
#include "launcher/model_folder/adapters.hpp"
#include "launcher/model_folder/huggingface_folder.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/options/continued_options.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/rank/loaded_model.hpp"
#include "model/config_json.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "runtime/train/folder/retry_reading.hpp"

namespace lockstep::launcher::checkpoints {

namespace {

using Values = std::map<std::string, std::string>;

// Holds one of the two things that are compared.
struct Side {
    std::string path;  // a checkpoint or a file
    std::optional<StoredRun> run;
    std::string folder;  // of the model; empty: none
    std::optional<train::StoredTensors> tensors;
};

std::string named(const std::string& path) {
    if (!path_exists(path)) throw Error(ErrorKind::config, path + ": does not exist");
    if (!is_folder(path) || is_checkpoint(path)) return path;
    if (!holds_model(path))
        throw Error(ErrorKind::config, path +
                                           ": is neither a model's folder nor a checkpoint nor a "
                                           ".safetensors file");
    return weights_of(path);
}

Side open_side(const std::string& given) {
    Side side;
    side.path = named(given);
    train::retry_reading([&] {
        if (is_folder(side.path)) {
            train::verify_checkpoint(side.path);
            side.run = read_stored_run(side.path);
        }
        side.tensors.emplace(side.path);
        side.tensors->verify();
    });
    side.folder = model_folder_of(given);
    return side;
}

// What the folder's adapter_config.json says, which needs no base; nothing if there is none.
std::optional<Values> described_as_adapters(const Side& side) {
    const std::string path = side.folder + "/" + adapter_config_file;
    if (!path_exists(path)) return std::nullopt;
    return leaves(parse_json(read_json_text(path, "cannot be read")));
}

// What config.json says of a model; of one of transformers only what its arithmetic is.
Values described(const Side& side, const Side& other) {
    if (is_adapter_folder(side.folder) || is_adapter_folder(other.folder)) {
        const auto here = described_as_adapters(side), there = described_as_adapters(other);
        if (here && there) return *here;
    }
    const auto is_foreign = [](const Side& one) {
        return is_huggingface_folder(one.folder) || is_adapter_folder(one.folder);
    };
    if (is_foreign(side) || is_foreign(other))
        return leaves(parse_json(model::to_json(open_model_folder(side.folder).config)));
    return leaves(parse_json(train::read_description(side.folder).config_json));
}

std::vector<Differing> differing(const Values& a, const Values& b,
                                 const std::set<std::string>& ignored = {}) {
    std::set<std::string> names;
    for (const auto& [name, value] : a) names.insert(name);
    for (const auto& [name, value] : b) names.insert(name);
    const auto value_in = [](const Values& values, const std::string& name) {
        const auto found = values.find(name);
        return found == values.end() || found->second.empty() ? "none" : found->second;
    };
    std::vector<Differing> found;
    for (const std::string& name : names) {
        const std::string of_a = value_in(a, name), of_b = value_in(b, name);
        if (of_a != of_b && !ignored.contains(name)) found.push_back({name, of_a, of_b});
    }
    return found;
}

std::vector<Differing> differing_options(const Values& a, const Values& b) {
    std::vector<Differing> found = differing(a, b);
    RunConfig unused;
    const auto tables = run_tables(Task::train, unused);
    std::erase_if(found, [&](const Differing& one) { return of_launch(one.name, tables); });
    return found;
}

// Compares the runs of two checkpoints, or the shapes of two models that are not checkpoints.
void compare_runs(const Side& a, const Side& b, Comparison& comparison) {
    if (a.run && b.run) {
        comparison.options = differing_options(a.run->options, b.run->options);
        comparison.state =
            differing(a.run->state, b.run->state, {"seconds", "validation.since_s", "ended"});
        comparison.versions = differing(a.run->versions, b.run->versions);
        return;
    }
    for (const auto& [side, letter] : {std::pair(&a, "A"), std::pair(&b, "B")})
        if (!side->run)
            comparison.notes.push_back(std::string(letter) +
                                       " has weights alone: options, state and the optimizer's "
                                       "tensors are not compared");
    if (!a.folder.empty() && !b.folder.empty())
        comparison.options = differing_options(described(a, b), described(b, a));
}

}  // namespace

Comparison compare(const std::string& a, const std::string& b, double tolerance) {
    Side side_a = open_side(a), side_b = open_side(b);
    Comparison comparison;
    comparison.a = side_a.path;
    comparison.b = side_b.path;
    comparison.tolerance = tolerance;
    compare_runs(side_a, side_b, comparison);
    const bool both = side_a.run && side_b.run;
    comparison.tensors = compare_tensors(*side_a.tensors, *side_b.tensors,
                                         both ? Compared::all : Compared::weights, tolerance);
    return comparison;
}

}  // namespace lockstep::launcher::checkpoints
