// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/programs/disturbed_run.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace lockstep::tests {

namespace {

namespace fs = std::filesystem;

// Each rank sends four heartbeats a second with --timeout 6, and three in two seconds with 15.
constexpr std::chrono::milliseconds several_tellings(2000);

nlohmann::json reported(const std::string& model) {
    const std::string text = read_text(model + "/failure.json");
    return text.empty() ? nlohmann::json{} : nlohmann::json::parse(text);
}

double seconds_since(std::chrono::steady_clock::time_point then) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

const std::string tiny_model =
    " --embedding-size 8 --n-layers 1 --ffn-size 8 --threads 1 --num-epochs 100000 -bs 32"
    " --text-truncate 16 --label-truncate 8 --log-every-n-steps 1 --timeout 6";

std::string build_bin() { return fs::read_symlink("/proc/self/exe").parent_path(); }

DisturbedData::DisturbedData() {
    constexpr int larger_than_readers_keep = 16;
    const std::string text = read_text("examples/shakespeare/train.txt");
    std::ofstream out(folder_ / "train.txt");
    for (int copy = 0; copy < larger_than_readers_keep; ++copy) out << text;
    out.close();
    const auto prepared = run_line("lockstep prepare --input " + (folder_ / "train.txt") +
                                   " --out " + path() + " --shards 3 --dict-maxtokens 300");
    if (prepared.code != 0) throw std::runtime_error(prepared.out + prepared.err);
}

std::string DisturbedData::copy(const std::string& to) const {
    fs::copy(path(), to, fs::copy_options::recursive);
    return to;
}

DisturbedRun::DisturbedRun(const DisturbedData& data, std::string ranks, std::string options)
    : all_data_(data),
      data_(data.path()),
      ranks_(std::move(ranks)),
      options_(tiny_model + options) {}

const std::string& DisturbedRun::damageable_data() {
    if (data_ == all_data_.path()) data_ = all_data_.copy(scratch_ / "data");
    return data_;
}

DisturbedEnd DisturbedRun::run(const Disturb& disturb) const {
    DisturbedEnd end;
    RunningJob job(ranks_ + " --data " + data_ + " -mf " + model() + options_, model(),
                   environment_);
    end.started = job.wait_for_first_step();
    std::this_thread::sleep_for(several_tellings);
    if (end.started) disturb(job);
    const auto begin = std::chrono::steady_clock::now();
    end.result = job.wait();
    end.seconds = seconds_since(begin);
    end.left_behind = job.processes();
    end.failure = reported(model());
    return end;
}

DisturbedEnd DisturbedRun::run_by(const std::string& script) const {
    DisturbedEnd end;
    const std::string path = build_bin() + ":" + getenv("PATH");
    end.result = run_line(script + " " + ranks_ + " --data " + data_ + options_,
                          {"", {{"MODEL", model()}, {"PATH", path}}, ""});
    end.started = true;
    end.failure = reported(model());
    return end;
}

}  // namespace lockstep::tests
