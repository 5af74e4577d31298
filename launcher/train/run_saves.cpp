// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/run_saves.hpp"

#include "launcher/checkpoints/adapter_files.hpp"
#include "launcher/model_folder/huggingface_folder.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/options/model_defaults.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/folder_sink.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/pieces/piece_sink.hpp"
#include "runtime/train/pieces/shared_folder.hpp"

namespace lockstep::launcher {

namespace {

template <class Sink>
void connect(Sink& sink, const SavingRun& run) {
    sink.trace_to(run.trace);
    // Other ranks wait for this rank while it waits for the thread.
    if (run.progress != nullptr)
        sink.begin_thread_with([progress = run.progress] { progress->count_this_thread(); });
    if (run.plan.lock) sink.commit_after([lock = run.plan.lock.get()] { lock->confirm(); });
    if (run.plan.checkpoint) sink.continues_from(*run.plan.checkpoint);
}

train::SaveOptions save_options(const train::TrainOptions& options) {
    return {{options.keep, options.keep_every_n_steps},
            options.max_save_failures,
            train::saving_of(options)};
}

std::unique_ptr<train::CheckpointSink> make_piece_sink(const SavingRun& run, int writers,
                                                       const train::ModelDescription& description,
                                                       const train::RunRecord& record) {
    train::OwnedAccess& owned = *run.engine.owned();
    owned.save_from_here();
    const comm::RankInfo& rank_info = run.job.rank_info;
    const train::PieceRanks ranks{
        *run.job.communicator, {rank_info.rank, writers}, rank_info.host, owned};
    auto sink = std::make_unique<train::PieceSink>(
        ranks, run.config.model_file, save_options(run.options), run.log, description, record);
    connect(*sink, run);
    sink->take_memory_early();
    return sink;
}

// Rank 0 writes, and gathers first what the others own.
std::unique_ptr<train::CheckpointSink> make_folder_sink(const SavingRun& run, int sharing,
                                                        const train::ModelDescription& description,
                                                        const train::RunRecord& record) {
    const train::SaveOptions options = save_options(run.options);
    const bool shares = sharing > 1 || train::ranks_of_place(run.options) > 1;
    const bool copies = shares || options.saving == train::Saving::beside_training;
    auto sink = std::make_unique<train::FolderSink>(
        run.job.rank_info.rank, run.config.model_file, options, run.log,
        [&engine = run.engine, copies] { return copies ? engine.copy_for_save() : engine.fetch(); },
        description, record);
    connect(*sink, run);
    if (shares) sink->take_by(train::FolderSink::TakenBy::all_ranks);
    sink->take_memory_early([&engine = run.engine] { (void)engine.reserve_copy(); });
    if (sharing > 1 && train::ranks_of_place(run.options) == 1)
        run.log.info(
            "not every rank can write into the model folder of rank 0: rank 0 gathers the whole "
            "state for each save, in memory that plan does not count");
    return sink;
}

}  // namespace

train::ModelDescription description_of(const RunConfig& config, const TrainingPlan& plan,
                                       const Job& job) {
    train::ModelDescription description = describe(plan.model, config, plan.data.sets);
    if (job.rank_info.rank != 0) return description;
    const data::Dataset& first = plan.data.first();
    const std::string from = config.init_model.empty() ? "" : model_folder_of(config.init_model);
    description.transformers =
        folder_form(plan.model, first.directory(), first.special(), {config.model_file, from});
    return description;
}

std::unique_ptr<train::CheckpointSink> make_saves(const SavingRun& run,
                                                  const train::ModelDescription& description,
                                                  const train::RunRecord& record) {
    const int sharing = train::sharing_ranks(
        run.options.zero, run.job.rank_info.size / train::ranks_of_place(run.options));
    if (sharing > 1 && train::ranks_of_place(run.options) == 1 &&
        train::can_all_write(*run.job.communicator, sharing, run.config.model_file))
        return make_piece_sink(run, sharing, description, record);
    return make_folder_sink(run, sharing, description, record);
}

void give_adapters(const std::string& model_file, const model::ModelConfig& model) {
    const std::string weights = model_file + "/" + train::weights_file;
    if (model.lora.rank > 0 && path_exists(weights))
        checkpoints::write_adapters(model_file, model, weights);
}

}  // namespace lockstep::launcher
