// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluation.hpp"

#include <iostream>
#include <sstream>

#include "data/eval_loader.hpp"
#include "launcher/averaged_validator.hpp"
#include "launcher/batching.hpp"
#include "launcher/data_sets.hpp"
#include "launcher/evaluator.hpp"
#include "launcher/loaded_model.hpp"
#include "launcher/unigram.hpp"
#include "launcher/watched_run.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

data::EvalLoaderOptions loader_options(const RunConfig& config, const model::ModelConfig& model,
                                       const data::Dataset& dataset) {
    data::EvalLoaderOptions options;
    options.batching = eval_batching(config, model, dataset);
    options.split = config.split;
    options.max_examples = share_of_each(config.train.validation.max_examples, config.data.size());
    return options;
}

// What a model that ignores the context reaches on the same rows: the measure of "has learnt".
double baseline(data::EvalLoaderOptions test, const data::Dataset& dataset) {
    data::EvalLoaderOptions training = test;
    training.split = "train";
    training.max_examples = -1;
    const auto train_rows = data::open_eval_source(dataset, training);
    const auto test_rows = data::open_eval_source(dataset, test);
    return unigram_perplexity(*train_rows, *test_rows, dataset.vocabulary());
}

void add_baselines(train::ValidationReport& report, const data::EvalLoaderOptions& options,
                   const DataSets& sets) {
    double sum = 0;
    for (std::size_t i = 0; i < sets.sets.size(); ++i) {
        const double ppl = baseline(options, sets.sets[i]);
        if (sets.several()) report.metrics[sets.names[i] + "/unigram_ppl"] = ppl;
        sum += ppl;
    }
    report.metrics["unigram_ppl"] = sum / static_cast<double>(sets.sets.size());
}

void print(const std::string& split, const train::ValidationReport& report) {
    std::ostringstream out;
    out.precision(6);
    for (const auto& [name, value] : report.metrics)
        out << split << ' ' << name << ' ' << value << '\n';
    std::cout << out.str() << std::flush;
}

}  // namespace

void check_evaluation(const RunConfig& config) {
    const DataSets sets = open_data_sets("data", config.data);
    check_shards(sets, config.split, data::MissingShards::allow);
    if (config.unigram_baseline) check_shards(sets, "train", data::MissingShards::allow);
    require_same_dictionary(open_model_folder(config.model_file), config.model_file, sets.first());
}

int run_evaluation(const RunConfig& config, Standing standing) {
    const comm::Place place = place_of(config, standing);
    check_evaluation(config);
    Job job = join_job(config, place);
    const DataSets sets = open_data_sets("data", config.data);
    LoadedModel loaded(config.model_file, job.device);
    data::EvalLoaderOptions options = loader_options(config, loaded.config(), sets.first());
    const data::EvalLoaderOptions all_rows = options;
    options.rank = place.rank;
    options.world = place.size;
    if (!config.skip_generation) options.references = data::ReferenceText::read;

    Replier replier(loaded.model().decoder(), loaded.tokenizer(), reply_options(config));
    std::vector<std::unique_ptr<train::Validator>> evaluators;
    for (const data::Dataset& set : sets.sets)
        evaluators.push_back(std::make_unique<Evaluator>(
            loaded.model(), data::open_eval_source(set, options), options.batching.layout,
            *job.communicator, config.skip_generation ? nullptr : &replier));
    const auto evaluator = averaged(sets.names, std::move(evaluators), average_of(config));
    Log log(std::cout, verbosity_of(config), place.rank, rank_name(place));
    return run_watched(config, "", job, log, [&](comm::Whereabouts* whereabouts) {
        const comm::PhaseScope phase(whereabouts, comm::Phase::validation);
        train::ValidationReport report = evaluator->evaluate();
        if (place.rank == 0) {
            if (config.unigram_baseline) add_baselines(report, all_rows, sets);
            print(config.split, report);
        }
        job.communicator->barrier("end");
        job.communicator->finish();
    });
}

}  // namespace lockstep::launcher
