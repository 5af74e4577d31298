// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <sstream>

#include "data/prepare/prepare.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

// Files of this process cannot grow beyond `bytes`: to a writer the same as a full disk.
class SmallFiles {
public:
    explicit SmallFiles(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit small = {bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    ~SmallFiles() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        ::signal(SIGXFSZ, handler_);
    }
    SmallFiles(const SmallFiles&) = delete;
    SmallFiles& operator=(const SmallFiles&) = delete;

private:
    rlimit before_{};
    void (*handler_)(int);
};

std::string error_with_files_of(rlim_t bytes, const std::string& out) {
    PrepareOptions options;
    options.inputs = {"examples/shakespeare/train.txt"};
    options.threads = 1;
    options.out = out;
    std::ostringstream lines;
    Log log(lines, Verbosity::normal, 0, "");
    const SmallFiles small(bytes);
    try {
        prepare(options, log);
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("a disk that fills up gives one line, and nothing half-written stays") {
    const tests::ScratchFolder dir;
    for (const rlim_t bytes : {1000, 50'000, 200'000, 1'000'000, 2'300'000}) {
        const std::string error = error_with_files_of(bytes, dir / "d");
        CAPTURE(bytes);
        CAPTURE(error);
        CHECK(error.find("cannot write") != std::string::npos);
        CHECK(error.find(dir / "d.partial") != std::string::npos);
        CHECK(error.find('\n') == std::string::npos);
        CHECK(std::filesystem::is_empty(dir.path()));
    }
    CHECK(error_with_files_of(100'000'000, dir / "d") == "no error");
}
