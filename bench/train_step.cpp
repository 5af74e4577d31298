// SPDX-License-Identifier: Apache-2.0
// Times the training step of our training path. The options that say what is trained are those of
// bench/torch_peer.py, and the JSON line has its figures under its names, and further ones.
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/gpu_cost.hpp"
#include "bench/measured_steps.hpp"
#include "bench/own_ranks.hpp"
#include "bench/step_cost.hpp"
#include "bench/step_options.hpp"
#include "bench/synthetic_batches.hpp"
#include "launcher/processes/openmp_wait_policy.hpp"
#include "launcher/rank/compute_device.hpp"
#include "launcher/rank/threads_per_rank.hpp"
#include "runtime/comm/join/make_communicator.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/philox.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/loop/schedule.hpp"
#include "runtime/train/loop/step_report.hpp"

namespace {

using namespace lockstep;
using bench::RowLengths;
using bench::StepOptions;

constexpr float learning_rate = 1e-4F;

// Returns this process's maximum resident memory, or on a GPU the memory in use now: the arena
// never shrinks.
std::int64_t peak_bytes(const launcher::ComputeDevice& device) {
    if (device.gpu) return bench::gpu_bytes_in_use(device.gpu->number);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::int64_t{usage.ru_maxrss} * 1024;
}

// Holds the rows of every step. The steps use the batches in turn.
struct Plan {
    std::vector<std::vector<RowLengths>> batches;
    std::int64_t longest = 0, warmup = 0, steps = 0;

    explicit Plan(const StepOptions& options) {
        if (options.lengths.empty()) {
            const RowLengths row{static_cast<std::int32_t>(options.source),
                                 static_cast<std::int32_t>(options.target)};
            batches.emplace_back(static_cast<std::size_t>(options.batch), row);
            warmup = options.warmup;
            steps = options.steps;
        } else {
            batches = bench::batches_of_file(options.lengths, options.batch);
            const auto all_rows = static_cast<std::int64_t>(batches.size());
            steps = all_rows * options.passes;
            warmup = all_rows * options.warmup_passes;
        }
        for (const auto& batch : batches) {
            for (const RowLengths& row : batch)
                longest = std::max<std::int64_t>({longest, row.source, row.target});
        }
    }
};

// Matrix products are tuned at their first use, as the compiled peer does.
launcher::ComputeDevice device_for(const StepOptions& options, const comm::RankInfo& rank_info,
                                   comm::Communicator& communicator) {
    launcher::RunConfig config;
    config.device = options.device;
    if (options.precision == train::Precision::fp16)
        config.precision = launcher::PrecisionChoice::fp16;
    launcher::ComputeDevice device;
    device.gpu = launcher::choose_gpu(config, rank_info, launcher::gpus_for(config));
    const auto world = launcher::agree_on_gpus(config, rank_info, device.gpu, communicator);
    device.precision = options.precision;
    device.threads = options.threads > 0 ? options.threads : launcher::share_of_cores(communicator);
    device.settings = launcher::gpu_settings(config, device.gpu);
    device.settings.autotune = true;
    device.settings.backend = world.backend;
    return device;
}

// This rank, ready to train: the objects that launcher/train/training_session.cpp builds, without
// data and files.
class Session {
public:
    Session(const StepOptions& options, const Plan& plan, const launcher::ComputeDevice& device,
            comm::Communicator& communicator)
        : options_(options),
          plan_(plan),
          communicator_(communicator),
          config_(bench::model_config(options, plan.longest)),
          trace_(options.trace.empty() ? Trace::Recording::off : Trace::Recording::on,
                 communicator.rank()),
          device_(device),
          model_(launcher::make_model(config_, device, options.recompute, share())),
          engine_(model_->make_engine(train_options(), communicator, trace_, nullptr)) {
        model_->initialize(1);
        engine_->share_weights();
        engine_->restore({}, communicator.size() * options.update_freq);
    }

    bench::MeasuredSteps run() {
        bench::MeasuredSteps measured;
        PhiloxStream random(mix(1, static_cast<std::uint64_t>(communicator_.rank())));
        for (std::int64_t i = 0; i < plan_.warmup + plan_.steps; ++i) {
            queue(i, batches_of_step(i, random));
            if (queued_.size() > engine_->steps_ahead()) take_oldest(measured);
        }
        while (!queued_.empty()) take_oldest(measured);
        if (trace_.on()) trace_.write(options_.trace);
        return measured;
    }

    // The ceiling is the sum over all ranks, which measure at the same time.
    nlohmann::ordered_json describe(const bench::MeasuredSteps& measured,
                                    std::int64_t step_peak_bytes);

private:
    struct QueuedStep {
        std::int64_t step;
        Clock::time_point begin;
        double host_s;
        bench::StepWork work;
    };

    void queue(std::int64_t step, const std::vector<train::Batch>& batches) {
        kernels::StepOrder order;
        order.seed = 1;
        order.step = order.first_update = static_cast<std::uint64_t>(step);
        for (float& rate : order.rates) rate = learning_rate;
        bench::StepWork work;
        for (const auto& batch : batches) {
            work.tokens += static_cast<double>(batch.source.real() + batch.target.real());
            work.flop += bench::step_flop(config_, batch);
        }
        const auto begin = Clock::now();
        engine_->queue(order, batches);
        queued_.push_back({step, begin, seconds_between(begin, Clock::now()), work});
    }

