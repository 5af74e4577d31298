// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/thread_io.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "runtime/core/file_descriptor.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;

TEST_CASE("the bytes that a thread writes count as its own") {
    const tests::ScratchFolder scratch;
    const std::uint64_t before = bytes_moved_by(::gettid());
    tests::write_text(scratch / "file", std::string(100'000, 'x'));
    CHECK(bytes_moved_by(::gettid()) >= before + 100'000);
    std::atomic<pid_t> other = 0;
    std::atomic<bool> done = false;
    std::thread thread([&] {
        other = ::gettid();
        done.wait(false);
    });
    while (other == 0) std::this_thread::yield();
    CHECK(bytes_moved_by(other) < 100'000);
    CHECK(file_awaited_by(other).empty());
    done = true;
    done.notify_all();
    thread.join();
}

TEST_CASE("a thread that a file keeps waiting tells which") {
    const tests::ScratchFolder scratch;
    const std::string path = scratch / "file";
    tests::write_text(path, "x");
    const auto locked = [&path] { return FileDescriptor(::open(path.c_str(), O_RDWR)); };
    struct flock lock {};
    lock.l_type = F_WRLCK;
    FileDescriptor holder = locked();
    REQUIRE(::fcntl(holder.raw(), F_OFD_SETLK, &lock) == 0);
    std::atomic<pid_t> waiting = 0;
    std::thread thread([&] {
        const FileDescriptor file = locked();
        waiting = ::gettid();
        ::fcntl(file.raw(), F_OFD_SETLKW, &lock);
    });
    while (waiting == 0 || file_awaited_by(waiting) != path) std::this_thread::yield();
    CHECK(file_awaited_by(waiting) == path);
    holder = FileDescriptor();
    thread.join();
}
