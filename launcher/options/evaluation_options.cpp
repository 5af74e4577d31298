// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/tables.hpp"

namespace lockstep::launcher {

namespace {

void add_metrics(OptionTable& table, RunConfig& config) {
    table.text("metrics,mcs", config.metrics, "NAMES",
               "metrics of replies, with commas between: default (accuracy, bleu-4, f1), bleu, "
               "rouge, distinct, all, or single ones such as rouge_L");
}

}  // namespace

void add_checkpoint(OptionTable& table, RunConfig& config) {
    table.text("checkpoint", config.checkpoint, "NAME",
               "whose weights: step-150 of the model's checkpoints, best or last (default: best; "
               "last if there are no best ones yet)");
}

OptionTable eval_table(RunConfig& config) {
    OptionTable table("Evaluation");
    add_checkpoint(table, config);
    table.text("split", config.split, "NAME", "the split to evaluate");
    table.flag("skip-generation", config.skip_generation,
               "no replies: loss, perplexity and token accuracy only");
    add_metrics(table, config);
    table.flag("unigram-baseline", config.unigram_baseline,
               "also the perplexity of the training labels' word frequencies alone");
    table.integer("num-examples,ne,n", config.train.validation.max_examples,
                  "rows to evaluate (-1: all)");
    table.flag("aggregate-micro,micro", config.aggregate_micro,
               "averages of several data sets' metrics by tokens and rows, not by sets");
    table
        .text("report-filename,rf", config.report_filename, "FILE",
              "write the metrics as JSON; .NAME is written beside the model's folder")
        .on_each_rank("rank 0 alone writes it");
    table
        .text("world-logs", config.world_logs, "FILE",
              "write every row's context, labels, reply and metrics, one JSON object a line")
        .with(Trait::paths);
    return table;
}

OptionTable display_table(RunConfig& config) {
    OptionTable table("Rows");
    add_checkpoint(table, config);
    table.text("split", config.split, "NAME", "the split whose rows are shown");
    table.integer("num-examples,ne,n", config.train.validation.max_examples,
                  "rows to show (-1: all)");
    return table;
}

OptionTable final_table(RunConfig& config) {
    OptionTable table("Evaluation");
    table.flag("skip-generation", config.skip_generation,
               "no replies in validations (accuracy, F1, BLEU and ROUGE need them)");
    add_metrics(table, config);
    table.flag("short-final-eval", config.short_final_eval,
               "--validation-max-exs counts also when training has ended");
    table
        .text("world-logs", config.world_logs, "FILE",
              "when training has ended, write every row of the test split as eval does")
        .with(Trait::paths, Trait::launch);
    return table;
}

}  // namespace lockstep::launcher
