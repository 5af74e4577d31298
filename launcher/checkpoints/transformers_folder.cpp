// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/transformers_folder.hpp"

#include <algorithm>
#include <filesystem>

#include "data/storage/foreign_tokenizer.hpp"
#include "data/tokenizers/tokenizer_file.hpp"
#include "launcher/checkpoints/new_model.hpp"
#include "launcher/model_folder/huggingface_folder.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/model_folder/recorded_model.hpp"
#include "launcher/text/units.hpp"
#include "model/blocks/layout.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/checkpoint/weights_file.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::launcher::checkpoints {

namespace {

// The type that all tensors of the files have, else fp32, which holds all values.
Dtype type_in(const train::SafetensorsFile& file) {
    const auto type_of = [](const train::TensorInfo& tensor) {
        return tensor.rows.empty() ? tensor.type : tensor.rows.front().type;
    };
    const Dtype first = type_of(file.tensors().front());
    const bool alike = std::ranges::all_of(file.tensors(), [&](const train::TensorInfo& tensor) {
        return type_of(tensor) == first &&
               std::ranges::all_of(tensor.rows, [&](const auto& r) { return r.type == first; });
    });
    return alike ? first : Dtype::fp32;
}

// Writes the tokenizer's files as they came, and returns what is to be said of them.
std::string write_tokenizer(const data::Tokenizer& tokenizer, const std::string& like,
                            const std::string& folder) {
    namespace fs = std::filesystem;
    if (tokenizer.name() != data::huggingface_name)
        return "; no tokenizer is there: `examples/tokenizer_to_hf.py " + like +
               " OUT` makes one of Lockstep's";
    tokenizer.save(folder);
    fs::remove(folder + "/" + data::format::foreign_tokenizer_file);
    for (const auto& entry : fs::directory_iterator(folder)) sync_file(entry.path());
    return "";
}

std::string written_text(const train::WrittenShards& written, Dtype type,
                         const train::ParameterTable& table) {
    std::string text = bytes_text(static_cast<std::int64_t>(written.bytes)) + " in " +
                       std::string(train::name(type)) + ", " +
                       counted(static_cast<std::int64_t>(written.files), "file", "files");
    if (written.rounded > 0)
        text += "; " + grouped(static_cast<std::int64_t>(written.rounded)) + " of " +
                counted(static_cast<std::int64_t>(table.count()), "value was", "values were") +
                " rounded";
    return text;
}

std::string fill_for_transformers(const std::string& folder, const std::string& weights,
                                  const std::string& like, const Conversion& conversion) {
    const OpenedModel model = open_model_folder(like);
    const train::NamesOf names = names_in_huggingface(model.config, like);
    const train::ParameterTable table = model::parameter_table(model.config);
    std::vector<train::TensorExtent> places;
    for (const train::Parameter& p : table.all()) places.push_back({p.name, p.shape, {}});
    train::SafetensorsFile file(weights);
    train::check_places(file, places, "give --like a model of the same kind and sizes");
    if (const std::string other = contradiction(like, model.config, weights); !other.empty())
        throw Error(ErrorKind::config, other + "; give --like a model of the same kind");
    file.verify();
    const Dtype type = conversion.type.value_or(type_in(file));
    const std::string told = write_tokenizer(*model.tokenizer, like, folder);
    const auto form = huggingface_form(model.config, type, huggingface_config_in(like),
                                       model.tokenizer->special(), model.tokenizer->reply_begin());
    train::write_atomically(folder + "/config.json", form.config_json);
    const auto tensors = train::file_layout(names, table.all());
    const train::FileWeights all{
        table.all(), tensors,
        [&file](const train::Parameter& p, std::size_t first, HostView<float> values) {
            file.read_range(*file.find(p.name), first, values);
        },
        type};
    return written_text(train::write_shards(folder, all, conversion.shard_bytes), type, table) +
           told;
}

}  // namespace

std::string write_transformers_folder(const std::string& weights, const std::string& like,
                                      const Conversion& conversion) {
    std::string told;
    write_new_folder(conversion.to, conversion.existing, [&](const std::string& folder) {
        told = fill_for_transformers(folder, weights, like, conversion);
    });
    return told;
}

}  // namespace lockstep::launcher::checkpoints
