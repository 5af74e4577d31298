// SPDX-License-Identifier: Apache-2.0
// Times the training step: the options and the JSON line of bench/torch_peer.py, our training path.
#include <sys/resource.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/own_ranks.hpp"
#include "bench/step_cost.hpp"
#include "bench/step_options.hpp"
#include "bench/synthetic_batches.hpp"
#include "launcher/cpu_share.hpp"
#include "launcher/spinning.hpp"
#include "model/device_model.hpp"
#include "runtime/comm/make_communicator.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/philox.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/schedule.hpp"
#include "runtime/train/step_report.hpp"

namespace {

using namespace lockstep;
using bench::RowLengths;
using bench::StepOptions;

constexpr float learning_rate = 1e-4F;

std::int64_t peak_rss_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::int64_t{usage.ru_maxrss} * 1024;
}

// The rows of every step, used in turn.
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
            steps = static_cast<std::int64_t>(batches.size());  // every row once, as the peer
        }
        for (const auto& batch : batches) {
            for (const RowLengths& row : batch)
                longest = std::max<std::int64_t>({longest, row.source, row.target});
        }
    }
};

struct Measured {
    std::vector<double> seconds;
    double tokens = 0, flop = 0;  // of all timed steps of this rank
    train::StepReport last, sum;  // sum: seconds only
};

// This rank, ready to train: what launcher/training_session.cpp builds, without data and files.
class Session {
public:
    Session(const StepOptions& options, const Plan& plan, comm::Communicator& communicator)
        : options_(options),
          plan_(plan),
          communicator_(communicator),
          config_(bench::model_config(options, plan.longest)),
          trace_(options.trace.empty() ? Trace::Recording::off : Trace::Recording::on,
                 communicator.rank()),
          threads_(options.threads > 0 ? options.threads : launcher::share_of_cores(communicator)),
          model_(model::make_cpu_model(config_, options.precision, threads_)),
          engine_(model_->make_engine(train_options(), communicator, trace_, nullptr)) {
        model_->initialize(1);
        engine_->restore({});
    }

    Measured run() {
        Measured measured;
        PhiloxStream random(mix(1, static_cast<std::uint64_t>(communicator_.rank())));
        for (std::int64_t i = 0; i < plan_.warmup + plan_.steps; ++i) {
            const auto batches = batches_of_step(i, random);
            const auto begin = Clock::now();
            const auto report = take(i, batches);
            if (i >= plan_.warmup)
                add(measured, report, batches, seconds_between(begin, Clock::now()));
        }
        if (trace_.on()) trace_.write(options_.trace);
        return measured;
    }

    nlohmann::ordered_json describe(const Measured& m, std::int64_t step_peak_bytes);

private:
    train::StepReport take(std::int64_t step, const std::vector<train::Batch>& batches) {
        kernels::StepOrder order;
        order.seed = 1;
        order.step = order.first_update = static_cast<std::uint64_t>(step);
        for (float& rate : order.rates) rate = learning_rate;
        engine_->queue(order, batches);
        return train::describe(engine_->take_result(), {}, {});
    }

    train::TrainOptions train_options() const {
        train::TrainOptions options;
        options.optimizer.kind = train::OptimizerKind::adamw;
        options.optimizer.weight_decay = 0.01;  // torch's default
        options.optimizer.gradient_clip = 1.0;
        return options;
    }

    std::vector<train::Batch> batches_of_step(std::int64_t step, PhiloxStream& random) const {
        const auto& rows = plan_.batches[static_cast<std::size_t>(step) % plan_.batches.size()];
        std::vector<train::Batch> batches;
        for (std::int64_t i = 0; i < options_.update_freq; ++i)
            batches.push_back(bench::random_batch(rows, options_.vocabulary, random));
        return batches;
    }

    void add(Measured& m, const train::StepReport& report, const std::vector<train::Batch>& batches,
             double seconds) const {
        m.seconds.push_back(seconds);
        for (const auto& batch : batches) {
            m.tokens += static_cast<double>(batch.source.real() + batch.target.real());
            m.flop += bench::step_flop(config_, batch);
        }
        m.last = report;
        m.sum.forward_s += report.forward_s;
        m.sum.backward_s += report.backward_s;
        m.sum.communication_s += report.communication_s;
        m.sum.optimizer_s += report.optimizer_s;
    }

    StepOptions options_;
    const Plan& plan_;
    comm::Communicator& communicator_;
    model::ModelConfig config_;
    Trace trace_;
    int threads_;
    std::unique_ptr<model::DeviceModel> model_;
    std::unique_ptr<train::Engine> engine_;
};

// Rates are means over rows of a file, where steps differ, and else of the median step: as the
// peer. The ceiling is that of all ranks, measured by all at once.
nlohmann::ordered_json Session::describe(const Measured& m, std::int64_t step_peak_bytes) {
    const auto steps = static_cast<double>(m.seconds.size());
    std::vector<double> sorted = m.seconds;
    std::ranges::sort(sorted);
    double total = 0;
    for (const double s : sorted) total += s;
    const double step_s = options_.lengths.empty() ? sorted[sorted.size() / 2] : total / steps;
    device::CpuContext context(threads_);
    std::vector<double> sums{m.tokens / steps, m.flop / steps,
                             bench::product_ceiling(context, options_.precision)};
    communicator_.all_reduce(view_of(sums), comm::Reduction::sum, "figures");
    communicator_.finish();
    const auto ms = [](double s) { return std::round(s * 1e4) / 10; };
    nlohmann::ordered_json line{
        {"peer", "lockstep"},
        {"model", options_.kind == model::Kind::gpt2 ? "gpt2" : "seq2seq"},
        {"dtype", options_.precision == train::Precision::bf16 ? "bf16" : "fp32"},
        {"compile", false},
        {"world", communicator_.size()},
        {"threads", threads_},
        {"params", model_->parameters().count()},
        {"step_ms", ms(step_s)},
        {"min_ms", ms(sorted.front())},
        {"tokens_per_s", std::llround(sums[0] / step_s)},
        {"step_peak_bytes", step_peak_bytes},
        {"loss", m.last.loss},
        {"gflops", std::llround(sums[1] / step_s * 1e-9)},
        {"ceiling_gflops", std::llround(sums[2] * 1e-9)},
        {"forward_ms", ms(m.sum.forward_s / steps)},
        {"backward_ms", ms(m.sum.backward_s / steps)},
        {"communication_ms", ms(m.sum.communication_s / steps)},
        {"optimizer_ms", ms(m.sum.optimizer_s / steps)}};
    if (m.last.hidden_share) line["hidden"] = *m.last.hidden_share;
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
    const auto communicator = comm::make_communicator(comm::find_place(environment, {}), join);
    const std::int64_t held = peak_rss_bytes();
    Session session(*options, plan, *communicator);
    const Measured measured = session.run();
    const auto line = session.describe(measured, peak_rss_bytes() - held);
    if (communicator->rank() == 0) std::cout << line.dump() << std::endl;
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    launcher::limit_spinning(argv);
    try {
        return run(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::exception& e) {
        std::cerr << "bench_train_step: " << e.what() << std::endl;
        return 2;
    }
}
