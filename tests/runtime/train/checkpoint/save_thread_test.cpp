// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/save_thread.hpp"

#include <doctest/doctest.h>

#include <future>
#include <vector>

#include "runtime/core/error.hpp"

using namespace lockstep;
using train::SaveThread;

TEST_CASE("saves run one after the other, beside the caller") {
    std::vector<int> ended;
    std::promise<void> go;
    SaveThread saves;
    CHECK_FALSE(saves.busy());
    saves.start([&] {
        go.get_future().wait();
        ended.push_back(1);
    });
    saves.start([&] { ended.push_back(2); });
    CHECK(saves.busy());
    go.set_value();
    saves.wait();
    CHECK(ended == std::vector{1, 2});
    CHECK_FALSE(saves.busy());
}

TEST_CASE("the error of a save is thrown once, and drops the saves behind it") {
    std::promise<void> go;
    int ended = 0;
    SaveThread saves;
    saves.start([&] {
        go.get_future().wait();
        throw Error(ErrorKind::io, "lost");
    });
    saves.start([&] { ++ended; });
    saves.check();
    go.set_value();
    CHECK_THROWS_WITH_AS(saves.wait(), "lost", Error);
    CHECK(ended == 0);
    saves.wait();
    saves.start([&] { ++ended; });
    saves.wait();
    CHECK(ended == 1);
}

namespace {

// Adds 1 to the counter, and 10 for each time that it was copied.
struct CountsCopies {
    explicit CountsCopies(int& counter) : runs(&counter) {}
    CountsCopies(const CountsCopies& other) : runs(other.runs), copies(other.copies + 1) {}
    CountsCopies(CountsCopies&&) = default;
    void operator()() const { *runs += 1 + 10 * copies; }
    int* runs;
    int copies = 0;
};

}  // namespace

TEST_CASE("a save is not copied") {
    int runs = 0;
    SaveThread saves;
    saves.start(CountsCopies(runs));
    saves.wait();
    CHECK(runs == 1);
}

TEST_CASE("the end of the thread waits for its saves") {
    int ended = 0;
    {
        SaveThread saves;
        saves.start([&] { ++ended; });
        saves.start([&] { ++ended; });
    }
    CHECK(ended == 2);
}
