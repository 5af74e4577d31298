// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdlib>
#include <sstream>

#include "data/prepare/prepare.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

// tests/data/check_shards.py with Debian's Python, which has h5py.
int check_with_h5py(const PrepareOptions& options) {
    std::ostringstream lines;
    Log log(lines, Verbosity::normal, 0, "");
    prepare(options, log);
    return std::system(
        ("/usr/bin/python3 tests/data/check_shards.py " + options.out + " > /dev/null").c_str());
}

}  // namespace

TEST_CASE("h5py reads the shards as documented") {
    const tests::ScratchFolder dir;
    PrepareOptions options;
    options.inputs = {"examples/shakespeare/train.txt"};
    options.valid = {"examples/shakespeare/valid.txt"};
    options.test = options.valid;
    options.shards = 3;
    options.out = dir / "dialogue";
    CHECK(check_with_h5py(options) == 0);

    options.inputs = options.valid = {"examples/shakespeare/plain.txt"};
    options.read.format = TextFormat::text;
    options.block_size = 100;
    options.out = dir / "text";
    CHECK(check_with_h5py(options) == 0);
}
