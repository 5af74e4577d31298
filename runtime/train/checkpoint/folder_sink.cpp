// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/folder_sink.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace lockstep::train {

FolderSink::FolderSink(int rank, const std::string& model_folder, const SaveOptions& options,
                       Log& log, std::function<RunTensors()> fetch, ModelDescription description,
                       RunRecord record)
    : rank_(rank),
      model_folder_(model_folder),
      checkpoints_(model_folder, options.keep, log),
      fetch_(std::move(fetch)),
      description_(std::move(description)),
      record_(std::move(record)),
      latest_failures_("the checkpoint", options.max_failures, log),
      best_failures_("the model", options.max_failures, log) {}

void FolderSink::commit_after(const BeforeCommit& check) {
    check_ = check;
    checkpoints_.commit_after(check);
}

void FolderSink::continues_from(const std::string& checkpoint) { checkpoints_.trust(checkpoint); }

void FolderSink::save(CheckpointKind kind, const TrainerState& state) {
    if (rank_ != 0) return;
    kind == CheckpointKind::best ? save_best(state) : save_latest(state);
}

void FolderSink::save_latest(const TrainerState& state) {
    const std::string text = nlohmann::json(state).dump();
    if (text == saved_) return;
    record_.trainer = state;
    const auto save = [&] {
        checkpoints_.save(fetch_(), record_);
        saved_ = text;
    };
    const auto remains = [&] {
        const std::string newest = checkpoints_.newest_good();
        return newest.empty() ? std::string("there is no good checkpoint yet")
                              : "the newest good checkpoint is " + newest;
    };
    latest_failures_.bear("of step " + std::to_string(state.step), save, remains);
}

void FolderSink::save_best(const TrainerState& state) {
    const auto save = [&] {
        const RunTensors tensors = fetch_();
        checkpoints_.write_with_room([&] {
            save_model(model_folder_, description_, tensors.table, tensors.master, check_);
        });
    };
    const auto remains = [&] { return model_folder_ + " keeps the model that it had"; };
    best_failures_.bear("with the weights of step " + std::to_string(state.step), save, remains);
}

void FolderSink::finish() {
    latest_failures_.require_none();
    best_failures_.require_none();
}

}  // namespace lockstep::train
