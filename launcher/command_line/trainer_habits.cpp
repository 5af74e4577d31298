// SPDX-License-Identifier: Apache-2.0
#include "launcher/command_line/trainer_habits.hpp"

#include <array>

namespace lockstep::launcher {

namespace {

// If several names of a row mean the same, the first is the one of transformers, if it has it.
constexpr std::array habits{
    // These options are about the length of a run.
    OptionHabit{"max-steps max-update max-updates train-iters max-iters num-train-steps "
                "train-steps training-steps total-steps",
                "it is --max-train-steps N here, in updates"},
    OptionHabit{"num-train-epochs epochs epoch max-epoch max-epochs n-epochs nb-epochs",
                "it is --num-epochs N here"},
    OptionHabit{"max-time max-duration stop-time-hours exit-duration-in-mins",
                "it is --max-train-time SECONDS here"},
    // These options are about folders, checkpoints and output.
    OptionHabit{"output-dir checkpointer save-dir out-dir checkpoint-dir ckpt-dir save",
                "it is -mf DIR here, the model's folder, which holds all that a run writes"},
    OptionHabit{"overwrite-output-dir",
                "training in an -mf that exists goes on; to begin anew, name another -mf"},
    OptionHabit{"resume-from-checkpoint resume restore-file load resume-from auto-resume",
                "leave it out: the same command goes on from the newest checkpoint of -mf; to "
                "begin another run from one, give --init-model MODEL/checkpoints/step-00001234"},
    OptionHabit{"ignore-data-skip reset-optimizer reset-dataloader reset-lr-scheduler "
                "reset-meters finetune-from-model no-load-optim no-load-rng finetune",
                "weights alone come by --init-model MODEL and a new -mf; training in an -mf that "
                "exists goes on with all of its state"},
    OptionHabit{"model-name-or-path model-name config-name config-overrides pretrained "
                "pretrained-model-name-or-path base-model",
                "a trained model, also a folder of transformers, gives a run its weights by "
                "--init-model DIR; a new one is described by -m gpt2, --n-layers, --n-heads and "
                "--embedding-size"},
    OptionHabit{"save-steps save-interval save-interval-updates save-freq checkpoint-interval "
                "checkpointing-steps",
                "it is --save-every-n-steps N here; --save-every-n-secs N counts seconds"},
    OptionHabit{"save-strategy",
                "--save-every-n-steps N, --save-every-n-secs N and --save-after-valid true|false "
                "say when checkpoints are saved"},
    OptionHabit{"save-total-limit keep-last-epochs keep-interval-updates keep-last "
                "checkpoints-total-limit",
                "it is --keep N here, for the newest checkpoints; the best weights stay besides"},
    OptionHabit{"save-only-model no-save-optimizer-state no-save-optim save-on-each-node "
                "save-safetensors no-epoch-checkpoints no-last-checkpoints",
                "leave it out: weights alone are in -mf/model.safetensors, and `lockstep "
                "checkpoint convert` writes those of a checkpoint"},
    OptionHabit{"logging-steps logging-interval log-interval log-freq log-every logging-first-step "
                "logging-strategy",
                "it is --log-every-n-steps N here"},
    OptionHabit{"report-to wandb metric-logger with-tracking track",
                "it is --wandb-log, --mlflow or --comet here; TensorBoard's events are always in "
                "-mf"},
    OptionHabit{"wandb-*",
                "leave it out: under --wandb-log wandb reads its own variables, as WANDB_PROJECT"},
    OptionHabit{"tensorboard-dir logging-dir tensorboard run-name project tracker-project-name",
                "leave it out: metrics.jsonl and TensorBoard's events are always in -mf, and "
                "`lockstep report -mf MODEL` shows them"},
    OptionHabit{"log-level log-level-replica disable-tqdm no-progress-bar log-format",
                "it is --verbose or --quiet here"},
    OptionHabit{"push-to-hub hub-*",
                "nothing is sent anywhere: leave it out; "
                "examples/weights_to_hf.py makes a folder for transformers"},
    // These options are about validation.
    OptionHabit{"eval-steps eval-interval eval-freq validate-interval-updates val-check-interval "
                "eval-every",
                "it is --validation-every-n-steps N here"},
    OptionHabit{"eval-strategy evaluation-strategy validate-interval",
                "--validation-every-n-steps N, --validation-every-n-epochs N or "
                "--validation-every-n-secs N says when to validate; without them none happens "
                "before the end"},
    OptionHabit{"eval-delay",
                "leave it out: validations come from the start on; --validation-every-n-steps N or "
                "--validation-every-n-epochs N says how often"},
    OptionHabit{"eval-iters max-eval-samples max-eval-batches validation-samples",
                "it is --validation-max-exs N here, in rows"},
    OptionHabit{"val-set-size val-size test-size validation-split val-split eval-split-ratio",
                "`lockstep prepare --valid-fraction X` holds out a share for validation, and "
                "--valid FILE names a file of its own"},
    OptionHabit{"max-train-samples max-samples",
                "`lockstep prepare` takes all of its --input: shorten that"},
    OptionHabit{"per-device-eval-batch-size per-gpu-eval-batch-size eval-batch-size "
                "batch-size-valid valid-batch-size",
                "it is --eval-batchsize N here, in rows of a rank"},
    OptionHabit{"load-best-model-at-end best-checkpoint-metric",
                "leave it out: -mf/model.safetensors holds the best weights, by "
                "--validation-metric NAME"},
    OptionHabit{"metric-for-best-model", "it is --validation-metric NAME here, say ppl"},
    OptionHabit{"greater-is-better maximize-best-checkpoint-metric",
                "it is --validation-metric-mode max or min here"},
    OptionHabit{"early-stopping-patience patience",
                "it is --validation-patience N here, in validations"},
    OptionHabit{"early-stopping-threshold early-stopping-min-delta",
                "a validation is better if its metric is, by however little; --validation-cutoff X "
                "ends training at a value"},
    OptionHabit{"do-train do-eval do-predict predict-with-generate prediction-loss-only eval-only "
                "eval-on-start",
                "leave it out: `train` trains, and `lockstep eval` evaluates; --skip-generation "
                "false adds replies to validations"},
    // These options are about data.
    OptionHabit{"dataset-name dataset dataset-config-name dataset-config dataset-dir data-path "
                "data-dir dataset-path train-data valid-data train-file validation-file test-file "
                "train-dataset eval-dataset datasets",
                "`lockstep prepare --input FILE --valid FILE --out DIR` reads text, and then give "
                "--data DIR"},
    OptionHabit{"dataset-text-field text-column text-column-name label-names "
                "remove-unused-columns packing eval-packing streaming preprocessing-num-workers "
                "dataset-num-proc overwrite-cache validation-split-percentage "
                "dataset-train-split dataset-test-split line-by-line packing-strategy "
                "dataset-kwargs sample-packing eval-sample-packing neat-packing packed "
                "mask-history dataset-prepared-path tokenized-path dataset-type mix-strategy "
                "interleave-probs buffer-size",
                "it is the data's: `lockstep prepare --help` says what is read and how"},
    OptionHabit{"completion-only-loss assistant-only-loss train-on-inputs train-on-prompt "
                "mask-inputs",
                "leave it out: of dialogues the replies alone have a loss, of plain text every "
                "token"},
    OptionHabit{"padding-free pad-to-multiple-of pad-to-sequence-len padding",
                "leave it out: batches have no padding"},
    OptionHabit{"block-size tokens-per-sample seq-length seq-len sequence-length context-length "
                "max-seq-length max-seq-len model-max-length sequence-len cutoff-len",
                "rows of plain text get their length by `lockstep prepare --block-size N`; other "
                "rows are cut by `lockstep train --truncate N`; positions of the model are "
                "--n-positions N"},
    OptionHabit{"max-source-length max-prompt-length max-source-positions",
                "it is --text-truncate N here"},
    OptionHabit{
        "max-target-length max-completion-length generation-max-length val-max-target-length "
        "max-target-positions",
        "it is --label-truncate N here; --max-length N limits replies alone"},
    OptionHabit{
        "tokenizer-name tokenizer-name-or-path tokenizer-path tokenizer-type tokenizer-model "
        "vocab-file "
        "merge-file use-fast-tokenizer source-lang target-lang",
        "it is the data's: `lockstep prepare` takes a model's own by --like DIR, makes one by "
        "--tokenizer, and takes a dictionary by --dict-file FILE"},
    OptionHabit{"dataloader-num-workers num-proc", "it is --num-workers N here"},
    OptionHabit{"dataloader-pin-memory dataloader-drop-last dataloader-prefetch-factor "
                "dataloader-persistent-workers accelerator-config split-batches dispatch-batches "
                "skip-invalid-size-inputs-valid-test required-batch-size-multiple",
                "leave it out: each row is used once in an epoch, and batches are built ahead"},
    OptionHabit{"group-by-length length-column-name",
                "it is --dynamic-batching batchsort or full here"},
    OptionHabit{"max-tokens max-tokens-valid",
                "of a micro-batch it is --batch-tokens N here, of a reply --max-length N"},
    // These options are about batches, the optimizer and its schedule.
    OptionHabit{
        "gradient-accumulation-steps grad-accum gradient-accumulation accumulate-grad-batches "
        "accum-iter",
        "it is --update-freq N here"},
    OptionHabit{"per-device-train-batch-size per-gpu-train-batch-size micro-batch-size "
                "train-micro-batch-size-per-gpu train-batch-size device-batch-size",
                "it is --batchsize N here, in rows of a rank"},
    OptionHabit{"global-batch-size total-batch-size effective-batch-size",
                "an update has --batchsize x --update-freq x ranks rows: give the first two"},
    OptionHabit{"auto-find-batch-size",
                "`lockstep plan --data DIR` tells the largest --batchsize that fits"},
    OptionHabit{"lr-scheduler-type lr-scheduler-name lr-decay-style scheduler",
                "it is --lr-scheduler here: linear and cosine are the same, "
                "warmup_stable_decay is wsd, inverse_sqrt is invsqrt, reduce_lr_on_plateau is "
                "reduceonplateau, constant is none, and constant_with_warmup is fixed with "
                "--lr-scheduler-decay 1 and --warmup-updates N"},
    OptionHabit{
        "lr-scheduler-kwargs min-lr lr-decay-iters lr-decay-steps decay-lr end-learning-rate "
        "lr-end total-num-update lr-decay-samples cosine-min-lr-ratio lr-quadratic-warmup",
        "linear and cosine of --lr-scheduler fall to 0 at the end of --max-train-steps or "
        "--num-epochs"},
    OptionHabit{"warmup-steps num-warmup-steps lr-warmup-steps lr-warmup-iters warmup-iters "
                "warmup-num-steps warmup",
                "it is --warmup-updates N here, and --warmup-ratio X for a share of the run"},
    OptionHabit{"lr-warmup-fraction warmup-fraction warmup-proportion",
                "it is --warmup-ratio X here"},
    OptionHabit{"warmup-init-lr lr-warmup-init",
                "it is --warmup-rate X here, as a share of --learningrate"},
    OptionHabit{"max-grad-norm clip-norm clip-grad grad-clip gradient-clipping "
                "gradient-clip-val max-norm clip-grad-norm",
                "it is --gradient-clip X here"},
    OptionHabit{"optim optimizer-type optim-args",
                "it is --optimizer here: adamw_torch and its kin are adamw; adam, adafactor, lion, "
                "muon and sgd are the others; 8-bit moments are --moments int8"},
    OptionHabit{"adam-beta1 adam-beta2 adam-betas beta1 beta2 optimizer-betas",
                "it is --betas B1,B2 here, both in one"},
    OptionHabit{"adam-epsilon epsilon", "it is --adam-eps X here"},
    OptionHabit{"adafactor", "it is --optimizer adafactor here"},
    OptionHabit{"label-smoothing-factor", "it is --label-smoothing X here"},
    OptionHabit{"z-loss-weight z-loss-coef lm-head-z-loss z-loss-multiplier",
                "it is --z-loss X here"},
    OptionHabit{"criterion loss-type",
                "leave it out: the loss is the cross-entropy of tokens, smoothed by "
                "--label-smoothing X"},
    OptionHabit{"rl stage dpo kto orpo grpo rlhf",
                "leave it out: Lockstep learns from answers; it has no training on preferences or "
                "rewards"},
    OptionHabit{"shuffle shuffle-dataset shuffle-merged-datasets",
                "leave it out: rows come in another order in each epoch, by --seed N"},
    OptionHabit{"evals-per-epoch",
                "it is --validation-every-n-epochs X here, as 0.25 for four in an epoch"},
    OptionHabit{"saves-per-epoch",
                "give --save-every-n-steps N, or --save-after-valid true with validations"},
    OptionHabit{"max-steps-per-epoch", "give --max-train-steps N, the updates of the run"},
    OptionHabit{"special-tokens new-special-tokens resize-vocab eos-token pad-token",
                "leave it out: the special tokens are those of the model's folder, which "
                "`lockstep prepare --like DIR` takes"},
    OptionHabit{"rope-scaling",
                "leave it out: it is in the config.json of the model that --init-model names"},
    OptionHabit{"unfrozen-parameters freeze-trainable-layers freeze-* plugins strict "
                "optimizer-in-bwd eval-table-size plot-loss compute-accuracy model-init-kwargs "
                "infer-backend neftune-noise-alpha weight-decay-end use-liger-kernel "
                "use-cpu-initialization "
                "average-tokens-across-devices include-num-input-tokens-seen",
                "it is not here: leave it out"},
    OptionHabit{"data-seed full-determinism",
                "it is --seed N here for all; --deterministic gives the same bits on any number of "
                "ranks"},
    // These options are about precision, memory and speed.
    OptionHabit{"bf16 bf16-full-eval",
                "it is --precision bf16 here, which --precision auto takes where the device "
                "multiplies it"},
    OptionHabit{"mixed-precision amp torch-dtype dtype half fp16-opt-level fp16-backend "
                "half-precision-backend fp16-full-eval fp32 upcast-layernorm",
                "it is --precision fp32, bf16, fp16 or auto here"},
    OptionHabit{"memory-efficient-fp16", "it is --precision fp16 --fp16-impl mem_efficient here"},
    OptionHabit{"fp16-init-scale fp16-scale-window fp16-scale-tolerance min-loss-scale "
                "initial-loss-scale loss-scale",
                "leave it out: the scale of --precision fp16 adapts by itself"},
    OptionHabit{"gradient-checkpointing recompute-activations recompute-granularity "
                "recompute-method recompute-num-layers activation-checkpointing grad-checkpoint "
                "enable-activation-checkpointing",
                "it is --recompute layer here (ffn, layer:N, auto: less of it)"},
    OptionHabit{
        "gradient-checkpointing-kwargs use-cache attn-implementation use-flash-attn "
        "flash-attn flash-attention xformers-attention sdp-attention s2-attention shift-attn "
        "torch-compile torch-compile-* compile jit-mode-eval no-compile",
        "leave it out: nothing has to be compiled, and attention takes the fastest way; "
        "--autotune measures more on a GPU"},
    OptionHabit{"load-in-8bit load-in-4bit use-bnb-nested-quant bnb-* quantization-config "
                "quantization-bit quantization quantization-method qlora",
                "weights are not quantised; --moments int8 makes the optimizer's state smaller"},
    OptionHabit{"lora-rank lora-dim lora-attn-dim",
                "it is --lora-r N here, with --init-model FOLDER"},
    OptionHabit{"lora-target-modules lora-target lora-modules-names target-modules lora-layers",
                "it is --lora-modules NAMES here, with commas between them, or all-linear"},
    OptionHabit{"lora-target-linear apply-lora-to-mlp lora-attn-modules",
                "it is --lora-modules all-linear here, or names with commas between them"},
    OptionHabit{"use-rslora", "it is --lora-rs here"},
    OptionHabit{
        "adapter adapter-name-or-path lora-model-dir lora-path lora-weights peft-model-id peft",
        "train goes on from PEFT's adapters by --lora DIR; other programs take their "
        "folder as -mf DIR"},
    OptionHabit{"modules-to-save additional-target",
                "it is --lora-modules-to-save NAMES here, for embed_tokens and lm_head"},
    OptionHabit{"ensure-weight-tying", "it is --lora-ensure-weight-tying here"},
    OptionHabit{"use-dora lora-bias init-lora-weights apply-lora-to-output pissa-init "
                "loraplus-lr-ratio relora-steps lora-fan-in-fan-out create-new-adapter",
                "leave it out: adapters are those of plain LoRA, without biases"},
    OptionHabit{
        "use-peft lora use-lora peft-type task-type lora-task-type finetuning-type train-type",
        "adapters (LoRA) are trained by --lora-r N with --init-model FOLDER; without it all "
        "weights are"},
    OptionHabit{"save-adapter-weights-only",
                "leave it out: a run with --lora-r keeps its adapters alone, also in PEFT's form"},
    OptionHabit{"merge-and-unload merge-lora merge-adapter merge export-dir export-size",
                "it is `lockstep checkpoint convert RUN OUT --merge` here"},
    OptionHabit{"deepspeed deepspeed-* zero-stage ds-config use-distributed-optimizer",
                "it is --zero 1, 2 or 3 here, for what ranks share"},
    OptionHabit{
        "fsdp fsdp-* use-fsdp fully-shard activation-offloading enable-activation-offloading "
        "cpu-offload offload-optimizer offload-param "
        "offload-optimizer-device offload-param-device",
        "it is --zero 3 here; --offload optimizer puts a GPU's optimizer into the host's "
        "memory, and with --offload-dir a CPU's onto a disk"},
    OptionHabit{"ddp-* find-unused-parameters",
                "leave it out: gradients are reduced in buckets (--bucket-mb X) during backward; "
                "--ddp-backend and --timeout are options here"},
    OptionHabit{"tensor-model-parallel-size pipeline-model-parallel-size tensor-parallel-size "
                "pipeline-parallel-size context-parallel-size sequence-parallel tp-size pp-size",
                "leave it out: each rank computes with the whole model; --zero 3 shares its "
                "weights among the ranks"},
    // These options start ranks.
    OptionHabit{"nproc-per-node num-processes num-gpus gpus world-size-per-node devices",
                "it is --distributed-world-size N of multiprocessing_train"},
    OptionHabit{"nnodes num-machines num-nodes node-rank machine-rank rdzv-* hostfile "
                "main-process-ip main-process-port multi-gpu gpu-ids "
                "distributed-rank distributed-init-method distributed-port",
                "ranks on several hosts are started by `lockstep distributed_launch`, srun, mpirun "
                "or torchrun, with distributed_train behind"},
    OptionHabit{"local-rank", "leave it out: the launcher's LOCAL_RANK or SLURM_LOCALID says it"},
    OptionHabit{"use-cpu no-cuda cpu", "it is --device cpu here"},
    OptionHabit{"config-file config-path config-dir yaml hparams",
                "it is --config FILE here, of lines `name = value`"},
    OptionHabit{"trust-remote-code token use-auth-token cache-dir hf-token model-revision revision "
                "low-cpu-mem-usage ignore-mismatched-sizes user-dir",
                "leave it out: nothing is downloaded, and a model brings no code"},
    // These options describe a model.
    OptionHabit{"hidden-size n-embd d-model model-dim encoder-embed-dim decoder-embed-dim "
                "embed-dim dim",
                "it is --embedding-size N here"},
    OptionHabit{"num-hidden-layers num-layers n-layer layers depth", "it is --n-layers N here"},
    OptionHabit{"encoder-layers num-encoder-layers", "it is --n-encoder-layers N here"},
    OptionHabit{"decoder-layers num-decoder-layers", "it is --n-decoder-layers N here"},
    OptionHabit{"num-attention-heads num-heads n-head heads encoder-attention-heads "
                "decoder-attention-heads",
                "it is --n-heads N here"},
    OptionHabit{"num-key-value-heads num-kv-heads n-kv-head num-query-groups",
                "it is --n-kv-heads N here"},
    OptionHabit{"rotary-base rope-base rotary-emb-base", "it is --rope-theta X here"},
    OptionHabit{"rms-norm-eps layer-norm-eps layer-norm-epsilon norm-eps rms-norm-epsilon",
                "it is --norm-epsilon X here"},
    OptionHabit{"intermediate-size ffn-hidden-size n-inner d-ff encoder-ffn-embed-dim "
                "decoder-ffn-embed-dim ffn-dim",
                "it is --ffn-size N here"},
    OptionHabit{"max-position-embeddings n-ctx max-positions", "it is --n-positions N here"},
    OptionHabit{"hidden-dropout hidden-dropout-prob resid-pdrop embd-pdrop dropout-rate",
                "it is --dropout X here"},
    OptionHabit{"attention-probs-dropout-prob attn-pdrop attn-dropout",
                "it is --attention-dropout X here"},
    OptionHabit{"activation-dropout activation-function activation-fn hidden-act",
                "it is --relu-dropout X or --activation relu|gelu here"},
    OptionHabit{"arch model-type architecture",
                "it is -m here: transformer/generator, gpt2, llama, mistral, qwen2, qwen3, bart, "
                "blenderbot or blenderbot-small"},
    OptionHabit{"share-all-embeddings share-decoder-input-output-embed tie-word-embeddings "
                "untie-embeddings-and-output-weights",
                "leave it out: the model says whether input and output share one table of "
                "embeddings (docs/models.md)"},
    OptionHabit{"encoder-normalize-before decoder-normalize-before pre-norm normalization",
                "it is --variant aiayn|prelayernorm|xlm here"},
    OptionHabit{"encoder-learned-pos decoder-learned-pos position-embedding-type",
                "it is --learn-positional-embeddings true here"},
    // These options are about replies.
    OptionHabit{"eval-max-new-tokens max-new-tokens max-gen-len max-generated-tokens max-len "
                "max-len-a max-len-b "
                "n-predict num-predict generation-max-new-tokens",
                "it is --max-length N here, the end token counted"},
    OptionHabit{"min-new-tokens min-length min-len", "it is --beam-min-length N here"},
    OptionHabit{"num-return-sequences nbest num-samples best-of",
                "it is --n-best N here, with --beam-size N"},
    OptionHabit{"num-beams beam generation-num-beams beam-width beams",
                "it is --inference beam --beam-size N here"},
    OptionHabit{"num-beam-groups diversity-penalty diverse-beam-groups diverse-beam-strength "
                "penalty-alpha typical-p epsilon-cutoff eta-cutoff",
                "it belongs to a way of decoding that is not here; give --inference greedy, beam, "
                "topk or nucleus"},
    OptionHabit{"do-sample sampling sample decoding-strategy strategy",
                "it is --inference nucleus (--topp X) or --inference topk (--topk N) here"},
    OptionHabit{"top-p sampling-topp", "it is --inference nucleus --topp X here"},
    OptionHabit{"top-k sampling-topk", "it is --inference topk --topk N here"},
    OptionHabit{"temp", "it is --temperature X here, with --inference nucleus or topk"},
    OptionHabit{"repeat-penalty rep-pen", "it is --repetition-penalty X here"},
    OptionHabit{"presence-penalty frequency-penalty encoder-repetition-penalty",
                "it is not here; --repetition-penalty X makes tokens less likely that were there "
                "before, and --beam-block-ngram N forbids to repeat N tokens"},
    OptionHabit{"no-repeat-ngram-size", "it is --beam-block-ngram N here, with every --inference"},
    OptionHabit{"encoder-no-repeat-ngram-size", "it is --beam-context-block-ngram N here"},
    OptionHabit{"length-penalty lenpen",
                "it is --beam-length-penalty X here: scores are divided by ((1 + length) / 6)^X"},
    OptionHabit{"early-stopping",
                "leave it out: a beam ends when --beam-size hypotheses have ended, the best one "
                "among them; to end training early, give --validation-patience N"},
    OptionHabit{"stop-strings stop-sequences stop-sequence stop-words stop-token stopping-criteria "
                "eos-string",
                "it is --stop TEXT of `lockstep generate`, interactive and self_chat"},
    OptionHabit{"stop", "it is for `lockstep generate`, interactive and self_chat"},
    OptionHabit{"prompt prompts prompt-text start-text prefix start",
                "it is --prompt TEXT of `lockstep generate`"},
    OptionHabit{"eos-token-id pad-token-id bos-token-id forced-bos-token-id forced-eos-token-id "
                "bad-words-ids suppress-tokens sequence-bias prefix-size remove-bpe unkpen",
                "leave it out: start and end are the dictionary's, and no other token is treated "
                "specially"},
    OptionHabit{"system-prompt system",
                "give --system TEXT to `lockstep interactive`, or a message with the role system"},
    OptionHabit{"chat-template chat-template-path template",
                "it is the model's: chat_template.jinja or tokenizer_config.json in the folder of "
                "--like (docs/chat.md)"},
    OptionHabit{"input-file prompt-file prompts-file", "it is --input FILE of `lockstep generate`"},
    OptionHabit{"output-file", "it is --output FILE of `lockstep generate`"},
};

}  // namespace

std::span<const OptionHabit> trainer_habits() noexcept { return habits; }

}  // namespace lockstep::launcher
