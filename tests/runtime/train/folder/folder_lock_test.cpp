// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/folder/folder_lock.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/train/folder/lock_file.hpp"
#include "tests/runtime/train/file_size_limit.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using train::FolderLock;
using train::LockOwner;
using train::LockTimes;
using train::OwnerState;

namespace {

// Describes a process of this machine that has ended.
LockOwner ended_process() {
    LockOwner owner = train::this_process();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    owner.pid = child;
    return owner;
}

LockOwner on_another_host() {
    LockOwner owner = train::this_process();
    owner.host = "node7";
    owner.machine = "node7 id";
    owner.boot_id = "another";
    return owner;
}

// Holds what a start for the lock of a folder has said, and the lock if it got it.
struct Start {
    std::string said, refused;
    std::unique_ptr<FolderLock> lock;
};

Start start(const std::string& folder, const LockTimes& times, const LockOwner& self) {
    Start result;
    const train::LockWaiting waiting{[&](const std::string& line) { result.said += line + '\n'; },
                                     [] { return false; }};
    try {
        result.lock = std::make_unique<FolderLock>(folder, self, waiting, times);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::config);
        result.refused = error.what();
    }
    return result;
}

// No beats, and a short wait.
constexpr LockTimes soon{1h, 1ms, 40ms, 20ms};

Start start(const std::string& folder, const LockTimes& times = soon) {
    return start(folder, times, train::this_process());
}

}  // namespace

TEST_CASE("a process is asked for by number and start, where its numbers mean the same") {
    const LockOwner self = train::this_process();
    const auto read = train::owner_from(train::to_json(self));
    REQUIRE(read.has_value());
    CHECK(read->run == self.run);
    CHECK(train::state_of(*read, self) == OwnerState::alive);
    LockOwner other = self;
    ++other.start_ticks;
    CHECK(train::state_of(other, self) == OwnerState::gone);
    other = ended_process();
    CHECK(train::state_of(other, self) == OwnerState::gone);
    other.pid_namespace = "pid:[1]";
    CHECK(train::state_of(other, self) == OwnerState::cannot_be_asked);
    other = ended_process();
    other.boot_id = "another";
    other.machine = "another";
    CHECK(train::state_of(other, self) == OwnerState::cannot_be_asked);
}

TEST_CASE("a run's token cannot lead to another file") {
    LockOwner owner = train::this_process();
    for (const std::string run : {"", "/../../victim", "0123456789abcde", "0123456789ABCDEF"}) {
        CAPTURE(run);
        owner.run = run;
        CHECK_FALSE(train::owner_from(train::to_json(owner)).has_value());
    }
}

TEST_CASE("a restart of the machine ends its processes") {
    LockOwner self = train::this_process();
    self.machine = "node1 id";
    LockOwner owner = self;
    owner.boot_id = "earlier";
    CHECK(train::state_of(owner, self) == OwnerState::gone);
    // Containers do not know their machine.
    self.machine = owner.machine = "";
    CHECK(train::state_of(owner, self) == OwnerState::cannot_be_asked);
}

TEST_CASE("a process that does not know its boot is not asked, and has not been rebooted") {
    for (const char* boot : {"", "known"}) {
        LockOwner self = train::this_process(), owner = ended_process();
        self.machine = owner.machine = "node1 id";
        self.boot_id = "";
        owner.boot_id = boot;
        CHECK(train::state_of(owner, self) == OwnerState::cannot_be_asked);
        CHECK(train::state_of(self, owner) == OwnerState::cannot_be_asked);
    }
}

TEST_CASE("only a later start of the same job knows that Slurm has ended the owner") {
    LockOwner owner = on_another_host(), self = train::this_process();
    owner.job = self.job = "12 of alpha";
    self.job_restarts = 1;
    CHECK(train::state_of(owner, self) == OwnerState::requeued);
    owner.job_restarts = 1;
    CHECK(train::state_of(owner, self) == OwnerState::cannot_be_asked);
    owner.job = "13 of alpha";
    owner.job_restarts = 0;
    CHECK(train::state_of(owner, self) == OwnerState::cannot_be_asked);
}

TEST_CASE("a process that was killed and not waited for is gone") {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
    const std::string stat = tests::read_text("/proc/" + std::to_string(child) + "/stat");
    CHECK(tests::contains(stat, ") Z "));
    LockOwner zombie = train::this_process();
    zombie.pid = child;
    const std::string fields = stat.substr(stat.rfind(')') + 2);
    std::size_t at = 0;
    for (int i = 0; i < 19; ++i) at = fields.find(' ', at) + 1;
    zombie.start_ticks = std::stoll(fields.substr(at));
    CHECK(train::state_of(zombie, train::this_process()) == OwnerState::gone);
    ::waitpid(child, nullptr, 0);
}

