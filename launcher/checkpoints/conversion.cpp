// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/conversion.hpp"

#include <filesystem>
#include <optional>
#include <vector>

#include "launcher/checkpoints/adapter_files.hpp"
#include "launcher/checkpoints/new_model.hpp"
#include "launcher/checkpoints/stored_run.hpp"
#include "launcher/checkpoints/transformers_folder.hpp"
#include "launcher/model_folder/adapters.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/rank/loaded_model.hpp"
#include "launcher/text/units.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/followed_path.hpp"
#include "runtime/files/output_claim.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/kernels/moment_codes.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/checkpoint/stored_tensors.hpp"
#include "runtime/train/folder/retry_reading.hpp"

namespace lockstep::launcher::checkpoints {

namespace fs = std::filesystem;

namespace {

// Holds tensors in memory under the names and shapes that they have on disk.
struct LoadedTensors {
    train::ParameterTable table;
    std::vector<float> master;
    std::vector<std::vector<float>> values;  // of the optimizer; of moments in int8 the scales
    std::vector<std::vector<std::uint8_t>> codes;
    std::vector<train::OptimizerTensor> optimizer;

    train::RunTensors tensors() { return {table, view_of(master), optimizer}; }
};

void load_weights(train::StoredTensors& stored, LoadedTensors& loaded) {
    for (const train::StoredTensor& tensor : stored.tensors()) {
        if (tensor.role != train::TensorRole::weights) continue;
        if (tensor.count == 0)
            throw Error(ErrorKind::data, tensor.name + ": has no elements; leave it out");
        loaded.table.add(tensor.name, tensor.shape, 0, train::WeightDecay::apply);
    }
    loaded.master.resize(loaded.table.flat_size());
    const HostView<float> master = view_of(loaded.master);
    for (const train::Parameter& p : loaded.table.all())
        stored.read(*stored.find(p.name), 0, master.subview(p.offset, p.count));
}

void load_optimizer(train::StoredTensors& stored, LoadedTensors& loaded) {
    for (const train::StoredTensor& tensor : stored.tensors()) {
        if (tensor.role != train::TensorRole::optimizer) continue;
        const std::size_t cells = kernels::moment_scales(tensor.count);
        auto& values = loaded.values.emplace_back(tensor.coded ? cells : tensor.count);
        auto& codes = loaded.codes.emplace_back(tensor.coded ? tensor.count : 0);
        if (tensor.coded)
            stored.read_codes(tensor, view_of(codes), view_of(values));
        else
            stored.read(tensor, 0, view_of(values));
        loaded.optimizer.push_back({tensor.name, tensor.shape, {}});
    }
    for (std::size_t i = 0; i < loaded.values.size(); ++i) {
        loaded.optimizer[i].values = view_of(loaded.values[i]);
        loaded.optimizer[i].codes = view_of(loaded.codes[i]);
    }
}

// Returns the verified file or checkpoint that `from` names.
std::string verified_source(const std::string& from) {
    if (!path_exists(from)) throw Error(ErrorKind::config, from + ": does not exist");
    const bool model = is_folder(from) && !is_checkpoint(from);
    if (model && !holds_model(from))
        throw Error(ErrorKind::config, from +
                                           ": is neither a model's folder nor a checkpoint nor a "
                                           ".safetensors file");
    std::string source = model ? weights_of(from) : from;
    train::retry_reading([&] {
        if (is_folder(source)) train::verify_checkpoint(source);
        train::StoredTensors(source).verify();
    });
    return source;
}

std::string weights_in(const std::string& source) {
    return is_folder(source) ? source + "/" + train::weights_file : source;
}

void refuse_existing(const Conversion& conversion) {
    if (conversion.existing == Existing::refuse && path_exists(conversion.to))
        throw Error(ErrorKind::config,
                    conversion.to + ": exists; choose another name, or give --overwrite");
}

// A run may be writing into the model's folder that the file goes into.
void write_file(const std::string& source, const Conversion& conversion,
                const train::LockWaiting& waiting) {
    refuse_existing(conversion);
    make_parent(conversion.to);
    const std::string folder = fs::absolute(conversion.to).lexically_normal().parent_path();
    std::optional<train::FolderLock> lock;
    if (holds_model(folder)) lock.emplace(folder, train::this_process(), waiting);
    const OutputClaim claim("", conversion.to);  // behind the lock: it removes unfinished files
    refuse_existing(conversion);                 // another program may have written it meanwhile
    train::StoredTensors stored(weights_in(source));
    LoadedTensors loaded;
    load_weights(stored, loaded);
    if (lock) lock->confirm();
    train::write_model(conversion.to, train::places_of(loaded.table, view_of(loaded.master)));
}

// Returns the model folder that a checkpoint of this path belongs to; empty: none.
std::string model_of_checkpoint(const fs::path& path) {
    const fs::path checkpoints = fs::absolute(path).lexically_normal().parent_path();
    const std::string model = checkpoints.parent_path();
    return checkpoints.filename() == "checkpoints" && holds_model(model) ? model : "";
}

void require_checkpoints(const std::string& source, const Conversion& conversion) {
    if (!is_folder(source))
        throw Error(ErrorKind::config,
                    conversion.from +
                        ": has weights alone, of which no run can continue; give a model's folder "
                        "as the result, and train starts from its weights, or use --init-model");
    if (path_exists(conversion.to) && !path_exists(conversion.to + "/" + train::manifest_file))
        throw Error(ErrorKind::config,
                    conversion.to + ": is no checkpoint, and is not replaced; choose another name");
}

void write_checkpoint(const std::string& source, const std::string& name,
                      const Conversion& conversion, const train::LockWaiting& waiting) {
    require_checkpoints(source, conversion);
    refuse_existing(conversion);
    const train::RunRecord record = train::read_run_record(source);
    const std::string own_name = train::checkpoint_name(record.trainer.step);
    if (name != own_name)
        throw Error(ErrorKind::config, conversion.to + ": the checkpoint is of step " +
                                           std::to_string(record.trainer.step) + "; name it " +
                                           own_name);
    LoadedTensors loaded;
    train::StoredTensors stored(source);
    load_weights(stored, loaded);
    load_optimizer(stored, loaded);
    const std::string model = model_of_checkpoint(conversion.to);
    std::optional<train::FolderLock> lock;
    train::BeforeCommit check;
    if (model.empty()) {
        make_parent(conversion.to);
    } else {
        lock.emplace(model, train::this_process(), waiting);
        make_folders(train::checkpoints_of(model));
        check = [&lock] { lock->confirm(); };
    }
    const OutputClaim claim("", conversion.to);
    refuse_existing(conversion);
    train::save_checkpoint(conversion.to, loaded.tensors(), record, check);
}

void refuse_like(const Conversion& conversion) {
    if (!conversion.like.empty())
        throw Error(ErrorKind::config,
                    conversion.to +
                        ": has neither config.json nor a tokenizer of its own; --like is for a "
                        "model's folder as the result, so leave it out or choose another name");
}

std::string merged(const std::string& source, const Conversion& conversion) {
    if (!conversion.like.empty())
        throw Error(ErrorKind::config,
                    "--like contradicts --merge: the rest is that of the base; leave it out");
    if (conversion.form == Form::transformers)
        throw Error(
            ErrorKind::config,
            "--merge contradicts --to, --dtype and --shard-size: the merged model is as its "
            "base is; convert it afterwards");
    const std::string name = fs::path(conversion.to).filename();
    if (name.ends_with(".safetensors") || train::is_checkpoint_name(name))
        throw Error(ErrorKind::config,
                    conversion.to + ": --merge writes a model's folder; choose another name");
    const std::string folder = model_folder_of(conversion.from);
    const model::ModelConfig config =
        folder.empty() ? model::ModelConfig() : open_model_folder(folder).config;
    if (config.lora.rank == 0)
        throw Error(ErrorKind::config, conversion.from + ": has no adapters; leave --merge out");
    const std::string weights = weights_in(source);
    require_fitting(config, folder, weights);
    write_merged(conversion.to, config, weights, conversion.existing);
    return conversion.to + ": the model in " + config.lora.base + " with the adapters of " +
           weights + " merged into it";
}

}  // namespace

namespace {

std::string write_folder(const std::string& source, const Conversion& conversion) {
    const std::string like =
        conversion.like.empty() ? model_folder_of(conversion.from) : conversion.like;
    if (like.empty())
        throw Error(ErrorKind::config,
                    conversion.from +
                        ": no config.json describes these weights; give --like a model's "
                        "folder that does");
    const bool has_adapters =
        is_adapter_folder(like) || open_model_folder(like).config.lora.rank > 0;
    if (is_adapter_folder(like) || (has_adapters && conversion.form == Form::transformers))
        throw Error(ErrorKind::config, like +
                                           ": holds adapters; give --merge to make a model of "
                                           "them and their base");
    if (conversion.form == Form::transformers)
        return conversion.to + ": a model of transformers with the weights of " + source + ", " +
               write_transformers_folder(weights_in(source), like, conversion);
    write_model_folder(weights_in(source), like, conversion.to, conversion.existing);
    return conversion.to + ": a model with the weights of " + source + "; config.json and " +
           "tokenizer are those of " + like;
}

}  // namespace

std::string convert(const Conversion& given, const train::LockWaiting& waiting) {
    Conversion conversion = given;
    conversion.to = named_folder(given.to);
    const std::string source = verified_source(named_folder(given.from));
    if (conversion.adapters == Adapters::merge) return merged(source, conversion);
    const std::string name = fs::path(conversion.to).filename();
    const bool is_file = name.ends_with(".safetensors");
    const bool is_folder = !is_file && !train::is_checkpoint_name(name);
    if (is_file && conversion.to != given.to)
        throw Error(ErrorKind::config, given.to + ": names a folder, but the weights alone go " +
                                           "into a file; leave out what follows its name");
    if (!is_folder && conversion.form == Form::transformers)
        throw Error(ErrorKind::config,
                    given.to + ": a model of transformers is a folder; choose another name");
    if (!is_folder) refuse_like(conversion);
    if (is_file) {
        write_file(source, conversion, waiting);
        return conversion.to + ": the weights of " + source;
    }
    if (is_folder) return write_folder(source, conversion);
    write_checkpoint(source, name, conversion, waiting);
    return conversion.to + ": the checkpoint " + source + " in format version " +
           std::to_string(train::checkpoint_format);
}

}  // namespace lockstep::launcher::checkpoints
