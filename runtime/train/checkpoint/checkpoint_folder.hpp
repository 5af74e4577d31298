// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/core/log.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "runtime/train/checkpoint/transformers_names.hpp"

namespace lockstep::train {

// Says how a model folder is one of Hugging Face's transformers, too: by this text as its
// config.json, and by the names of its tensors. Without a text it is none.
struct TransformersForm {
    std::string config_json;
    NamesOf names = NamesOf::lockstep;
};

// Holds the contents of lockstep.json, or of config.json in a folder that is none of transformers:
// the model's options as the caller's JSON object, and the hash of its dictionary.
// `arithmetic_json` is what model.safetensors itself says of the model that its weights belong to
// (see model_key); empty: nothing.
struct ModelDescription {
    std::string config_json;
    std::string dictionary_hash;
    std::string arithmetic_json;
    TransformersForm transformers = {};
};

// The file with Lockstep's own facts in a folder that is one of transformers, too.
inline constexpr const char* own_description_file = "lockstep.json";
// Returns the path of the file in the model folder that describes the model.
std::string description_path(const std::string& folder);

// Writes the model that evaluation and chat use: the description and FOLDER/model.safetensors, each
// atomically. It makes the folder.
void save_model(const std::string& folder, const ModelDescription& description,
                const ParameterTable& table, HostView<float> master,
                const BeforeCommit& before_commit = {});
void save_description(const std::string& folder, const ModelDescription& description);
// Reads the description alone, without its form for transformers. Throws kind io if it is missing
// and kind data if it is damaged.
ModelDescription read_description(const std::string& folder);

struct DamagedCheckpoint {
    std::string path, why;
};

// Returns what is wrong with the name of a checkpoint in a model folder: it tells another step than
// its state.json, so that it would be taken for a newer or an older one. Empty: nothing, or
// state.json is not whole.
std::string wrong_name(const std::string& path);

// Names the checkpoint of a model folder that a run uses, and the newer ones that were verified as
// damaged, newest first.
struct CheckpointChoice {
    std::optional<std::string> path;  // empty: the folder surely has no checkpoint
    std::vector<DamagedCheckpoint> damaged;
};

// Returns the newest checkpoint that verifies so far, and changes nothing. Only a checkpoint whose
// contents or name are wrong counts as damaged. Transient failures are tried again for a few
// seconds and then throw TransientFailure. A folder or file that cannot be read throws kind io, a
// newer format kind config, and a folder with only damaged checkpoints kind data.
CheckpointChoice choose_checkpoint(const std::string& model_folder, Verify what = Verify::contents);
std::optional<std::string> newest_good_checkpoint(const std::string& model_folder);
// Names the damaged checkpoints and says why they are; empty if there are none.
std::string damage_text(const CheckpointChoice& choice);

// Renames the damaged checkpoints to step-XXXXXXXX.damaged and names them in one line of `log`. No
// other run may use the folder.
void set_aside(const CheckpointChoice& choice, Log& log);

// Tells which checkpoints a run keeps.
struct KeepPolicy {
    int newest = 2;                   // at least 1
    std::int64_t every_n_steps = -1;  // keeps all whose step is a multiple; <= 0: none
};

// Manages the checkpoints of a model folder. They are named MODEL/checkpoints/step-00001234 after
// trainer.step.
class CheckpointFolder {
public:
    // The constructor touches no file.
    CheckpointFolder(const std::string& model_folder, const KeepPolicy& keep, Log& log);

    // `check` is called before anything is removed and before each commit. It throws when the
    // folder is no longer this run's.
    void commit_after(BeforeCommit check);
    // Counts a checkpoint that was verified among those that are kept.
    void trust(const std::string& path);
    // Saves a checkpoint. It first removes the leftovers of interrupted writers. Once the new
    // checkpoint is on disk, it removes a checkpoint only if KeepPolicy::newest newer ones are
    // good, which means that this object wrote or trusts them. It never removes those of later
    // steps. Throws SystemFailure when the checkpoint cannot be written; nothing of it stays then.
    void save(const RunTensors& tensors, const RunRecord& record);
    // Makes the folder ready for a new checkpoint, and returns the checkpoint's path.
    std::string prepare(std::int64_t step);
    // Counts the checkpoint of this step as good, and removes older ones as save() does.
    void accept(std::int64_t step);
    // Calls `write`. While that finds the disk full, the oldest checkpoint goes and `write` is
    // called again, but only if a newer checkpoint has just been verified. One line names all that
    // went.
    void write_with_room(const std::function<void()>& write);
    // Removes the oldest checkpoint as write_with_room() does, and adds its name to `removed`, the
    // names that went since the newest one was verified. Returns false if none may go.
    bool make_room(std::vector<std::string>& removed);
    void tell_of_removed(const std::vector<std::string>& names);
    // Returns the path of the newest checkpoint that is known to be good; empty: there is none.
    std::string newest_good() const;
    std::vector<std::string> paths() const;  // newest first

private:
    void remove_older_than(const std::string& saved);
    bool newest_verifies() const;
    bool written(const std::function<void()>& write, std::vector<std::string>& removed);
    std::string remove_oldest();
    bool is_kept_for_ever(const std::string& name) const;
    bool remove(const std::string& path);

    std::set<std::string> good_;  // names
    BeforeCommit check_;
    std::string folder_;
    KeepPolicy keep_;
    Log& log_;
};

}  // namespace lockstep::train
