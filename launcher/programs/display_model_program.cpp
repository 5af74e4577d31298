// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "data/loading/eval_loader.hpp"
#include "data/prepare/display.hpp"
#include "launcher/evaluate/averaged_validator.hpp"
#include "launcher/evaluate/row_texts.hpp"
#include "launcher/generate/reply_generator.hpp"
#include "launcher/memory/weights_memory.hpp"
#include "launcher/options/batching.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/programs/reply_room.hpp"
#include "launcher/rank/data_sets.hpp"
#include "launcher/rank/loaded_model.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

DataSets open_dialogues(const RunConfig& config) {
    DataSets sets = open_data_sets("data", config.data);
    if (sets.first().kind() == data::DatasetKind::language_model)
        throw Error(ErrorKind::config, sets.first().directory() +
                                           ": holds plain text, so that there is nothing to "
                                           "answer; lockstep generate continues texts");
    check_shards(sets, config.split, data::MissingShards::refuse);
    require_same_dictionary(open_model_folder(config.model_file), config.model_file, sets.first());
    return sets;
}

// Prints a row in ParlAI's form. When there are several data sets, `row` begins with the set's
// name.
void show(const std::string& row, const RowTexts& texts, const std::string& reply) {
    std::string labels;
    for (const std::string& label : texts.labels) labels += (labels.empty() ? "" : "|") + label;
    std::cout << "- - - " << printable(row) << " - - -\n"
              << printable_lines(texts.context + "\n    labels: " + labels +
                                 "\n     model: " + reply)
              << '\n';
}

// Whose replies are shown, and what they may take.
struct Replies {
    LoadedModel& loaded;
    const ComputeDevice& device;
    ReplyRoom& room;
};

void show_set(const RunConfig& config, const DataSets& sets, std::size_t set,
              const Replies& model) {
    LoadedModel& loaded = model.loaded;
    const data::Dataset& dataset = sets.sets[set];
    const std::string row = (sets.several() ? sets.names[set] + " " : "") + "ROW ";
    data::EvalLoaderOptions options;
    options.batching = eval_batching(config, loaded.config(), dataset);
    options.split = config.split;
    options.max_examples = share_of_each(config.train.validation.max_examples, config.data.size());
    options.references = data::ReferenceText::read;
    options.order = data::EvalOrder::of_data;
    const auto source = data::open_eval_source(dataset, options);
    const model::GenerationOptions generation = reply_options(config);
    ReplyGenerator replier(loaded.model().decoder(), loaded.tokenizer(), generation);
    bool unknown = false;
    for (train::Batch batch; source->next(batch);) {
        const auto contexts =
            contexts_of(batch, options.batching.layout, loaded.tokenizer().special());
        if (!model.device.gpu)
            model.room.require(
                std::ssize(contexts),
                reply_bytes(loaded.config(), model.device.precision, generation, 0, contexts));
        const auto replies = replier.reply(contexts, batch.rows, batch.contexts);
        for (std::size_t i = 0; i < replies.size(); ++i) {
            const RowTexts texts = texts_of(batch, i, loaded.tokenizer());
            unknown = unknown || texts.context.find("__unk__") != std::string::npos;
            show(row + std::to_string(batch.rows[i]), texts, replies[i]);
        }
        std::cout.flush();
    }
    if (unknown && std::cout) std::cerr << data::delimiter_note(dataset, loaded.tokenizer());
}

}  // namespace

int display_model_program(const std::vector<std::string>& args) {
    const auto config = parse_run(Task::display,
                                  "display_model -mf DIR [--data DIR] [-n ROWS] [options]\n"
                                  "Shows rows of a split with the replies of a model.\n",
                                  args);
    if (!config) return 0;
    const DataSets sets = open_dialogues(*config);
    require_room_for_weights(*config);
    const ComputeDevice device = lone_device(*config);
    LoadedModel loaded(config->model_file, config->checkpoint, device);
    ReplyRoom room(*config, config->batch.eval_batchsize > 0 ? "--eval-batchsize" : "--batchsize");
    for (std::size_t set = 0; set < sets.sets.size(); ++set)
        show_set(*config, sets, set, {loaded, device, room});
    return 0;
}

}  // namespace lockstep::launcher
