// SPDX-License-Identifier: Apache-2.0
#include "launcher/command_line/habits.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "launcher/command_line/trainer_habits.hpp"

namespace lockstep::launcher {

namespace {

struct ValueHabit {
    std::string_view option, values;
    const char* instead;
};

constexpr std::array option_habits{
    // These options are about data.
    OptionHabit{"task t fromfile-datapath ffdp fromfile-datatype-extension ffdt datapath dp "
                "download-path teacher-seed",
                "`parlai convert_to_parlai` writes a task as text, `lockstep prepare --input TEXT "
                "--out DIR` reads it, and then give --data DIR"},
    OptionHabit{
        "history-size histsz delimiter dict-file df dict-tokenizer tok tokenizer dict-lower "
        "dict-minfreq dict-maxtokens",
        "it is the data's: give it to `lockstep prepare`"},
    OptionHabit{"dict-maxexs dict-include-valid dict-include-test dict-textfields",
                "the dictionary is that of all of --input's text; add files there, or take some "
                "away"},
    OptionHabit{"dict-class dict-initpath dict-language dict-max-ngram-size dict-nulltoken "
                "dict-starttoken dict-endtoken dict-unktoken",
                "dictionaries are ParlAI's with its own special tokens; `lockstep prepare "
                "--dict-file FILE` takes one that exists"},
    OptionHabit{"bpe-vocab bpe-merge bpe-add-prefix-space bpe-dropout bpe-debug",
                "`lockstep prepare --tokenizer bytelevelbpe --vocab-size N` makes new pieces, and "
                "--like FOLDER takes those of a model"},
    OptionHabit{"person-tokens pt split-lines use-reply add-p1-after-newln history-reversed "
                "history-add-global-end-token special-tok-lst mutators mut",
                "a context is what the data says: write it into the text before `lockstep prepare` "
                "reads it"},
    OptionHabit{"datatype dt",
                "it is --split of `lockstep eval`, display_model and display_data: train, valid "
                "or test"},
    OptionHabit{"evaltask et", "evaluate other data by `lockstep eval --data OTHER -mf MODEL`"},
    OptionHabit{"multitask-weights mtw", "it is for training: `train --data A B -mtw 1 3`"},
    OptionHabit{"image-mode image-size image-cropsize", "models read text alone: leave it out"},
    OptionHabit{"hide-labels", "`lockstep generate` sees prompts without labels"},
    // These options are about output that is kept or shown.
    OptionHabit{"init-opt o allow-missing-init-opts",
                "it is --config FILE here, of lines `name = value`; --dump-config writes them"},
    OptionHabit{"tensorboard-log tblog tensorboard-logdir tblogdir",
                "leave it out: TensorBoard's events are always written, into -mf"},
    OptionHabit{"wandb-name wandb-project wandb-entity wandb-log-model",
                "it is set by wandb's own variables: WANDB_NAME, WANDB_PROJECT, WANDB_ENTITY"},
    OptionHabit{"clearml-log "
                "clearmllog clearml-project-name clearmlproject clearml-task-name clearmltask",
                "leave it out: metrics.jsonl and TensorBoard's events are in -mf, and `lockstep "
                "report -mf MODEL` shows them"},
    OptionHabit{"load-from-checkpoint lfc",
                "training in an -mf that exists goes on; to begin anew, name another folder, with "
                "--init-model for weights"},
    OptionHabit{"final-extra-opt",
                "evaluate with other options by `lockstep eval` when the run has ended"},
    OptionHabit{"validation-share-agent vshare",
                "leave it out: validation computes with the weights that are trained"},
    OptionHabit{"aggregate-micro micro compute-tokenized-bleu area-under-curve-digits auc "
                "area-under-curve-class auclass",
                "leave it out: `lockstep eval --metrics all` prints every metric that it has"},
    OptionHabit{"save-world-logs", "name the file: --world-logs FILE of `lockstep eval`"},
    OptionHabit{"save-format log-keep-fields display-examples d",
                "`lockstep eval --world-logs FILE` writes every row with its reply, `lockstep "
                "display_model` shows rows"},
    OptionHabit{"loglevel debug", "it is --verbose or --quiet here"},
    OptionHabit{"helpall", "--help shows them all here"},
    // These options are about devices and ranks.
    OptionHabit{"gpu",
                "each rank takes the GPU of its local rank; CUDA_VISIBLE_DEVICES says which "
                "there are"},
    OptionHabit{"no-cuda", "it is --device cpu here"},
    OptionHabit{"model-parallel", "leave it out: each rank computes with the whole model"},
    OptionHabit{"force-fp16-tokens", "leave it out: the dictionary is the same in every precision"},
    OptionHabit{"gpu-beam-blocking verbose-topk", "leave it out"},
    // These options are about replies.
    OptionHabit{"beam-block-list-filename", "no words can be forbidden; filter the replies"},
    OptionHabit{"beam-delay lambda-decay omega-bound p-reset",
                "it belongs to a way of --inference that is not here; give greedy, beam, topk or "
                "nucleus"},
    OptionHabit{"interactive-mode i",
                "the short form of --init-model is -im; to talk, call `lockstep interactive`"},
    OptionHabit{"interactive-task it selfchat-task st display-add-fields display-prettify "
                "max-display-len mdl ignore-agent-reply",
                "leave it out: there is one form of a conversation"},
    OptionHabit{"fixedCands local-human-candidates-file",
                "leave it out: replies are generated, not chosen"},
    OptionHabit{"single-turn", "`lockstep generate` answers prompts on their own"},
    OptionHabit{"outfile", "`lockstep interactive` and `self_chat` keep their conversations in it"},
    OptionHabit{"partner-model-file pmf partner-opt-file",
                "leave it out: both speakers are the model of -mf"},
    OptionHabit{"seed-messages-from-task", "give --seed-messages-from-file FILE"},
    // These options are about models.
    OptionHabit{"embedding-type emb embedding-projection embp",
                "embeddings begin at random; --init-model takes weights from a file"},
    OptionHabit{"n-segments output-scaling share-word-embeddings rank-candidates rc",
                "leave it out: models generate, and share one table of embeddings"},
    OptionHabit{"nus nu", "it is of the optimizers qhm and qhadam, which are not here"},
};

constexpr std::array value_habits{
    ValueHabit{"model", "hugging_face/gpt2 hugging_face/dialogpt",
               "give gpt2, whose weights begin at random, or come by --init-model"},
    ValueHabit{"model", "hugging_face/t5 seq2seq transformer/image_generator",
               "give transformer/generator, the encoder-decoder that is here"},
    ValueHabit{
        "model",
        "transformer/ranker transformer/biencoder transformer/polyencoder "
        "transformer/crossencoder transformer/classifier bert_ranker ir_baseline repeat_label",
        "models generate here; give transformer/generator"},
    ValueHabit{"optimizer",
               "adamax adadelta adagrad asgd lbfgs nadam qhadam qhm radam rmsprop rprop "
               "sparseadam mem_eff_adam fused_adam",
               "give adam"},
    ValueHabit{"tokenizer", "bpe gpt2 slow_bytelevel_bpe",
               "give bytelevelbpe, or that of a model of Hugging Face with --like FOLDER"},
    ValueHabit{"format", "sharegpt alpaca chatml chat openai instructions",
               "give messages, which finds the form by its fields"},
    ValueHabit{"tokenizer", "character chars characters", "give char"},
    ValueHabit{"tokenizer", "nltk spacy space split", "give re, which is ParlAI's default"},
    ValueHabit{"inference", "sample sampling random multinomial", "give topk or nucleus"},
    ValueHabit{"inference", "top-k top_k topk-sampling", "give topk"},
    ValueHabit{"inference", "top-p top_p topp nucleus-sampling", "give nucleus"},
    ValueHabit{"inference", "beam-search beam_search beams", "give beam"},
    ValueHabit{"inference", "contrastive contrastive_search diverse_beam group_beam assisted",
               "give beam, topk or nucleus"},
    ValueHabit{"lr-scheduler", "constant", "give none"},
    ValueHabit{"lr-scheduler", "constant_with_warmup warmup",
               "give fixed with --lr-scheduler-decay 1 and --warmup-updates N"},
    ValueHabit{"lr-scheduler", "inverse_sqrt inverse-sqrt inverse-square-root", "give invsqrt"},
    ValueHabit{"lr-scheduler", "reduce_lr_on_plateau plateau", "give reduceonplateau"},
    ValueHabit{"lr-scheduler",
               "cosine_with_restarts cosine_with_min_lr cosine_warmup_with_min_lr polynomial "
               "polynomial_decay",
               "give cosine or linear, which fall to --min-lr at --max-train-steps"},
    ValueHabit{"lr-scheduler", "warmup_stable_decay warmup-stable-decay trapezoid trapezoidal",
               "give wsd, whose last tenth falls, or the share that --decay-ratio says"},
    ValueHabit{"optimizer",
               "adamw_torch adamw_torch_fused adamw_hf adamw_apex_fused adamw_fused "
               "paged_adamw_32bit fused_adamw",
               "give adamw"},
    ValueHabit{"optimizer",
               "adamw_8bit adamw_bnb_8bit paged_adamw_8bit adam8bit adamw8bit paged_adamw",
               "give adamw, with --moments int8"},
    ValueHabit{"optimizer", "lion_8bit lion_32bit paged_lion_8bit paged_lion_32bit", "give lion"},
    ValueHabit{"precision", "no full float float32 32 32-true", "give fp32"},
    ValueHabit{"precision", "bfloat16 bf16-mixed bf16-true", "give bf16"},
    ValueHabit{"precision", "float16 half 16 16-mixed", "give fp16"},
    ValueHabit{"device", "gpu cuda:0 cuda:1 cuda:2 cuda:3 cuda:4 cuda:5 cuda:6 cuda:7",
               "give cuda; CUDA_VISIBLE_DEVICES says which GPUs there are"},
    ValueHabit{"inference", "delayedbeam delayednucleusbeam factual_nucleus",
               "give beam or nucleus"},
};

bool is_meant(std::string_view known, std::string_view word) {
    return known.ends_with('*') ? word.starts_with(known.substr(0, known.size() - 1))
                                : known == word;
}

bool holds(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(' '), words.size());
        if (is_meant(words.substr(0, end), word)) return true;
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return false;
}

}  // namespace

