// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/checkpoint/tensor_pieces.hpp"
#include "runtime/train/loop/trainer_state.hpp"
#include "runtime/train/sharing/run_tensors.hpp"

namespace lockstep::train {

// Holds the contents of a checkpoint besides tensors.
struct RunRecord {
    TrainerState trainer;
    std::string options_json = "{}";  // a JSON object of the caller's, returned unchanged
    // These versions, by name, must stay the same for a resume with the same bits.
    Metadata versions;
    // Tells that loading has converted the optimizer's moments; else empty. It is not saved.
    std::string conversion;
};

std::vector<TensorExtent> places_of(const std::vector<OptimizerTensor>& tensors);

// A checkpoint is a folder with model.safetensors, the optimizer's tensors in pieces
// (part-00000.safetensors ...), state.json and manifest.json, which lists each file's size and
// XXH3. docs/checkpoint-format.md describes the format.

// A checkpoint that several writers may write together. One process makes the draft; any process
// that shares the folder adds files to it.
//
//   CheckpointDraft draft(path);
//   draft.add("model.safetensors", write_places(draft.folder() + "/model.safetensors", weights));
//   draft.add(part_name(0), write_part(draft.folder() + "/" + part_name(0), pieces));
//   ... the other writers write their parts and send what write_part() returned ...
//   draft.commit(record);
class CheckpointDraft {
public:
    // The parent folder of `path` must exist. Without commit() nothing remains.
    explicit CheckpointDraft(const std::string& path) : directory_(path) {}

    const std::string& folder() const noexcept { return directory_.path(); }
    void add(const std::string& name, const WrittenFile& written) { files_[name] = written; }
    // Writes state.json and the manifest, and gives the folder its name. An existing checkpoint of
    // that name is replaced.
    void commit(const RunRecord& record, const BeforeCommit& before_commit = {});

private:
    AtomicDirectory directory_;
    std::map<std::string, WrittenFile> files_;
};

// Writes `path` whole or not at all, as the only writer.
void save_checkpoint(const std::string& path, const RunTensors& tensors, const RunRecord& record,
                     const BeforeCommit& before_commit = {});

// sizes: the files' sizes and what the checkpoint says of its run, which takes no time. contents:
// all bytes, which takes as long as reading them.
enum class Verify { sizes, contents };

// Throws kind data, which names the first file that is missing or differs from what was written;
// kind config for a newer format; and kind io when a file cannot be read, which says nothing about
// the checkpoint.
void verify_checkpoint(const std::string& path, Verify what = Verify::contents);

// What a user can do about a checkpoint of other tensors than the run's.
inline constexpr const char* weights_remedy =
    "continue with the model's own options, or choose another --model-file";
inline constexpr const char* optimizer_remedy =
    "continue with the optimizer it was saved with, or begin a new --model-file with --init-model";

// Returns what reading the optimizer's tensors converts, told as RunRecord::conversion. `parts` is
// null for a checkpoint of version 1.
std::string conversion_of(std::span<const TensorExtent> places, const PartFiles* parts);

// Verifies the checkpoint, then fills `tensors` with exactly the saved bits; they are unchanged
// when it throws. Names or shapes that differ from the run's throw kind config with the first
// difference and a remedy. The caller must renew the 16-bit copy of the master.
RunRecord load_checkpoint(const std::string& path, const RunTensors& tensors);
// Does so for a checkpoint that was verified, whose checksums it does not compute again.
RunRecord load_verified_checkpoint(const std::string& path, const RunTensors& tensors);
// Reads only what the checkpoint says of its run.
RunRecord read_run_record(const std::string& checkpoint);

}  // namespace lockstep::train
