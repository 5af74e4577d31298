// SPDX-License-Identifier: Apache-2.0
// Faults from outside, one rank each: the others end soon, nothing stays behind, and the report
// names the victim.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/running_job.hpp"

using namespace lockstep::tests;

namespace {

const std::string gloo = "multiprocessing_train --distributed-world-size 3";
const std::string mpi = "mpirun --oversubscribe -np 3 distributed_train";

const std::string tiny_model =
    " --embedding-size 8 --n-layers 1 --ffn-size 8 --threads 1 --num-epochs 100000 -bs 32"
    " --text-truncate 16 --label-truncate 8 --log-every-n-steps 1 --timeout 5";

// With --timeout 5 each rank tells four times a second where it is.
constexpr std::chrono::milliseconds several_tellings(900);

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

std::filesystem::path build_bin() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

struct End {
    ProgramResult result;
    nlohmann::json failure;
};

nlohmann::json reported(const std::string& model) {
    const std::string text = read_text(model + "/failure.json");
    return text.empty() ? nlohmann::json{} : nlohmann::json::parse(text);
}

void check_report(const End& end) {
    CHECK(count(end.result.out, "the run has failed") == 1);
    REQUIRE(end.failure.is_object());
    CHECK(end.failure["ranks"].size() == 3);
    CHECK(end.failure["host"] != "");
    CHECK(end.failure["step"] > 0);
}

// Trains on a small data set with a file for each rank, more than its readers keep in memory,
// until `disturb` has been called in the midst of it; what must hold after every failure is checked
// here.
class Fault {
public:
    using Disturb = std::function<void(const RunningJob& job)>;

    explicit Fault(std::string ranks) : ranks_(std::move(ranks)) {}

    std::string data() const { return scratch_ / "data"; }
    std::string model() const { return scratch_ / "model"; }
    std::string flag() const { return scratch_ / "flag"; }
    void environment(const std::string& name, const std::string& value) {
        environment_[name] = value;
    }

    End run(int copies, const Disturb& disturb) {
        prepare(copies);
        RunningJob job(ranks_ + " --data " + data() + " -mf " + model() + tiny_model, model(),
                       environment_);
        const bool started = job.wait_for_first_step();
        std::this_thread::sleep_for(several_tellings);
        if (started) disturb(job);
        const End end{job.wait(), reported(model())};
        INFO(end.result.out);
        INFO(end.result.err);
        REQUIRE(started);
        CHECK(job.processes() == 0);
        check_report(end);
        return end;
    }

    // The same where a script disturbs the ranks that it runs.
    End run_by(const std::string& script) {
        prepare(1);
        const std::string path = build_bin().string() + ":" + getenv("PATH");
        const auto result = run_line(script + " " + ranks_ + " --data " + data() + tiny_model,
                                     {"", {{"MODEL", model()}, {"PATH", path}}, ""});
        const End end{result, reported(model())};
        INFO(end.result.out);
        INFO(end.result.err);
        check_report(end);
        return end;
    }

private:
    void prepare(int copies) const {
        const std::string text = read_text("examples/shakespeare/train.txt");
        std::ofstream out(scratch_ / "train.txt");
        for (int copy = 0; copy < copies; ++copy) out << text;
        out.close();
        const auto prepared = run_line("lockstep prepare --input " + (scratch_ / "train.txt") +
                                       " --out " + data() + " --shards 3 --dict-maxtokens 300");
        REQUIRE_MESSAGE(prepared.code == 0, prepared.out << prepared.err);
    }

    std::string ranks_;
    ScratchFolder scratch_;
    std::map<std::string, std::string> environment_;
};

End signalled(const std::string& ranks, int victim, int signal) {
    return Fault(ranks).run(1, [&](const RunningJob& job) {
        const pid_t process = job.process_of(victim);
        REQUIRE(process > 0);
        kill(process, signal);
    });
}

constexpr int larger_than_readers_keep = 16;

// Everything behind the file's first part, in place.
void damage(const std::string& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = std::filesystem::file_size(path);
    file.seekp(static_cast<std::streamoff>(size / 10));
    file << std::string(size / 10 * 9, '\xAA');
}

}  // namespace