std::string instead_of_option(std::string_view name) {
    for (const OptionHabit& habit : option_habits) {
        if (holds(habit.names, name)) return habit.instead;
    }
    for (const OptionHabit& habit : trainer_habits()) {
        if (holds(habit.names, name)) return habit.instead;
    }
    return "";
}

std::string instead_of_value(std::string_view option, std::string_view value) {
    std::error_code unknown;
    const bool path = value.find('/') != std::string_view::npos ||
                      std::filesystem::is_directory(std::filesystem::path(value), unknown);
    if (option == "tokenizer" && path) return "the tokenizer of a model is given by --like FOLDER";
    for (const ValueHabit& habit : value_habits) {
        if (habit.option == option && holds(habit.values, value)) return habit.instead;
    }
    return "";
}

std::string instead_of_model(const std::string& path) {
    const std::string converts =
        "examples/weights_from_parlai.py makes a model folder of it, which -mf and --init-model "
        "take";
    if (path.starts_with("zoo:") || path.starts_with("models:"))
        return "is a model of ParlAI's zoo: download it with ParlAI, then " + converts;
    // ParlAI keeps the options in a file next to each model file. The program that uses a path
    // reports it when it cannot be resolved.
    std::error_code failure;
    const bool folder = std::filesystem::is_directory(path, failure);
    if (folder || !std::filesystem::exists(path + ".opt", failure)) return "";
    return "is a model file of ParlAI's; " + converts;
}

}  // namespace lockstep::launcher