TEST_CASE("a folder has one lock at a time and keeps none") {
    const tests::ScratchFolder scratch;
    const std::string folder = scratch / "a/model";
    {
        const Start first = start(folder);
        first.lock->confirm();
        const Start second = start(folder);
        CHECK(second.refused.starts_with(folder + ": process "));
        CHECK(tests::contains(second.refused, " trains there since 20"));
        CHECK(second.said.empty());
    }
    CHECK(scratch.names().empty());
    const Start again = start(folder);
    CHECK(scratch.names("a/model") == std::set<std::string>{"run.lock"});
}

TEST_CASE("of several runs that find the lock of a run that is gone, one gets the folder") {
    for (int round = 0; round < 20; ++round) {
        const tests::ScratchFolder scratch;
        tests::write_text(scratch / "run.lock", train::to_json(ended_process()));
        constexpr int runs = 8;
        std::vector<Start> starts(runs);
        {
            std::vector<std::jthread> threads;
            for (Start& one : starts) threads.emplace_back([&] { one = start(scratch.path()); });
        }
        int got = 0, told = 0;
        for (const Start& one : starts) {
            if (tests::contains(one.said, "takes the folder over from process")) ++told;
            if (!one.lock) continue;
            ++got;
            CHECK_NOTHROW(one.lock->confirm());
        }
        CHECK(got == 1);
        CHECK(told == 1);
        CHECK(scratch.names() == std::set<std::string>{"run.lock"});
    }
}

TEST_CASE("an owner on another host that gives no beat loses the folder, and one line tells it") {
    const tests::ScratchFolder scratch;
    tests::write_text(scratch / "run.lock", train::to_json(on_another_host()));
    const Start next = start(scratch.path());
    CHECK(next.refused.empty());
    CHECK(tests::contains(next.said, "on node7"));
    CHECK(tests::contains(next.said, "cannot be asked from here; waiting until"));
    CHECK(tests::contains(next.said, "takes the folder over from process"));
    CHECK(std::ranges::count(next.said, '\n') == 2);
}

TEST_CASE("an owner on another host that gives beats keeps the folder") {
    const tests::ScratchFolder scratch;
    LockTimes times{5ms, 1ms, 1h, 1h};
    const Start owner = start(scratch.path(), times, on_another_host());
    const Start next = start(scratch.path(), times);
    CHECK(tests::contains(next.refused, "on node7 trains there since 20"));
    CHECK(std::ranges::count(next.said, '\n') == 1);
    CHECK_NOTHROW(owner.lock->confirm());
}

TEST_CASE("a requeued job waits while the old node still writes") {
    const tests::ScratchFolder scratch;
    LockOwner old = on_another_host(), self = train::this_process();
    old.job = self.job = "12";
    self.job_restarts = 1;
    LockTimes times{1ms, 1ms, 1h, 40ms};
    auto owner = std::make_unique<Start>(start(scratch.path(), times, old));
    std::jthread ends([&] {
        std::this_thread::sleep_for(50ms);
        tests::write_text(scratch / "ended", "");
        owner.reset();
    });
    const Start next = start(scratch.path(), {1h, 1ms, 1h, 10s}, self);
    CHECK(std::filesystem::exists(scratch / "ended"));
    CHECK(next.refused.empty());
    ends.join();
    next.lock->confirm();
}

TEST_CASE("an owner that was only stopped finds that it has lost the folder") {
    const tests::ScratchFolder scratch;
    const std::string path = scratch / "run.lock";
    const LockTimes times{1ms, 1ms, 40ms, 20ms};
    const LockOwner stopped = on_another_host();
    const pid_t child = ::fork();
    if (child == 0) {
        int code = 1;
        try {
            const train::LockWaiting waiting{[](const std::string&) {}, [] { return false; }};
            const FolderLock lock(scratch.path(), stopped, waiting, times);
            ::raise(SIGSTOP);
            lock.confirm();
        } catch (const Error& error) {
            code = error.kind() == ErrorKind::io ? 42 : 2;
        }
        ::_exit(code);
    }
    int status = 0;
    ::waitpid(child, &status, WUNTRACED);
    REQUIRE(WIFSTOPPED(status));
    const Start next = start(scratch.path(), times);
    CHECK(tests::contains(next.said, "takes the folder over"));
    ::kill(child, SIGCONT);
    ::waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 42);
    next.lock->confirm();
}

TEST_CASE("a lock that was removed or replaced is noticed and left alone") {
    const tests::ScratchFolder scratch;
    const std::string path = scratch / "run.lock";
    {
        const Start own = start(scratch.path());
        ::unlink(path.c_str());
        CHECK_THROWS_WITH_AS(own.lock->confirm(), doctest::Contains("was removed"), Error);
        CHECK_NOTHROW(own.lock->require_kept());
        tests::write_text(path, train::to_json(ended_process()));
        CHECK_THROWS_WITH_AS(own.lock->confirm(), doctest::Contains("has taken the folder"), Error);
    }
    CHECK(scratch.names() == std::set<std::string>{"run.lock"});
}