TEST_CASE("multiprocessing_train: a killed rank is named, rank 0 as well as another") {
    for (const int victim : {1, 0}) {
        const End end = signalled(gloo, victim, SIGKILL);
        CHECK(end.result.code == 1);
        CHECK(end.failure["rank"] == victim);
        CHECK(end.failure["cause"] == "lost");
        CHECK(end.result.err.find("failed first, killed by signal 9") != std::string::npos);
    }
}

TEST_CASE("multiprocessing_train: a stopped rank is named, be it rank 0") {
    const int victim = 0;
    const End end = signalled(gloo, victim, SIGSTOP);
    CHECK(end.result.code == 3);
    CHECK(end.failure["rank"] == victim);
    CHECK(end.failure["cause"] == "silent");
}

TEST_CASE("mpirun: a killed rank is named, rank 0 as well as another") {
    for (const int victim : {1, 0}) {
        const End end = signalled(mpi, victim, SIGKILL);
        CHECK(end.result.code != 0);
        CHECK(end.failure["rank"] == victim);
        CHECK(end.failure["cause"] == "lost");
    }
}

TEST_CASE("mpirun: a stopped rank is named") {
    const int victim = 1;
    const End end = signalled(mpi, victim, SIGSTOP);
    CHECK(end.result.code == 3);
    CHECK(end.failure["rank"] == victim);
    CHECK(end.failure["cause"] == "silent");
}

TEST_CASE(
    "a shard damaged in the midst of a run ends it with the rank that read it, and its file") {
    Fault fault(gloo);
    const End end = fault.run(larger_than_readers_keep, [&](const RunningJob&) {
        damage(fault.data() + "/train-00001-of-00003.h5");
    });
    CHECK(end.result.code == 1);
    CHECK(end.failure["rank"] == 1);
    CHECK(end.failure["cause"] == "failed");
    CHECK(end.failure["phase"] == "reading data");
    const std::string error = end.failure["error"];
    CHECK(error.find("train-00001-of-00003.h5") != std::string::npos);
}

TEST_CASE("a rank without memory is named, by its own words unless a library did not survive it") {
    Fault fault(gloo);
    const End end = fault.run(larger_than_readers_keep, [](const RunningJob& job) {
        constexpr rlimit nothing_more{1 << 20, 1 << 20};
        REQUIRE(prlimit(job.process_of(2), RLIMIT_DATA, &nothing_more, nullptr) == 0);
    });
    CHECK(end.result.code == 1);
    CHECK(end.failure["rank"] == 2);
    if (end.failure["cause"] == "failed") {
        CHECK(std::string(end.failure["error"]).find("memory") != std::string::npos);
    } else {
        CHECK(end.failure["cause"] == "lost");
    }
}

TEST_CASE("a rank whose data never comes is named, with the stack of its main thread") {
    Fault fault(gloo);
    fault.environment("LD_PRELOAD", build_bin() / "libstalled_reads.so");
    fault.environment("STALLED_READS", fault.flag());
    fault.environment("STALLED_RANK", "1");
    const End end = fault.run(larger_than_readers_keep,
                              [&](const RunningJob&) { write_text(fault.flag(), "now"); });
    CHECK(end.failure["rank"] == 1);
    CHECK(end.failure["cause"] == "stuck");
    CHECK(end.failure["phase"] == "reading data");
    CHECK(end.failure["stack"].dump().find("lockstep::train::Trainer::run") != std::string::npos);
}

TEST_CASE("a rank whose network is cut is named, be it rank 0") {
    if (geteuid() != 0) {
        MESSAGE("skipped: only root can make networks");
        return;
    }
    const int victim = 0;
    const End end =
        Fault("distributed_train")
            .run_by("bash tests/launcher/programs/cut_network.sh " + std::to_string(victim));
    CHECK(count(end.result.out, " code 3") >= 2);
    CHECK(count(end.result.out, " code 0") == 0);
    CHECK(end.failure["rank"] == victim);
    CHECK(end.failure["cause"] == "silent");
}
