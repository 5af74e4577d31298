// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/taken_cores.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

// Gives a notice its clock and the times of the cores, and keeps what it says.
struct Host {
    Host(int cores, int threads)
        : times(CoreTimes{cores, 900, 70}),
          notice(
              threads, [this](const std::string& line) { said.push_back(line); },
              [this] {
                  ++reads;
                  return times;
              },
              [this] { return now; }) {}

    // So much time passes, in which so many cores are idle and the process has so many.
    void pass(double seconds, double idle, double own) {
        now += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
        if (!times) return;
        times->idle_s += idle * seconds;
        times->own_s += own * seconds;
    }

    std::optional<CoreTimes> times;
    Clock::time_point now{};
    int reads = 0;
    std::vector<std::string> said;
    TakenCoresNotice notice;
};

}  // namespace

TEST_CASE("cores that other processes take are told once, with what helps") {
    Host host(2, 2);
    host.notice.look();
    host.pass(5, 0.1, 1.3);
    host.notice.look();
    CHECK(host.said == std::vector<std::string>{"other processes take about 0.6 of this rank's 2 "
                                                "cores: end them, or try --threads 1"});
    const int reads = host.reads;
    host.pass(50, 0, 0.1);
    host.notice.look();
    CHECK(host.said.size() == 1);
    CHECK(host.reads == reads);
}

TEST_CASE("what was before the first look does not count, and what comes later does") {
    Host host(2, 2);
    host.pass(60, 0, 0.1);
    for (int i = 0; i < 10; ++i) {
        host.notice.look();
        host.pass(6, 0.1, 1.85);
    }
    host.notice.look();
    CHECK(host.said.empty());
    host.pass(6, 0, 1);
    host.notice.look();
    CHECK(host.said.size() == 1);
}

TEST_CASE("times are read every few seconds, however often one looks") {
    Host host(2, 2);
    for (int i = 0; i < 400; ++i) {
        host.notice.look();
        host.pass(0.01, 0, 0.1);
    }
    CHECK(host.reads == 1);
    CHECK(host.said.empty());
}

TEST_CASE("a rank that has as many cores as threads says nothing") {
    const auto said = [](int cores, int threads, double idle, double own) {
        Host host(cores, threads);
        host.notice.look();
        host.pass(5, idle, own);
        host.notice.look();
        return host.said;
    };
    CHECK(said(2, 2, 1.9, 0.05).empty());  // it waits for input
    CHECK(said(2, 1, 0, 1).empty());       // the other rank has the other core
    CHECK(said(8, 2, 0, 2).empty());       // other programs have six cores
    CHECK(said(64, 64, 1, 62).empty());    // 1 of 64 cores is noise
    CHECK(said(64, 64, 0, 60).size() == 1);
    CHECK(said(2, 1, 0, 0.5).size() == 1);
}

TEST_CASE("a host that does not tell its times gets no line") {
    Host host(2, 2);
    host.times.reset();
    host.notice.look();
    host.pass(50, 0, 0);
    host.notice.look();
    CHECK(host.said.empty());
}

TEST_CASE("the line names threads that leave the others their cores") {
    CHECK(taken_cores_line(0.94, 16) ==
          "other processes take about 0.9 of this rank's 16 cores: "
          "end them, or try --threads 15");
    CHECK(taken_cores_line(1.6, 2) ==
          "other processes take about 1.6 of this rank's 2 cores: end "
          "them, or try --threads 1");
    CHECK(taken_cores_line(0.5, 1) ==
          "other processes take about 0.5 of this rank's 1 core: end "
          "them, or run where a core is free");
}