TEST_CASE("a beat finds the loss") {
    const tests::ScratchFolder scratch;
    const Start own = start(scratch.path(), {1ms, 1ms, 40ms, 20ms});
    train::replace_lock(scratch / "run.lock", on_another_host());
    const auto kept = [&] {
        try {
            own.lock->require_kept();
            return true;
        } catch (const Error&) {
            return false;
        }
    };
    while (kept()) std::this_thread::sleep_for(1ms);
    CHECK(train::read_lock(scratch / "run.lock").owner->host == "node7");
}

TEST_CASE("a beat that cannot be written leaves the run alone") {
    const tests::ScratchFolder scratch;
    const LockOwner self = train::this_process();
    const std::string path = scratch / "run.lock";
    std::filesystem::create_directory(path);
    CHECK(train::write_beat(path, self) == train::Beat::failed);
    std::filesystem::remove(path);
    CHECK(train::write_beat(path, self) == train::Beat::lost);
    CHECK(train::create_lock(path, self));
    CHECK_FALSE(train::create_lock(path, on_another_host()));
    LockOwner later = self;
    later.beats = 5;
    CHECK(train::write_beat(path, later) == train::Beat::done);
    CHECK(train::read_lock(path).owner->beats == 5);
}

TEST_CASE("a lock that is no file is refused at once and stays") {
    const tests::ScratchFolder scratch;
    const std::string path = scratch / "run.lock";
    const auto is_refused = [&](const std::string& what) {
        const Start next = start(scratch.path());
        CAPTURE(next.refused);
        CHECK(next.refused.starts_with(path + ": is " + what + ", not the file"));
        CHECK(scratch.names().contains("run.lock"));
        std::filesystem::remove(path);
    };
    std::filesystem::create_directory(path);
    is_refused("a folder");
    REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
    is_refused("a pipe");
    std::filesystem::create_symlink("nowhere", path);
    is_refused("a symbolic link");
}

TEST_CASE("a lock that names no run is taken over if nobody writes it") {
    for (const char* text : {"", "{\"run\": \"00", "[]"}) {
        const tests::ScratchFolder scratch;
        tests::write_text(scratch / "run.lock", text);
        const Start next = start(scratch.path());
        CHECK(tests::contains(next.said,
                              "takes the folder over from a run that its lock does not name"));
        REQUIRE(next.lock != nullptr);
        next.lock->confirm();
        CHECK(scratch.names() == std::set<std::string>{"run.lock"});
    }
}

TEST_CASE("what killed starts left beside the lock is removed once it is safe") {
    const tests::ScratchFolder folder;
    const std::string lock = folder / "run.lock";
    const auto left = [&](const std::string& name, const LockOwner& owner) {
        tests::write_text(lock + name, train::to_json(owner));
        return lock + name;
    };
    const auto age = [](const std::string& path) {
        std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) - 2h);
    };
    left(".tmp-01", ended_process());
    left(".after-02", ended_process());
    left(".after-02.tmp-03", ended_process());
    left(".tmp-04", train::this_process());  // about to ask for the lock
    left(".tmp-05", on_another_host());
    age(left(".tmp-06", on_another_host()));
    tests::write_text(lock + ".tmp-07", "");  // its process was killed before it wrote
    tests::write_text(lock + ".tmp-08", "");
    age(lock + ".tmp-08");
    std::filesystem::create_directory(lock + ".tmp-09");
    tests::write_text(folder / "run.locked.tmp-01", "");
    const Start run = start(folder.path());
    CHECK(run.lock != nullptr);
    CHECK(folder.names() == std::set<std::string>{"run.lock", "run.lock.tmp-04", "run.lock.tmp-05",
                                                  "run.lock.tmp-07", "run.lock.tmp-09",
                                                  "run.locked.tmp-01"});
}

TEST_CASE("a start that cannot write its lock leaves nothing behind") {
    const tests::ScratchFolder scratch;
    const std::string folder = scratch / "a/b";
    const train::LockWaiting waiting{[](const std::string&) {}, [] { return false; }};
    {
        const tests::FileSizeLimit full(0);
        CHECK_THROWS_WITH_AS(FolderLock(folder, train::this_process(), waiting, soon),
                             doctest::Contains("run.lock"), Error);
    }
    CHECK(scratch.names().empty());
    // Files that are not the start's stay.
    std::filesystem::create_directory(scratch / "a");
    {
        const tests::FileSizeLimit full(0);
        CHECK_THROWS_AS(FolderLock(scratch / "a", train::this_process(), waiting, soon), Error);
    }
    CHECK(scratch.names() == std::set<std::string>{"a"});
    CHECK(scratch.names("a").empty());
}
