// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/pieces/piece_sink.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/comm/texts.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"
#include "runtime/train/checkpoint/manifest.hpp"

namespace lockstep::train {

namespace {

constexpr const char* commit_word = "commit";
constexpr const char* again_word = "again";
constexpr const char* saved_word = "saved";

}  // namespace

PieceSink::PieceSink(const PieceRanks& ranks, const std::string& model_folder,
                     const SaveOptions& options, Log& log, ModelDescription description,
                     RunRecord record)
    : ranks_(ranks),
      model_folder_(model_folder),
      saving_(options.saving),
      checkpoints_(model_folder_, options.keep, log),
      description_(std::move(description)),
      record_(std::move(record)),
      log_(log),
      latest_failures_("the checkpoint", options.max_failures, log),
      best_failures_("the model", options.max_failures, log),
      writers_(ranks.all, ranks.self, ranks.host, thread_) {}

void PieceSink::commit_after(const BeforeCommit& check) {
    check_ = check;
    checkpoints_.commit_after(check);
}

void PieceSink::take_memory_early() {
    const bool writes = ranks_.self.rank < ranks_.self.writers;
    if (writes && saving_ == Saving::beside_training)
        thread_.start([this] { (void)ranks_.owned.reserve(); });
}

std::string PieceSink::tell(const std::string& text) {
    return comm::broadcast_text(ranks_.all, is_first() ? text : "", 0, "save");
}

void PieceSink::save(CheckpointKind kind, const TrainerState& state) {
    if (job_ && thread_.busy() && !std::exchange(told_of_waiting_, true))
        log_.info(
            "training waits for a checkpoint that is still being written: saves are due more "
            "often than this disk takes them (told once)");
    conclude();
    if (kind == CheckpointKind::latest && saved_ == dump_json(nlohmann::json(state))) return;
    if (kind == CheckpointKind::latest && best_lost_) {
        // A run that continues from a checkpoint takes the best weights that it tells of for saved.
        begin(CheckpointKind::best, *best_lost_, kept_pieces());
        conclude();
        if (best_lost_) return;
    }
    if (pieces_step_ != state.step) {
        thread_.wait();
        pieces_.emplace(saving_ == Saving::beside_training ? ranks_.owned.copy()
                                                           : ranks_.owned.current());
        pieces_step_ = state.step;
    }
    if (kind == CheckpointKind::best) forget_best();
    begin(kind, state, *pieces_);
    if (saving_ == Saving::training_waits) conclude();
}

void PieceSink::begin(CheckpointKind kind, const TrainerState& state, const RunPieces& pieces) {
    job_.emplace(Job{kind, record_, dump_json(nlohmann::json(state))});
    job_->record.trainer = state;
    const std::string folder = tell(make_draft());
    if (folder.empty())
        job_->is_writing = false;
    else
        writers_.begin(folder, writing(kind, pieces));
}

// Returns the folder of the draft on rank 0; empty: it could not be made.
std::string PieceSink::make_draft() {
    if (!is_first()) return "";
    try {
        std::string path = checkpoints_.prepare(job_->record.trainer.step);
        if (job_->kind == CheckpointKind::best) path += ".best";
        job_->draft = std::make_unique<CheckpointDraft>(path);
        return std::filesystem::absolute(job_->draft->folder()).string();
    } catch (const SystemFailure& failure) {
        bear([&] { throw failure; });
        return "";
    }
}

PieceWriters::Write PieceSink::writing(CheckpointKind kind, const RunPieces& pieces) const {
    return [self = ranks_.self, trace = trace_, kind, pieces](const std::string& folder) {
        const auto begin = Clock::now();
        require_savable(pieces.weights);
        PieceWriters::Files files = write_owned_weights(folder, self, pieces);
        if (kind == CheckpointKind::latest) {
            require_savable(pieces.optimizer);
            files.merge(write_owned_optimizer(folder, self, pieces));
        }
        if (trace != nullptr) trace->add("checkpoint", "write pieces", begin, Clock::now());
        return files;
    };
}

bool PieceSink::part_is_written() const {
    return job_ && job_->is_writing && writers_.is_written();
}

void PieceSink::parts_are_written() {
    if (!job_ || !job_->is_writing) return;
    const std::string word = tell(verdict(writers_.finish()));
    if (word == again_word) return writers_.again();
    job_->is_writing = false;
    if (word == commit_word && is_first()) start_commit();
}

// Decides on rank 0 what becomes of pieces that are written, or are not.
std::string PieceSink::verdict(PieceWriters::Outcome outcome) {
    if (!is_first()) return "";
    if (!outcome.failure) {
        job_->files = std::move(outcome.files);
        return commit_word;
    }
    try {
        if (disk_is_full(outcome.failure->code()) && checkpoints_.make_room(job_->removed))
            return again_word;
    } catch (const SystemFailure&) {  // told is why the pieces were not written
    }
    bear([&] { throw SystemFailure(*outcome.failure); });
    return "";
}

void PieceSink::start_commit() {
    thread_.start([this] {
        const auto begin = Clock::now();
        bear([this] { commit(); });
        if (trace_ != nullptr) trace_->add("checkpoint", "commit", begin, Clock::now());
    });
}

// Ends the save that is not over. Rank 0 says whether it succeeded.
void PieceSink::conclude() {
    while (job_ && job_->is_writing) parts_are_written();
    if (!job_) return;
    if (is_first()) thread_.wait();
    const bool is_saved = tell(job_->is_saved ? saved_word : "") == saved_word;
    const Job job = std::move(*job_);
    job_.reset();
    if (is_first() && !job.removed.empty()) checkpoints_.tell_of_removed(job.removed);
    if (job.kind == CheckpointKind::latest) {
        if (is_saved) saved_ = job.text;
        return;
    }
    if (is_saved)
        forget_best();
    else if (!best_lost_)
        keep_best(job.record.trainer);
}

void PieceSink::forget_best() {
    best_lost_.reset();
    kept_best_ = {};
}

void PieceSink::bear(const std::function<void()>& save) {
    const std::string step = std::to_string(job_->record.trainer.step);
    if (job_->kind == CheckpointKind::best)
        return best_failures_.bear("with the weights of step " + step, save, [this] {
            return model_folder_ + " keeps the model that it had";
        });
    latest_failures_.bear("of step " + step, save, [this] {
        const std::string newest = checkpoints_.newest_good();
        return newest.empty() ? std::string("there is no good checkpoint yet")
                              : "the newest good checkpoint is " + newest;
    });
}

void PieceSink::commit() {
    const std::string folder = job_->draft->folder() + "/";
    if (job_->kind == CheckpointKind::best) {
        checkpoints_.write_with_room([&] {
            if (check_) check_();
            save_description(model_folder_, description_);
            join_into(model_folder_ + "/" + weights_file, Checksum::told);
        });
        job_->draft.reset();
    } else {
        checkpoints_.write_with_room([&] {
            if (!path_exists(folder + weights_file))
                join_into(folder + weights_file, Checksum::left_out);
            add_parts();
            job_->draft->commit(job_->record, check_);
        });
        checkpoints_.accept(job_->record.trainer.step);
    }
    job_->is_saved = true;
}

void PieceSink::join_into(const std::string& path, Checksum checksum) {
    const bool is_best = checksum == Checksum::told;
    std::vector<std::string> parts;
    for (int rank = 0; rank < ranks_.self.writers; ++rank)
        parts.push_back(job_->draft->folder() + "/" + weights_part_name(rank));
    Metadata metadata;
    if (is_best && !description_.arithmetic_json.empty())
        metadata[model_key] = description_.arithmetic_json;
    const WrittenFile written =
        join_weights(path, parts, pieces_->table, checksum,
                     is_best ? description_.transformers.names : NamesOf::lockstep, metadata,
                     is_best ? check_ : BeforeCommit());
    if (!is_best) job_->draft->add(weights_file, written);
}

// A file that has another size here than where it was written must not become part of a checkpoint.
void PieceSink::add_parts() {
    const std::string& folder = job_->draft->folder();
    for (const auto& [name, file] : job_->files) {
        std::error_code stays;
        if (!is_part_name(name)) {
            std::filesystem::remove(folder + "/" + name, stays);
            continue;
        }
        verify_size(folder, {name, file.bytes, ""});
        job_->draft->add(name, file);
    }
}

// The pieces that were taken are all that holds best weights that could not be written.
void PieceSink::keep_best(const TrainerState& state) {
    kept_best_.clear();
    for (const RunPiece& piece : pieces_->weights)
        kept_best_.emplace_back(piece.values.begin(), piece.values.end());
    best_lost_ = state;
}

RunPieces PieceSink::kept_pieces() {
    RunPieces pieces{pieces_->table, {}, pieces_->weights, {}};
    for (std::size_t i = 0; i < kept_best_.size(); ++i)
        pieces.weights[i].values = view_of(kept_best_[i]);
    return pieces;
}

void PieceSink::finish() {
    conclude();
    if (best_lost_) {
        begin(CheckpointKind::best, *best_lost_, kept_pieces());
        conclude();
    }
    thread_.wait();
    latest_failures_.require_none();
    best_failures_.require_none();
}

}  // namespace lockstep::train
