// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/folder_sink.hpp"

#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/core/json_text.hpp"

namespace lockstep::train {

FolderSink::FolderSink(int rank, const std::string& model_folder, const SaveOptions& options,
                       Log& log, std::function<RunTensors()> tensors, ModelDescription description,
                       RunRecord record)
    : rank_(rank),
      model_folder_(model_folder),
      checkpoints_(model_folder, options.keep, log),
      saving_(options.saving),
      take_(std::move(tensors)),
      description_(std::move(description)),
      record_(std::move(record)),
      log_(log),
      latest_failures_("the checkpoint", options.max_failures, log),
      best_failures_("the model", options.max_failures, log) {}

void FolderSink::commit_after(const BeforeCommit& check) {
    check_ = check;
    checkpoints_.commit_after(check);
}

void FolderSink::take_memory_early(std::function<void()> reserve) {
    if (rank_ == 0 && saving_ == Saving::beside_training) start("take memory", std::move(reserve));
}

void FolderSink::continues_from(const std::string& checkpoint) { checkpoints_.trust(checkpoint); }

void FolderSink::save(CheckpointKind kind, const TrainerState& state) {
    if (rank_ != 0) return assist(state.step);
    thread_.check();
    if (tensors_step_ != state.step) take_tensors(kind, state.step);
    kind == CheckpointKind::best ? save_best(state.step) : save_latest(state);
    if (saving_ == Saving::beside_training) return;
    thread_.wait();
    keep_unsaved_best();
}

// Rank 0 takes the tensors once in a step, and so must the others.
void FolderSink::assist(std::int64_t step) {
    if (taken_by_ == TakenBy::all_ranks && tensors_step_ != step) (void)take_();
    tensors_step_ = step;
}

void FolderSink::take_tensors(CheckpointKind kind, std::int64_t step) {
    const bool saving = tensors_step_ >= 0 && thread_.busy();
    if (saving && !std::exchange(told_of_waiting_, true))
        log_.info(
            "training waits for a checkpoint that is still being written: saves are due more "
            "often than this disk takes them (told once)");
    thread_.wait();
    if (kind == CheckpointKind::latest) keep_unsaved_best();
    tensors_.emplace(take_());
    tensors_step_ = step;
}

// The tensors that were taken are all that holds best weights that could not be written, so these
// are kept beside them until they can be written, or until there are better ones.
void FolderSink::keep_unsaved_best() {
    if (!best_lost_ || !kept_best_.empty()) return;
    try {
        kept_best_.assign(tensors_->master.begin(), tensors_->master.end());
    } catch (const std::bad_alloc&) {
        log_.error("warning: the best weights, of step " + std::to_string(*best_lost_) +
                   ", are lost: there is no memory that keeps them until they can be written");
        best_lost_.reset();
    }
}

void FolderSink::start(const char* name, std::function<void()> write) {
    thread_.start([this, name, write = std::move(write)] {
        const auto begin = Clock::now();
        write();
        if (trace_ != nullptr) trace_->add("checkpoint", name, begin, Clock::now());
    });
}

void FolderSink::save_latest(const TrainerState& state) {
    const std::string text = dump_json(nlohmann::json(state));
    if (text == queued_) thread_.wait();  // whether it has to be saved again is known then
    if (text == queued_ && text == saved_) return;
    queued_ = text;
    record_.trainer = state;
    start("write", [this, record = record_, text] { write_latest(record, text); });
}

void FolderSink::write_latest(const RunRecord& record, const std::string& text) {
    const auto save = [&] {
        require_savable(places_of(tensors_->table, tensors_->master));
        require_savable(places_of(tensors_->optimizer));
        // A run that continues from a checkpoint takes the best weights that it tells of for saved.
        if (best_lost_) write_model();
        checkpoints_.save(*tensors_, record);
        saved_ = text;
    };
    const auto remains = [&] {
        const std::string newest = checkpoints_.newest_good();
        return newest.empty() ? std::string("there is no good checkpoint yet")
                              : "the newest good checkpoint is " + newest;
    };
    latest_failures_.bear("of step " + std::to_string(record.trainer.step), save, remains);
}

void FolderSink::save_best(std::int64_t step) {
    start("write the model", [this, step] {
        kept_best_.clear();
        write_best(step);
    });
}

void FolderSink::write_best(std::int64_t step) {
    best_lost_ = step;  // until they are written
    const auto remains = [&] { return model_folder_ + " keeps the model that it had"; };
    best_failures_.bear(
        "with the weights of step " + std::to_string(step), [&] { write_model(); }, remains);
}

void FolderSink::write_model() {
    checkpoints_.write_with_room([&] {
        const HostView<float> weights = kept_best_.empty() ? tensors_->master : view_of(kept_best_);
        require_savable(places_of(tensors_->table, weights));
        save_model(model_folder_, description_, tensors_->table, weights, check_);
    });
    best_failures_.saved();
    best_lost_.reset();
    kept_best_ = {};
}

void FolderSink::finish() {
    thread_.wait();
    if (best_lost_) start("write the model", [this] { write_best(*best_lost_); });
    thread_.wait();
    latest_failures_.require_none();
    best_failures_.require_none();
}

}  // namespace lockstep::train
