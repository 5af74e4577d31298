// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/checkpoint.hpp"

#include <nlohmann/json.hpp>

#include "runtime/core/json_text.hpp"
#include "runtime/train/checkpoint/checkpoint_json.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::train {
namespace {

using Json = nlohmann::ordered_json;

std::string state_text(const RunRecord& record) {
    Json json;
    json["format_version"] = checkpoint_format;
    json["trainer"] = nlohmann::json(record.trainer);
    json["options"] = Json::parse(record.options_json);
    json["versions"] = record.versions;
    return dump_json(json, 1) + "\n";
}

}  // namespace

std::vector<TensorExtent> places_of(const std::vector<OptimizerTensor>& tensors) {
    std::vector<TensorExtent> places;
    for (const OptimizerTensor& t : tensors) places.push_back({t.name, t.shape, t.values, t.codes});
    return places;
}

std::string conversion_of(std::span<const TensorExtent> places, const PartFiles* parts) {
    for (const TensorExtent& place : places) {
        const bool stored = parts != nullptr && parts->is_coded(place.name);
        if (stored == !place.codes.empty()) continue;
        return stored ? "the checkpoint's moments are in int8; this run keeps them in fp32"
                      : "the checkpoint's moments are in fp32; this run rounds them to int8";
    }
    return "";
}

namespace {

std::string load_tensors(const std::string& folder, const Manifest& manifest,
                         const RunTensors& tensors) {
    SafetensorsFile model(folder + "/" + weights_file);
    const auto model_places = places_of(tensors.table, tensors.master);
    const auto optimizer_places = places_of(tensors.optimizer);
    std::string conversion;
    check_places(model, model_places, weights_remedy);
    if (manifest.version == 1) {
        SafetensorsFile optimizer(folder + "/" + whole_optimizer_file);
        check_places(optimizer, optimizer_places, optimizer_remedy);
        conversion = conversion_of(optimizer_places, nullptr);
        read_places(optimizer, optimizer_places);
    } else {
        PartFiles parts(manifest.parts(folder));
        parts.check(optimizer_places, folder, optimizer_remedy);
        conversion = conversion_of(optimizer_places, &parts);
        parts.read(whole_tensors(optimizer_places));
    }
    read_places(model, model_places);
    require_possible(folder, optimizer_places);
    require_possible(model.path(), model_places);
    return conversion;
}

}  // namespace

void CheckpointDraft::commit(const RunRecord& record, const BeforeCommit& before_commit) {
    add(state_file, write_atomically(folder() + "/" + state_file, state_text(record)));
    write_atomically(folder() + "/" + manifest_file, manifest_text(files_));
    if (before_commit) before_commit();
    directory_.commit();
}

void save_checkpoint(const std::string& path, const RunTensors& tensors, const RunRecord& record,
                     const BeforeCommit& before_commit) {
    CheckpointDraft draft(path);
    const std::string folder = draft.folder() + "/";
    draft.add(weights_file,
              write_places(folder + weights_file, places_of(tensors.table, tensors.master)));
    const auto optimizer_places = places_of(tensors.optimizer);
    const auto pieces = whole_tensors(optimizer_places);
    const std::size_t total = elements(pieces);
    for (std::size_t part = 0; part * max_part_elements < total; ++part) {
        const auto own = cut(pieces, part * max_part_elements, max_part_elements);
        draft.add(part_name(part), write_part(folder + part_name(part), own));
    }
    draft.commit(record, before_commit);
}

void verify_checkpoint(const std::string& path, Verify what) {
    const Manifest manifest = read_manifest(path);
    for (const ListedFile& file : manifest.files) {
        if (what == Verify::contents || file.name == state_file)
            verify_file(path, file);
        else
            verify_size(path, file);
    }
    if (what == Verify::contents && manifest.version > 1) (void)PartFiles(manifest.parts(path));
}

RunRecord read_run_record(const std::string& checkpoint) {
    const std::string path = checkpoint + "/" + state_file;
    const Json json = read_json(path);
    return from_json_file(path, [&] {
        RunRecord record;
        record.trainer = trainer_state_of(nlohmann::json(json.at("trainer")), path);
        record.options_json = dump_json(json.at("options"));
        record.versions = json.at("versions").get<Metadata>();
        return record;
    });
}

RunRecord load_checkpoint(const std::string& path, const RunTensors& tensors) {
    verify_checkpoint(path);
    return load_verified_checkpoint(path, tensors);
}

RunRecord load_verified_checkpoint(const std::string& path, const RunTensors& tensors) {
    RunRecord record = read_run_record(path);
    record.conversion = load_tensors(path, read_manifest(path), tensors);
    return record;
}

}  // namespace lockstep::train
