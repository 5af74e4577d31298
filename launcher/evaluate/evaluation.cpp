// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/evaluation.hpp"

#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

#include "data/loading/eval_loader.hpp"
#include "launcher/command_line/output_file.hpp"
#include "launcher/evaluate/averaged_validator.hpp"
#include "launcher/evaluate/evaluation_report.hpp"
#include "launcher/evaluate/set_evaluators.hpp"
#include "launcher/evaluate/unigram.hpp"
#include "launcher/model_folder/model_files.hpp"
#include "launcher/options/batching.hpp"
#include "launcher/rank/cores_notice.hpp"
#include "launcher/rank/data_sets.hpp"
#include "launcher/rank/given_secret.hpp"
#include "launcher/rank/loaded_model.hpp"
#include "launcher/rank/shared_refusal.hpp"
#include "launcher/text/output_reader.hpp"
#include "launcher/watch/watched_run.hpp"
#include "runtime/files/output_claim.hpp"
#include "runtime/train/folder/atomic_file.hpp"
#include "runtime/train/metrics/progress.hpp"

namespace lockstep::launcher {

namespace {

// Returns the perplexity that a model reaches which ignores the context, on the same rows. A
// trained model must be better.
double baseline(const RunConfig& config, const model::ModelConfig& model,
                const data::Dataset& dataset, const std::function<void()>& on_batch) {
    data::EvalLoaderOptions training;
    training.batching = eval_batching(config, model, dataset);
    training.split = data::format::train_split;
    data::EvalLoaderOptions test = training;
    test.split = config.split;
    test.max_examples = share_of_each(config.train.validation.max_examples, config.data.size());
    const auto train_rows = data::open_eval_source(dataset, training);
    const auto test_rows = data::open_eval_source(dataset, test);
    return unigram_perplexity(*train_rows, *test_rows, dataset.vocabulary(), on_batch);
}

void add_baselines(train::ValidationReport& report, const EvaluatorParts& parts,
                   const DataSets& sets) {
    double sum = 0;
    for (std::size_t i = 0; i < sets.sets.size(); ++i) {
        const double ppl = baseline(parts.config, parts.model_config, sets.sets[i], parts.on_batch);
        if (sets.several()) report.metrics[sets.names[i] + "/unigram_ppl"] = ppl;
        sum += ppl;
    }
    report.metrics["unigram_ppl"] = sum / static_cast<double>(sets.sets.size());
}

void print(const std::string& split, const train::ValidationReport& report) {
    std::ostringstream out;
    for (const auto& [name, value] : train::averages_first(report.metrics))
        out << split << ' ' << name << ' ' << train::metric_text(value, 6) << '\n';
    std::cout << out.str() << std::flush;
}

}  // namespace

void check_evaluation(const RunConfig& config, data::MissingShards missing) {
    const DataSets sets = open_data_sets("data", config.data);
    check_shards(sets, config.split, missing);
    if (config.unigram_baseline) check_shards(sets, "train", missing);
    require_output_file("--report-filename", report_path(config), "opt");
    require_logs(sets, config.world_logs);
    require_other_file("--world-logs", config.world_logs, config.model_file);
    require_different_files("--report-filename", report_path(config), "--world-logs",
                            config.world_logs);
    require_same_dictionary(open_model_folder(config.model_file), config.model_file, sets.first());
}

namespace {

void tell(const RunConfig& config, const EvaluatorParts& parts, const DataSets& sets,
          train::ValidationReport report) {
    if (config.unigram_baseline) add_baselines(report, parts, sets);
    print(config.split, report);
    const std::string path = report_path(config);
    if (!path.empty())
        train::write_atomically(path, evaluation_report(config, {{"report", report.metrics}}));
}

// Rows that are cut count with what is left of them, so that the figures are those of other rows.
void tell_of_cut_rows(std::int64_t rows, std::int64_t positions) {
    if (rows == 0) return;
    std::cerr << "warning: " + std::to_string(rows) + (rows == 1 ? " row was" : " rows were") +
                     " cut to the model's " + std::to_string(positions) +
                     " positions, --text-truncate and --label-truncate; the metrics are of what is "
                     "left\n";
}

void require_finite_loss(const train::ValidationReport& report, const std::string& split,
                         const model::ModelConfig& model) {
    if (has_finite_loss(report, model)) return;
    throw Error(ErrorKind::numeric,
                "the loss on " + split +
                    " is not finite: the model's weights have diverged; take an earlier "
                    "checkpoint, or train again with a lower learning rate");
}

std::unique_ptr<LoadedModel> read_weights(const RunConfig& config, Job& job,
                                          const comm::RankInfo& self) {
    const Warn silent = [](const std::string&) {};  // each rank looks, and rank 0 tells
    std::unique_ptr<LoadedModel> loaded;
    start_together(*job.communicator, self, [&] {
        loaded =
            std::make_unique<LoadedModel>(config.model_file, config.checkpoint, job.device,
                                          self.rank == 0 ? Warn(warn_on_standard_error) : silent);
    });
    return loaded;
}

TakenCoresNotice watch_cores(const RunConfig& config, const Job& job) {
    return cores_notice(job.device, job.rank_info, [&config](const std::string& line) {
        if (!config.quiet) warn_of_taken_cores(line);
    });
}

// Holds the files that an evaluation writes at its end.
struct Claims {
    std::optional<OutputClaim> report, logs;
};

std::unique_ptr<Claims> claim_outputs(const RunConfig& config, const Job& job) {
    auto claims = std::make_unique<Claims>();
    start_together(*job.communicator, job.rank_info, [&] {
        if (job.rank_info.rank != 0) return;
        claims->report.emplace("--report-filename", report_path(config));
        claims->logs.emplace("--world-logs", config.world_logs);
    });
    return claims;
}

}  // namespace

int run_evaluation(const RunConfig& config, LaunchMode mode, const EvaluationCheck& check) {
    const comm::RankInfo told = rank_info_of(config, mode);
    require_secret(config, told);
    std::optional<EndWithReader> reader;
    if (report_path(config).empty() && config.world_logs.empty()) reader.emplace();
    check_patiently(config, [&] { check_evaluation(config, missing_shards(told)); });
    Job job = join_job(config, told);
    const comm::RankInfo& rank_info = job.rank_info;
    const auto claims = claim_outputs(config, job);
    const DataSets sets = open_data_sets("data", config.data);
    check(config, sets, job);
    const auto read = read_weights(config, job, rank_info);
    LoadedModel& loaded = *read;
    comm::RankProgress* watched = nullptr;
    TakenCoresNotice cores = watch_cores(config, job);
    std::int64_t cut_rows = 0;
    const EvaluatorParts parts{config,
                               loaded.config(),
                               loaded.model(),
                               loaded.tokenizer(),
                               *job.communicator,
                               0,
                               [&watched, &cores] {
                                   cores.look();
                                   if (watched != nullptr) watched->move_on();
                               },
                               [&cut_rows](std::int64_t rows) { cut_rows += rows; }};
    const auto evaluator = open_evaluators(
        parts, sets, {config.split, config.train.validation.max_examples, config.world_logs});
    Log log(std::cout, verbosity_of(config), rank_info.rank, rank_name(rank_info));
    // Programs that read the metrics read standard output.
    if (log.speaks())
        for (const std::string& note : job.notes) std::cerr << note << '\n';
    const std::string why = why_no_replies(config, sets.first(), config.split);
    if (!why.empty()) log.info(why);
    train::ValidationReport report;
    const int code = run_watched(
        config, "", {rank_info, *job.communicator}, log, [&](comm::RankProgress* progress) {
            watched = progress;
            const comm::PhaseScope phase(progress, comm::Phase::validation);
            const train::StopFlag never{false};
            report = evaluator->evaluate(never).value();
            if (rank_info.rank == 0) tell(config, parts, sets, report);
            if (log.speaks()) tell_of_cut_rows(cut_rows, loaded.config().n_positions);
            job.communicator->barrier("end");
            job.communicator->finish();
            job.communicator->leave_together();
        });
    if (rank_info.rank == 0) require_finite_loss(report, config.split, loaded.config());
    return code;
}

}  // namespace lockstep::launcher