    // A step begins when it is queued, or at the end of the previous step if that is later.
    void take_oldest(bench::MeasuredSteps& measured) {
        const QueuedStep step = queued_.front();
        queued_.pop_front();
        const auto report = train::describe(engine_->take_result(), {}, {}, {});
        const auto end = Clock::now();
        if (step.step == 0) first_s_ = seconds_between(step.begin, end);
        if (step.step >= plan_.warmup)
            measured.add(seconds_between(std::max(step.begin, last_end_), end), step.host_s,
                         step.work, report);
        last_end_ = end;
    }

    train::ReplicaShare share() const {
        const int ranks = communicator_.size();
        return {ranks, options_.zero == 0 ? 1 : ranks,
                options_.zero == 0 ? 0 : communicator_.rank(), train_options().reducer,
                options_.zero};
    }

    train::TrainOptions train_options() const {
        train::TrainOptions options;
        options.optimizer.kind = train::OptimizerKind::adamw;
        options.optimizer.weight_decay = 0.01;  // torch's default
        options.optimizer.gradient_clip = 1.0;
        if (options_.precision == train::Precision::fp16)
            options.loss_scaling = {kernels::LossScaling::Kind::dynamic, 0x1p15F, 0x1p-5F};
        return options;
    }

    std::vector<train::Batch> batches_of_step(std::int64_t step, PhiloxStream& random) const {
        const auto& rows = plan_.batches[static_cast<std::size_t>(step) % plan_.batches.size()];
        std::vector<train::Batch> batches;
        for (std::int64_t i = 0; i < options_.update_freq; ++i)
            batches.push_back(bench::random_batch(rows, options_.vocabulary, random));
        return batches;
    }

    StepOptions options_;
    const Plan& plan_;
    comm::Communicator& communicator_;
    model::ModelConfig config_;
    Trace trace_;
    const launcher::ComputeDevice& device_;
    std::unique_ptr<model::Model> model_;
    std::unique_ptr<train::Engine> engine_;
    std::deque<QueuedStep> queued_;
    Clock::time_point last_end_;
    double first_s_ = 0;  // of step 0, which touches pages and creates products
};

double ceiling_of(const launcher::ComputeDevice& device) {
    if (device.gpu) return bench::gpu_product_ceiling(device.gpu->number, device.precision);
    device::CpuContext context(device.threads);
    return bench::product_ceiling(context, device.precision);
}

nlohmann::ordered_json Session::describe(const bench::MeasuredSteps& measured,
                                         std::int64_t step_peak_bytes) {
    using Steps = bench::MeasuredSteps::Steps;
    nlohmann::ordered_json line{{"peer", "lockstep"},
                                {"model", options_.kind == model::Kind::gpt2 ? "gpt2" : "seq2seq"},
                                {"dtype", train::name(options_.precision)},
                                {"compile", false},
                                {"world", communicator_.size()},
                                {"zero", options_.zero},
                                {"device", device_.name()},
                                {"threads", device_.threads},
                                {"params", model_->parameters().count()},
                                {"recompute", model::name(options_.recompute)},
                                {"activation_bytes", model_->peak_activation_bytes()},
                                {"step_peak_bytes", step_peak_bytes},
                                {"first_ms", std::round(first_s_ * 1e5) / 100}};
    std::optional<double> ceiling;
    if (options_.task != StepOptions::Task::only_steps) ceiling = ceiling_of(device_);
    line.update(measured.figures(options_.lengths.empty() ? Steps::alike : Steps::different,
                                 ceiling, communicator_));
    return line;
}

int run(const std::vector<std::string>& arguments) {
    const auto options = bench::parse_step_options(arguments);
    if (!options) return 0;
    if (const auto code = bench::start_own_ranks(options->ranks, arguments)) return *code;
    const auto environment = comm::process_environment();
    const Plan plan(*options);
    comm::CommOptions join;
    join.secret = comm::Secret::from(environment);
    const comm::RankInfo rank_info = comm::find_rank_info(environment, {});
    const auto communicator = comm::make_communicator(rank_info, join);
    const auto device = device_for(*options, rank_info, *communicator);
    if (options->task == StepOptions::Task::ceiling) {
        const auto gflops = std::llround(ceiling_of(device) * 1e-9);
        std::cout << nlohmann::json{{"ceiling_gflops", gflops}}.dump() << std::endl;
        return 0;
    }
    const std::int64_t held = peak_bytes(device);
    Session session(*options, plan, device, *communicator);
    const bench::MeasuredSteps measured = session.run();
    const auto line = session.describe(measured, peak_bytes(device) - held);
    if (communicator->rank() == 0) std::cout << line.dump() << std::endl;
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    launcher::set_openmp_wait_policy(argv);
    try {
        return run(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::exception& e) {
        std::cerr << "bench_train_step: " << e.what() << std::endl;
        return 2;
    }
}
